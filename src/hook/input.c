#include "hook/input.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/json/jscan.h"

#define CHUNK (64 * KiB)
#define DRAIN_MS 100
#define AGAIN_DEPTH 2 /* JSON in a string of JSON */

enum kind {
	KIND_NONE,
	KIND_TOOL,
	KIND_CWD,
	KIND_TRANSCRIPT,
	KIND_SESSION,
	KIND_ACTIVE,
	KIND_AGENT,
	KIND_INPUT,
	KIND_COMMAND,
	KIND_PATH,
	KIND_PATCH
};

struct known {
	const char *name;
	enum kind kind;
};

/* clang-format off */
static const struct known top[] = {
	{"tool_name", KIND_TOOL}, {"toolName", KIND_TOOL}, {"cwd", KIND_CWD}, {"transcript_path", KIND_TRANSCRIPT},
	{"session_id", KIND_SESSION}, {"sessionId", KIND_SESSION}, {"stop_hook_active", KIND_ACTIVE}, {"agent_id", KIND_AGENT},
	{"tool_input", KIND_INPUT}, {"toolInput", KIND_INPUT}, {"toolArgs", KIND_INPUT}, {"tool_args", KIND_INPUT}, {"args", KIND_INPUT},
};
static const struct known inner[] = {
	{"command", KIND_COMMAND}, {"cmd", KIND_COMMAND}, {"script", KIND_COMMAND}, {"commands", KIND_COMMAND},
	{"file_path", KIND_PATH}, {"filePath", KIND_PATH}, {"notebook_path", KIND_PATH}, {"path", KIND_PATH}, {"paths", KIND_PATH},
	{"absolute_path", KIND_PATH}, {"file", KIND_PATH}, {"filename", KIND_PATH}, {"dir_path", KIND_PATH},
	{"source", KIND_PATH}, {"destination", KIND_PATH}, {"target_file", KIND_PATH},
	{"input", KIND_PATCH}, {"patch", KIND_PATCH},
};
/* clang-format on */

struct reader {
	struct hook_input *in;
	struct jscan j;
	int fd; /* -1: no more input than the text */
	char *chunk;
	size_t total;
	int error;
	int again;
};

static enum jscan_token next(struct reader *r)
{
	for (;;) {
		enum jscan_token t = jscan_next(&r->j);
		ssize_t n;

		if (t != JSCAN_MORE || r->fd < 0)
			return t;
		n = read(r->fd, r->chunk, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return JSCAN_MORE;
		r->total += (size_t)n;
		if (r->total > INPUT_MAX) {
			r->error = -E2BIG;
			return JSCAN_ERROR;
		}
		jscan_feed(&r->j, r->chunk, (size_t)n);
	}
}

static enum kind kind_of(const struct jscan *j, const struct known *known, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (jscan_is(j, known[i].name))
			return known[i].kind;
	return KIND_NONE;
}

/* Reads the string that starts with the last token. NULL: it is too long, or incomplete. */
static char *read_string(struct reader *r, size_t max)
{
	cleanup_buf struct buf b;
	enum jscan_token t = JSCAN_STRING;

	buf_init(&b, max);
	for (;;) {
		if (t != JSCAN_STRING)
			return NULL;
		(void)buf_append(&b, r->j.text, r->j.len);
		if (r->j.last)
			break;
		t = next(r);
	}
	if (b.full || memchr(b.data ? b.data : "", 0, b.len)) {
		r->error = -E2BIG;
		return NULL;
	}
	return b.data ? buf_take(&b) : xstrdup("");
}

static bool skip(struct reader *r)
{
	jscan_skip(&r->j);
	return next(r) == JSCAN_SKIPPED;
}

static void keep(struct reader *r, struct strv *list, char *text)
{
	if (list->n >= INPUT_MANY) {
		r->error = -E2BIG;
		free(text);
		return;
	}
	strv_take(list, text);
}

/* ["bash", "-lc", "…"]: only the words together are a script, quoted as a shell would and
 * joined. */
static bool read_words(struct reader *r, enum kind kind)
{
	cleanup_buf struct buf line;
	enum jscan_token t;

	buf_init(&line, INPUT_TEXT);
	while ((t = next(r)) == JSCAN_STRING) {
		cleanup_free char *word =
			read_string(r, kind == KIND_COMMAND ? INPUT_TEXT : INPUT_PATH);

		if (!word)
			return false;
		if (kind == KIND_PATH) {
			keep(r, &r->in->paths, take_ptr(word));
			continue;
		}
		(void)buf_puts(&line, line.len ? " '" : "'");
		for (const char *p = word; *p; p++)
			(void)(*p == '\'' ? buf_puts(&line, "'\\''") : buf_putc(&line, *p));
		(void)buf_putc(&line, '\'');
	}
	if (line.full)
		r->error = -E2BIG;
	if (line.len && kind == KIND_COMMAND && !line.full)
		keep(r, &r->in->commands, buf_take(&line));
	return t == JSCAN_ARRAY_END && !r->error;
}

static bool read_tool_input(struct reader *r);

static bool read_inner_value(struct reader *r, enum kind kind)
{
	enum jscan_token t = next(r);
	char *text;

	if (t == JSCAN_ARRAY)
		return read_words(r, kind);
	if (t == JSCAN_OBJECT)
		return skip(r);
	if (t != JSCAN_STRING)
		return t > JSCAN_ERROR;
	text = read_string(r, kind == KIND_PATH ? INPUT_PATH : INPUT_TEXT);
	if (!text)
		return false;
	keep(r,
	     kind == KIND_PATH	  ? &r->in->paths
	     : kind == KIND_PATCH ? &r->in->patches
				  : &r->in->commands,
	     text);
	return true;
}

/* Reads arguments that are JSON in a string. */
static bool read_again(struct reader *r)
{
	cleanup_free char *text = read_string(r, INPUT_TEXT);
	struct reader inside = {.in = r->in, .fd = -1, .again = r->again + 1};
	bool ok;

	if (!text || inside.again > AGAIN_DEPTH)
		return false;
	jscan_init(&inside.j);
	jscan_feed(&inside.j, text, strlen(text));
	ok = read_tool_input(&inside);
	r->error = inside.error;
	return ok;
}

static bool read_tool_input(struct reader *r)
{
	enum jscan_token t = next(r);

	if (t == JSCAN_STRING)
		return read_again(r);
	if (t != JSCAN_OBJECT)
		return t == JSCAN_NULL;
	r->in->has_tool_input = true;
	while ((t = next(r)) == JSCAN_KEY) {
		enum kind kind = r->j.cut ? KIND_NONE : kind_of(&r->j, inner, ARRAY_SIZE(inner));

		if (!(kind == KIND_NONE ? skip(r) : read_inner_value(r, kind)))
			return false;
	}
	return t == JSCAN_OBJECT_END;
}

static bool read_text(struct reader *r, char **to)
{
	enum jscan_token t = next(r);

	if (t != JSCAN_STRING)
		return t == JSCAN_NULL || ((t == JSCAN_OBJECT || t == JSCAN_ARRAY) && skip(r));
	free(*to);
	*to = read_string(r, INPUT_PATH);
	return *to != NULL;
}

static bool read_top_value(struct reader *r, enum kind kind)
{
	cleanup_free char *ignored = NULL;

	switch (kind) {
	case KIND_TOOL:
		return read_text(r, &r->in->tool);
	case KIND_CWD:
		return read_text(r, &r->in->cwd);
	case KIND_TRANSCRIPT:
		return read_text(r, &r->in->transcript);
	case KIND_SESSION:
		return read_text(r, &r->in->session);
	case KIND_AGENT:
		if (!read_text(r, &ignored))
			return false;
		r->in->subagent = ignored && *ignored;
		return true;
	case KIND_ACTIVE:
		r->in->stop_active = next(r) == JSCAN_TRUE;
		return true;
	case KIND_INPUT:
		return read_tool_input(r);
	case KIND_NONE:
	case KIND_COMMAND:
	case KIND_PATH:
	case KIND_PATCH:
	default:
		return skip(r);
	}
}

/* Reads the rest, so that the writer gets no SIGPIPE. A writer that keeps the pipe open is not
 * waited for. */
static void drain(struct reader *r)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};
	ssize_t n = 1;

	while (n > 0 && r->total <= INPUT_MAX && poll(&p, 1, DRAIN_MS) > 0) {
		n = read(r->fd, r->chunk, CHUNK);
		r->total += n > 0 ? (size_t)n : 0;
	}
}

int hook_input_read(int fd, struct hook_input *ret)
{
	struct reader r = {.in = ret, .fd = fd, .chunk = xmalloc(CHUNK)};
	enum jscan_token t;

	*ret = (struct hook_input){0};
	jscan_init(&r.j);
	t = next(&r);
	if (t == JSCAN_OBJECT) {
		while ((t = next(&r)) == JSCAN_KEY)
			if (!read_top_value(&r, r.j.cut ? KIND_NONE
							: kind_of(&r.j, top, ARRAY_SIZE(top))))
				break;
	} else {
		t = JSCAN_ERROR;
	}
	drain(&r);
	free(r.chunk);
	if (r.error)
		return r.error;
	return t == JSCAN_OBJECT_END ? 0 : -EBADMSG;
}

void hook_input_done(struct hook_input *in)
{
	free(in->tool);
	free(in->cwd);
	free(in->transcript);
	free(in->session);
	strv_done(&in->commands);
	strv_done(&in->paths);
	strv_done(&in->patches);
}
