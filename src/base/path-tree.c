#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

bool path_under(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool path_is_normal(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	while (*path == '/') {
		size_t n = strcspn(path + 1, "/");

		if (n == 0 || (n == 1 && path[1] == '.') ||
		    (n == 2 && strncmp(path + 1, "..", 2) == 0))
			return false;
		path += 1 + n;
	}
	return true;
}

/* Takes the last component off s, which is n long. */
static size_t drop_last(char *s, size_t n)
{
	while (n > 0 && s[--n] != '/')
		;
	s[n] = '\0';
	return n;
}

static size_t add_part(char *s, size_t n, const char *part, size_t len)
{
	s[n++] = '/';
	memcpy(s + n, part, len);
	s[n + len] = '\0';
	return n + len;
}

char *path_plain(const char *dir, const char *path)
{
	cleanup_free char *joined = path_join(dir, path);
	char *ret = xmalloc(strlen(joined) + 2);
	size_t n = 0;

	ret[0] = '\0';
	for (const char *p = joined + strspn(joined, "/"); *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && strncmp(p, "..", 2) == 0)
			n = drop_last(ret, n);
		else if (len != 1 || *p != '.')
			n = add_part(ret, n, p, len);
		p += len;
		p += strspn(p, "/");
	}
	if (n == 0)
		memcpy(ret, "/", 2);
	return ret;
}

bool path_leads_out(const char *plain, const char *real, const char *dir)
{
	return path_under(plain, dir) && !path_under(real, dir);
}

int path_open_beneath(int dirfd, const char *name, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = flags & (O_CREAT | O_TMPFILE) ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int path_mkdirs(const char *path, mode_t mode, struct err *err)
{
	cleanup_free char *copy = xstrdup(path);

	/* Most often all of it is there already. */
	if (mkdir(path, mode) == 0 || errno == EEXIST)
		return 0;
	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return err_sys(err, errno, "cannot create directory '%s'", copy);
		*p = '/';
	}
	if (mkdir(copy, mode) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot create directory '%s'", copy);
	return 0;
}

int path_private_dir(const char *path, struct err *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot create directory '%s'", path);
	if (lstat(path, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "'%s' is not a directory; remove it", path);
	if (st.st_uid != geteuid())
		return err_set(err, EPERM, "'%s' belongs to another user (uid %u); remove it", path,
			       st.st_uid);
	if (st.st_mode & 077)
		return err_set(err, EPERM, "'%s' is open to other users; run: chmod 700 '%s'", path,
			       path);
	return 0;
}

int path_read(int dirfd, const char *name, struct buf *b)
{
	cleanup_fd int fd =
		dirfd == AT_FDCWD
			? open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY)
			: path_open_beneath(dirfd, name, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);

	if (fd < 0)
		return dirfd == AT_FDCWD ? -errno : fd;
	return fd_read_all(fd, b);
}

/*
 * Directories held open at once. Deeper ones are moved up first: neither descriptors nor the stack
 * bound the depth of a tree that *at() calls can make.
 */
#define TREE_DEPTH 64

struct removal {
	int top; /* the tree's first directory */
	dev_t dev;
	unsigned moved; /* directories that were moved up into it */
};

int path_open_up(int dirfd, const char *name)
{
	cleanup_fd int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char self[32];

	if (fd < 0)
		return -errno;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return chmod(self, 0700) < 0 ? -errno : 0;
}

/* Opens a directory for emptying it, even one whose owner took his own permissions away. */
static int open_for_removal(int dirfd, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);

	if (fd < 0 && errno == EACCES && path_open_up(dirfd, name) == 0)
		fd = openat(dirfd, name, flags);
	return fd < 0 ? -errno : fd;
}

static int move_up(struct removal *t, int dirfd, const char *name)
{
	struct stat st;
	char to[32];
	int r = 0;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* Moving a directory changes its "..", which needs the right to write in it. */
	if (S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700)
		r = path_open_up(dirfd, name);
	if (r < 0)
		return r;
	do {
		(void)snprintf(to, sizeof(to), ".removed-%u", t->moved++);
		r = 0;
		if (syscall(SYS_renameat2, dirfd, name, t->top, to, RENAME_NOREPLACE) < 0)
			r = -errno;
	} while (r == -EEXIST);
	return r;
}

static int remove_entry(struct removal *t, int dirfd, const char *name, unsigned depth);

/* Takes dirfd. */
static int empty_dir(struct removal *t, int dirfd, unsigned depth)
{
	DIR *dir = fdopendir(dirfd);
	struct dirent *de;
	int r = 0;

	if (!dir) {
		r = -errno;
		(void)close(dirfd);
		return r;
	}
	while (r == 0 && (de = readdir(dir))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		r = remove_entry(t, dirfd, de->d_name, depth);
	}
	(void)closedir(dir);
	return r;
}

static int remove_dir(struct removal *t, int dirfd, const char *name, unsigned depth)
{
	struct stat st;
	int fd, r;

	if (depth == TREE_DEPTH)
		return move_up(t, dirfd, name);
	fd = open_for_removal(dirfd, name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_dev != t->dev) {
		(void)close(fd);
		return -EXDEV;
	}
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700); /* a read-only directory cannot be emptied */
	r = empty_dir(t, fd, depth + 1);
	if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

static int remove_entry(struct removal *t, int dirfd, const char *name, unsigned depth)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return remove_dir(t, dirfd, name, depth);
}

/* Empties the tree's first directory, as often as something was moved up into it. */
static int empty_top(struct removal *t)
{
	unsigned before;
	struct stat st;
	int r;

	if (fstat(t->top, &st) < 0)
		return -errno;
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(t->top, 0700);
	t->dev = st.st_dev;
	do {
		int fd = openat(t->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		before = t->moved;
		r = fd < 0 ? -errno : empty_dir(t, fd, 0);
	} while (r == 0 && t->moved != before);
	return r;
}

int path_remove_tree(int dirfd, const char *name, struct err *err)
{
	cleanup_fd int top = -1;
	struct removal t = {0};
	int r;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(err, errno, "cannot remove '%s'", name);
	t.top = top = open_for_removal(dirfd, name);
	r = top < 0 ? top : empty_top(&t);
	if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = -errno;
	return r < 0 ? err_sys(err, -r, "cannot remove '%s'", name) : 0;
}
