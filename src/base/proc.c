#include "base/proc.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <stdint.h>
#include <signal.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

void run_keep(struct run *run, int fd)
{
	if (run->n_keep >= RUN_KEEP_MAX)
		abort(); /* our own table is too small, no input decides this */
	run->keep[run->n_keep++] = fd;
}

/*
 * By the system call itself: the C library keeps two signals for its own use and leaves them as
 * they were, which may be ignored (GNU make starts its children so).
 */
static void reset_signals(void)
{
	static const unsigned long default_action[4]; /* the kernel's struct: handler, flags, … */
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, default_action, NULL, 8);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * stdio[] may name descriptors among 0..2 in any order: each is first copied above all that
 * matters, then put in place.
 */
static int place_stdio(const int stdio[3])
{
	int src[3];

	for (int i = 0; i < 3; i++) {
		int fd = stdio[i];

		if (fd < 0)
			fd = open("/dev/null", i == 0 ? O_RDONLY : O_WRONLY);
		src[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (src[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(src[i], i) < 0)
			return -errno;
	return 0;
}

/* Marks everything close-on-exec and then clears the mark where the caller said so. */
static int place_fds(const struct run *run)
{
	int r = place_stdio(run->stdio);

	if (r < 0)
		return r;
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (size_t i = 0; i < run->n_keep; i++) {
		r = fd_set_cloexec(run->keep[i], false);
		if (r < 0)
			return r;
	}
	return 0;
}

static int prepare_child(const struct run *run, pid_t parent)
{
	int r;

	reset_signals();
	if (run->flags & RUN_DIE_WITH_US) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			return -errno;
		if (getppid() != parent)
			return -ESRCH;
	}
	if ((run->flags & RUN_NEW_SESSION) && setsid() < 0)
		return -errno;
	if (run->dir && chdir(run->dir) < 0)
		return -errno;
	r = place_fds(run);
	if (r < 0)
		return r;
	return run->before_exec ? run->before_exec(run->arg) : 0;
}

int run_become(const struct run *run)
{
	return prepare_child(run, getppid());
}

/*
 * DOC: Theory of operation
 *
 * The child shares our memory until it execs, and we stand still meanwhile, as posix_spawn() does
 * it: copying page tables and faulting them in again costs more than the rest of a short start.
 * So it runs on a stack of its own, calls async-signal-safe functions only, with all our signals
 * blocked until it has reset its handlers, and leaves its -errno in `result` when it fails. With
 * into_cgroup it is a copy instead (glibc has no way to give clone3() a stack), and sees `result`
 * because that page is shared.
 */
#define SPAWN_STACK (64 * KiB)

struct spawn {
	const struct run *run;
	pid_t parent;
	int result;
	char stack[SPAWN_STACK] __attribute__((aligned(16)));
};

static int child_main(void *arg)
{
	static char *const no_env[] = {NULL};
	struct spawn *s = arg;
	const struct run *run = s->run;
	char *const *env = run->env ? run->env : no_env;
	int r = prepare_child(run, s->parent);

	if (r == 0) {
		if (run->flags & RUN_SEARCH_PATH)
			(void)execvpe(run->argv[0], run->argv, env);
		else
			(void)execve(run->argv[0], run->argv, env);
		r = -errno;
	}
	s->result = r;
	_exit(127);
}

static pid_t spawn_copy(struct spawn *s)
{
	struct clone_args args = {
		.flags = CLONE_VFORK | (s->run->into_cgroup < 0 ? 0 : CLONE_INTO_CGROUP),
		.exit_signal = SIGCHLD,
		.cgroup = s->run->into_cgroup < 0 ? 0 : (uint64_t)s->run->into_cgroup,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		(void)child_main(s);
	return pid;
}

static pid_t spawn(struct spawn *s)
{
#ifdef __SANITIZE_ADDRESS__
	return spawn_copy(s); /* a second stack in our memory is not what it expects */
#else
	if (s->run->into_cgroup >= 0)
		return spawn_copy(s);
	return clone(child_main, s->stack + sizeof(s->stack), CLONE_VM | CLONE_VFORK | SIGCHLD, s);
#endif
}

static pid_t spawn_blocked(struct spawn *s)
{
	sigset_t all, old;
	pid_t pid;
	int eno;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid = spawn(s);
	eno = errno;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	errno = eno;
	return pid;
}

static int finish_start(const struct run *run, pid_t pid, int result, struct child *ret,
			struct err *err)
{
	int r = result, pidfd = -1;

	if (r == 0) {
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		r = pidfd < 0 ? -errno : 0;
	}
	if (r < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return err_sys(err, -r, "cannot run '%s'", run->argv[0]);
	}
	ret->pid = pid;
	ret->pidfd = pidfd;
	return 0;
}

int run_start(const struct run *run, struct child *ret, struct err *err)
{
	struct spawn *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int r;

	if (s == MAP_FAILED)
		return err_sys(err, errno, "cannot get memory for a child");
	s->run = run;
	s->parent = getpid();
	pid = spawn_blocked(s);
	r = pid < 0 ? err_sys(err, errno, "cannot fork")
		    : finish_start(run, pid, s->result, ret, err);
	(void)munmap(s, sizeof(*s));
	return r;
}

int run_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

int run_wait(struct child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			break;
	closep(&child->pidfd);
	child->pid = -1;
	return run_status(status);
}

void child_kill(struct child *child, int sig)
{
	if (child->pid > 0)
		(void)syscall(SYS_pidfd_send_signal, child->pidfd, sig, NULL, 0);
}

void child_done(struct child *child)
{
	if (child->pid <= 0)
		return;
	child_kill(child, SIGKILL);
	(void)run_wait(child);
}
