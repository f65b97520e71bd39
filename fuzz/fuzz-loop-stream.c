#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "agent/result.h"
#include "view/lines.h"
#include "loop/last-words.h"
#include "view/render.h"

struct seen {
	const struct agent_stream *stream;
	size_t bytes;
};

static void on_line(void *arg, const char *line, size_t n)
{
	struct seen *s = arg;
	struct last_words p;
	struct buf b;
	char *text;

	buf_init(&b, RENDER_MAX);
	(void)agent_stream_find(line, n);
	(void)render_call(s->stream, line, n, &b);
	buf_clear(&b);
	(void)render_notice(s->stream, line, n, &b);
	buf_done(&b);
	text = strndup(line, n);
	last_words_find(text, &p);
	if (p.text && strlen(p.text) > LAST_WORDS_TEXT_MAX)
		abort();
	last_words_done(&p);
	free(text);
	if (memchr(line, '\n', n))
		abort();
	s->bytes += n;
}

/* The first byte says whose stream it is, the second in what pieces it comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen s = {0};
	struct lines l;
	size_t piece;

	if (size < 2)
		return 0;
	s.stream = agent_at(data[0] % agent_count())->stream;
	piece = data[1] ? data[1] : size;
	lines_init(&l, 4096);
	for (size_t at = 2; at < size; at += piece)
		lines_add(&l, (const char *)data + at, size - at < piece ? size - at : piece,
			  on_line, &s);
	lines_end(&l, on_line, &s);
	lines_done(&l);
	if (s.bytes > size)
		abort();
	return 0;
}
