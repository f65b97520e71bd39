#include "fuzz.h"

#include <string.h>

#include "base/fd.h"
#include "hook/input.h"
#include "hook/judge.h"
#include "hook/shell/marks.h"

static void judge(const char *text, size_t size)
{
	struct arena a;
	struct judge j;

	arena_init(&a, JUDGE_MEMORY);
	judge_init(&j, &a, "/home/dev/project", "/home/dev");
	if (setjmp(a.out) == 0) {
		char *script = arena_strndup(&a, text, size);

		for (size_t i = 0; i < size; i++)
			script[i] = mark_plain(script[i]);
		judge_script(&j, script, size);
	}
	arena_done(&a);
}

static void read_input(const char *text, size_t size)
{
	cleanup_fd int fd = fd_memfd("input", text, size);
	struct hook_input in;

	if (fd < 0)
		return;
	(void)hook_input_read(fd, &in);
	hook_input_done(&in);
}

/* A command as an agent gives it, or, when it begins as such, the JSON around it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size == 0 || size > 4096)
		return 0;
	if (text[0] == '{' && size > 1 && text[1] == '"')
		read_input(text, size);
	else
		judge(text, size);
	return 0;
}
