#include "base/landlock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

enum {
	CREATE_RULESET_VERSION = 1 << 0,
	RULE_PATH_BENEATH = 1,
	NET_BIND_TCP = 1 << 0,
	SCOPE_ABSTRACT_UNIX = 1 << 0,
	SCOPE_SIGNAL = 1 << 1,
	RIGHTS_OF_FILES = LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE |
			  LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV,
};

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

/*
 * Returns the rights that a ruleset handles: it forbids them where no rule allows them. REFER: must
 * be handled to be granted at all; without it no file moves between directories. TRUNCATE: else
 * truncate(2) writes to files that were given for reading. IOCTL_DEV: a device that appears outside
 * /dev cannot be driven.
 */
static uint64_t handled(int abi)
{
	return (uint64_t)LANDLOCK_ABI_1 | (abi >= 2 ? LANDLOCK_REFER : 0) |
	       (abi >= 3 ? LANDLOCK_TRUNCATE : 0) | (abi >= 5 ? LANDLOCK_IOCTL_DEV : 0);
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, CREATE_RULESET_VERSION);

	return abi < 1 ? 0 : (int)abi;
}

int landlock_begin(struct landlock *l, int abi, unsigned more)
{
	struct ruleset_attr attr = {.fs = handled(abi)};
	size_t size = abi >= 6 ? sizeof(attr) : abi >= 4 ? 16 : 8;
	long fd;

	*l = (struct landlock){.abi = abi, .fd = -1};
	if (abi == 0)
		return 0;
	if (abi >= 4 && (more & LANDLOCK_NO_TCP_LISTENING))
		attr.net = NET_BIND_TCP;
	if (abi >= 6 && (more & LANDLOCK_NO_ABSTRACT_SOCKETS))
		attr.scoped |= SCOPE_ABSTRACT_UNIX;
	if (abi >= 6 && (more & LANDLOCK_NO_SIGNALS))
		attr.scoped |= SCOPE_SIGNAL;
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0UL);
	if (fd < 0)
		return -errno;
	l->fd = (int)fd;
	return 0;
}

int landlock_allow_fd(const struct landlock *l, int fd, uint64_t rights)
{
	struct path_beneath rule = {.access = rights & handled(l->abi), .fd = fd};
	struct stat st;

	if (l->abi == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.access &= RIGHTS_OF_FILES;
	if (rule.access == 0)
		return 0;
	return syscall(SYS_landlock_add_rule, l->fd, RULE_PATH_BENEATH, &rule, 0UL) < 0 ? -errno
											: 0;
}

int landlock_allow(const struct landlock *l, const char *path, uint64_t rights)
{
	cleanup_fd int fd = -1;

	if (l->abi == 0)
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return landlock_allow_fd(l, fd, rights);
}

int landlock_enter(const struct landlock *l)
{
	if (l->abi == 0)
		return 0;
	return syscall(SYS_landlock_restrict_self, l->fd, 0UL) < 0 ? -errno : 0;
}

int landlock_enforce(struct landlock *l)
{
	int r = 0;

	if (l->abi > 0)
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : landlock_enter(l);
	landlock_end(l);
	return r;
}

void landlock_end(struct landlock *l)
{
	closep(&l->fd);
}
