/*
 * inject PID WHAT [ARGUMENT]: has a running process make one system call, as code that took it over
 * would, and lets it go on as if nothing had happened. Prints "done" where the kernel did it, else
 * "refused". Needs root: ralph's programs cannot be traced by their own user.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__x86_64__)
int main(void)
{
	return 77;
}
#else

enum { TEXT = -1, PID = -2, SYSCALL_LEN = 2, BELOW_THE_STACK = 4096 };

static const struct call {
	const char *name;
	long number;
	long args[6]; /* TEXT: where ARGUMENT was put; PID: ARGUMENT as a number */
} calls[] = {
	{"nothing", SYS_getpid, {0}},
	{"read", SYS_openat, {AT_FDCWD, TEXT, O_RDONLY | O_CLOEXEC}},
	{"write", SYS_openat, {AT_FDCWD, TEXT, O_WRONLY | O_CREAT | O_CLOEXEC, 0600}},
	{"remove", SYS_unlinkat, {AT_FDCWD, TEXT, 0}},
	{"execute", SYS_execve, {TEXT, 0, 0}},
	{"fork", SYS_fork, {0}},
	{"socket", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0}},
	{"connect", SYS_connect, {0, 0, 0}},
	{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}},
	{"netlink", SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}},
	{"signal", SYS_kill, {PID, 0}},
	{"trace", SYS_ptrace, {PTRACE_SEIZE, PID, 0, 0}},
	{"memory", SYS_process_vm_readv, {PID, 0, 0, 0, 0, 0}},
	{"pidfd", SYS_pidfd_open, {PID, 0}},
	{"code",
	 SYS_mmap,
	 {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, 0, 0}},
};

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(2);
}

static const struct call *find(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	errno = EINVAL;
	fail(name);
}

/* Stopped in a system call, the instruction of it is right behind. */
static void stop(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status))
		fail("cannot stop it");
}

static void put_text(pid_t pid, unsigned long at, const char *text)
{
	struct iovec ours = {(void *)(uintptr_t)text, strlen(text) + 1};
	struct iovec theirs = {(void *)at, strlen(text) + 1};

	if (process_vm_writev(pid, &ours, 1, &theirs, 1, 0) < 0)
		fail("cannot write to its stack");
}

static long call(pid_t pid, const struct call *c, const char *argument)
{
	struct user_regs_struct before, r;
	unsigned long text;
	long args[6];
	int status;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &before) < 0)
		fail("cannot read its registers");
	text = (before.rsp - BELOW_THE_STACK) & ~0xful;
	put_text(pid, text, argument);
	for (int i = 0; i < 6; i++)
		args[i] = c->args[i] == TEXT  ? (long)text
			  : c->args[i] == PID ? strtol(argument, NULL, 10)
					      : c->args[i];
	r = before;
	r.rip -= SYSCALL_LEN;
	r.orig_rax = (unsigned long)-1;
	r.rax = (unsigned long)c->number;
	r.rdi = (unsigned long)args[0];
	r.rsi = (unsigned long)args[1];
	r.rdx = (unsigned long)args[2];
	r.r10 = (unsigned long)args[3];
	r.r8 = (unsigned long)args[4];
	r.r9 = (unsigned long)args[5];
	if (ptrace(PTRACE_SETREGS, pid, NULL, &r) < 0 ||
	    ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid)
		fail("cannot have it call");
	if (!WIFSTOPPED(status))
		return -ESRCH; /* the filter ended it */
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0 ||
	    ptrace(PTRACE_SETREGS, pid, NULL, &before) < 0)
		fail("cannot give its registers back");
	return (long)r.rax;
}

int main(int argc, char *argv[])
{
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	const struct call *c = argc > 2 ? find(argv[2]) : NULL;
	long got;

	if (!c)
		return 2;
	stop(pid);
	got = call(pid, c, argc > 3 ? argv[3] : "");
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	(void)puts(got < 0 && got > -4096 ? "refused" : "done");
	return 0;
}
#endif
