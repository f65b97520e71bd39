#include "hook/hook-settings.h"

#include <string.h>

#include "base/json/jscan.h"

struct wired {
	const char *event, *matcher, *verb;
	bool judges; /* only without a sandbox; without its answer the tool does not run */
};

/* clang-format off */
static const struct wired wired[] = {
	{"PreToolUse",  "*",  "pre-tool-use",  true},
	{"PostToolUse", "*",  "post-tool-use", false},
	{"Stop",        NULL, "stop",          false},
	{"PreCompact",  NULL, "pre-compact",   false},
};
/* clang-format on */

#define TIMEOUT_S 30

char *hook_loop_token(uint64_t pid, uint64_t start)
{
	return xasprintf("%llu-%llu", (unsigned long long)pid, (unsigned long long)start);
}

/* Agents pass the command to a shell. */
static char *command_of(const char *program, const char *verb)
{
	cleanup_buf struct buf b;

	buf_init(&b, 8 * KiB);
	(void)buf_putc(&b, '\'');
	for (const char *p = program; *p; p++)
		(void)(*p == '\'' ? buf_puts(&b, "'\\''") : buf_putc(&b, *p));
	(void)buf_printf(&b, "' %s", verb);
	return b.full ? NULL : buf_take(&b);
}

static int put_event(struct buf *to, const struct wired *w, const char *program)
{
	cleanup_free char *command = command_of(program, w->verb);

	if (!command)
		return -ENAMETOOLONG;
	(void)buf_put_quoted(to, w->event);
	(void)buf_puts(to, ":[{");
	if (w->matcher)
		(void)buf_printf(to, "\"matcher\":\"%s\",", w->matcher);
	(void)buf_puts(to, "\"hooks\":[{\"type\":\"command\",\"command\":");
	(void)buf_put_quoted(to, command);
	(void)buf_printf(to, ",\"timeout\":%d%s}]}]", TIMEOUT_S,
			 w->judges ? ",\"onFailure\":\"block\"" : "");
	return to->full ? -ENOBUFS : 0;
}

int hook_settings(struct buf *to, enum hook_set set, const char *program)
{
	bool first = true;
	int r = 0;

	(void)buf_putc(to, '{');
	for (size_t i = 0; i < ARRAY_SIZE(wired) && r == 0; i++) {
		if (wired[i].judges && set != HOOK_SET_DIRECT)
			continue;
		if (!first)
			(void)buf_putc(to, ',');
		first = false;
		r = put_event(to, &wired[i], program);
	}
	return r < 0 ? r : buf_putc(to, '}');
}

int hook_settings_document(struct buf *to, enum hook_set set, const char *program)
{
	int r;

	(void)buf_puts(to, "{\"hooks\":");
	r = hook_settings(to, set, program);
	return r < 0 ? r : buf_putc(to, '}');
}

/* The text is scanned token by token, because a name may be written with escapes. */
bool hook_settings_disabled(const char *text, size_t len)
{
	enum jscan_token t;
	struct jscan j;

	jscan_init(&j);
	jscan_feed(&j, text, len);
	if (jscan_next(&j) != JSCAN_OBJECT)
		return true;
	while ((t = jscan_next(&j)) == JSCAN_KEY) {
		if (!jscan_is(&j, "disableAllHooks")) {
			jscan_skip(&j);
			t = jscan_next(&j);
			if (t == JSCAN_SKIPPED)
				continue;
			return true;
		}
		if (jscan_next(&j) != JSCAN_FALSE)
			return true;
	}
	return t != JSCAN_OBJECT_END;
}
