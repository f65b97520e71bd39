#include "workspace/tree-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/tree-shape.h"

#define NOT_CLOSED ((mode_t)-1)

struct walk {
	const struct tree_ops *ops;
	void *arg;
	struct tree_shape *notes;	/* being written; NULL: none are */
	const struct tree_shape *shape; /* of then; NULL: nothing is known */
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

static void walk_child(struct walk *w, const struct tree_dir *d, const char *name, size_t known)
{
	bool matters = false;
	struct tree_dir child = {
		.parent = d, .depth = d->depth + 1, .matters = &matters, .known = known};
	cleanup_free char *path = NULL;
	mode_t mode = NOT_CLOSED;

	if (child.depth > TREE_DEPTH_MAX) {
		*d->matters = true;
		w->ops->refused(w->arg, d, name, ELOOP);
		return;
	}
	/* One that can be listed and not entered would hide what is in its names. */
	(void)open_up(d->fd, name, &mode);
	child.fd = open_dir(d->fd, name);
	if (child.fd < 0) {
		*d->matters = true;
		if (child.fd != -ENOTDIR && child.fd != -ENOENT &&
		    !is_out_of_reach(d->fd, name, -child.fd))
			w->ops->refused(w->arg, d, name, -child.fd);
		return;
	}
	child.path = path = path_join(d->path, name);
	child.mode = mode;
	walk_dir(w, &child);
}

/* The names in it are those of then, and none matters: of its directories each may have changed. */
static void walk_known(struct walk *w, const struct tree_dir *d)
{
	const struct tree_shape *s = w->shape;
	size_t i = TREE_SHAPE_NONE;

	while ((i = tree_shape_next(s, d->known, i)) != TREE_SHAPE_NONE) {
		const char *name = tree_shape_name(s, i);
		struct stat st;

		if (tree_shape_next(s, i, TREE_SHAPE_NONE) != TREE_SHAPE_NONE ||
		    fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !tree_shape_same(s, i, &st))
			walk_child(w, d, name, i);
	}
}

static void walk_names(struct walk *w, const struct tree_dir *d, DIR *dir)
{
	size_t hint = TREE_SHAPE_NONE;
	struct dirent *de;

	while (errno = 0, (de = readdir(dir))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		*d->matters = *d->matters || (de->d_type != DT_DIR && de->d_type != DT_REG);
		if (w->ops->name(w->arg, d, de->d_name, de->d_type) &&
		    (de->d_type == DT_DIR || de->d_type == DT_UNKNOWN))
			walk_child(w, d, de->d_name,
				   tree_shape_find(w->shape, d->known, de->d_name, &hint));
	}
	if (errno)
		w->ops->refused(w->arg, d, "", errno);
	else if (w->ops->leave)
		w->ops->leave(w->arg, d);
}

static void read_dir(struct walk *w, const struct tree_dir *d, DIR *dir)
{
	size_t noted = TREE_SHAPE_NONE;

	if (w->notes)
		noted = tree_shape_add(w->notes, path_base(d->path), &d->st);
	walk_names(w, d, dir);
	if (w->notes)
		tree_shape_end(w->notes, noted, *d->matters);
}

/* Takes d->fd. */
static void walk_dir(struct walk *w, struct tree_dir *d)
{
	bool failed = fstat(d->fd, &d->st) < 0;
	bool known = !failed && w->shape && tree_shape_same(w->shape, d->known, &d->st);
	DIR *dir = failed || known ? NULL : fdopendir(d->fd);

	if (known)
		walk_known(w, d);
	else if (dir)
		read_dir(w, d, dir);
	else
		w->ops->refused(w->arg, d, "", errno);
	if (d->mode != NOT_CLOSED)
		(void)fchmod(d->fd, d->mode);
	if (dir)
		(void)closedir(dir);
	else
		(void)close(d->fd);
}

static int walk_top(struct walk *w, int fd, const char *path)
{
	bool matters = false;
	struct tree_dir top = {.fd = fd, .path = path, .mode = NOT_CLOSED, .matters = &matters};

	if (fd < 0)
		return fd;
	top.known = w->shape ? tree_shape_top(w->shape) : TREE_SHAPE_NONE;
	walk_dir(w, &top);
	return 0;
}

int tree_walk(int fd, const char *path, const struct tree_ops *ops, void *arg)
{
	struct walk w = {.ops = ops, .arg = arg};

	return walk_top(&w, fd, path);
}

int tree_walk_note(int fd, const char *path, const struct tree_ops *ops, void *arg,
		   struct tree_shape **ret)
{
	struct walk w = {.ops = ops, .arg = arg};

	w.notes = fd < 0 ? NULL : tree_shape_new(fd);
	*ret = w.notes;
	return walk_top(&w, fd, path);
}

int tree_walk_changed(int fd, const char *path, const struct tree_ops *ops, void *arg,
		      const struct tree_shape *shape)
{
	struct walk w = {.ops = ops, .arg = arg, .shape = shape};

	return walk_top(&w, fd, path);
}

const char *tree_refusal(int error)
{
	return error == ELOOP ? "it is too deep" : strerror(error);
}
