/*
 * Run while building: writes the system call filters of the programs as C arrays. libseccomp takes
 * milliseconds to build them, so the programs only load the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ALLOW_MAX 96

struct filter {
	const char *name;
	uint32_t otherwise;
	const int *families; /* of socket(2); ends with -1 */
	int no_exec_maps, read_files, write_files;
	int pairs; /* the type of AF_UNIX pairs; SOCK_SEQPACKET: no other kind can be sent to somebody else */
	int calls[ALLOW_MAX]; /* ends with a zero behind the last, read(2) being always there */
};

static const int inet[] = {AF_INET, AF_INET6, -1};
static const int none[] = {-1};
static const int lookups[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, -1};

#define C(name) SCMP_SYS(name)
/* System calls that the C library needs in any process. */
#define COMMON                                                                                     \
	C(write), C(close), C(brk), C(munmap), C(mremap), C(madvise), C(futex), C(exit),           \
		C(exit_group), C(rt_sigreturn), C(rt_sigprocmask), C(rt_sigaction),                \
		C(restart_syscall), C(clock_gettime), C(gettimeofday), C(getrandom), C(getpid),    \
		C(gettid), C(tgkill), C(getuid), C(geteuid), C(getgid), C(getegid), C(fstat),      \
		C(newfstatat), C(lseek), C(fcntl), C(sched_yield), C(time), C(sysinfo)
#define SOCKETS C(recvfrom), C(sendto), C(recvmsg), C(sendmsg), C(setsockopt), C(getsockopt)
#define WORKER                                                                                     \
	COMMON, SOCKETS, C(connect), C(getsockname), C(getpeername), C(readv), C(writev),          \
		C(sendmmsg), C(recvmmsg), C(bind), C(poll), C(ppoll), C(select), C(pselect6),      \
		C(stat), C(lstat), C(statx), C(readlink), C(readlinkat), C(access), C(faccessat),  \
		C(pread64), C(uname), C(ioctl), C(nanosleep), C(clock_nanosleep), C(getdents64)

/* Files, as far as Landlock lets them. */
#define LOOKING                                                                                    \
	C(pread64), C(stat), C(lstat), C(statx), C(access), C(faccessat), C(faccessat2),           \
		C(readlink), C(readlinkat), C(getdents64), C(flock), C(getcwd)
#define LOCK_DIRS C(mkdir), C(mkdirat), C(rmdir), C(unlinkat), C(utimensat)
#define WRITING                                                                                    \
	C(pwrite64), C(ftruncate), C(fsync), C(fdatasync), C(unlink), C(rename), C(renameat),      \
		C(renameat2), C(fchmod)
/* Frames of wire/wire.h, and waiting. */
#define FRAMES                                                                                     \
	C(recvmsg), C(sendmsg), C(setsockopt), C(getsockopt), C(shutdown), C(poll), C(ppoll),      \
		C(pipe2), C(memfd_create), C(dup3), C(nanosleep), C(clock_nanosleep), C(setitimer)

static const struct filter filters[] = {
	/* Neither makes a process, a socket or code. A call that is not in the list fails, so that
	 * a C library that tries a newer one first goes on with the older. */
	{
		.name = "cred",
		.otherwise = SCMP_ACT_ERRNO(EPERM),
		.families = none,
		.no_exec_maps = 1,
		.read_files = 1,
		.calls = {COMMON, LOOKING, LOCK_DIRS, FRAMES},
	},
	{
		.name = "supervisor",
		.otherwise = SCMP_ACT_ERRNO(EPERM),
		.families = none,
		.no_exec_maps = 1,
		.write_files = 1,
		.pairs = SOCK_SEQPACKET,
		.calls = {COMMON, LOOKING, LOCK_DIRS, WRITING, FRAMES, C(accept4), C(epoll_wait),
			  C(epoll_pwait), C(epoll_ctl), C(openat2), C(fallocate), C(linkat),
			  C(getppid), C(pidfd_send_signal)},
	},
	/* Opens no file, ever, and no socket but to the network. */
	{
		.name = "edge",
		.otherwise = SCMP_ACT_KILL_PROCESS,
		.families = inet,
		.no_exec_maps = 1,
		.calls = {COMMON, SOCKETS, C(connect), C(getsockname), C(accept4), C(shutdown),
			  C(epoll_wait), C(epoll_pwait), C(epoll_ctl), C(pipe2), C(splice),
			  C(memfd_create), C(timerfd_settime)},
	},
	/* Has the connections that it is given, and makes none. */
	{
		.name = "gateway",
		.otherwise = SCMP_ACT_KILL_PROCESS,
		.families = none,
		.no_exec_maps = 1,
		.read_files = 1,
		.calls = {COMMON, SOCKETS, C(shutdown), C(epoll_wait), C(epoll_pwait), C(epoll_ctl),
			  C(pread64), C(pwrite64), C(memfd_create), C(stat), C(statx),
			  C(getdents64), C(timerfd_settime)},
	},
	{
		.name = "gateway_closed",
		.otherwise = SCMP_ACT_KILL_PROCESS,
		.families = none,
		.no_exec_maps = 1,
		.calls = {COMMON, SOCKETS, C(shutdown), C(epoll_wait), C(epoll_pwait), C(epoll_ctl),
			  C(pread64), C(pwrite64), C(memfd_create), C(timerfd_settime)},
	},
	/* Has two lines, and the files of memory that come over one of them. */
	{
		.name = "reader",
		.otherwise = SCMP_ACT_KILL_PROCESS,
		.families = none,
		.no_exec_maps = 1,
		.calls = {COMMON, C(recvmsg), C(sendmsg), C(poll), C(ppoll), C(pread64)},
	},
	/* `ralph web`: faces browsers; has its listener and two sockets. */
	{
		.name = "web",
		.otherwise = SCMP_ACT_KILL_PROCESS,
		.families = none,
		.no_exec_maps = 1,
		.calls = {COMMON, SOCKETS, C(accept4), C(shutdown), C(epoll_wait), C(epoll_pwait),
			  C(epoll_ctl), C(pread64), C(pwrite64), C(memfd_create)},
	},
	/* In front of web: has a listener, a key in memory, and pairs of which web gets one side. */
	{
		.name = "web_tls",
		.otherwise = SCMP_ACT_KILL_PROCESS,
		.families = none,
		.no_exec_maps = 1,
		.pairs = SOCK_STREAM,
		.calls = {COMMON, SOCKETS, C(accept4), C(shutdown), C(epoll_wait), C(epoll_pwait),
			  C(epoll_ctl), C(pread64), C(pwrite64), C(memfd_create)},
	},
	/* `ralph web`: reads, as far as Landlock lets it. */
	{
		.name = "desk",
		.otherwise = SCMP_ACT_ERRNO(EPERM),
		.families = none,
		.no_exec_maps = 1,
		.read_files = 1,
		.calls = {COMMON, LOOKING, FRAMES, C(epoll_wait), C(epoll_pwait), C(epoll_ctl),
			  C(openat2), C(pwrite64)},
	},
	{
		.name = "helper",
		.otherwise = SCMP_ACT_ERRNO(EPERM),
		.families = lookups,
		.read_files = 1,
		.calls = {WORKER, C(clone), C(clone3), C(fork), C(vfork), C(wait4), C(kill),
			  C(socketpair), C(set_robust_list), C(rseq), C(getppid), C(prctl)},
	},
	{
		.name = "worker",
		.otherwise = SCMP_ACT_ERRNO(EPERM),
		.families = lookups,
		.read_files = 1,
		.calls = {WORKER},
	},
};

static void need(int r, const char *what)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "seccomp-gen: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void add_rules(scmp_filter_ctx ctx, const struct filter *f)
{
	struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	struct scmp_arg_cmp no_write =
		SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);

	need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 0), "read");
	for (const int *c = f->calls; *c; c++)
		/* A call this architecture lacks is no loss. */
		(void)seccomp_rule_add(ctx, SCMP_ACT_ALLOW, *c, 0);
	for (const int *a = f->families; *a >= 0; a++)
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				      SCMP_CMP(0, SCMP_CMP_EQ, (scmp_datum_t)*a, 0)),
		     "socket");
	if (f->no_exec_maps) {
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec), "mmap");
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec),
		     "mprotect");
	} else {
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 0), "mmap");
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 0), "mprotect");
	}
	if (f->pairs)
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 2,
				      SCMP_A0(SCMP_CMP_EQ, AF_UNIX),
				      SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, (scmp_datum_t)f->pairs)),
		     "socketpair");
	if (f->write_files)
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 0), "openat");
	else if (f->read_files)
		need(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, no_write),
		     "openat");
}

/* Writes one array of u64 per filter: struct sock_filter is eight bytes. */
static void write_filter(FILE *out, const struct filter *f)
{
	scmp_filter_ctx ctx = seccomp_init(f->otherwise);
	int fd = memfd_create("bpf", MFD_CLOEXEC);
	uint64_t insn;
	FILE *in;

	if (!ctx || fd < 0)
		need(-ENOMEM, f->name);
	add_rules(ctx, f);
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	need(seccomp_export_bpf(ctx, fd), "export");
	(void)lseek(fd, 0, SEEK_SET);
	in = fdopen(fd, "r");
	if (!in) {
		need(-errno, "fdopen");
		return;
	}
	(void)fprintf(out, "static const uint64_t filter_%s[] = {\n", f->name);
	while (fread(&insn, sizeof(insn), 1, in) == 1)
		(void)fprintf(out, "\t0x%016llxull,\n", (unsigned long long)insn);
	(void)fprintf(out, "};\n");
	(void)fclose(in);
	seccomp_release(ctx);
}

int main(int argc, char *argv[])
{
	FILE *out = argc == 2 ? fopen(argv[1], "we") : NULL;

	if (!out) {
		(void)fprintf(stderr, "usage: seccomp-gen FILE\n");
		return 2;
	}
	(void)fprintf(out, "/* Written by seccomp-gen.c. */\n#include <stdint.h>\n\n");
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		write_filter(out, &filters[i]);
	return fclose(out) == 0 ? 0 : 1;
}
