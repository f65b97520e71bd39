#include "guest/place.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

int place_open(int root, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, *path ? path : "/", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* mkdir -p. The path is cut while the directories above are made, and whole again afterwards. */
static int make_dirs(int root, char *path)
{
	int fd = place_open(root, path, O_PATH | O_DIRECTORY);
	cleanup_fd int parent = -1;
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
	fd = openat(parent, slash + 1, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The directory that path is in, made where it is missing; *ret_name points into path. */
static int parent_of(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	if (!slash || (size_t)(slash - path) >= sizeof(dir))
		return -ENAMETOOLONG;
	*ret_name = slash + 1;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	return make_dirs(root, dir);
}

int place_dir(int root, const char *path, mode_t mode)
{
	const char *name;
	cleanup_fd int parent = parent_of(root, path, &name);

	if (parent < 0)
		return parent;
	return mkdirat(parent, name, mode) < 0 ? -errno : 0;
}

int place_symlink(int root, const char *path, const char *text)
{
	const char *name;
	cleanup_fd int parent = parent_of(root, path, &name);

	if (parent < 0)
		return parent;
	return symlinkat(text, parent, name) < 0 ? -errno : 0;
}

int place_file(int root, const char *path, mode_t mode)
{
	const char *name;
	cleanup_fd int parent = parent_of(root, path, &name);
	int fd;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

int place_make(int root, const char *path, bool dir)
{
	int fd = place_open(root, path, O_PATH), r;

	if (fd != -ENOENT)
		return fd;
	r = dir ? place_dir(root, path, 0755) : place_file(root, path, 0644);
	if (r < 0)
		return r;
	if (!dir)
		(void)close(r);
	return place_open(root, path, O_PATH);
}
