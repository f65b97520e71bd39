#include "guest/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/fd.h"

#define ROWS_MAX 65535
#define DRAIN_MS 5000 /* for a user who does not read what a command that has ended has written */

int terminal_resize(int fd, uint32_t rows, uint32_t cols)
{
	const struct winsize size = {.ws_row = (unsigned short)rows,
				     .ws_col = (unsigned short)cols};

	if (rows > ROWS_MAX || cols > ROWS_MAX)
		return -EINVAL;
	return ioctl(fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

/* A kernel that has no TIOCGPTPEER has the name; devpts is the sandbox's own in any case. */
static int open_other_end(const struct guest *g, int master, int flags)
{
	int fd = ioctl(master, TIOCGPTPEER, flags), number;
	char name[16];

	if (fd >= 0 || !g->within || ioctl(master, TIOCGPTN, &number) < 0)
		return fd;
	(void)snprintf(name, sizeof(name), "%d", number);
	return openat(g->pts_fd, name, flags | O_NOFOLLOW);
}

int terminal_open(const struct guest *g, uint32_t rows, uint32_t cols, int *ret_master,
		  int *ret_slave, struct err *err)
{
	const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
	cleanup_fd int master = -1, slave = -1;
	int unlock = 0;

	if (g->pts_fd < 0)
		return err_set(err, ENODEV, "the sandbox has no terminals");
	if (rows > ROWS_MAX || cols > ROWS_MAX)
		return err_set(err, EINVAL, "a terminal of %u by %u is too large", rows, cols);
	/* By descriptor: names under /dev are the sandbox's to change, devpts is not. */
	master = openat(g->pts_fd, "ptmx", flags | O_NOFOLLOW);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return err_sys(err, errno, "cannot open a terminal in the sandbox");
	slave = open_other_end(g, master, flags);
	if (slave < 0 || terminal_resize(slave, rows, cols) < 0)
		return err_sys(err, errno, "cannot open a terminal in the sandbox");
	*ret_master = take_fd(master);
	*ret_slave = take_fd(slave);
	return 0;
}

int terminal_make_raw(int fd, struct err *err)
{
	struct termios t;

	if (tcgetattr(fd, &t) < 0)
		return err_sys(err, errno, "cannot read the modes of a terminal");
	cfmakeraw(&t);
	if (tcsetattr(fd, TCSANOW, &t) < 0)
		return err_sys(err, errno, "cannot set the modes of a terminal");
	return 0;
}

int terminal_carry_begin(struct terminal_carry *c, int outside, int inside)
{
	int fd = fcntl(outside, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	c->fds[TERMINAL_OUTSIDE] = fd;
	c->fds[TERMINAL_INSIDE] = inside;
	(void)fd_set_nonblock(fd, true);
	(void)fd_set_nonblock(inside, true);
	c->on = true;
	return 0;
}

void terminal_carry_poll(const struct terminal_carry *c, struct pollfd p[2])
{
	for (int i = 0; i < 2; i++) {
		short events = c->n[i] ? 0 : POLLIN; /* read only when all of it was passed on */

		if (c->n[!i])
			events |= POLLOUT;
		p[i] = (struct pollfd){.fd = c->on && !c->ended[i] ? c->fds[i] : -1,
				       .events = events};
	}
}

/* From side i to the other; false: this direction has ended. */
static bool carry(struct terminal_carry *c, int i)
{
	ssize_t n;

	if (c->n[i] == 0) {
		n = read(c->fds[i], c->bytes[i], sizeof(c->bytes[i]));
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		c->n[i] = (size_t)n;
		c->at[i] = 0;
	}
	n = write(c->fds[!i], c->bytes[i] + c->at[i], c->n[i]);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->at[i] += (size_t)n;
	c->n[i] -= (size_t)n;
	return true;
}

bool terminal_carry_copy(struct terminal_carry *c)
{
	if (!c->on)
		return true;
	/* It ends when no program has it open any more: then there is nothing to wait for. */
	c->ended[TERMINAL_INSIDE] |= !carry(c, TERMINAL_INSIDE);
	return carry(c, TERMINAL_OUTSIDE);
}

void terminal_carry_end(struct terminal_carry *c)
{
	uint64_t deadline = now_ms() + DRAIN_MS;

	while (c->on && now_ms() < deadline) {
		struct pollfd p = {.fd = c->fds[TERMINAL_OUTSIDE], .events = POLLOUT};
		size_t before = c->n[TERMINAL_INSIDE];

		if (!carry(c, TERMINAL_INSIDE) || (before == 0 && c->n[TERMINAL_INSIDE] == 0))
			break;
		(void)poll(&p, 1, 100);
	}
	for (int i = 0; i < 2; i++)
		closep(&c->fds[i]);
	c->on = false;
}
