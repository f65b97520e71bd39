/*
 * Writes the guest's system call filters as C arrays, at build time: the guest itself carries
 * only the finished programs.
 *
 * Two filters, because the kernel then joins them by the stricter answer:
 *   seccomp_calls      which calls exist in a sandbox: ALLOWED is allowed, DANGEROUS gives EPERM,
 *                      and everything else, calls of later kernels too, ENOSYS, so that programs
 *                      use what they used before that call was made.
 *   seccomp_arguments  of the allowed calls, those that depend on an argument.
 * And the same two for a program that makes walls of its own for a sandbox with its own kernel:
 *   seccomp_kernel_calls, seccomp_kernel_arguments  mounts, roots and namespaces are allowed in addition.
 * A call through a foreign ABI (i386, x32 on x86-64; arm on aarch64) ends the process.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/filter.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* clang-format off */
static const char *const allowed[] = {
	/* files: opening, reading, writing, mapping; what may be opened is the mounts' business */
	"open", "openat", "openat2", "creat", "close", "close_range", "read", "write", "readv", "writev", "pread64", "pwrite64",
	"preadv", "pwritev", "preadv2", "pwritev2", "lseek", "sendfile", "splice", "tee", "vmsplice", "copy_file_range",
	"fallocate", "ftruncate", "truncate", "fadvise64", "readahead", "sync", "syncfs", "fsync", "fdatasync",
	"sync_file_range", "flock", "fcntl", "dup", "dup2", "dup3", "ioctl", "memfd_create", "memfd_secret",
	/* names and attributes */
	"stat", "fstat", "lstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink",
	"readlinkat", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "rename", "renameat", "renameat2", "mkdir",
	"mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "mknod", "mknodat", "chmod",
	"fchmod", "fchmodat", "chown", "fchown", "fchownat", "lchown", "utime", "utimes", "utimensat", "futimesat", "umask",
	"getxattr", "lgetxattr", "fgetxattr", "setxattr", "lsetxattr", "fsetxattr", "listxattr", "llistxattr", "flistxattr",
	"removexattr", "lremovexattr", "fremovexattr", "name_to_handle_at",
	/* watching files */
	"inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
	/* memory; memory policy for runtimes that place their heaps */
	"brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "process_madvise", "mincore", "msync", "mlock", "mlock2",
	"munlock", "mlockall", "munlockall", "remap_file_pages", "membarrier", "pkey_alloc", "pkey_free", "pkey_mprotect",
	"get_mempolicy", "set_mempolicy", "set_mempolicy_home_node", "mbind",
	/* processes: clone only without new namespaces (below), clone3 is left out because a filter
	   cannot see its flags; C libraries fall back on ENOSYS */
	"clone", "fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "unshare", "kill", "tkill",
	"tgkill", "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "process_mrelease", "getpid", "getppid", "gettid",
	"getpgid", "getpgrp", "setpgid", "getsid", "setsid", "prctl", "arch_prctl", "set_tid_address",
	"set_robust_list", "get_robust_list", "rseq", "set_thread_area", "get_thread_area",
	/* debugging: the kernel allows it on one's own; pid 1 and minders cannot be attached to */
	"ptrace", "process_vm_readv", "process_vm_writev",
	/* identity: without capabilities these only go between ids one has */
	"getuid", "geteuid", "getresuid", "getgid", "getegid", "getresgid", "getgroups", "setuid", "setgid", "setreuid",
	"setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid", "capget", "capset",
	/* signals */
	"rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigreturn",
	"rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "signalfd", "signalfd4", "pause", "alarm", "restart_syscall",
	/* time: reading clocks, timers, sleeping */
	"time", "gettimeofday", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "times", "getitimer",
	"setitimer", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create",
	"timerfd_gettime", "timerfd_settime",
	/* waiting and locking */
	"poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"epoll_pwait2", "eventfd", "eventfd2", "futex", "futex_waitv", "pipe", "pipe2", "io_setup", "io_submit", "io_cancel",
	"io_getevents", "io_pgetevents", "io_destroy",
	/* sockets: families and types below */
	"socket", "socketpair", "bind", "listen", "accept", "accept4", "connect", "getsockname", "getpeername", "getsockopt",
	"setsockopt", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "shutdown",
	/* System V and POSIX IPC: the namespace is the sandbox's own */
	"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
	"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	/* scheduling and limits */
	"sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_setparam", "sched_getscheduler",
	"sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "sched_getattr",
	"sched_setattr", "getpriority", "setpriority", "ioprio_get", "ioprio_set", "getrlimit", "setrlimit", "prlimit64",
	"getrusage", "getcpu",
	/* about the system */
	"uname", "sysinfo", "getrandom",
	/* sandboxes of one's own: these only take away */
	"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
};

/* In addition, for a program that makes a kernel's walls, in the namespaces that it has anyway. */
static const char *const walls[] = {"mount", "umount2", "pivot_root", "chroot"};

/* Known, and refused in a way that says so. */
static const char *const dangerous[] = {
	/* interfaces with much kernel behind them and few honest users in here */
	"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "fanotify_init",
	"fanotify_mark", "modify_ldt", "kcmp", "lookup_dcookie",
	/* key rings are not in a namespace of their own */
	"add_key", "request_key", "keyctl",
	/* mounts, roots, namespaces */
	"mount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "pivot_root",
	"chroot", "setns",
	/* files by number, around every directory above them */
	"open_by_handle_at",
	/* the machine: kernel, modules, power, swap, accounting, clocks, ports, log */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module",
	"get_kernel_syms", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday", "stime",
	"clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "iopl", "ioperm", "syslog",
	"vhangup", "sethostname", "setdomainname", "nfsservctl", "move_pages", "migrate_pages",
};
/* clang-format on */

#define ALL 0xffffffffu

static struct scmp_arg_cmp arg(unsigned n, enum scmp_compare op, uint64_t a, uint64_t b)
{
	return (struct scmp_arg_cmp){.arg = n, .op = op, .datum_a = a, .datum_b = b};
}

static void die(const char *what, int r)
{
	(void)fprintf(stderr, "seccomp-gen: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void must(int r, const char *what)
{
	if (r < 0)
		die(what, r);
}

static scmp_filter_ctx new_filter(uint32_t action, uint32_t arch)
{
	scmp_filter_ctx ctx = seccomp_init(action);

	if (!ctx)
		die("seccomp_init", -ENOMEM);
	if (arch != seccomp_arch_native()) {
		must(seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE), "remove native");
		must(seccomp_arch_add(ctx, arch), "add architecture");
	}
	must(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "bad arch");
	/* A binary tree: with hundreds of calls a list would be walked at each of them. */
	must(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
	return ctx;
}

/* Calls this architecture or this libseccomp does not have need no rule: they give ENOSYS. */
static void add_names(scmp_filter_ctx ctx, uint32_t action, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr >= 0)
			must(seccomp_rule_add(ctx, action, nr, 0), names[i]);
	}
}

/* Allowed with these values only, and otherwise a call that does not exist. */
static void personality_rules(scmp_filter_ctx ctx)
{
	/* Nothing, a 32-bit uname, its 2.6 disguise, no address randomisation (debuggers), and the
	 * question what it is now; what makes memory executable is not among them. */
	static const unsigned personalities[] = {
		0, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32, ADDR_NO_RANDOMIZE, ALL};

	for (size_t i = 0; i < COUNT(personalities); i++)
		must(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1,
				      arg(0, SCMP_CMP_EQ, personalities[i], 0)),
		     "personality");
}

static void deny(scmp_filter_ctx ctx, int eno, int call, unsigned n, const struct scmp_arg_cmp *cmp)
{
	must(seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint16_t)eno), call, n, cmp), "rule");
}

static void deny1(scmp_filter_ctx ctx, int eno, int call, struct scmp_arg_cmp a)
{
	deny(ctx, eno, call, 1, &a);
}

/*
 * Numbers the kernel takes as an int are compared in all 64 bits by "greater than": whatever is
 * in the upper half makes them greater, so it can hide nothing.
 */
static void deny_all_but(scmp_filter_ctx ctx, int eno, int call, struct scmp_arg_cmp *cmp,
			 unsigned n, const unsigned *keep, size_t n_keep)
{
	unsigned last = keep[n_keep - 1];

	for (unsigned v = 0, k = 0; v < last; v++) {
		if (v == keep[k]) {
			k++;
			continue;
		}
		cmp[n - 1].op = SCMP_CMP_EQ;
		cmp[n - 1].datum_a = v;
		deny(ctx, eno, call, n, cmp);
	}
	cmp[n - 1].op = SCMP_CMP_GT;
	cmp[n - 1].datum_a = last;
	deny(ctx, eno, call, n, cmp);
}

static void deny_type(scmp_filter_ctx ctx, int call, unsigned family, const unsigned *keep,
		      size_t n_keep)
{
	/* The kernel takes the low four bits as the type; the rest are flags. */
	for (unsigned type = 0, k = 0; type < 16; type++) {
		const struct scmp_arg_cmp cmp[] = {arg(0, SCMP_CMP_EQ, family, 0),
						   arg(1, SCMP_CMP_MASKED_EQ, 0xf, type)};

		if (k < n_keep && type == keep[k])
			k++;
		else
			deny(ctx, EPROTONOSUPPORT, call, 2, cmp);
	}
}

static void deny_protocol(scmp_filter_ctx ctx, int call, unsigned family, unsigned type,
			  const unsigned *keep, size_t n_keep)
{
	struct scmp_arg_cmp cmp[] = {arg(0, SCMP_CMP_EQ, family, 0),
				     arg(1, SCMP_CMP_MASKED_EQ, 0xf, type),
				     arg(2, SCMP_CMP_EQ, 0, 0)};

	deny_all_but(ctx, EPROTONOSUPPORT, call, cmp, 3, keep, n_keep);
}

static void socket_rules(scmp_filter_ctx ctx, int call)
{
	static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	/* No datagrams between unix sockets: sendto(2) on one, even on one of a pair, names any
	 * socket in the file system, and no later check would see it. SOCK_RAW means the same. */
	static const unsigned unix_types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	static const unsigned inet_types[] = {SOCK_STREAM, SOCK_DGRAM};
	static const unsigned tcp[] = {0, 6}, udp[] = {0, 1, 17}, udp6[] = {0, 17, 58};
	static const unsigned route[] = {NETLINK_ROUTE};
	struct scmp_arg_cmp family = arg(0, SCMP_CMP_EQ, 0, 0);
	struct scmp_arg_cmp netlink[] = {arg(0, SCMP_CMP_EQ, AF_NETLINK, 0),
					 arg(2, SCMP_CMP_EQ, 0, 0)};

	deny_all_but(ctx, EAFNOSUPPORT, call, &family, 1, families, COUNT(families));
	deny_type(ctx, call, AF_UNIX, unix_types, COUNT(unix_types));
	deny_type(ctx, call, AF_INET, inet_types, COUNT(inet_types));
	deny_type(ctx, call, AF_INET6, inet_types, COUNT(inet_types));
	/* TCP, UDP and the echo requests of ping: no SCTP, MPTCP, L2TP and what else may come. */
	deny_protocol(ctx, call, AF_INET, SOCK_STREAM, tcp, COUNT(tcp));
	deny_protocol(ctx, call, AF_INET6, SOCK_STREAM, tcp, COUNT(tcp));
	deny_protocol(ctx, call, AF_INET, SOCK_DGRAM, udp, COUNT(udp));
	deny_protocol(ctx, call, AF_INET6, SOCK_DGRAM, udp6, COUNT(udp6));
	deny_all_but(ctx, EPROTONOSUPPORT, call, netlink, 2, route, COUNT(route));
}

/*
 * The limit on core files is such that the kernel starts no handler outside for them (confine.c); a
 * lower one would allow it. Programs that forbid cores have what they want: they are told so.
 */
static void limit_rules(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp set = arg(0, SCMP_CMP_MASKED_EQ, ALL, RLIMIT_CORE);
	const struct scmp_arg_cmp blind[] = {arg(0, SCMP_CMP_EQ, 0, 0),
					     arg(1, SCMP_CMP_MASKED_EQ, ALL, RLIMIT_CORE),
					     arg(2, SCMP_CMP_NE, 0, 0), arg(3, SCMP_CMP_EQ, 0, 0)};
	const struct scmp_arg_cmp seeing[] = {arg(0, SCMP_CMP_EQ, 0, 0),
					      arg(1, SCMP_CMP_MASKED_EQ, ALL, RLIMIT_CORE),
					      arg(2, SCMP_CMP_NE, 0, 0), arg(3, SCMP_CMP_NE, 0, 0)};
	/*
	 * A command may not set limits of other processes: pid 1 and the minders have the same
	 * user.
	 */
	const struct scmp_arg_cmp others[] = {arg(0, SCMP_CMP_NE, 0, 0), arg(2, SCMP_CMP_NE, 0, 0)};

	deny(ctx, EPERM, SCMP_SYS(prlimit64), COUNT(others), others);
	deny1(ctx, 0, SCMP_SYS(setrlimit), set);
	deny(ctx, 0, SCMP_SYS(prlimit64), COUNT(blind), blind);
	deny(ctx, EPERM, SCMP_SYS(prlimit64), COUNT(seeing), seeing);
}

/* makes_walls: it may make namespaces. */
static void argument_rules(scmp_filter_ctx ctx, bool makes_walls)
{
	static const unsigned namespaces[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
					      CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
					      CLONE_NEWNET};
	/* Typing into a terminal, its console functions, its line discipline: the kernel reads 32
	 * bits of the request, so the rest must not matter. */
	static const unsigned ioctls[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS};
	struct scmp_arg_cmp flags;

	socket_rules(ctx, SCMP_SYS(socket));
	socket_rules(ctx, SCMP_SYS(socketpair));
	limit_rules(ctx);
	for (size_t i = 0; i < COUNT(namespaces) && !makes_walls; i++) {
		flags = arg(0, SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]);
		deny1(ctx, EPERM, SCMP_SYS(clone), flags);
		deny1(ctx, EPERM, SCMP_SYS(unshare), flags);
	}
	/*
	 * Only unshare is filtered here: in the flags of clone this bit is part of the signal
	 * number.
	 */
	flags = arg(0, SCMP_CMP_MASKED_EQ, CLONE_NEWTIME, CLONE_NEWTIME);
	deny1(ctx, EPERM, SCMP_SYS(unshare), flags);
	for (size_t i = 0; i < COUNT(ioctls); i++) {
		flags = arg(1, SCMP_CMP_MASKED_EQ, ALL, ioctls[i]);
		deny1(ctx, EPERM, SCMP_SYS(ioctl), flags);
	}
}

/* libseccomp gives its program to a descriptor. */
static void write_array(FILE *out, const char *name, scmp_filter_ctx ctx)
{
	FILE *tmp = tmpfile();
	struct sock_filter f;
	size_t n = 0;

	if (!tmp)
		die("tmpfile", -errno);
	must(seccomp_export_bpf(ctx, fileno(tmp)), "export");
	rewind(tmp);
	(void)fprintf(out, "static const struct sock_filter %s[] = {\n", name);
	for (; fread(&f, sizeof(f), 1, tmp) == 1; n++)
		(void)fprintf(out, "\t{0x%02x, %u, %u, 0x%08x},\n", f.code, f.jt, f.jf, f.k);
	(void)fprintf(out, "};\n");
	(void)fclose(tmp);
	if (n == 0 || n > BPF_MAXINSNS)
		die(name, -E2BIG);
}

static bool is_wall(const char *name)
{
	for (size_t i = 0; i < COUNT(walls); i++)
		if (strcmp(name, walls[i]) == 0)
			return true;
	return false;
}

static void write_pair(FILE *out, uint32_t arch, bool makes_walls, const char *calls_name,
		       const char *arguments_name)
{
	scmp_filter_ctx calls = new_filter(SCMP_ACT_ERRNO(ENOSYS), arch), arguments;

	add_names(calls, SCMP_ACT_ALLOW, allowed, COUNT(allowed));
	if (makes_walls)
		add_names(calls, SCMP_ACT_ALLOW, walls, COUNT(walls));
	for (size_t i = 0; i < COUNT(dangerous); i++)
		if (!makes_walls || !is_wall(dangerous[i]))
			add_names(calls, SCMP_ACT_ERRNO(EPERM), &dangerous[i], 1);
	personality_rules(calls);
	arguments = new_filter(SCMP_ACT_ALLOW, arch);
	argument_rules(arguments, makes_walls);
	write_array(out, calls_name, calls);
	write_array(out, arguments_name, arguments);
	seccomp_release(calls);
	seccomp_release(arguments);
}

int main(int argc, char **argv)
{
	uint32_t arch = argc == 3 ? seccomp_arch_resolve_name(argv[2]) : 0;
	FILE *out;

	if (arch == 0) {
		(void)fprintf(stderr, "usage: seccomp-gen OUTPUT ARCHITECTURE\n");
		return 2;
	}
	out = fopen(argv[1], "we");
	if (!out)
		die(argv[1], -errno);
	(void)fprintf(out, "/* Made by guest-seccomp-gen.c. */\n#pragma once\n");
	write_pair(out, arch, false, "seccomp_calls", "seccomp_arguments");
	write_pair(out, arch, true, "seccomp_kernel_calls", "seccomp_kernel_arguments");
	if (fclose(out) != 0)
		die(argv[1], -errno);
	return 0;
}
