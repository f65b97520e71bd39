#include "workspace/tree-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define NOT_CLOSED ((mode_t)-1)

struct walk {
	const struct tree_ops *ops;
	void *arg;
};

/* -ENOTDIR: it is none; a link is none. */
static int open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : errno == ELOOP ? -ENOTDIR : -errno;
}

/* Of our own user and closed to it: *ret_mode is what it gets back when it has been looked at. */
static int open_up(int dirfd, const char *name, mode_t *ret_mode)
{
	struct stat st;
	int r;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0500) == 0500)
		return -EACCES;
	r = path_open_up(dirfd, name);
	if (r == 0)
		*ret_mode = st.st_mode & 07777;
	return r;
}

/* Another user's directory, where ours can put nothing: nothing inside could either. */
static bool is_out_of_reach(int dirfd, const char *name, int error)
{
	return error == EACCES &&
	       faccessat(dirfd, name, W_OK | X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0;
}

static void walk_dir(struct walk *w, struct tree_dir *d);

static void walk_child(struct walk *w, const struct tree_dir *d, const char *name)
{
	struct tree_dir child = {.parent = d, .depth = d->depth + 1};
	cleanup_free char *path = NULL;
	mode_t mode = NOT_CLOSED;

	if (child.depth > TREE_DEPTH_MAX) {
		w->ops->refused(w->arg, d, name, ELOOP);
		return;
	}
	/* One that can be listed and not entered would hide what is in its names. */
	(void)open_up(d->fd, name, &mode);
	child.fd = open_dir(d->fd, name);
	if (child.fd < 0) {
		if (child.fd != -ENOTDIR && child.fd != -ENOENT &&
		    !is_out_of_reach(d->fd, name, -child.fd))
			w->ops->refused(w->arg, d, name, -child.fd);
		return;
	}
	child.path = path = path_join(d->path, name);
	child.mode = mode;
	walk_dir(w, &child);
}

/* Takes d->fd. */
static void walk_dir(struct walk *w, struct tree_dir *d)
{
	DIR *dir = fstat(d->fd, &d->st) < 0 ? NULL : fdopendir(d->fd);
	struct dirent *de;

	if (!dir) {
		w->ops->refused(w->arg, d, "", errno);
		(void)close(d->fd);
		return;
	}
	while (errno = 0, (de = readdir(dir))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		if (w->ops->name(w->arg, d, de->d_name, de->d_type) &&
		    (de->d_type == DT_DIR || de->d_type == DT_UNKNOWN))
			walk_child(w, d, de->d_name);
	}
	if (errno)
		w->ops->refused(w->arg, d, "", errno);
	else if (w->ops->leave)
		w->ops->leave(w->arg, d);
	if (d->mode != NOT_CLOSED)
		(void)fchmod(d->fd, d->mode);
	(void)closedir(dir);
}

int tree_walk(int fd, const char *path, const struct tree_ops *ops, void *arg)
{
	struct walk w = {.ops = ops, .arg = arg};
	struct tree_dir top = {.fd = fd, .path = path, .mode = NOT_CLOSED};

	if (fd < 0)
		return fd;
	walk_dir(&w, &top);
	return 0;
}

const char *tree_refusal(int error)
{
	return error == ELOOP ? "it is too deep" : strerror(error);
}
