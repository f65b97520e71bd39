#include "gateway/isolate.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "gateway/gateway-seccomp.h"

/* Of newer kernels than the headers we may be built with. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define FS_IOCTL_DEV (1ULL << 15)
#define NET_BIND_TCP (1ULL << 0)
#define SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

/* struct landlock_ruleset_attr as of ABI 6. */
struct ruleset {
	uint64_t fs, net, scoped;
};

/* Where a certificate directory's links lead to. */
static const char *const trust_paths[] = {
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/usr/lib/ssl",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki",
	"/var/lib/ca-certificates",
	"/nix/store",
	"/gnu/store",
	NULL,
};

/* What getaddrinfo reads: its settings, and the modules nsswitch names. */
static const char *const lookup_paths[] = {
	"/etc",	    "/lib",	    "/lib64",	      "/usr/lib",   "/usr/lib64", "/run",
	"/var/run", "/var/lib/sss", "/usr/local/lib", "/nix/store", "/gnu/store", NULL,
};

static int drop_caps(void)
{
	struct rlimit none = {0, 0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	capng_clear(CAPNG_SELECT_BOTH);
	/* The bounding set cannot be emptied without CAP_SETPCAP, and matters little then. */
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return -EPERM;
	(void)capng_apply(CAPNG_SELECT_BOUNDS);
	return capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE ? 0 : -EPERM;
}

static long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t fs_rights(long abi)
{
	uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

	return all | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
	       (abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
}

static void let_read(int ruleset, const char *path)
{
	cleanup_fd int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	struct landlock_path_beneath_attr rule = {.parent_fd = fd};
	struct stat st;

	/* A path that is not there needs no permission. */
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	(void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* 1: in force; 0: the kernel has no Landlock. */
static int close_files(const char *const *paths, const char *file, const char *dir, bool no_signals)
{
	long abi = landlock_abi();
	struct ruleset attr = {0};
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	cleanup_fd int fd = -1;

	if (abi < 1)
		return 0;
	attr.fs = fs_rights(abi);
	if (abi >= 4)
		attr.net = NET_BIND_TCP;
	if (abi >= 6 && no_signals)
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return -errno;
	for (; *paths; paths++)
		let_read(fd, *paths);
	let_read(fd, file);
	let_read(fd, dir);
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	return 1;
}

static int load_filter(const uint64_t *insns, size_t n)
{
#if defined(__SANITIZE_ADDRESS__)
	/* The sanitizer's own calls are not in the list. */
	(void)insns;
	(void)n;
	return 0;
#else
	struct sock_fprog prog = {.len = (unsigned short)n,
				  .filter = (struct sock_filter *)(void *)(uintptr_t)insns};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno : 0;
#endif
}
#define LOAD(name) load_filter(filter_##name, ARRAY_SIZE(filter_##name))

int isolate_files(struct isolate *i, struct err *err)
{
	int r = drop_caps();

	if (r < 0)
		return err_sys(err, -r, "cannot give up capabilities");
	r = close_files(trust_paths, i->ca_file, i->ca_dir, true);
	if (r < 0)
		return err_sys(err, -r, "cannot give up files");
	i->landlock = r == 1;
	return 0;
}

int isolate_calls(const struct isolate *i, struct err *err)
{
	int r = i->landlock ? LOAD(gateway) : LOAD(gateway_closed);

	return r < 0 ? err_sys(err, -r, "cannot give up system calls") : 0;
}

int isolate_helper(int sock)
{
	int r;

	/* Standard error stays for what the C library may have to say; all else but sock goes. */
	if ((sock > 3 && close_range(3, (unsigned)sock - 1, 0) < 0) ||
	    close_range((unsigned)sock + 1, ~0u, 0) < 0)
		return -errno;
	r = drop_caps();
	if (r == 0)
		r = close_files(lookup_paths, NULL, NULL, false);
	return r < 0 ? r : LOAD(helper);
}

int isolate_worker(void)
{
	return LOAD(worker);
}
