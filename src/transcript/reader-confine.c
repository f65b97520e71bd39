#include "transcript/reader-confine.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/landlock.h"
#include "base/mem.h"

/* The sanitizer needs memory and system calls of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* System calls of the C library, SQLite and the writers of conversations. */
static const int calls[] = {
	SCMP_SYS(read),		 SCMP_SYS(write),
	SCMP_SYS(pread64),	 SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),	 SCMP_SYS(openat),
	SCMP_SYS(open),		 SCMP_SYS(close),
	SCMP_SYS(fstat),	 SCMP_SYS(newfstatat),
	SCMP_SYS(stat),		 SCMP_SYS(lstat),
	SCMP_SYS(statx),	 SCMP_SYS(fcntl),
	SCMP_SYS(ftruncate),	 SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),	 SCMP_SYS(access),
	SCMP_SYS(faccessat),	 SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),	 SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),	 SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),	 SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),	 SCMP_SYS(utimensat),
	SCMP_SYS(brk),		 SCMP_SYS(mmap),
	SCMP_SYS(munmap),	 SCMP_SYS(mremap),
	SCMP_SYS(madvise),	 SCMP_SYS(mprotect),
	SCMP_SYS(futex),	 SCMP_SYS(getpid),
	SCMP_SYS(gettid),	 SCMP_SYS(geteuid),
	SCMP_SYS(getuid),	 SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(gettimeofday),	 SCMP_SYS(time),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(fchmod),
	SCMP_SYS(fchown),	 SCMP_SYS(exit),
	SCMP_SYS(exit_group),	 SCMP_SYS(restart_syscall),
	SCMP_SYS(sysinfo),	 SCMP_SYS(fallocate),
	SCMP_SYS(openat2),	 SCMP_SYS(getdents64),
	SCMP_SYS(renameat),	 SCMP_SYS(renameat2),
};

static rlim_t lower(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

static int limit(void)
{
	const struct {
		int what;
		uint64_t max;
	} rows[] = {
		{RLIMIT_CPU, TR_CPU_S},
		{RLIMIT_FSIZE, TR_FILE_MAX},
		{RLIMIT_CORE, 0},
		{RLIMIT_AS, SANITIZED ? RLIM_INFINITY : TR_MEMORY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rlimit l;

		/* A batch system may have set a lower one, which cannot be raised. */
		if (getrlimit((__rlimit_resource_t)rows[i].what, &l) < 0)
			return -errno;
		l.rlim_max = lower(l.rlim_max, rows[i].max);
		l.rlim_cur = lower(l.rlim_cur, l.rlim_max);
		if (setrlimit((__rlimit_resource_t)rows[i].what, &l) < 0)
			return -errno;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Without Landlock in the kernel, only the other restrictions remain. */
static int close_files(const int read[2], int write)
{
	struct landlock l;
	int r = landlock_begin(&l, landlock_abi(),
			       LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);

	for (size_t i = 0; r == 0 && i < 2; i++)
		r = read[i] < 0 ? 0 : landlock_allow_fd(&l, read[i], LANDLOCK_READ);
	if (r == 0)
		r = landlock_allow_fd(&l, write, LANDLOCK_WRITE);
	return r == 0 ? landlock_enforce(&l) : r;
}

static int close_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(calls); i++) {
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
		if (r == -EDOM || r == -EFAULT)
			r = 0; /* no such call on this architecture */
	}
	if (r == 0 && !SANITIZED)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

int tr_confine(const int read[2], int write, struct err *err)
{
	int r = limit();

	if (r == 0)
		r = close_files(read, write);
	if (r == 0)
		r = close_calls();
	return r < 0 ? err_sys(err, -r, "cannot give up what a conversation must not have") : 0;
}
