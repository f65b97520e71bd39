#include "view/render.h"

#include <string.h>

#include "base/json/jpick.h"

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
static bool claude_call(struct jtext line, struct buf *b)
{
	struct jtext content = jpick_one(jpick_one(line, "message"), "content"), part;
	bool any = false;
	size_t at = 0;

	if (!jtext_eq(jpick_one(line, "type"), "assistant"))
		return false;
	while (jpick_each(content, &at, &part)) {
		if (!jtext_eq(jpick_one(part, "type"), "tool_use"))
			continue;
		if (any)
			(void)buf_puts(b, "; ");
		any = put_call(b, jpick_one(part, "name"), jpick_one(part, "input")) || any;
	}
	return any;
}

static bool codex_call(struct jtext line, struct buf *b)
{
	struct jtext item = jpick_one(line, "item"), type = jpick_one(item, "type");

	if (!jtext_eq(jpick_one(line, "type"), "item.started") || !jtext_is_string(type))
		return false;
	if (jtext_eq(type, "mcp_tool_call"))
		return put_call(b, jpick_one(item, "tool"), jpick_one(item, "arguments"));
	return put_call(b, type, item);
}

static bool gemini_call(struct jtext line, struct buf *b)
{
	return jtext_eq(jpick_one(line, "type"), "tool_use") &&
	       put_call(b, jpick_one(line, "tool_name"), jpick_one(line, "parameters"));
}

static bool opencode_call(struct jtext line, struct buf *b)
{
	struct jtext part = jpick_one(line, "part");

	return jtext_eq(jpick_one(line, "type"), "tool_use") &&
	       put_call(b, jpick_one(part, "tool"), jpick_one(jpick_one(part, "state"), "input"));
}

static bool copilot_call(struct jtext line, struct buf *b)
{
	struct jtext data = jpick_one(line, "data");

	return jtext_eq(jpick_one(line, "type"), "tool.execution_start") &&
	       put_call(b, jpick_one(data, "toolName"), jpick_one(data, "arguments"));
}

bool render_call(enum agent_format format, const char *text, size_t n, struct buf *ret)
{
	const struct jtext line = {text, n};

	switch (format) {
	case AGENT_FORMAT_CLAUDE:
		return claude_call(line, ret);
	case AGENT_FORMAT_CODEX:
		return codex_call(line, ret);
	case AGENT_FORMAT_GEMINI:
		return gemini_call(line, ret);
	case AGENT_FORMAT_OPENCODE:
		return opencode_call(line, ret);
	case AGENT_FORMAT_COPILOT:
		return copilot_call(line, ret);
	case AGENT_FORMAT_NONE:
		break;
	}
	return false;
}

static bool claude_notice(struct jtext line, struct buf *b)
{
	struct jtext type = jpick_one(line, "type"), subtype = jpick_one(line, "subtype");

	if (!jtext_eq(type, "system"))
		return false;
	if (jtext_eq(subtype, "api_retry")) {
		(void)buf_printf(b, "the provider refused (%llu), attempt %llu of %llu",
				 (unsigned long long)jtext_uint(jpick_one(line, "error_status")),
				 (unsigned long long)jtext_uint(jpick_one(line, "attempt")),
				 (unsigned long long)jtext_uint(jpick_one(line, "max_retries")));
		return true;
	}
	if (jtext_eq(subtype, "compact_boundary"))
		return buf_puts(b, "its context was full and was made shorter") == 0;
	return false;
}

bool render_notice(enum agent_format format, const char *text, size_t n, struct buf *ret)
{
	return format == AGENT_FORMAT_CLAUDE && claude_notice((struct jtext){text, n}, ret);
}

bool render_is_claude(const char *text, size_t n)
{
	static const char *const types[] = {"system", "assistant", "result", "rate_limit_event"};
	struct jtext type;

	if (n < 2 || text[0] != '{')
		return false;
	type = jpick_one((struct jtext){text, n}, "type");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (jtext_eq(type, types[i]))
			return true;
	return false;
}
