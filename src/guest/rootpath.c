#include "guest/rootpath.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

#define TIDY_EVERY 32 /* mounts; each leaves some descriptors, and 1024 is a usual limit */

void site_init(struct site *p, int root)
{
	*p = (struct site){.root = root, .dir = -1, .first = root + 1};
}

void site_changed(struct site *p)
{
	p->dir = -1;
}

void site_tidy(struct site *p)
{
	if (++p->used % TIDY_EVERY)
		return;
	(void)syscall(SYS_close_range, p->first, UINT_MAX, 0U);
	p->dir = -1;
}

static int lookup(int root, const char *path, int flags, uint64_t resolve)
{
	const struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = syscall(SYS_openat2, root, *path ? path : "/", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int rootpath_lookup(int root, const char *path, int flags)
{
	return lookup(root, path, flags, 0);
}

int rootpath_lookup_plain(int root, const char *path, int flags)
{
	return lookup(root, path, flags, RESOLVE_NO_SYMLINKS);
}

static int open_at(int dir, const char *name, int flags, mode_t mode)
{
	int fd = (int)syscall(SYS_openat, dir, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

/* mkdir -p. The path is cut while the directories above are made, and whole again afterwards. */
static int make_dirs(int root, char *path)
{
	int fd = rootpath_lookup(root, path, O_PATH | O_DIRECTORY), parent;
	char *slash = strrchr(path, '/');

	if (fd != -ENOENT || !slash)
		return fd;
	*slash = '\0';
	parent = make_dirs(root, path);
	*slash = '/';
	if (parent < 0)
		return parent;
	if (mkdirat(parent, slash + 1, 0755) < 0)
		return -errno;
	return open_at(parent, slash + 1, O_PATH | O_DIRECTORY, 0);
}

/* The directory that path is in, made where it is missing; *ret_name points into path. */
static int parent_of(struct site *p, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (!slash || n >= sizeof(p->path))
		return -ENAMETOOLONG;
	*ret_name = slash + 1;
	if (p->dir >= 0 && strncmp(p->path, path, n) == 0 && p->path[n] == '\0')
		return p->dir;
	memcpy(p->path, path, n);
	p->path[n] = '\0';
	p->dir = make_dirs(p->root, p->path);
	return p->dir;
}

int rootpath_dir(struct site *p, const char *path, mode_t mode)
{
	const char *name;
	int parent = parent_of(p, path, &name);

	if (parent < 0)
		return parent;
	return mkdirat(parent, name, mode) < 0 ? -errno : 0;
}

int rootpath_symlink(struct site *p, const char *path, const char *text)
{
	const char *name;
	int parent = parent_of(p, path, &name);

	if (parent < 0)
		return parent;
	return symlinkat(text, parent, name) < 0 ? -errno : 0;
}

int rootpath_file(struct site *p, const char *path, mode_t mode)
{
	const char *name;
	int parent = parent_of(p, path, &name);

	return parent < 0 ? parent : open_at(parent, name, O_WRONLY | O_CREAT | O_EXCL, mode);
}

int rootpath_open(struct site *p, const char *path)
{
	return rootpath_lookup(p->root, path, O_PATH);
}

int rootpath_make(struct site *p, const char *path, bool dir)
{
	const char *name;
	int parent = parent_of(p, path, &name);
	int r;

	if (parent < 0)
		return parent;
	r = dir ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0);
	if (r == 0)
		return open_at(parent, name, O_PATH, 0);
	return errno == EEXIST || errno == EROFS ? rootpath_open(p, path) : -errno;
}
