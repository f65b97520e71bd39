#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

#include "base/fd.h"
#include "guest/outpost.h"

#define BACKLOG 16

int attach_socket(bool listening)
{
	static const char name[] = "ralph-outpost";
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(name) - 1;
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path + 1, name, sizeof(name) - 1);
	if (fd < 0)
		return -errno;
	if (listening ? bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0
		      : connect(fd, (struct sockaddr *)&sa, len) < 0)
		return -errno;
	return take_fd(fd);
}

static volatile sig_atomic_t resized;

static void on_resize(int sig)
{
	resized = 1;
}

static void pass_size(int terminal)
{
	struct winsize w;

	resized = 0;
	/* The engine tells its own terminal a moment later how large it is. */
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row)
		(void)ioctl(terminal, TIOCSWINSZ, &w);
}

/* Copies one read; false at the end. */
static bool copy(int from, int to)
{
	char piece[16 * 1024];
	ssize_t n = read(from, piece, sizeof(piece));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	return n > 0 && fd_write_all(to, piece, (size_t)n) == 0;
}

/* Until everything of the command is gone: its terminal then has no other end. */
static void copy_terminal(int terminal)
{
	struct pollfd p[] = {{.fd = terminal, .events = POLLIN},
			     {.fd = STDIN_FILENO, .events = POLLIN}};

	pass_size(terminal);
	for (;;) {
		if (resized)
			pass_size(terminal);
		if (poll(p, ARRAY_SIZE(p), -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (p[0].revents && !copy(terminal, STDOUT_FILENO))
			return;
		if (p[1].revents && !copy(STDIN_FILENO, terminal))
			p[1].fd = -1;
	}
}

static void be_terminal(int line)
{
	struct sigaction act = {.sa_handler = on_resize};
	cleanup_wire_msg struct wire_msg m;
	struct termios t;

	wire_msg_init(&m);
	(void)sigaction(SIGWINCH, &act, NULL);
	/* The command has a terminal of its own, which does what terminals do. */
	if (tcgetattr(STDIN_FILENO, &t) == 0) {
		cfmakeraw(&t);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
	}
	if (wire_recv(line, &m) > 0 && m.type == WIRE_SPAWNED && m.n_fds == 1)
		copy_terminal(m.fds[0]);
}

int attach_main(uint32_t id, bool tty)
{
	const int stdio[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	cleanup_fd int line = attach_socket(false), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	if (line < 0 || wire_send(line, WIRE_SPAWN, id, NULL, stdio, tty ? 0 : 3) < 0)
		return EXIT_RALPH;
	if (tty)
		be_terminal(line);
	/*
	 * The streams are the command's alone: a program that waits for their end must not wait for
	 * us.
	 */
	for (int i = 0; i < 3 && !tty; i++)
		(void)dup2(null, i);
	while (wire_recv(line, &m) > 0)
		wire_msg_done(&m);
	return EXIT_OK;
}
