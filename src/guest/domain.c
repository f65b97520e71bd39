#include "guest/domain.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/fd.h"

/* The kernel's interface up to ABI 7, whatever the headers at hand know of it. */
enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_BLOCK = 1 << 11,
	FS_ABI_1 = (1 << 13) - 1,
	FS_REFER = 1 << 13,	/* ABI 2 */
	FS_TRUNCATE = 1 << 14,	/* ABI 3 */
	FS_IOCTL_DEV = 1 << 15, /* ABI 5 */
	FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	CREATE_RULESET_VERSION = 1 << 0,
	RULE_PATH_BENEATH = 1,
	SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0, /* ABI 6 */
};

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

static const uint64_t class_rights[] = {
	[GUEST_READ] = FS_READ_FILE | FS_READ_DIR,
	[GUEST_RO] = FS_READ_FILE | FS_READ_DIR | FS_EXECUTE,
	[GUEST_RW] = (FS_ABI_1 & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK)) | FS_REFER | FS_TRUNCATE,
	[GUEST_DEV] = FS_READ_FILE | FS_WRITE_FILE | FS_READ_DIR | FS_TRUNCATE | FS_IOCTL_DEV,
};

/*
 * What a domain decides about. Whatever it decides, it forbids where no rule allows it.
 * REFER: must be handled to be granted at all; without it no file moves between directories.
 * TRUNCATE: else truncate(2) writes to files that were given for reading.
 * IOCTL_DEV: a device that appears outside /dev cannot be driven.
 * Network rights are left alone: the network namespace has nothing but loopback, and a server
 * inside is the agent's own business.
 */
static uint64_t handled_fs(int abi)
{
	uint64_t fs = FS_ABI_1;

	if (abi >= 2)
		fs |= FS_REFER;
	if (abi >= 3)
		fs |= FS_TRUNCATE;
	if (abi >= 5)
		fs |= FS_IOCTL_DEV;
	return fs;
}

static int create_ruleset(int abi, int *ret, struct err *err)
{
	/* Signals are not scoped: one command may end another's processes. */
	const struct ruleset_attr attr = {
		.fs = handled_fs(abi),
		.scoped = abi >= 6 ? SCOPE_ABSTRACT_UNIX_SOCKET : 0,
	};
	size_t size = abi >= 6 ? sizeof(attr) : sizeof(attr.fs);
	long fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0UL);

	if (fd < 0)
		return err_sys(err, errno, "cannot create a Landlock ruleset");
	*ret = (int)fd;
	return 0;
}

static int add_rule(int abi, int ruleset, int fd, bool is_dir, uint64_t rights)
{
	const struct path_beneath rule = {
		.access = rights & handled_fs(abi) & (is_dir ? UINT64_MAX : FS_OF_FILES),
		.fd = fd,
	};

	if (rule.access == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0UL) < 0)
		return -errno;
	return 0;
}

/* The setup's paths were made by ralph, but what is mounted there was written by an agent once:
 * no symlink is followed on the way. */
static int open_path(const char *path, struct err *err)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? err_sys(err, errno, "cannot make a Landlock rule of '%s'", path) : (int)fd;
}

static int build(const struct domain_base *base, int *ret, struct err *err)
{
	cleanup_fd int ruleset = -1;
	int r = create_ruleset(base->abi, &ruleset, err);

	for (size_t i = 0; i < base->setup->n_rules && r == 0; i++) {
		const struct guest_rule *rule = &base->setup->rules[i];
		struct stat st;

		r = fstat(base->paths[i], &st) < 0 ? -errno : 0;
		if (r == 0)
			r = add_rule(base->abi, ruleset, base->paths[i], S_ISDIR(st.st_mode),
				     class_rights[rule->access]);
		if (r < 0)
			return err_sys(err, -r, "cannot make a Landlock rule of '%s'", rule->path);
	}
	if (r == 0)
		*ret = take_fd(ruleset);
	return r;
}

static int abi_to_use(enum guest_landlock want, struct err *err)
{
	long abi;

	if (want == GUEST_LANDLOCK_OFF)
		return 0;
	abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, CREATE_RULESET_VERSION);
	if (want == GUEST_LANDLOCK_REQUIRED && abi < 1)
		return err_sys(err, errno, "Landlock is required and this kernel has none");
	return abi < 1 || (abi == 1 && want != GUEST_LANDLOCK_REQUIRED) ? 0 : (int)abi;
}

int domain_init(struct domain_base *base, const struct guest_setup *setup, struct err *err)
{
	int abi = abi_to_use(setup->landlock, err);

	*base = (struct domain_base){.abi = abi, .ruleset = -1, .setup = setup};
	if (abi <= 0)
		return abi;
	base->paths = xcalloc(setup->n_rules, sizeof(int));
	for (size_t i = 0; i < setup->n_rules; i++) {
		base->paths[i] = open_path(setup->rules[i].path, err);
		if (base->paths[i] < 0)
			return base->paths[i];
	}
	return build(base, &base->ruleset, err);
}

/*
 * The rights a descriptor gives already. A write-only-at-the-end descriptor gives none that a
 * path could express: opened again it would write anywhere. Device ioctls work on the descriptor
 * itself, so they are nothing new.
 */
static uint64_t rights_of(int flags, const struct stat *st)
{
	int mode = flags & O_ACCMODE;
	uint64_t rights = 0;

	if (mode == O_RDONLY || mode == O_RDWR)
		rights |= FS_READ_FILE;
	if ((mode == O_WRONLY || mode == O_RDWR) && !(flags & O_APPEND))
		rights |= FS_WRITE_FILE | FS_TRUNCATE;
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		rights |= FS_IOCTL_DEV;
	return rights;
}

/* Unnamed pipes have no place in a tree either; a FIFO has one, and gets its rule. */
static bool is_pipe(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

/* EBADFD of a rule. Memory files have no place in a tree: Landlock neither takes rules for them nor
 * holds them. So one that was made for reading only must not be handed in, unless it is sealed. */
static int judge_memory_file(int fd, int flags, struct err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if ((flags & O_ACCMODE) == O_RDWR || (seals >= 0 && (seals & F_SEAL_WRITE)))
		return 0;
	return err_set(err, EOPNOTSUPP,
		       "a memory file that is open one way only cannot be handed in; use a pipe");
}

/*
 * A socket belongs to the network it was made in for ever. One that can be sent elsewhere (TCP is
 * disconnected and connected anew, datagrams take an address each, what is not connected yet can
 * be) would be a way into the host's; a connected stream between two processes is not.
 */
static int judge_socket(int fd, struct err *err)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(int), peer_len = sizeof(peer);
	int domain = -1, type = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && domain == AF_UNIX &&
	    (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0)
		return 0;
	return err_set(err, EOPNOTSUPP,
		       "a socket of the host's network cannot be handed in; use a pipe");
}

static int judge(int fd, struct stat *st, int *ret_flags, struct err *err)
{
	*ret_flags = fcntl(fd, F_GETFL);
	if (*ret_flags < 0 || fstat(fd, st) < 0)
		return err_sys(err, errno, "cannot inspect a descriptor");
	if (S_ISDIR(st->st_mode))
		return err_set(err, EISDIR,
			       "a directory cannot be handed in: it would open all around it");
	if (*ret_flags & O_PATH)
		return err_set(err, EBADF, "a descriptor that is only a path cannot be handed in");
	return S_ISSOCK(st->st_mode) ? judge_socket(fd, err) : 0;
}

int domain_for(const struct domain_base *base, const int *fds, size_t n, int *ret, struct err *err)
{
	cleanup_fd int ruleset = -1;

	for (size_t i = 0; i < n; i++) {
		struct stat st;
		int flags, r = judge(fds[i], &st, &flags, err);

		if (r < 0)
			return r;
		if (base->abi == 0 || S_ISSOCK(st.st_mode) || is_pipe(fds[i]))
			continue;
		if (ruleset < 0)
			r = build(base, &ruleset, err);
		if (r < 0)
			return r;
		r = add_rule(base->abi, ruleset, fds[i], false, rights_of(flags, &st));
		if (r == -EBADFD)
			r = judge_memory_file(fds[i], flags, err);
		else if (r < 0)
			r = err_sys(err, -r, "cannot make a Landlock rule of a descriptor");
		if (r < 0)
			return r;
	}
	*ret = take_fd(ruleset);
	return 0;
}

int domain_enter(const struct domain_base *base, int ruleset, struct err *err)
{
	if (base->abi == 0)
		return 0;
	if (syscall(SYS_landlock_restrict_self, ruleset >= 0 ? ruleset : base->ruleset, 0UL) < 0)
		return err_sys(err, errno, "cannot enter the Landlock domain");
	return 0;
}
