/* Signals as events: base/ev.h. */
#include "base/ev.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int ev_signalfd(const int *signals, size_t n, int *ret, struct err *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		(void)sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, errno, "cannot block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(err, errno, "cannot create a signalfd");
	*ret = fd;
	return 0;
}

int ev_signal_read(int fd)
{
	struct signalfd_siginfo si;

	return read(fd, &si, sizeof(si)) == sizeof(si) ? (int)si.ssi_signo : 0;
}
