#include "engine/freeze.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static int wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static int enter(pid_t init)
{
	char path[64];
	cleanup_fd int pids = -1, user = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)init);
	pids = open(path, O_RDONLY | O_CLOEXEC);
	user = pids < 0 ? -1 : ioctl(pids, NS_GET_USERNS);
	if (pids < 0 || user < 0)
		return -errno;
	/* Who is in that user namespace already cannot enter it, and need not. */
	if (setns(user, CLONE_NEWUSER) < 0 && errno != EINVAL)
		return -errno;
	return setns(pids, CLONE_NEWPID) < 0 ? -errno : 0;
}

/* The kernel signals all of them under one lock: none is born in between. */
static int signal_all(int sig)
{
	pid_t child = fork(); /* a process enters a pid namespace by its children */

	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(kill(-1, sig) < 0 && errno != ESRCH ? errno : 0);
	return wait_for(child);
}

int freeze_by_signals(pid_t init, bool on, struct err *err)
{
	pid_t child;
	int r;

	if (init <= 0)
		return err_set(err, ESRCH, "the sandbox is not up");
	child = fork();
	if (child < 0)
		return err_sys(err, errno, "cannot fork");
	if (child == 0) {
		r = enter(init);
		_exit(-(r < 0 ? r : signal_all(on ? SIGSTOP : SIGCONT)));
	}
	r = wait_for(child);
	return r < 0 ? err_sys(err, -r, "cannot %s the sandbox", on ? "freeze" : "thaw") : 0;
}
