#include "guest/confine.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp-program.h"

#define CAPS_MAX 64 /* the kernel's format has no room for more */

/* musl's prctl() is variadic: every argument must have the kernel's width. */
static int ctl(int op, unsigned long a, unsigned long b)
{
	return prctl(op, a, b, 0UL, 0UL);
}

static int drop_bounding(uint64_t keep, struct err *err)
{
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++) {
		int has = ctl(PR_CAPBSET_READ, cap, 0);

		if (has < 0)
			return 0; /* past the last one the kernel knows */
		if (has && !(keep >> cap & 1) && ctl(PR_CAPBSET_DROP, cap, 0) < 0)
			return err_sys(err, errno,
				       "cannot drop capability %lu from the bounding set", cap);
	}
	return 0;
}

static int set_capabilities(uint64_t set, struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint32_t low = (uint32_t)set, high = (uint32_t)(set >> 32);
	const struct __user_cap_data_struct data[2] = {
		{.effective = low, .permitted = low},
		{.effective = high, .permitted = high},
	};

	if (syscall(SYS_capset, &head, data) < 0)
		return err_sys(err, errno, "cannot drop the capabilities");
	return 0;
}

int confine_keep(uint64_t capabilities, struct err *err)
{
	int r = drop_bounding(capabilities, err);

	return r < 0 ? r : set_capabilities(capabilities, err);
}

static int drop_capabilities(struct err *err)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	int r = drop_bounding(0, err);

	if (r < 0)
		return r;
	if (ctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0) < 0)
		return err_sys(err, errno, "cannot clear the ambient capabilities");
	if (ctl(PR_SET_SECUREBITS, bits, 0) < 0)
		return err_sys(err, errno, "cannot lock the secure bits");
	r = set_capabilities(0, err);
	if (r < 0)
		return r;
	if (ctl(PR_SET_NO_NEW_PRIVS, 1, 0) < 0)
		return err_sys(err, errno, "cannot set no_new_privs");
	return 0;
}

static bool capabilities_are_gone(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[2];

	if (syscall(SYS_capget, &head, have) < 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (have[i].effective || have[i].permitted || have[i].inheritable)
			return false;
	if (ctl(PR_CAPBSET_READ, 0, 0) != 0)
		return false;
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++) {
		int has = ctl(PR_CAPBSET_READ, cap, 0);

		if (has < 0)
			break; /* past the last one the kernel knows */
		if (has || ctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap) > 0)
			return false;
	}
	return ctl(PR_GET_NO_NEW_PRIVS, 0, 0) == 1;
}

static int load_filter(const struct sock_filter *code, size_t n, struct err *err)
{
	const struct sock_fprog prog = {.len = (unsigned short)n,
					.filter = (struct sock_filter *)(uintptr_t)code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &prog) != 0)
		return err_sys(err, errno, "cannot install the system call filter");
	return 0;
}

/*
 * For all that will run here, and before the filter, which then lets nobody change it. Not 0: a
 * handler that the host pipes cores to is started then all the same, by root and outside of every
 * sandbox; at 1 the kernel writes none and starts none.
 */
static int forbid_cores(struct err *err)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_CORE, &l) < 0)
		return err_sys(err, errno, "cannot read the limit of core files");
	l.rlim_cur = l.rlim_max = l.rlim_max < 1 ? l.rlim_max : 1;
	if (setrlimit(RLIMIT_CORE, &l) < 0)
		return err_sys(err, errno, "cannot forbid core files");
	return 0;
}

int confine_program(uint64_t capabilities, struct err *err)
{
	int r = forbid_cores(err);

	if (r == 0)
		r = confine_keep(capabilities, err);
	if (r == 0 && ctl(PR_SET_NO_NEW_PRIVS, 1, 0) < 0)
		r = err_sys(err, errno, "cannot set no_new_privs");
	if (r == 0)
		r = load_filter(seccomp_kernel_calls, ARRAY_SIZE(seccomp_kernel_calls), err);
	if (r == 0)
		r = load_filter(seccomp_kernel_arguments, ARRAY_SIZE(seccomp_kernel_arguments),
				err);
	return r;
}

int confine_within(struct err *err)
{
	/*
	 * The host's files have no attributes in there, and gVisor says EBADF of a link's. And there
	 * pid 1 can be killed like any process, which would end the sandbox with all its commands.
	 */
	static const struct sock_filter ways[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lgetxattr, 9, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_llistxattr, 8, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tkill, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigqueueinfo, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 0, 4),
		/* The kernel takes the low half as the number, on little-endian machines the first. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	int r = forbid_cores(err);

	if (r == 0)
		r = drop_bounding(0, err);
	if (r == 0)
		r = set_capabilities(0, err);
	if (r == 0 && ctl(PR_SET_NO_NEW_PRIVS, 1, 0) < 0)
		r = err_sys(err, errno, "cannot set no_new_privs");
	if (r == 0 && !capabilities_are_gone())
		r = err_set(err, EPERM, "capabilities are left after they were dropped");
	if (r == 0)
		r = load_filter(ways, ARRAY_SIZE(ways), err);
	if (r == 0)
		r = load_filter(seccomp_calls, ARRAY_SIZE(seccomp_calls), err);
	if (r == 0)
		r = load_filter(seccomp_arguments, ARRAY_SIZE(seccomp_arguments), err);
	return r;
}

int confine(struct err *err)
{
	int r = forbid_cores(err);

	if (r == 0)
		r = drop_capabilities(err);
	if (r < 0)
		return r;
	if (!capabilities_are_gone())
		return err_set(err, EPERM, "capabilities are left after they were dropped");
	/* Of two filters that refuse, the later one names the error: the list comes first. */
	r = load_filter(seccomp_calls, ARRAY_SIZE(seccomp_calls), err);
	if (r == 0)
		r = load_filter(seccomp_arguments, ARRAY_SIZE(seccomp_arguments), err);
	if (r < 0)
		return r;
	if (ctl(PR_GET_SECCOMP, 0, 0) != SECCOMP_MODE_FILTER)
		return err_set(err, EPERM, "the system call filter is not in force");
	return 0;
}
