#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "hook/hook.h"

#define NAME_MAX_LEN 64

/* Opens a directory that belongs to this user only; -1: there is none. */
static int open_dir(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	cleanup_free char *path = NULL;
	struct err err = {0};

	path = runtime && *runtime == '/' ? path_join(runtime, "ralph-hook")
					  : xasprintf("/tmp/ralph-hook-%u", geteuid());
	if (path_private_dir(path, &err) < 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The agent chooses the session name; a name with other characters gets no file. */
static bool is_name(const char *session)
{
	size_t n = session ? strlen(session) : 0;

	if (n == 0 || n > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)session[i]) && session[i] != '-' && session[i] != '_')
			return false;
	return true;
}

/* Without a directory nothing is reported, because the report would repeat every time: `none`. */
static uint64_t read_number(const char *session, const char *suffix, uint64_t max, uint64_t none)
{
	cleanup_free char *name = is_name(session) ? xasprintf("%s%s", session, suffix) : NULL;
	cleanup_fd int dir = name ? open_dir() : -1, fd = -1;
	char text[32];
	uint64_t v;
	ssize_t n;

	if (dir < 0)
		return none;
	fd = path_open_beneath(dir, name, O_RDONLY, 0);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return parse_uint(text, 0, max, &v) < 0 ? 0 : v;
}

static int write_number(const char *session, const char *suffix, uint64_t v)
{
	cleanup_free char *name = is_name(session) ? xasprintf("%s%s", session, suffix) : NULL;
	cleanup_fd int dir = -1;
	char text[32];
	int n;

	if (!name)
		return -EINVAL;
	dir = open_dir();
	if (dir < 0)
		return -EACCES;
	n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return path_write_atomic(dir, name, text, (size_t)n, 0600, 0);
}

unsigned int session_level(const char *session)
{
	return (unsigned int)read_number(session, "", SESSION_OVER, SESSION_OVER + 1);
}

int session_set_level(const char *session, unsigned int level)
{
	return write_number(session, "", level);
}

uint64_t session_refused(const char *session)
{
	return read_number(session, ".refused", INT64_MAX, INT64_MAX);
}

int session_set_refused(const char *session, uint64_t number)
{
	return write_number(session, ".refused", number);
}
