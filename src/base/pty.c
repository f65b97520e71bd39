#include "base/pty.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

int pty_open(uint32_t rows, uint32_t cols, int *ret_slave, struct err *err)
{
	const struct winsize ws = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
	cleanup_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return err_sys(err, errno, "cannot make a terminal");
	(void)ioctl(master, TIOCSWINSZ, &ws);
	*ret_slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_slave < 0)
		return err_sys(err, errno, "cannot open a terminal");
	return take_fd(master);
}

int pty_take(void *arg)
{
	return ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0 ? -errno : 0;
}
