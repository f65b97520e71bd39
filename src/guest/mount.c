#include "guest/mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/fd.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

int mount_clone(int at)
{
	long fd = syscall(SYS_open_tree, at, "",
			  AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int mount_new(const char *type, const char *const *options, uint64_t attributes)
{
	cleanup_fd int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	long fd;

	if (fs < 0)
		return -errno;
	for (; *options; options += 2)
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[0], options[1], 0) < 0)
			return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
	return fd < 0 ? -errno : (int)fd;
}

static int restrict_with(int at, unsigned flags, uint64_t attributes)
{
	const struct mount_attr attr = {.attr_set = attributes};
	long r = syscall(SYS_mount_setattr, at, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr));

	return r < 0 ? -errno : 0;
}

int mount_restrict(int tree, uint64_t attributes)
{
	return restrict_with(tree, AT_RECURSIVE, attributes);
}

int mount_restrict_one(int at, uint64_t attributes)
{
	return restrict_with(at, 0, attributes);
}

int mount_attach(int tree, int at)
{
	long r = syscall(SYS_move_mount, tree, "", at, "",
			 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);

	return r < 0 ? -errno : 0;
}

int mount_share(int at)
{
	const struct mount_attr attr = {.propagation = MS_SHARED};
	long r = syscall(SYS_mount_setattr, at, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			 sizeof(attr));

	return r < 0 ? -errno : 0;
}
