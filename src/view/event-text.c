#include "view/event-text.h"

#include <string.h>

#include "base/buf.h"
#include "base/text/human.h"
#include "view/log-view.h"

#define TEXT_MAX (16 * KiB)

typedef void say_fn(const json_t *j, struct buf *b);

static const char *text(const json_t *j, const char *key)
{
	return log_text(j, key);
}

static void say_argv(const json_t *argv, struct buf *b)
{
	const json_t *v;
	size_t i;

	json_array_foreach (argv, i, v) {
		const char *s = json_string_value(v);

		(void)buf_printf(b, "%s%s", i ? " " : "", s ? s : "?");
	}
}

static void say_start(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s in %s", text(j, "engine"), text(j, "workspace"));
}

static void say_up(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "after %lld ms", log_number(j, "ms"));
}

static void say_why(const json_t *j, struct buf *b)
{
	(void)buf_puts(b, text(j, "why"));
}

static void say_gateway_end(const json_t *j, struct buf *b)
{
	(void)buf_puts(b, text(j, "why"));
	if (log_number(j, "times") > 1)
		(void)buf_printf(b, ", %lld times since the start", log_number(j, "times"));
	(void)buf_puts(b, json_is_true(json_object_get(j, "over"))
				  ? "; it is not started again"
				  : "; the next connection starts it again");
}

static void say_message(const json_t *j, struct buf *b)
{
	(void)buf_puts(b, text(j, "message"));
}

static void say_web_act(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s (session %s of ralph web)", text(j, "command"), text(j, "session"));
}

static void say_exec(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "[%lld] ", log_number(j, "id"));
	say_argv(json_object_get(j, "argv"), b);
}

static void say_exec_end(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "[%lld] exit %lld after %.1f s%s", log_number(j, "id"),
			 log_number(j, "code"), (double)log_number(j, "ms") / 1000,
			 json_is_true(json_object_get(j, "timed_out")) ? ", at its time limit"
								       : "");
}

static void say_exec_failed(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "[%lld] %s", log_number(j, "id"), text(j, "message"));
}

static void say_net(const json_t *j, struct buf *b)
{
	const char *reason = text(j, "reason"), *rule = text(j, "rule"), *host = text(j, "host");
	const char *refused = strstr(reason, " is refused: ");
	long long n = log_number(j, "count");

	(void)buf_printf(b, strchr(host, ':') ? "%s %s [%s]" : "%s %s %s", text(j, "verdict"),
			 text(j, "verb"), host[0] ? host : "(no host)");
	if (log_number(j, "port"))
		(void)buf_printf(b, ":%lld", log_number(j, "port"));
	/* The target was already printed, so the reason starts after it. */
	if (refused)
		reason = refused + strlen(" is refused: ");
	if (text(j, "method")[0] && !streq(text(j, "method"), "CONNECT"))
		(void)buf_printf(b, " %s %s", text(j, "method"), text(j, "path"));
	if (streq(text(j, "phase"), "open"))
		(void)buf_puts(b, " opened");
	if (n > 1)
		(void)buf_printf(b, ", %lld times", n);
	if (event_is_selftest(j))
		(void)buf_puts(b, ", by the self-test");
	if (reason[0])
		(void)buf_printf(b, ": %s", reason);
	else if (rule[0])
		(void)buf_printf(b, " (%s)", rule);
}

static void say_credential(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s %s", text(j, "credential"), text(j, "what"));
	if (text(j, "host")[0])
		(void)buf_printf(b, " for %s %s", text(j, "method"), text(j, "host"));
	if (text(j, "rule")[0])
		(void)buf_printf(b, " by rule %s", text(j, "rule"));
	if (log_number(j, "count") > 1)
		(void)buf_printf(b, ", %lld times", log_number(j, "count"));
	if (text(j, "message")[0])
		(void)buf_printf(b, ": %s", text(j, "message"));
	if (log_number(j, "skipped"))
		(void)buf_printf(b, " (%lld more before it)", log_number(j, "skipped"));
}

static void say_usage(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s: %lld in, %lld out, %lld from cache, %.4f USD", text(j, "model"),
			 log_number(j, "input") + log_number(j, "cache_write"),
			 log_number(j, "output"), log_number(j, "cache_read"),
			 (double)log_number(j, "micro_usd") / 1e6);
	if (json_is_true(json_object_get(j, "reserved")))
		(void)buf_puts(b, ", reserved: the answer did not say what it used");
}

static void say_git(const json_t *j, struct buf *b)
{
	(void)buf_puts(b, text(j, "ref"));
	if (log_number(j, "commits"))
		(void)buf_printf(b, ", %lld commit%s", log_number(j, "commits"),
				 log_number(j, "commits") == 1 ? "" : "s");
	if (streq(text(j, "how"), "rewrite"))
		(void)buf_puts(b, ", rewritten");
	if (text(j, "why")[0])
		(void)buf_printf(b, ": %s", text(j, "why"));
}

static void say_head(const json_t *j, struct buf *b)
{
	(void)buf_puts(b, text(j, "head"));
}

static void say_host_run(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s: %s", text(j, "path"), text(j, "why"));
	if (text(j, "quarantine")[0])
		(void)buf_printf(b, "; in quarantine as %s", text(j, "quarantine"));
	if (text(j, "nested")[0])
		(void)buf_printf(b, "; see: ralph adopt %s", text(j, "nested"));
}

static void say_path(const json_t *j, struct buf *b)
{
	(void)buf_puts(b, text(j, "path"));
}

static void say_log(const json_t *j, struct buf *b)
{
	const json_t *torn = json_object_get(j, "torn"), *head = json_object_get(j, "head");

	(void)buf_puts(b, streq(text(j, "what"), "continued") ? "a new file of this log"
							      : "something is missing before");
	if (torn)
		(void)buf_puts(b, ": half a line was left by a crash");
	if (json_is_object(head))
		(void)buf_printf(b, ": records up to %lld had been written",
				 log_number(head, "seq"));
	if (log_number(j, "missed"))
		(void)buf_printf(b, ": %lld events could not be written", log_number(j, "missed"));
}

static void say_ports(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "localhost:%lld", log_number(j, "host"));
	if (log_number(j, "inside"))
		(void)buf_printf(b, " to port %lld inside", log_number(j, "inside"));
}

static void say_placed(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s on %s%s%s, %s", text(j, "task"), text(j, "node"),
			 text(j, "job")[0] ? ", " : "", text(j, "job"), text(j, "place"));
}

static void say_ask(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%s %s%s%s %s", text(j, "id"), text(j, "kind"),
			 text(j, "kind")[0] && text(j, "what")[0] ? " " : "", text(j, "what"),
			 text(j, "state"));
	if (text(j, "scope")[0])
		(void)buf_printf(b, " (%s)", text(j, "scope"));
	if (text(j, "why")[0] || text(j, "answer")[0])
		(void)buf_printf(b, ": %s%s", text(j, "why"), text(j, "answer"));
}

static void say_loop(const json_t *j, struct buf *b)
{
	(void)buf_printf(b, "%lld: %s", log_number(j, "iteration"), text(j, "verdict"));
	if (text(j, "task")[0])
		(void)buf_printf(b, ", task %s", text(j, "task"));
	if (text(j, "commit")[0])
		(void)buf_printf(b, ", commit %.10s", text(j, "commit"));
	(void)buf_printf(b, ", %.4f USD", (double)log_number(j, "micro_usd") / 1e6);
	if (text(j, "why")[0])
		(void)buf_printf(b, ": %s", text(j, "why"));
}

/* Prints all members in their order, for record types that this file does not know. */
static void say_members(const json_t *j, struct buf *b)
{
	static const char *const known[] = {"seq", "time", "type", "chain", "by", "at_ms"};
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)j, key, v) {
		cleanup_free char *value = NULL;
		bool skip = false;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			skip = skip || streq(key, known[i]);
		if (skip)
			continue;
		value = json_is_string(v) ? xstrdup(json_string_value(v))
					  : json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
		(void)buf_printf(b, "%s%s=%s", b->len ? " " : "", key, value ? value : "?");
	}
}

static const struct {
	const char *type;
	say_fn *say;
	enum term_style style;
} rows[] = {
	{"sandbox-start", say_start, STYLE_NONE},
	{"sandbox-up", say_up, STYLE_NONE},
	{"sandbox-stop", say_why, STYLE_NONE},
	{"sandbox-killed", say_message, STYLE_RED},
	{"exec", say_exec, STYLE_NONE},
	{"exec-end", say_exec_end, STYLE_NONE},
	{"exec-failed", say_exec_failed, STYLE_RED},
	{"net", say_net, STYLE_NONE},
	{"gateway-end", say_gateway_end, STYLE_RED},
	{"credential", say_credential, STYLE_NONE},
	{"usage", say_usage, STYLE_NONE},
	{"budget", say_message, STYLE_RED},
	{"surface", say_host_run, STYLE_YELLOW},
	{"git-import", say_git, STYLE_NONE},
	{"git-held", say_git, STYLE_YELLOW},
	{"git-head", say_head, STYLE_NONE},
	{"git-import-failed", say_message, STYLE_RED},
	{"surface-flood", say_message, STYLE_YELLOW},
	{"protect-again", say_path, STYLE_YELLOW},
	{"port-open", say_ports, STYLE_NONE},
	{"port-close", say_ports, STYLE_NONE},
	{"ask", say_ask, STYLE_CYAN},
	{"placed", say_placed, STYLE_CYAN},
	{"ask-answer", say_ask, STYLE_CYAN},
	{"loop-iteration", say_loop, STYLE_CYAN},
	{"web-act", say_web_act, STYLE_CYAN},
	{"error", say_message, STYLE_RED},
	{"log", say_log, STYLE_YELLOW},
};

char *event_text(const json_t *j)
{
	const char *type = text(j, "type");
	cleanup_buf struct buf b;
	say_fn *say = say_members;

	buf_init(&b, TEXT_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (streq(rows[i].type, type))
			say = rows[i].say;
	say(j, &b);
	return xstrdup(buf_str(&b));
}

bool event_is_selftest(const json_t *j)
{
	return json_is_true(json_object_get(j, "selftest"));
}

bool event_is_refusal(const json_t *j)
{
	const char *type = text(j, "type");

	if (event_is_selftest(j))
		return false;
	return (streq(type, "net") && streq(text(j, "verdict"), "deny")) ||
	       (streq(type, "credential") && streq(text(j, "what"), "refused")) ||
	       streq(type, "budget");
}

enum term_style event_style(const json_t *j)
{
	const char *type = text(j, "type");

	if (event_is_refusal(j))
		return STYLE_RED;
	if (streq(type, "net") && streq(text(j, "verdict"), "error"))
		return STYLE_YELLOW;
	if (streq(type, "log") && streq(text(j, "what"), "continued") &&
	    !json_object_get(j, "head"))
		return STYLE_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (streq(rows[i].type, type))
			return rows[i].style;
	return STYLE_NONE;
}
