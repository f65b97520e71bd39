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
#include "base/landlock.h"

static const uint64_t class_rights[] = {
	[GUEST_READ] = LANDLOCK_READ,
	[GUEST_RO] = LANDLOCK_READ | LANDLOCK_EXECUTE,
	[GUEST_RW] = LANDLOCK_WRITE | LANDLOCK_EXECUTE,
	[GUEST_DEV] = LANDLOCK_READ | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV,
};

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

/*
 * Network rights are left alone: the network namespace has nothing but loopback, and a server
 * inside is the agent's own business. Signals too: one command may end another's processes.
 */
static int build(const struct domain_base *base, struct landlock *ret, struct err *err)
{
	cleanup_landlock struct landlock l = {.fd = -1};
	int r = landlock_begin(&l, base->abi, LANDLOCK_NO_ABSTRACT_SOCKETS);

	if (r < 0)
		return err_sys(err, -r, "cannot create a Landlock ruleset");
	for (size_t i = 0; i < base->setup->n_rules; i++) {
		const struct guest_rule *rule = &base->setup->rules[i];

		r = landlock_allow_fd(&l, base->paths[i], class_rights[rule->access]);
		if (r < 0)
			return err_sys(err, -r, "cannot make a Landlock rule of '%s'", rule->path);
	}
	*ret = (struct landlock){.abi = l.abi, .fd = take_fd(l.fd)};
	return 0;
}

static int abi_to_use(enum guest_landlock want, struct err *err)
{
	int abi = want == GUEST_LANDLOCK_OFF ? 0 : landlock_abi();

	if (want == GUEST_LANDLOCK_REQUIRED && abi == 0)
		return err_set(err, ENOSYS, "Landlock is required and this kernel has none");
	return abi == 1 && want != GUEST_LANDLOCK_REQUIRED ? 0 : abi;
}

int domain_init(struct domain_base *base, const struct guest_setup *setup, struct err *err)
{
	int r, abi = abi_to_use(setup->landlock, err);
	struct landlock shared;

	*base = (struct domain_base){.abi = abi, .ruleset = -1, .setup = setup};
	if (abi <= 0)
		return abi;
	base->paths = xcalloc(setup->n_rules, sizeof(int));
	for (size_t i = 0; i < setup->n_rules; i++) {
		base->paths[i] = open_path(setup->rules[i].path, err);
		if (base->paths[i] < 0)
			return base->paths[i];
	}
	r = build(base, &shared, err);
	base->ruleset = r < 0 ? -1 : shared.fd;
	return r;
}

int domain_own_sockets(const struct domain_base *base, struct err *err)
{
	int r = landlock_own_sockets(base->abi);

	return r < 0 ? err_sys(err, -r, "cannot close the sandbox to sockets of others") : 0;
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
		rights |= LANDLOCK_READ_FILE;
	if ((mode == O_WRONLY || mode == O_RDWR) && !(flags & O_APPEND))
		rights |= LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE;
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		rights |= LANDLOCK_IOCTL_DEV;
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

/*
 * Allows the file behind a descriptor with the access that the descriptor gives anyway. *own is
 * built with the first descriptor that has a file.
 */
static int admit(const struct domain_base *base, struct landlock *own, int fd, struct err *err)
{
	struct stat st;
	int flags, r = judge(fd, &st, &flags, err);

	if (r < 0 || base->abi == 0 || S_ISSOCK(st.st_mode) || is_pipe(fd))
		return r;
	if (own->fd < 0)
		r = build(base, own, err);
	if (r < 0)
		return r;
	r = landlock_allow_fd(own, fd, rights_of(flags, &st));
	if (r == -EBADFD)
		return judge_memory_file(fd, flags, err);
	return r < 0 ? err_sys(err, -r, "cannot make a Landlock rule of a descriptor") : 0;
}

int domain_for(const struct domain_base *base, const int *fds, size_t n, int *ret, struct err *err)
{
	cleanup_landlock struct landlock own = {.fd = -1};

	for (size_t i = 0; i < n; i++) {
		int r = admit(base, &own, fds[i], err);

		if (r < 0)
			return r;
	}
	*ret = take_fd(own.fd);
	return 0;
}

int domain_enter(const struct domain_base *base, int ruleset, struct err *err)
{
	const struct landlock l = {.abi = base->abi, .fd = ruleset >= 0 ? ruleset : base->ruleset};
	int r = landlock_enter(&l);

	return r < 0 ? err_sys(err, -r, "cannot enter the Landlock domain") : 0;
}
