#include "cred/cred.h"

#include <string.h>
#include <time.h>

#include "base/path.h"

const char *cred_host_env(const struct cred_host *h, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = h->environ; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return (*e)[n + 1] ? *e + n + 1 : NULL;
	return NULL;
}

uint64_t cred_host_now(const struct cred_host *h)
{
	struct timespec ts;

	if (h->now_ms)
		return h->now_ms;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

char *cred_host_home(const struct cred_host *h, const char *below)
{
	return path_join(h->home, below);
}

const char *cred_source_is(const char *source, const char *kind)
{
	size_t n = strlen(kind);

	return strncmp(source, kind, n) == 0 && source[n] == ':' ? source + n + 1 : NULL;
}

char *cred_secret_free(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
	return NULL;
}

void cred_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}
