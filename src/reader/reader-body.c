#include "reader/reader.h"

#include <string.h>
#include <unistd.h>

#include "flow/event.h"

bool reader_each(const struct reader_body *b, reader_feed_fn *feed, void *arg)
{
	static char part[64 * 1024];

	if (b->fd < 0)
		return b->n == 0 || feed(arg, b->p, b->n);
	for (size_t at = 0; at < b->n;) {
		size_t want = b->n - at < sizeof(part) ? b->n - at : sizeof(part);
		ssize_t n = pread(b->fd, part, want, (off_t)at);

		if (n <= 0 || !feed(arg, part, (size_t)n))
			return false;
		at += (size_t)n;
	}
	return true;
}

void reader_model(const char *path, char *ret, size_t size)
{
	const char *p = strstr(path, "/models/"), *end;

	p = p ? p + 8 : NULL;
	if (!p) {
		p = strstr(path, "/model/");
		p = p ? p + 7 : NULL;
	}
	end = p ? p + strcspn(p, "/?:") : NULL;
	(void)event_text(ret, size, p ? p : "", p ? (size_t)(end - p) : 0);
}
