#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json/jpick.h"
#include "base/parse.h"
#include "base/path.h"
#include "hook/hook.h"
#include "hook/hook-settings.h"

#define ACTIVE_MAX (4 * KiB)

/* Returns the start time of a process, in the clock ticks of /proc; 0: no such process. */
static uint64_t start_of(uint64_t pid)
{
	cleanup_free char *path = xasprintf("/proc/%llu/stat", (unsigned long long)pid);
	cleanup_buf struct buf b;
	uint64_t start;
	char *p;

	buf_init(&b, ACTIVE_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0)
		return 0;
	/* The name is in brackets and may contain anything; the 22nd field is the 20th after it. */
	p = strrchr(buf_str(&b), ')');
	for (int i = 0; p && i < 20; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return 0;
	p[strcspn(p, " ")] = '\0';
	return parse_uint(p, 1, UINT64_MAX, &start) < 0 ? 0 : start;
}

/* Finds the loop of this workspace in cwd or a parent directory; false: there is none. */
static bool find_active(const char *cwd, uint64_t *pid, uint64_t *start)
{
	static const char *const names[] = {"pid", "start"};
	cleanup_free char *dir = xstrdup(cwd);
	struct jtext v[2];

	for (int up = 0; up < 64; up++) {
		cleanup_free char *path = path_join(dir, ".ralph/active");
		char *parent;
		cleanup_buf struct buf b;

		buf_init(&b, ACTIVE_MAX);
		if (path_read(AT_FDCWD, path, &b) == 0) {
			if (!jpick((struct jtext){b.data, b.len}, names, v, 2))
				return false;
			*pid = jtext_uint(v[0]);
			*start = jtext_uint(v[1]);
			return true;
		}
		if (streq(dir, "/"))
			break;
		parent = path_dir(dir);
		free(dir);
		dir = parent;
	}
	return false;
}

static bool is_inside(void)
{
	char exe[64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return false;
	exe[n] = '\0';
	return streq(exe, HOOK_INSIDE);
}

bool hook_in_loop(const char *cwd)
{
	const char *marker = getenv(HOOK_LOOP_ENV);
	cleanup_free char *token = NULL;
	uint64_t pid, start;

	if (!marker || !*marker)
		return false;
	if (is_inside())
		return true;
	if (!cwd || !find_active(cwd, &pid, &start))
		return false;
	token = hook_loop_token(pid, start);
	return streq(marker, token) && start && start_of(pid) == start;
}
