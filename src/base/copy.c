#include "base/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

#define TEMPORARY ".ralph-copy"

struct copy {
	const struct copy_rules *rules;
	uint64_t bytes;
	unsigned files;
};

static int copy_entry(struct copy *c, int from, const char *name, int to, const char *to_name,
		      const char *path, unsigned depth);

static void skip(const struct copy *c, const char *path, const char *why)
{
	if (c->rules->skipped)
		c->rules->skipped(c->rules->arg, path, why);
}

/* Copies one run of data, from at to end. */
static int copy_data(struct copy *c, int in, int out, off_t at, off_t end)
{
	if (lseek(out, at, SEEK_SET) < 0)
		return -errno;
	while (at < end) {
		size_t want = (size_t)(end - at) < 1 * MiB ? (size_t)(end - at) : 1 * MiB;
		ssize_t n = sendfile(out, in, &at, want);

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0; /* the file was truncated meanwhile */
		c->bytes += (uint64_t)n;
		if (c->bytes > c->rules->bytes_max)
			return -EFBIG;
	}
	return 0;
}

static int copy_content(struct copy *c, int in, int out, off_t size)
{
	off_t at = 0, end;
	int r = 0;

	while (r == 0 && at < size) {
		at = lseek(in, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			break; /* nothing but a hole is left */
		if (at < 0)
			return -errno;
		end = lseek(in, at, SEEK_HOLE);
		if (end < 0 || end > size)
			end = size;
		if (at < end)
			r = copy_data(c, in, out, at, end);
		at = end;
	}
	if (r == 0 && ftruncate(out, size) < 0)
		r = -errno;
	return r;
}

static int copy_file(struct copy *c, int from, const char *name, int to, const char *to_name)
{
	cleanup_fd int in = path_open_beneath(from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_free char *temporary = xasprintf(TEMPORARY ".%d.%u", (int)getpid(), c->files);
	const char *made = c->rules->replace ? temporary : to_name;
	cleanup_fd int out = -1;
	struct stat st;
	int r;

	if (in < 0)
		return in;
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	out = openat(to, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     st.st_mode & 0777);
	if (out < 0)
		return -errno;
	r = copy_content(c, in, out, st.st_size);
	if (r == 0 && c->rules->modes && fchmod(out, st.st_mode & 0777) < 0)
		r = -errno;
	if (r == 0 && c->rules->replace && renameat(to, made, to, to_name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(to, made, 0);
	return r;
}

/* The link's text alone decides: the copy has the same links. */
bool copy_link_inside(const char *text, unsigned depth)
{
	long level = (long)depth - 1; /* of the directory that it is in; 0: the top */

	if (text[0] == '/' || depth == 0)
		return false;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			level--;
		else if (n > 0 && !(n == 1 && p[0] == '.'))
			level++;
		if (level < 0)
			return false;
		p += n + (p[n] == '/');
	}
	return true;
}

static int copy_link(struct copy *c, int from, const char *name, int to, const char *to_name,
		     const char *path, unsigned depth)
{
	char text[4096];
	ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (c->rules->links == COPY_LINKS_INSIDE && !copy_link_inside(text, depth)) {
		skip(c, path, "a link that leads out of what is copied");
		return 0;
	}
	if (symlinkat(text, to, to_name) == 0)
		return 0;
	if (errno != EEXIST || !c->rules->replace)
		return -errno;
	return unlinkat(to, to_name, 0) < 0 || symlinkat(text, to, to_name) < 0 ? -errno : 0;
}

static int copy_dir(struct copy *c, int from, const char *name, int to, const char *to_name,
		    const char *path, unsigned depth)
{
	cleanup_fd int in = path_open_beneath(from, name, O_RDONLY | O_DIRECTORY, 0), out = -1;
	struct dirent *de;
	struct stat st;
	DIR *d;
	int r = 0;

	if (in < 0)
		return in;
	if (mkdirat(to, to_name, 0700) < 0 && (errno != EEXIST || !c->rules->replace))
		return -errno;
	out = openat(to, to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = out < 0 ? NULL : fdopendir(in);
	if (!d)
		return -errno;
	(void)take_fd(in);
	while (r == 0 && (de = readdir(d))) {
		cleanup_free char *sub = NULL;

		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		sub = path_join(path, de->d_name);
		r = copy_entry(c, dirfd(d), de->d_name, out, de->d_name, sub, depth + 1);
	}
	if (r == 0 && c->rules->modes &&
	    (fstat(dirfd(d), &st) < 0 || fchmod(out, st.st_mode & 0777) < 0))
		r = -errno;
	(void)closedir(d);
	return r;
}

static int copy_entry(struct copy *c, int from, const char *name, int to, const char *to_name,
		      const char *path, unsigned depth)
{
	struct stat st;

	if (depth > c->rules->depth_max || ++c->files > c->rules->files_max)
		return -EFBIG;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_dir(c, from, name, to, to_name, path, depth);
	if (S_ISLNK(st.st_mode))
		return copy_link(c, from, name, to, to_name, path, depth);
	if (S_ISREG(st.st_mode))
		return copy_file(c, from, name, to, to_name);
	skip(c, path, "neither a file nor a directory nor a link");
	return 0;
}

int copy_tree(int from, const char *name, int to, const char *to_name,
	      const struct copy_rules *rules)
{
	struct copy c = {.rules = rules};

	return copy_entry(&c, from, name, to, to_name, name, 0);
}
