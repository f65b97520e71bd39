#include "engine/make-readonly.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

/*
 * A file that is a mount point in here can be replaced on the host by a rename, as `git config`
 * does; the kernel then takes the mount away, and the new file would be writable. So a child goes
 * into the sandbox's mounts, with the rights that the owner of their user namespace has there, and
 * mounts it again. It runs nothing and reads nothing of the sandbox's.
 */

static int enter(pid_t init)
{
	char path[64];
	cleanup_fd int mounts = -1, user = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)init);
	mounts = open(path, O_RDONLY | O_CLOEXEC);
	user = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	if (user < 0 || setns(user, CLONE_NEWUSER) < 0 || setns(mounts, CLONE_NEWNS) < 0)
		return -errno;
	return 0;
}

/* Nothing on the way may be a link: the agent could lead us to any place of its own. */
static int open_place(const char *below, const char *inside)
{
	char path[PATH_MAX];
	size_t n = strlen(below) + strlen(inside);
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (n >= sizeof(path))
		return -ENAMETOOLONG;
	(void)stpcpy(stpcpy(path, below), inside);
	fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* What is hidden is hidden by a /dev/null without devices, as the guest mounts it; nothing inside
 * can replace that of the sandbox. */
static int mount_over(const char *below, const char *from, const char *path,
		      enum spec_mount_kind kind)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (kind == SPEC_PIN ? 0 : MOUNT_ATTR_RDONLY),
	};
	const char *what = kind == SPEC_HIDE ? "/dev/null" : from ? from : path;
	cleanup_fd int place = open_place(below, path);
	cleanup_fd int source = open_place(kind == SPEC_HIDE ? "" : below, what);
	cleanup_fd int tree = -1;

	if (place < 0 || source < 0)
		return place < 0 ? place : source;
	tree = (int)syscall(SYS_open_tree, source, "",
			    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
	    syscall(SYS_move_mount, tree, "", place, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

int mount_again(pid_t init, const char *below, const char *from, const char *path,
		enum spec_mount_kind kind, struct err *err)
{
	int status = 0, r;
	pid_t child;

	if (init <= 0)
		return err_set(err, ESRCH, "the sandbox is not up");
	child = fork();
	if (child < 0)
		return err_sys(err, errno, "cannot fork");
	if (child == 0) {
		r = enter(init);
		if (r == 0)
			r = mount_over(below, from, path, kind);
		_exit(-r);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_sys(err, WIFEXITED(status) ? WEXITSTATUS(status) : EIO,
		       "cannot cover '%s' again", path);
}
