#include "cli/terminal/setup-token.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/pty.h"

extern char **environ;

#define PREFIX "sk-ant-oat01-"
#define TOKEN_MIN 20	   /* behind the prefix */
#define SEEN_MAX (4 * MiB) /* of what it draws; the token comes last */
#define COLUMNS_MIN 200	   /* so that the token is on one line */

/* Returns the length of the escape sequence at p. */
static size_t escape_len(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 2)
		return n;
	if (p[1] == '[') {
		while (i < n && (p[i] < 0x40 || p[i] > 0x7e))
			i++;
		return i < n ? i + 1 : n;
	}
	if (p[1] == ']') {
		while (i < n && p[i] != '\a' && p[i] != '\033')
			i++;
		return i < n ? i + 1 : n;
	}
	return 2;
}

static char *strip(const char *text, size_t n)
{
	char *plain = xmalloc(n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n;) {
		if (text[i] == '\033') {
			i += escape_len(text + i, n - i);
			continue;
		}
		if (text[i])
			plain[len++] = text[i];
		i++;
	}
	plain[len] = '\0';
	return plain;
}

char *setup_token_find(const char *text, size_t n)
{
	char *plain = strip(text, n), *ret = NULL;

	for (const char *at = plain; (at = strstr(at, PREFIX)); at += strlen(PREFIX)) {
		size_t len = strlen(PREFIX);

		while (isalnum((unsigned char)at[len]) || at[len] == '-' || at[len] == '_')
			len++;
		if (len < strlen(PREFIX) + TOKEN_MIN)
			continue;
		free(ret);
		ret = xstrndup(at, len);
	}
	explicit_bzero(plain, strlen(plain));
	free(plain);
	return ret;
}

/* Wide enough that what is printed comes in one line. */
static int open_terminal(int *ret_slave, struct err *err)
{
	struct winsize size = {.ws_row = 24, .ws_col = COLUMNS_MIN};

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return pty_open(size.ws_row, size.ws_col < COLUMNS_MIN ? COLUMNS_MIN : size.ws_col,
			ret_slave, err);
}

static int start(int slave, struct child *ret, struct err *err)
{
	char *argv[] = {(char *)"claude", (char *)"setup-token", NULL};
	struct run run = RUN_INIT;
	int r;

	run.argv = argv;
	run.env = environ;
	run.stdio[0] = run.stdio[1] = run.stdio[2] = slave;
	run.flags = RUN_SEARCH_PATH | RUN_NEW_SESSION | RUN_DIE_WITH_US;
	run.before_exec = pty_take;
	r = run_start(&run, ret, err);
	if (r == -ENOENT)
		return err_set(err, ENOENT,
			       "there is no 'claude' on your PATH; install Claude Code, or give a "
			       "token on stdin: ralph store-token < FILE");
	return r;
}

/* Between the user's terminal and the program's, until the program has ended. */
static void relay(int master, struct buf *seen)
{
	struct pollfd p[2] = {{.fd = master, .events = POLLIN},
			      {.fd = STDIN_FILENO, .events = POLLIN}};
	char chunk[4096];

	for (;;) {
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[1].revents) {
			n = read(STDIN_FILENO, chunk, sizeof(chunk));
			if (n <= 0 || fd_write_all(master, chunk, (size_t)n) < 0)
				p[1].fd = -1;
		}
		if (!p[0].revents)
			continue;
		n = read(master, chunk, sizeof(chunk));
		if (n <= 0)
			return;
		(void)fd_write_all(STDOUT_FILENO, chunk, (size_t)n);
		/* The end is what counts. */
		if ((size_t)n > buf_room(seen))
			buf_consume(seen, seen->len / 2);
		(void)buf_append(seen, chunk, (size_t)n);
		explicit_bzero(chunk, (size_t)n);
	}
}

int setup_token(char **ret, struct err *err)
{
	cleanup_(child_done) struct child child = {.pid = -1, .pidfd = -1};
	cleanup_fd int slave = -1, master = open_terminal(&slave, err);
	struct termios saved, raw;
	struct buf seen;
	int r;

	if (master < 0)
		return master;
	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return err_sys(err, errno, "cannot look at the terminal");
	r = start(slave, &child, err);
	if (r < 0)
		return r;
	closep(&slave);
	buf_init(&seen, SEEN_MAX);
	raw = saved;
	cfmakeraw(&raw);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	relay(master, &seen);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	r = run_wait(&child);
	*ret = setup_token_find(seen.data ? seen.data : "", seen.len);
	if (seen.data)
		explicit_bzero(seen.data, seen.cap);
	buf_done(&seen);
	if (*ret)
		return 0;
	return err_set(err, EIO, "claude setup-token gave no token (it exited with %d)", r);
}
