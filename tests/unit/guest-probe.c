/*
 * Runs inside a sandbox for test-guest-run.c and says what it was allowed to do: each line of
 * output is "ok" or the name of an errno. Static, so that it needs nothing of the sandbox.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/parse.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *errno_name(int eno)
{
	static const struct {
		int eno;
		const char *name;
	} names[] = {
		{0, "ok"},
		{EPERM, "EPERM"},
		{EACCES, "EACCES"},
		{ENOSYS, "ENOSYS"},
		{EAFNOSUPPORT, "EAFNOSUPPORT"},
		{EPROTONOSUPPORT, "EPROTONOSUPPORT"},
		{ECONNREFUSED, "ECONNREFUSED"},
		{ENOENT, "ENOENT"},
		{EXDEV, "EXDEV"},
	};
	static char other[24];

	for (size_t i = 0; i < COUNT(names); i++)
		if (names[i].eno == eno)
			return names[i].name;
	(void)snprintf(other, sizeof(other), "errno %d", eno);
	return other;
}

static int say(long r)
{
	(void)printf("%s\n", errno_name(r < 0 ? errno : 0));
	return 0;
}

static long number(const char *s)
{
	uint64_t v;

	if (parse_uint(s, 0, UINT64_MAX, &v) < 0)
		exit(99);
	return (long)v;
}

static int do_named(char **a)
{
	static const struct {
		const char *name;
		long nr;
	} calls[] = {
		{"io_uring_setup", SYS_io_uring_setup},
		{"bpf", SYS_bpf},
		{"perf_event_open", SYS_perf_event_open},
		{"userfaultfd", SYS_userfaultfd},
		{"keyctl", SYS_keyctl},
		{"add_key", SYS_add_key},
		{"request_key", SYS_request_key},
		{"mount", SYS_mount},
		{"umount2", SYS_umount2},
		{"move_mount", SYS_move_mount},
		{"open_tree", SYS_open_tree},
		{"fsopen", SYS_fsopen},
		{"fsmount", SYS_fsmount},
		{"pivot_root", SYS_pivot_root},
		{"chroot", SYS_chroot},
		{"setns", SYS_setns},
		{"kexec_load", SYS_kexec_load},
		{"init_module", SYS_init_module},
		{"reboot", SYS_reboot},
		{"swapon", SYS_swapon},
		{"acct", SYS_acct},
		{"open_by_handle_at", SYS_open_by_handle_at},
		{"kcmp", SYS_kcmp},
		{"vhangup", SYS_vhangup},
		{"settimeofday", SYS_settimeofday},
		{"clock_settime", SYS_clock_settime},
		{"syslog", SYS_syslog},
		{"clone3", SYS_clone3},
		{"unknown", 9999},
	};

	for (size_t i = 0; i < COUNT(calls); i++)
		if (strcmp(calls[i].name, a[0]) == 0)
			return say(syscall(calls[i].nr, 0, 0, 0, 0, 0, 0));
	return 99;
}

static int do_socket(char **a)
{
	return say(syscall(SYS_socket, number(a[0]), number(a[1]), number(a[2])));
}

static int do_socketpair(char **a)
{
	int pair[2];

	return say(syscall(SYS_socketpair, number(a[0]), number(a[1]), number(a[2]), pair));
}

static int do_personality(char **a)
{
	return say(personality((unsigned long)number(a[0])));
}

static int do_unshare(char **a)
{
	return say(unshare((int)number(a[0])));
}

static int do_clone(char **a)
{
	long pid = syscall(SYS_clone, number(a[0]) | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return say(pid);
}

/* ioctl on stdin with a request of 64 bits */
static int do_ioctl(char **a)
{
	char c = 'x';

	return say(syscall(SYS_ioctl, 0, number(a[0]), &c));
}

static int do_open(char **a)
{
	static const struct {
		const char *name;
		int flags;
	} modes[] = {{"r", O_RDONLY},
		     {"w", O_WRONLY},
		     {"rw", O_RDWR},
		     {"a", O_WRONLY | O_APPEND},
		     {"wt", O_WRONLY | O_TRUNC},
		     {"c", O_WRONLY | O_CREAT}};

	for (size_t i = 0; i < COUNT(modes); i++)
		if (strcmp(modes[i].name, a[1]) == 0)
			return say(open(a[0], modes[i].flags | O_CLOEXEC, 0600));
	return 99;
}

static int do_truncate(char **a)
{
	return say(truncate(a[0], 0));
}

/* Every descriptor but the one it looks through. */
static int do_fds(char **a)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && number(d->d_name) != dirfd(dir))
			(void)printf("%s ", d->d_name);
	(void)printf("\n");
	return 0;
}

static int do_sizes(char **a)
{
	size_t n = 0, total = 0;

	for (; a[n]; n++)
		total += strlen(a[n]);
	(void)printf("%zu %zu\n", n, total);
	return 0;
}

/* Leaves a grandchild in a session of its own behind, which holds stderr. */
static int do_daemon(char **a)
{
	if (fork() == 0) {
		(void)setsid();
		if (fork() == 0) {
			(void)close(0);
			(void)close(1);
			for (;;)
				(void)pause();
		}
		_exit(0);
	}
	(void)wait(NULL);
	return 5;
}

/* The test lets go of stdin when it knows that we were started. */
static void wait_for_start(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

static int do_killparent(char **a)
{
	wait_for_start();
	(void)do_daemon(a);
	(void)kill(getppid(), (int)number(a[0]));
	if (number(a[0]) == SIGSTOP)
		return 6;
	for (;;)
		(void)pause();
}

static int do_killall(char **a)
{
	(void)signal(SIGTERM, SIG_IGN);
	wait_for_start();
	(void)kill(-1, (int)number(a[0]));
	return 4;
}

#define HYDRA_FORKS 15000 /* the machine's process numbers must not run out if all else fails */

/* Always the same few processes, but never for long: each is replaced by a child of its own. */
static int do_hydra(char **a)
{
	long heads = number(a[0]);
	atomic_long *forks = mmap(NULL, sizeof(*forks), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; i < heads; i++)
		if (fork() == 0) {
			(void)setsid();
			for (;;)
				if (atomic_fetch_add(forks, 1) > HYDRA_FORKS)
					(void)pause();
				else if (fork() > 0)
					_exit(0);
		}
	(void)printf("ready\n");
	(void)fflush(stdout);
	if (strcmp(a[1], "leave") == 0)
		return 3;
	wait_for_start();
	if (strcmp(a[1], "unminded") == 0)
		(void)kill(getppid(), SIGKILL);
	for (;;)
		(void)pause();
}

static int do_kill1(char **a)
{
	return say(kill(1, SIGKILL)) + say(kill(1, SIGSTOP)) + say(kill(1, SIGTERM));
}

static int do_trace(char **a)
{
	return say(ptrace(PTRACE_ATTACH, (pid_t)number(a[0]), 0, 0));
}

static int do_traceparent(char **a)
{
	return say(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}

static int do_tracechild(char **a)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	return say(WIFSTOPPED(status) ? ptrace(PTRACE_CONT, pid, 0, 0) : -1);
}

static int do_connect(char **a)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(a[1]))};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = to.sin_port};
	int is6 = strchr(a[0], ':') != NULL, fd = socket(is6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	char text[64] = "";

	(void)inet_pton(AF_INET, a[0], &to.sin_addr);
	(void)inet_pton(AF_INET6, a[0], &to6.sin6_addr);
	if (connect(fd, is6 ? (void *)&to6 : (void *)&to, is6 ? sizeof(to6) : sizeof(to)) < 0)
		return say(-1);
	(void)!read(fd, text, sizeof(text) - 1);
	(void)printf("%s\n", text);
	return 0;
}

static int do_udp(char **a)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(a[1]))};

	(void)inet_pton(AF_INET, a[0], &to.sin_addr);
	return say(sendto(socket(AF_INET, SOCK_DGRAM, 0), "hello", 5, 0, (void *)&to, sizeof(to)));
}

static int do_bind(char **a)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(a[0]))};

	return say(bind(socket(AF_INET, SOCK_STREAM, 0), (void *)&to, sizeof(to)));
}

static int do_abstract(char **a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t n = strlen(a[0]);

	memcpy(to.sun_path + 1, a[0], n);
	return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&to,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)));
}

static int do_terminal(char **a)
{
	struct winsize w = {0};

	(void)ioctl(0, TIOCGWINSZ, &w);
	(void)printf("tty %d%d%d size %d %d leader %d foreground %d reopen %d\n", isatty(0),
		     isatty(1), isatty(2), w.ws_row, w.ws_col, getpgrp() == getpid(),
		     tcgetpgrp(0) == getpgrp(), open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0);
	(void)fflush(stdout);
	if (a[0])
		for (;;)
			(void)pause();
	return 0;
}

static _Noreturn int do_hold(char **a)
{
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

static int do_foreign(char **a)
{
#ifdef __x86_64__
	if (strcmp(a[0], "x32") == 0)
		(void)syscall(0x40000000 + SYS_getpid);
	else
		__asm__ volatile("int $0x80" : : "a"(20) : "memory");
#endif
	return say(0);
}

static const struct {
	const char *name;
	int (*run)(char **);
} verbs[] = {

	{"named", do_named},
	{"socket", do_socket},
	{"socketpair", do_socketpair},
	{"unshare", do_unshare},
	{"personality", do_personality},
	{"clone", do_clone},
	{"ioctl", do_ioctl},
	{"open", do_open},
	{"truncate", do_truncate},
	{"fds", do_fds},
	{"sizes", do_sizes},
	{"daemon", do_daemon},
	{"killparent", do_killparent},
	{"killall", do_killall},
	{"hydra", do_hydra},
	{"kill1", do_kill1},
	{"trace", do_trace},
	{"traceparent", do_traceparent},
	{"tracechild", do_tracechild},
	{"connect", do_connect},
	{"udp", do_udp},
	{"bind", do_bind},
	{"abstract", do_abstract},
	{"terminal", do_terminal},
	{"hold", do_hold},
	{"foreign", do_foreign},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < COUNT(verbs); i++)
		if (strcmp(verbs[i].name, argv[1]) == 0)
			return verbs[i].run(argv + 2);
	return 99;
}
