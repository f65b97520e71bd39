#include "repo/repo-parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "git/tree-path.h"

/*
 * git and libgit2 follow links in a git directory: they write through a reference or a reflog that
 * is a link. git creates no such links, so no normal repository needs them (except for very old
 * HEADs, and tools that share objects by links).
 */
#define ENTRIES_MAX 1000000
#define DEPTH_MAX 64
#define ALTERNATES_LEN_MAX (64 * KiB)

struct scan {
	struct err *err;
	const char *top;
	unsigned entries;
};

static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode)	? "a symbolic link"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
	       : S_ISDIR(mode)	? "a directory"
	       : S_ISREG(mode)	? "a file"
				: "a device";
}

static int odd(struct scan *s, const char *path, const char *name, mode_t mode)
{
	cleanup_free char *full = *path ? path_join(path, name) : xstrdup(name);
	cleanup_free char *shown = gitpath_shown(full, strlen(full), 200);

	return err_set(s->err, ELOOP,
		       "'%s/%s' is %s, which git would follow; ralph does not work there until it "
		       "is removed",
		       s->top, shown, kind_of(mode));
}

static int walk(struct scan *s, int parent, const char *path, const char *name, int depth);

static int each_entry(struct scan *s, DIR *d, const char *path, int depth)
{
	struct dirent *de;
	int r = 0;

	while (r == 0 && (de = readdir(d))) {
		struct stat st;

		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		if (++s->entries > ENTRIES_MAX)
			return err_set(s->err, E2BIG, "'%s' has too many references", s->top);
		if (de->d_type == DT_REG)
			continue;
		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* removed in the meantime */
		if (S_ISDIR(st.st_mode))
			r = walk(s, dirfd(d), path, de->d_name, depth + 1);
		else if (!S_ISREG(st.st_mode))
			r = odd(s, path, de->d_name, st.st_mode);
	}
	return r;
}

/* Scans a directory recursively; a missing one is fine. */
static int walk(struct scan *s, int parent, const char *path, const char *name, int depth)
{
	cleanup_free char *own = *path ? path_join(path, name) : xstrdup(name);
	int r, fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	DIR *d;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR) &&
	    fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return odd(s, path, name, st.st_mode);
	if (fd < 0)
		return err_sys(s->err, errno, "cannot open '%s/%s'", s->top, own);
	d = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	if (!d) {
		(void)close(fd);
		return err_set(s->err, E2BIG, "'%s/%s' is nested too deeply", s->top, own);
	}
	r = each_entry(s, d, own, depth);
	(void)closedir(d);
	return r;
}

static int must_be(struct scan *s, int dir, const char *path, const char *name, mode_t type)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || (st.st_mode & S_IFMT) == type)
		return 0;
	return odd(s, path, name, st.st_mode);
}

/* objects/00 to objects/ff. One look at the directory, not one at each of 256 names: this is done before
 * every piece of work. */
static int scan_fan_out(struct scan *s, int objects)
{
	int fd = openat(objects, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	if (!d) {
		closep(&fd);
		return err_sys(s->err, errno, "cannot open '%s/objects'", s->top);
	}
	while (r == 0 && (errno = 0, de = readdir(d)))
		if (strlen(de->d_name) == 2 && strspn(de->d_name, "0123456789abcdef") == 2 &&
		    de->d_type != DT_DIR)
			r = must_be(s, objects, "objects", de->d_name, S_IFDIR);
	if (r == 0 && errno)
		r = err_sys(s->err, errno, "cannot read '%s/objects'", s->top);
	(void)closedir(d);
	return r;
}

static int scan_objects(struct scan *s, int dir)
{
	cleanup_fd int objects = -1;
	int r = must_be(s, dir, "", "objects", S_IFDIR);

	if (r == 0) {
		objects = openat(dir, "objects", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (objects < 0)
			r = err_sys(s->err, errno, "cannot open '%s/objects'", s->top);
	}
	if (r == 0)
		r = scan_fan_out(s, objects);
	if (r == 0)
		r = walk(s, objects, "objects", "info", 0);
	return r == 0 ? walk(s, objects, "objects", "pack", 0) : r;
}

/* Checks the alternates. A new line there would make git read foreign objects as the
 * repository's own. */
static int scan_alternates(struct scan *s, int dir, const json_t *known)
{
	cleanup_fd int fd = path_open_beneath(dir, "objects/info/alternates",
					      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf b;
	cleanup_strv struct strv lines = {0};

	buf_init(&b, ALTERNATES_LEN_MAX);
	if (fd < 0)
		return 0;
	if (fd_read_all(fd, &b) < 0)
		return err_set(s->err, EINVAL, "'%s/objects/info/alternates' cannot be read",
			       s->top);
	strv_split(&lines, buf_str(&b), '\n');
	for (size_t i = 0; known && i < lines.n; i++) {
		bool found = lines.v[i][0] == '#';
		const json_t *k;
		size_t n;

		json_array_foreach (known, n, k)
			found = found || streq(json_string_value(k), lines.v[i]);
		if (!found) {
			cleanup_free char *shown =
				gitpath_shown(lines.v[i], strlen(lines.v[i]), 200);

			return err_set(s->err, EXDEV,
				       "'%s/objects/info/alternates' borrows objects from '%s', "
				       "which it did not when the loop began; remove that line",
				       s->top, shown);
		}
	}
	return 0;
}

static int scan_dir(struct scan *s, const char *path, bool whole, const json_t *alternates)
{
	static const char *const files[] = {"HEAD",	 "ORIG_HEAD", "FETCH_HEAD",  "MERGE_HEAD",
					    "MERGE_MSG", "index",     "packed-refs", "shallow"};
	static const char *const dirs[] = {"refs", "logs", "worktrees"};
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = 0;

	s->top = path;
	if (dir < 0)
		return err_sys(s->err, errno, "cannot open '%s'", path);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		r = must_be(s, dir, "", files[i], S_IFREG);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++)
		r = walk(s, dir, "", dirs[i], 0);
	if (r == 0 && whole)
		r = scan_objects(s, dir);
	return r == 0 && whole ? scan_alternates(s, dir, alternates) : r;
}

int repo_scan(const struct repo *r, struct err *err)
{
	struct scan s = {.err = err};
	int rc = scan_dir(&s, r->git.common, true, repo_view_list(r, "alternates"));

	return rc == 0 && !streq(r->git.dir, r->git.common) ? scan_dir(&s, r->git.dir, false, NULL)
							    : rc;
}
