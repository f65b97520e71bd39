/* Things that an agent needs. An "attack" in this file gets out when the thing does not work. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "probe/probe.h"

static bool is_installed(const char *name)
{
	const char *path = getenv("PATH");

	for (path = path ? path : ""; *path;) {
		size_t n = strcspn(path, ":");
		char file[4096];

		(void)snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name);
		if (n && faccessat(AT_FDCWD, file, X_OK, 0) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* `script PROGRAM TEXT`: a shell's script in a directory of its own; PROGRAM is what it is about.
 */
static int script(int argc, char **argv)
{
	char dir[] = "/tmp/.probe-XXXXXX";
	int status;
	pid_t pid;

	if (!is_installed(argv[0]))
		_exit(PROBE_ABSENT);
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return out("a directory in /tmp: %m");
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		(void)dup2(null, STDIN_FILENO);
		(void)execl("/bin/sh", "sh", "-ec", argv[1], (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return out("a process: %m");
	(void)chdir("/");
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return WIFEXITED(status) ? out("exit %d", WEXITSTATUS(status))
				 : out("signal %d", WTERMSIG(status));
}

/* `writable DIR…`: leaves nothing there, not even for a moment where the file system can. */
static int writable(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++) {
		cleanup_fd int fd = open(argv[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (fd < 0 && errno != EROFS && errno != EACCES) {
			cleanup_free char *path = xasprintf("%s/.probe-XXXXXX", argv[i]);

			fd = mkostemp(path, O_CLOEXEC);
			if (fd >= 0)
				(void)unlink(path);
		}
		if (fd < 0 || write(fd, "x", 1) != 1)
			n += out("'%s' cannot be written: %m", argv[i]);
	}
	return n;
}

static int on_terminal(int slave, bool no_tty)
{
	struct winsize size = {.ws_row = 30, .ws_col = 100};

	if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return 1;
	if (ioctl(slave, TIOCSWINSZ, &size) < 0 || !isatty(slave))
		return 2;
	if (!no_tty && open("/dev/tty", O_RDWR | O_CLOEXEC) < 0)
		return 3;
	return write(slave, "ok", 2) == 2 ? 0 : 4;
}

/* `terminals [no-tty]`: a new one can be made, and be a process's own. */
static int terminals(int argc, char **argv)
{
	cleanup_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
	char name[64], text[3] = "";
	int status = 0;
	pid_t pid;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0)
		return out("a terminal: %m");
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return out("%s: %m", name);
	pid = fork();
	if (pid == 0)
		_exit(on_terminal(slave, argc > 0));
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		return out("a session on a terminal (%d)", status >> 8);
	return read(master, text, 2) == 2 && streq(text, "ok") ? 0 : out("its output: %m");
}

/* `loopback`: servers inside can be reached inside. */
static int loopback(int argc, char **argv)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	cleanup_fd int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
		       client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), peer = -1;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(server, (struct sockaddr *)&sa, len) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&sa, &len) < 0 ||
	    connect(client, (struct sockaddr *)&sa, len) < 0)
		return out("a server on 127.0.0.1: %m");
	peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	return peer < 0 ? out("accept: %m") : 0;
}

const struct attack works[] = {
	{"script", script},
	{"writable", writable},
	{"terminals", terminals},
	{"loopback", loopback},
	{0},
};
