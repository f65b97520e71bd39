#include "agent/result.h"

#include <string.h>

#include "base/json/jpick.h"
#include "base/parse.h"

#define WORD_MAX 128 /* of names and identifiers */

void agent_result_init(struct agent_result *r)
{
	*r = (struct agent_result){0};
}

void agent_result_done(struct agent_result *r)
{
	free(r->session);
	free(r->text);
	free(r->reason);
	agent_result_init(r);
}

static void take(char **to, struct jtext t, size_t max)
{
	char *s = jtext_dup(t, max);

	if (!s)
		return;
	free(*to);
	*to = s;
}

/* "0.004350000000000001" dollars: what is less than a millionth is a rounding error. */
static uint64_t micro_usd(struct jtext t)
{
	cleanup_free char *s = t.p && t.n < WORD_MAX ? xstrndup(t.p, t.n) : NULL;
	char *dot = s ? strchr(s, '.') : NULL;
	uint64_t v = 0;

	if (dot && strlen(dot) > 7)
		dot[7] = '\0';
	return s && parse_micro(s, &v) == 0 ? v : 0;
}

/* ---- Claude Code: --output-format stream-json ---- */

static void claude_usage(struct agent_result *r, struct jtext usage)
{
	static const char *const names[] = {"input_tokens", "output_tokens",
					    "cache_read_input_tokens",
					    "cache_creation_input_tokens"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(usage, names, v, ARRAY_SIZE(names)))
		return;
	r->input = jtext_uint(v[0]);
	r->output = jtext_uint(v[1]);
	r->cache_read = jtext_uint(v[2]);
	r->cache_write = jtext_uint(v[3]);
}

static void claude_result(struct agent_result *r, struct jtext line)
{
	static const char *const names[] = {
		"is_error", "session_id", "result",	    "terminal_reason",	"api_error",
		"usage",    "num_turns",  "total_cost_usd", "api_error_status", "subtype"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(line, names, v, ARRAY_SIZE(names)))
		return;
	r->seen = true;
	/* A turn that the provider refused is a "success" with is_error. */
	r->failed = jtext_true(v[0]) || !jtext_eq(v[9], "success");
	take(&r->session, v[1], WORD_MAX);
	take(&r->text, v[2], AGENT_TEXT_MAX);
	take(&r->reason, v[4].p ? v[4] : v[3], WORD_MAX);
	claude_usage(r, v[5]);
	r->turns = jtext_uint(v[6]);
	r->micro_usd = micro_usd(v[7]);
	r->status = (uint32_t)jtext_uint(v[8]);
}

/* "0.83", a share: in percent, as far as it goes. */
static uint64_t percent(struct jtext t)
{
	return micro_usd(t) / 10000;
}

static void claude_week(struct agent_result *r, struct jtext windows)
{
	struct jtext week = jpick_one(windows, "seven_day");

	if (!week.p)
		return;
	r->weekly_used = percent(jpick_one(week, "utilization"));
	r->weekly_resets_at = jtext_uint(jpick_one(week, "resetsAt"));
}

static void claude_limit(struct agent_result *r, struct jtext info)
{
	static const char *const names[] = {"status", "resetsAt", "unifiedWindows"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(info, names, v, ARRAY_SIZE(names)))
		return;
	r->limited = jtext_eq(v[0], "rejected");
	r->resets_at = r->limited ? jtext_uint(v[1]) : 0;
	claude_week(r, v[2]);
}

static void claude_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	if (jtext_eq(type, "result"))
		claude_result(r, line);
	else if (jtext_eq(type, "rate_limit_event"))
		claude_limit(r, jpick_one(line, "rate_limit_info"));
}

/* ---- Codex: exec --json ---- */

static void codex_usage(struct agent_result *r, struct jtext usage)
{
	static const char *const names[] = {"input_tokens", "output_tokens", "cached_input_tokens",
					    "cache_write_input_tokens"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(usage, names, v, ARRAY_SIZE(names)))
		return;
	/* Its count of input has the cached part in it. */
	r->cache_read = jtext_uint(v[2]);
	r->input = jtext_uint(v[0]) - (r->cache_read < jtext_uint(v[0]) ? r->cache_read : 0);
	r->output = jtext_uint(v[1]);
	r->cache_write = jtext_uint(v[3]);
}

static void codex_failed(struct agent_result *r, struct jtext message)
{
	r->seen = r->failed = true;
	take(&r->reason, message, AGENT_TEXT_MAX);
	/* It has no code of its own for this. */
	r->limited = r->reason && strstr(r->reason, "hit your usage limit");
}

static void codex_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	if (jtext_eq(type, "thread.started")) {
		take(&r->session, jpick_one(line, "thread_id"), WORD_MAX);
	} else if (jtext_eq(type, "item.completed")) {
		struct jtext item = jpick_one(line, "item");

		if (jtext_eq(jpick_one(item, "type"), "agent_message"))
			take(&r->text, jpick_one(item, "text"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "turn.completed")) {
		r->seen = true;
		r->failed = false;
		r->turns++;
		codex_usage(r, jpick_one(line, "usage"));
	} else if (jtext_eq(type, "turn.failed")) {
		codex_failed(r, jpick_one(jpick_one(line, "error"), "message"));
	}
}

/* ---- Gemini CLI: --output-format stream-json ---- */

static void gemini_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	static const char *const names[] = {"input", "output_tokens", "cached"};
	struct jtext v[ARRAY_SIZE(names)];

	if (jtext_eq(type, "init")) {
		take(&r->session, jpick_one(line, "session_id"), WORD_MAX);
	} else if (jtext_eq(type, "message")) {
		if (jtext_eq(jpick_one(line, "role"), "assistant"))
			take(&r->text, jpick_one(line, "content"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "result")) {
		r->seen = true;
		r->failed = !jtext_eq(jpick_one(line, "status"), "success");
		take(&r->reason, jpick_one(jpick_one(line, "error"), "message"), AGENT_TEXT_MAX);
		if (!jpick(jpick_one(line, "stats"), names, v, ARRAY_SIZE(names)))
			return;
		r->input = jtext_uint(v[0]);
		r->output = jtext_uint(v[1]);
		r->cache_read = jtext_uint(v[2]);
	}
}

/* ---- opencode: run --format json; each step has its own count ---- */

static void opencode_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	struct jtext part = jpick_one(line, "part"), tokens;

	take(&r->session, jpick_one(line, "sessionID"), WORD_MAX);
	if (jtext_eq(type, "text")) {
		take(&r->text, jpick_one(part, "text"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "error")) {
		r->seen = r->failed = true;
		take(&r->reason, jpick_one(jpick_one(line, "error"), "name"), WORD_MAX);
	} else if (jtext_eq(type, "step_finish")) {
		tokens = jpick_one(part, "tokens");
		r->seen = jtext_eq(jpick_one(part, "reason"), "stop");
		r->turns++;
		r->micro_usd += micro_usd(jpick_one(part, "cost"));
		r->input += jtext_uint(jpick_one(tokens, "input"));
		r->output += jtext_uint(jpick_one(tokens, "output"));
		r->cache_read += jtext_uint(jpick_one(jpick_one(tokens, "cache"), "read"));
		r->cache_write += jtext_uint(jpick_one(jpick_one(tokens, "cache"), "write"));
	}
}

/* ---- GitHub Copilot CLI: --output-format json; it counts no tokens ---- */

static void copilot_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	if (jtext_eq(type, "assistant.message")) {
		take(&r->text, jpick_one(jpick_one(line, "data"), "content"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "assistant.turn_end")) {
		r->turns++;
	} else if (jtext_eq(type, "result")) {
		struct jtext code = jpick_one(line, "exitCode");

		r->seen = true;
		r->failed = !(code.n == 1 && code.p[0] == '0');
		take(&r->session, jpick_one(line, "sessionId"), WORD_MAX);
	}
}

void agent_result_line(struct agent_result *r, enum agent_format format, const char *text, size_t n)
{
	const struct jtext line = {text, n};
	struct jtext type;

	if (n > AGENT_LINE_MAX)
		return;
	type = jpick_one(line, "type");
	switch (format) {
	case AGENT_FORMAT_CLAUDE:
		claude_line(r, type, line);
		break;
	case AGENT_FORMAT_CODEX:
		codex_line(r, type, line);
		break;
	case AGENT_FORMAT_GEMINI:
		gemini_line(r, type, line);
		break;
	case AGENT_FORMAT_OPENCODE:
		opencode_line(r, type, line);
		break;
	case AGENT_FORMAT_COPILOT:
		copilot_line(r, type, line);
		break;
	case AGENT_FORMAT_NONE:
		break;
	}
}

bool agent_result_ok(const struct agent_result *r, enum agent_format format, int exit_code)
{
	if (format == AGENT_FORMAT_NONE)
		return exit_code == 0;
	return exit_code == 0 && r->seen && !r->failed;
}
