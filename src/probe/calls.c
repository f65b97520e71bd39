#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The arguments are such that the kernel itself refuses for another reason: what is EPERM or ENOSYS
 * here was refused by a wall. */
#define BAD ((long)-1)

/* clang-format off */
static const struct call {
	const char *name;
	long nr, args[6];
} calls[] = {
	{"io_uring_setup", SYS_io_uring_setup, {0, 0}}, {"io_uring_enter", SYS_io_uring_enter, {BAD, 0, 0, 0}},
	{"io_uring_register", SYS_io_uring_register, {BAD, 0, 0, 0}},
	{"bpf", SYS_bpf, {99, 0, 0}}, {"perf_event_open", SYS_perf_event_open, {0, 0, BAD, BAD, 0}},
	{"userfaultfd", SYS_userfaultfd, {0x40000000}}, {"fanotify_init", SYS_fanotify_init, {0x40000000, 0}},
	{"add_key", SYS_add_key, {0, 0, 0, 0, 0}}, {"request_key", SYS_request_key, {0, 0, 0, 0}},
	{"keyctl", SYS_keyctl, {0x7fff, 0, 0, 0, 0}},
	{"mount", SYS_mount, {0, 0, 0, 0, 0}}, {"umount2", SYS_umount2, {0, 0}}, {"pivot_root", SYS_pivot_root, {0, 0}},
	{"chroot", SYS_chroot, {0}}, {"open_tree", SYS_open_tree, {BAD, 0, 0}}, {"move_mount", SYS_move_mount, {BAD, 0, BAD, 0, 0}},
	{"fsopen", SYS_fsopen, {0, 0}}, {"fsconfig", SYS_fsconfig, {BAD, 0, 0, 0, 0}}, {"fsmount", SYS_fsmount, {BAD, 0, 0}},
	{"fspick", SYS_fspick, {BAD, 0, 0}}, {"mount_setattr", SYS_mount_setattr, {BAD, 0, 0, 0, 0}},
	{"setns", SYS_setns, {BAD, 0}}, {"open_by_handle_at", SYS_open_by_handle_at, {BAD, 0, 0}},
	{"kexec_load", SYS_kexec_load, {0, 0, 0, 0x7fff}}, {"kexec_file_load", SYS_kexec_file_load, {BAD, BAD, 0, 0, 0x7fff}},
	{"init_module", SYS_init_module, {0, 0, 0}}, {"finit_module", SYS_finit_module, {BAD, 0, 0}},
	{"delete_module", SYS_delete_module, {0, 0}}, {"reboot", SYS_reboot, {0, 0, 0, 0}},
	{"swapon", SYS_swapon, {0, 0}}, {"swapoff", SYS_swapoff, {0}}, {"acct", SYS_acct, {1}},
	{"quotactl", SYS_quotactl, {BAD, 0, 0, 0}}, {"settimeofday", SYS_settimeofday, {1, 1}},
	{"clock_settime", SYS_clock_settime, {99, 0}}, {"clock_adjtime", SYS_clock_adjtime, {99, 0}},
	{"adjtimex", SYS_adjtimex, {0}}, {"iopl", SYS_iopl, {9}}, {"ioperm", SYS_ioperm, {BAD, 1, 1}},
	{"syslog", SYS_syslog, {99, 0, 0}}, {"sethostname", SYS_sethostname, {0, BAD}},
	{"setdomainname", SYS_setdomainname, {0, BAD}}, {"modify_ldt", SYS_modify_ldt, {1, 0, 0}},
	{"kcmp", SYS_kcmp, {0, 0, 99, 0, 0}}, {"move_pages", SYS_move_pages, {0, 1, 0, 0, 0, 0}},
	{"migrate_pages", SYS_migrate_pages, {0, 1, 0, 0}}, {"vmsplice-to-nowhere", SYS_lookup_dcookie, {0, 0, 0}},
	{"clone3", 435, {0, 0}}, {"a call of a later kernel", 1000, {0}},
	{"personality READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}},
	{"personality with high bits", SYS_personality, {(long)0x100000000 | ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC}},
};
/* clang-format on */

static int refused_calls(int argc, char **argv)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const long *a = calls[i].args;

		errno = 0;
		if (syscall(calls[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]) >= 0 ||
		    (errno != EPERM && errno != ENOSYS))
			n += out("%s: %m", calls[i].name);
	}
	return n;
}

static int namespaces(int argc, char **argv)
{
	static const unsigned long flags[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
					      CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
					      CLONE_NEWNET};
	unsigned long high = 1UL << 32;
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		for (int k = 0; k < 4; k++) {
			unsigned long f =
				flags[i] | (k & 1 ? high : 0) | (k & 2 ? CLONE_NEWUSER : 0);
			long pid = syscall(SYS_clone, f | SIGCHLD, 0UL, 0UL, 0UL, 0UL);

			if (pid == 0)
				_exit(0);
			if (pid > 0)
				n += out("clone(%#lx)", f);
			pid = fork();
			if (pid == 0)
				_exit(syscall(SYS_unshare, f) == 0);
			int status = 0;

			if (pid < 0 || waitpid((pid_t)pid, &status, 0) < 0)
				broken("fork");
			if (status)
				n += out("unshare(%#lx)", f);
		}
	}
	return n;
}

/* `typing`: characters pushed into a terminal that was made here, for no harm. The kernel reads 32
 * bits of the request, so whatever else is set must not hide it. */
static int typing(int argc, char **argv)
{
	static const unsigned long requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS};
	char c = '\n';
	int n = 0, fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		broken("/dev/ptmx");
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		for (unsigned long high = 0; high < 4; high++) {
			unsigned long r = requests[i] | (high ? high << (31 + 8 * high) : 0);

			errno = 0;
			if (syscall(SYS_ioctl, fd, r, &c) == 0 || errno != EPERM)
				n += out("ioctl(%#lx): %m", r);
		}
	return n;
}

/* `terminal`: of the user's terminal nothing is to be had, whatever our descriptors are. */
static int terminal(int argc, char **argv)
{
	char c = 'X';
	int n = 0, fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && argc == 0)
		n += out("there is a controlling terminal");
	for (int i = 0; i <= (fd > 2 ? fd : 2); i++) {
		if (isatty(i) && argc == 0)
			n += out("descriptor %d is a terminal", i);
		if (syscall(SYS_ioctl, i, TIOCSTI, &c) == 0 ||
		    syscall(SYS_ioctl, i, (unsigned long)TIOCSTI | 1UL << 32, &c) == 0)
			n += out("typed into descriptor %d", i);
	}
	return n;
}

static int dies_of_sigsys(void (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		call();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		broken("fork");
	/* SIGSEGV: the kernel was built without that table. */
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV);
}

#ifdef __x86_64__
static void call_i386(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
}

static void call_x32(void)
{
	long r = syscall(0x40000000 | SYS_getpid);

	if (r < 0)
		_exit(errno == ENOSYS ? 3 : 0);
}
#endif

static int foreign_abis(int argc, char **argv)
{
	int n = 0;

#ifdef __x86_64__
	if (!dies_of_sigsys(call_i386))
		n += out("a call of i386");
	if (!dies_of_sigsys(call_x32))
		n += out("a call of x32");
#else
	(void)dies_of_sigsys;
#endif
	return n;
}

const struct attack call_attacks[] = {
	{"refused-calls", refused_calls}, {"namespaces", namespaces},	  {"typing", typing},
	{"terminal", terminal},		  {"foreign-abis", foreign_abis}, {0},
};
