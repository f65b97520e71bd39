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

unsigned int session_level(const char *session)
{
	cleanup_fd int dir = -1, fd = -1;
	char text[16];
	uint64_t level;
	ssize_t n;

	if (!is_name(session))
		return SESSION_OVER + 1;
	dir = open_dir();
	/* Without a directory nothing is reported, because the report would repeat every time. */
	if (dir < 0)
		return SESSION_OVER + 1;
	fd = path_open_beneath(dir, session, O_RDONLY, 0);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return parse_uint(text, 0, SESSION_OVER, &level) < 0 ? 0 : (unsigned int)level;
}

int session_set_level(const char *session, unsigned int level)
{
	cleanup_fd int dir = -1;
	char text[16];
	int n;

	if (!is_name(session))
		return -EINVAL;
	dir = open_dir();
	if (dir < 0)
		return -EACCES;
	n = snprintf(text, sizeof(text), "%u", level);
	return path_write_atomic(dir, session, text, (size_t)n, 0600, 0);
}
