#include "view/render.h"

#include <string.h>

#define DETAIL_MAX 200 /* bytes of a command or path */
#define NAME_MAX_LEN 60

/* Arguments that describe a tool call best, in order of preference. */
static const char *const telling[] = {"command", "file_path", "path",	     "pattern",
				      "url",	 "query",     "description", "prompt"};

/* Appends the text as one line. */
static void put_detail(struct buf *b, struct jtext t)
{
	cleanup_free char *s = jtext_dup(t, DETAIL_MAX);

	if (!s)
		return;
	(void)buf_puts(b, "  ");
	for (char *p = s; *p; p++)
		(void)buf_putc(b, *p == '\n' || *p == '\t' || *p == '\r' ? ' ' : *p);
}

static void put_arguments(struct buf *b, struct jtext args)
{
	struct jtext v[ARRAY_SIZE(telling)];

	if (!jpick(args, telling, v, ARRAY_SIZE(telling)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(telling); i++) {
		if (!jtext_is_string(v[i]))
			continue;
		put_detail(b, v[i]);
		return;
	}
}

static bool put_call(struct buf *b, struct jtext name, struct jtext args)
{
	cleanup_free char *s = jtext_dup(name, NAME_MAX_LEN);

	if (!s)
		return false;
	(void)buf_puts(b, s);
	put_arguments(b, args);
	return true;
}

/* Several calls in one message share a line. */
bool render_call(const struct agent_stream *s, const char *text, size_t n, struct buf *ret)
{
	struct agent_call calls[AGENT_CALLS_MAX];
	size_t count = s ? s->calls((struct jtext){text, n}, calls) : 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (any)
			(void)buf_puts(ret, "; ");
		any = put_call(ret, calls[i].name, calls[i].args) || any;
	}
	return any;
}

bool render_notice(const struct agent_stream *s, const char *text, size_t n, struct buf *ret)
{
	return s && s->notice && s->notice((struct jtext){text, n}, ret);
}
