#include "base/landlock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

/* The kernel's interface up to ABI 7, whatever the headers at hand know of it. */
enum {
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_EXECUTE = 1 << 0,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_BLOCK = 1 << 11,
	FS_ABI_1 = (1 << 13) - 1,
	FS_REFER = 1 << 13,	/* ABI 2 */
	FS_TRUNCATE = 1 << 14,	/* ABI 3 */
	FS_IOCTL_DEV = 1 << 15, /* ABI 5 */
	FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	SCOPE_ABSTRACT_UNIX = 1 << 0, /* ABI 6 */
	SCOPE_SIGNAL = 1 << 1,
	CREATE_RULESET_VERSION = 1 << 0,
	RULE_PATH_BENEATH = 1,
};

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

static const uint64_t rights[] = {
	[LANDLOCK_READ] = FS_READ_FILE | FS_READ_DIR,
	[LANDLOCK_WRITE] =
		(FS_ABI_1 & ~(FS_EXECUTE | FS_MAKE_CHAR | FS_MAKE_BLOCK)) | FS_REFER | FS_TRUNCATE,
};

static uint64_t handled(int abi)
{
	return (uint64_t)FS_ABI_1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
	       (abi >= 5 ? FS_IOCTL_DEV : 0);
}

int landlock_begin(struct landlock *l)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, CREATE_RULESET_VERSION);
	struct ruleset_attr attr = {0};
	long fd;

	*l = (struct landlock){.abi = abi < 1 ? 0 : (int)abi, .fd = -1};
	if (l->abi == 0)
		return 0;
	attr.fs = handled(l->abi);
	attr.scoped = l->abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0;
	fd = syscall(SYS_landlock_create_ruleset, &attr,
		     l->abi >= 6 ? sizeof(attr) : sizeof(attr.fs), 0UL);
	if (fd < 0)
		return -errno;
	l->fd = (int)fd;
	return 0;
}

int landlock_allow(struct landlock *l, const char *path, enum landlock_access access)
{
	struct path_beneath rule = {0};
	cleanup_fd int fd = -1;
	struct stat st;

	if (l->abi == 0)
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	rule.fd = fd;
	rule.access = rights[access] & handled(l->abi);
	if (!S_ISDIR(st.st_mode))
		rule.access &= FS_OF_FILES;
	return syscall(SYS_landlock_add_rule, l->fd, RULE_PATH_BENEATH, &rule, 0UL) < 0 ? -errno
											: 0;
}

int landlock_enforce(struct landlock *l)
{
	int r = 0;

	if (l->abi == 0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, l->fd, 0UL) < 0)
		r = -errno;
	closep(&l->fd);
	return r;
}
