#include "view/render.h"

#include <stdio.h>
#include <string.h>

#define DETAIL_MAX 200 /* bytes of a command, a path or a reason */
#define NAME_MAX_LEN 60

/* Arguments that describe a tool call best, in order of preference. */
static const char *const telling[] = {"command", "file_path", "path",	     "pattern",
				      "url",	 "query",     "description", "prompt"};

/* Appends the text as one line. */
static void put_detail(struct buf *b, const char *before, struct jtext t)
{
	cleanup_free char *s = jtext_dup(t, DETAIL_MAX);

	if (!s || !*s)
		return;
	(void)buf_puts(b, before);
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
		put_detail(b, "  ", v[i]);
		return;
	}
}

void render_init(struct render *r)
{
	*r = (struct render){0};
	buf_init(&r->pieces, RENDER_WORDS_MAX);
}

void render_done(struct render *r)
{
	buf_done(&r->pieces);
	free(r->words);
	r->words = NULL;
}

/* ---- calls, and those that failed ---- */

static void remember(struct render *r, struct jtext id, const char *call)
{
	cleanup_free char *s = jtext_dup(id, sizeof(r->recent[0].id) - 1);
	size_t at = r->next;

	if (!s || !*s)
		return;
	(void)snprintf(r->recent[at].id, sizeof(r->recent[at].id), "%s", s);
	(void)snprintf(r->recent[at].call, sizeof(r->recent[at].call), "%s", call);
	r->next = (at + 1) % RENDER_RECENT;
}

static const char *recall(const struct render *r, struct jtext id)
{
	for (size_t i = 0; i < RENDER_RECENT; i++)
		if (*r->recent[i].id && jtext_eq(id, r->recent[i].id))
			return r->recent[i].call;
	return "a tool";
}

static void tell_call(struct render *r, const struct agent_part *p, render_fn *fn, void *arg)
{
	cleanup_free char *name = jtext_dup(p->name, NAME_MAX_LEN);
	cleanup_buf struct buf b;

	buf_init(&b, RENDER_MAX);
	if (!name)
		return;
	(void)buf_puts(&b, name);
	put_arguments(&b, p->args);
	remember(r, p->id, buf_str(&b));
	fn(arg, RENDER_CALL, buf_str(&b));
}

static void tell_failed(struct render *r, const struct agent_part *p, render_fn *fn, void *arg)
{
	cleanup_buf struct buf b;

	buf_init(&b, RENDER_MAX);
	(void)buf_puts(&b, recall(r, p->id));
	put_detail(&b, ": ", p->text);
	fn(arg, RENDER_FAILED, buf_str(&b));
}

/* ---- words ---- */

void render_end(struct render *r, render_fn *fn, void *arg)
{
	if (r->pieces.len == 0)
		return;
	free(r->words);
	r->words = buf_take(&r->pieces);
	fn(arg, RENDER_WORDS, r->words);
}

static void tell_words(struct render *r, const struct agent_part *p, render_fn *fn, void *arg)
{
	if (jtext_is_string(p->text))
		(void)jtext_append(p->text, &r->pieces, buf_room(&r->pieces));
	if (!p->more)
		render_end(r, fn, arg);
}

bool render_shown(const struct render *r, const char *words)
{
	return words && r->words && streq(r->words, words);
}

void render_line(struct render *r, const struct agent_stream *s, const char *line, size_t n,
		 render_fn *fn, void *arg)
{
	const struct jtext text = {line, n};
	struct agent_part parts[AGENT_PARTS_MAX];
	size_t count = s ? s->parts(text, parts) : 0;
	cleanup_buf struct buf b;

	buf_init(&b, RENDER_MAX);
	for (size_t i = 0; i < count; i++) {
		if (parts[i].kind == AGENT_WORDS) {
			tell_words(r, &parts[i], fn, arg);
			continue;
		}
		render_end(r, fn, arg);
		(parts[i].kind == AGENT_CALL ? tell_call : tell_failed)(r, &parts[i], fn, arg);
	}
	if (s && s->notice && s->notice(text, &b))
		fn(arg, RENDER_NOTICE, buf_str(&b));
}
