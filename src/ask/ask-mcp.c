/*
 * The same as tools of the Model Context Protocol: JSON-RPC, one message a line, on stdin and stdout.
 * Everything comes from the agent, and everything goes to it.
 */
#include "ask/ask-program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/jpick.h"

static const struct tool {
	const char *name, *kind, *what, *why, *help;
} tools[] = {
	{"ask_for_host", "host", "host", "why",
	 "Ask the person to allow a network host that was refused for want of a rule (host or "
	 "host:port)"},
	{"ask_for_file", "file", "path", "change",
	 "Ask the person to change a protected file of the workspace; say which change and why"},
	{"ask_person", "decide", NULL, "question",
	 "Ask the person who started you to decide something"},
};

static void put_string_property(struct buf *b, const char *name)
{
	(void)buf_printf(b, "\"%s\":{\"type\":\"string\"}", name);
}

static void put_tool(struct buf *b, const struct tool *t)
{
	(void)buf_printf(b, "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":", t->name,
			 t->help);
	(void)buf_puts(b, "{\"type\":\"object\",\"properties\":{");
	if (t->what) {
		put_string_property(b, t->what);
		(void)buf_putc(b, ',');
	}
	put_string_property(b, t->why);
	if (!t->what)
		(void)buf_puts(b,
			       ",\"choices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
	(void)buf_printf(b, "},\"required\":[%s%s%s\"%s\"]}}", t->what ? "\"" : "",
			 t->what ? t->what : "", t->what ? "\"," : "", t->why);
}

static void put_tools(struct buf *b)
{
	(void)buf_puts(b, "{\"tools\":[");
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		(void)buf_puts(b, i ? "," : "");
		put_tool(b, &tools[i]);
	}
	(void)buf_puts(b, "]}");
}

static void put_hello(struct buf *b, struct jtext params)
{
	struct jtext version = jpick_one(params, "protocolVersion");

	(void)buf_puts(b, "{\"protocolVersion\":");
	if (jtext_is_string(version) && version.n < 64)
		(void)buf_append(b, version.p, version.n);
	else
		(void)buf_puts(b, "\"2025-06-18\"");
	(void)buf_puts(b, ",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"ralph-ask\","
			  "\"version\":\"1\"}}");
}

static const struct tool *find(struct jtext name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (jtext_eq(name, tools[i].name))
			return &tools[i];
	return NULL;
}

static void put_result(struct buf *b, const struct ask_result *r)
{
	static const char *const states[] = {
		[ASK_ALLOWED] = "allowed",
		[ASK_FAILED] = "failed",
		[ASK_USAGE] = "malformed",
		[ASK_DENIED] = "denied",
		[ASK_OPEN] =
			"still open: go on with other work; the answer comes with your next task"};
	cleanup_buf struct buf text;

	buf_init(&text, 2 * ASK_TEXT_MAX);
	(void)buf_printf(&text, "%s%s%s", states[r->code], r->text && *r->text ? ": " : "",
			 r->text ? r->text : "");
	(void)buf_puts(b, "{\"content\":[{\"type\":\"text\",\"text\":");
	(void)buf_put_quoted(b, buf_str(&text));
	(void)buf_printf(b, "}],\"isError\":%s}",
			 r->code == ASK_FAILED || r->code == ASK_USAGE ? "true" : "false");
}

/* false: there is no such tool, or an argument is missing. */
static bool call(struct buf *b, struct jtext params)
{
	const struct tool *t = find(jpick_one(params, "name"));
	struct jtext args = jpick_one(params, "arguments"), one;
	cleanup_free char *what = NULL, *why = NULL;
	struct ask_result r = {0};
	struct ask_words w = {.wait_s = ASK_WAIT_MAX_S};
	size_t at = 0;

	if (!t)
		return false;
	what = t->what ? jtext_dup(jpick_one(args, t->what), ASK_TEXT_MAX) : xstrdup("");
	why = jtext_dup(jpick_one(args, t->why), ASK_TEXT_MAX);
	if (!what || !why)
		return false;
	w.kind = t->kind;
	w.what = what;
	w.why = why;
	for (struct jtext all = jpick_one(args, "choices");
	     w.choices.n < 16 && jtext_is_array(all) && jpick_each(all, &at, &one);) {
		char *text = jtext_dup(one, ASK_TEXT_MAX);

		if (text)
			strv_take(&w.choices, text);
	}
	ask_person(&w, &r);
	put_result(b, &r);
	ask_result_done(&r);
	strv_done(&w.choices);
	return true;
}

static void reply(const char *line, size_t n)
{
	static const char *const names[] = {"id", "method", "params"};
	cleanup_buf struct buf b;
	struct jtext v[3];
	bool known = true;

	buf_init(&b, 4 * ASK_TEXT_MAX);
	if (!jpick((struct jtext){line, n}, names, v, 3) || !v[0].p || v[0].n > 256)
		return; /* a notification, or nothing that could be answered */
	(void)buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
	(void)buf_append(&b, v[0].p, v[0].n);
	(void)buf_puts(&b, ",\"result\":");
	if (jtext_eq(v[1], "initialize"))
		put_hello(&b, v[2]);
	else if (jtext_eq(v[1], "ping"))
		(void)buf_puts(&b, "{}");
	else if (jtext_eq(v[1], "tools/list"))
		put_tools(&b);
	else
		known = jtext_eq(v[1], "tools/call") && call(&b, v[2]);
	if (!known) {
		buf_clear(&b);
		(void)buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
		(void)buf_append(&b, v[0].p, v[0].n);
		(void)buf_puts(&b,
			       ",\"error\":{\"code\":-32602,\"message\":\"there is no such method "
			       "or tool, or an argument is missing\"}");
	}
	(void)buf_puts(&b, "}\n");
	(void)fd_write_all(STDOUT_FILENO, b.data, b.len);
}

int ask_mcp(void)
{
	cleanup_buf struct buf in;
	char part[4096];
	ssize_t n;

	buf_init(&in, ASK_TEXT_MAX);
	while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0) {
		char *end;

		/* A message that is too long cannot be answered: nothing of it is understood. */
		if (buf_append(&in, part, (size_t)n) < 0)
			return ASK_FAILED;
		while (in.len && (end = memchr(in.data, '\n', in.len))) {
			reply(in.data, (size_t)(end - in.data));
			buf_consume(&in, (size_t)(end - in.data) + 1);
		}
	}
	return n < 0 ? ASK_FAILED : 0;
}
