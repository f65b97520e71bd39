/* libexec/ralph/hook VERB: reads an agent's question on stdin; the answer is the exit code and a
 * line of text. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "hook/hook.h"
#include "hook/hook-settings.h"

static const struct {
	const char *verb;
	int (*run)(const struct hook_input *in, int read_error);
} verbs[] = {
	{"pre-tool-use", hook_pre_tool_use},
	{"post-tool-use", hook_post_tool_use},
	{"stop", hook_stop},
	{"pre-compact", hook_pre_compact},
};

void hook_say(const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
	line[n] = '\n';
	(void)fd_write_all(STDERR_FILENO, "ralph: ", 7);
	(void)fd_write_all(STDERR_FILENO, line, (size_t)n + 1);
}

/* Prints the settings for `claude --settings "$(ralph hook settings)"`. */
static int print_settings(void)
{
	cleanup_buf struct buf b;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	buf_init(&b, 64 * KiB);
	if (n <= 0)
		return EXIT_RUNTIME;
	self[n] = '\0';
	if (hook_settings_document(&b, HOOK_SET_DIRECT, self) < 0 || buf_putc(&b, '\n') < 0)
		return EXIT_RUNTIME;
	return fd_write_all(STDOUT_FILENO, b.data, b.len) < 0 ? EXIT_RUNTIME : EXIT_OK;
}

int main(int argc, char **argv)
{
	if (argc == 2 && streq(argv[1], "settings"))
		return print_settings();
	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(verbs); i++) {
		struct hook_input in;
		int r, code;

		if (!streq(argv[1], verbs[i].verb))
			continue;
		r = hook_input_read(STDIN_FILENO, &in);
		code = verbs[i].run(&in, r);
		hook_input_done(&in);
		return code;
	}
	hook_say("usage: ralph hook pre-tool-use|post-tool-use|stop|pre-compact|settings");
	/* For an agent's hook this code blocks the tool; for a person it is a usage error. Both
	 * have the same number. */
	return HOOK_EXIT_BLOCK;
}
