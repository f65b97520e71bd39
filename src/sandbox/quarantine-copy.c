#include "sandbox/quarantine-copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define COPY_BYTES_MAX (64 * MiB)
#define COPY_FILES_MAX 10000
#define COPY_DEPTH_MAX 32

struct copy {
	uint64_t bytes;
	unsigned files;
};

static int copy_entry(struct copy *c, int from, const char *name, int to, const char *to_name,
		      int depth);

static int copy_file(struct copy *c, int from, const char *name, int to, const char *to_name)
{
	cleanup_fd int in = path_open_beneath(from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_fd int out = -1;
	struct stat st;
	ssize_t n;

	if (in < 0)
		return in;
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	out = openat(to, to_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     st.st_mode & 0777);
	if (out < 0)
		return -errno;
	do {
		n = sendfile(out, in, NULL, 1 * MiB);
		c->bytes += n > 0 ? (uint64_t)n : 0;
		if (c->bytes > COPY_BYTES_MAX)
			return -EFBIG;
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

static int copy_link(int from, const char *name, int to, const char *to_name)
{
	char text[4096];
	ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return symlinkat(text, to, to_name) < 0 ? -errno : 0;
}

static int copy_dir(struct copy *c, int from, const char *name, int to, const char *to_name,
		    int depth)
{
	cleanup_fd int in = path_open_beneath(from, name, O_RDONLY | O_DIRECTORY, 0), out = -1;
	struct dirent *de;
	DIR *d;
	int r = 0;

	if (in < 0)
		return in;
	if (mkdirat(to, to_name, 0700) < 0)
		return -errno;
	out = openat(to, to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = out < 0 ? NULL : fdopendir(in);
	if (!d)
		return -errno;
	(void)take_fd(in);
	while (r == 0 && (de = readdir(d)))
		if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
			r = copy_entry(c, dirfd(d), de->d_name, out, de->d_name, depth + 1);
	(void)closedir(d);
	return r;
}

static int copy_entry(struct copy *c, int from, const char *name, int to, const char *to_name,
		      int depth)
{
	struct stat st;

	if (depth > COPY_DEPTH_MAX || ++c->files > COPY_FILES_MAX)
		return -EFBIG;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_dir(c, from, name, to, to_name, depth);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, to, to_name);
	if (S_ISREG(st.st_mode))
		return copy_file(c, from, name, to, to_name);
	return 0; /* pipes, sockets and devices hold nothing */
}

int quarantine_copy(int from, const char *name, int to, const char *to_name)
{
	struct copy c = {0};
	struct stat st;
	struct err ignored;
	int r;

	if (fstatat(to, to_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	r = copy_entry(&c, from, name, to, to_name, 0);
	if (r == 0)
		r = path_remove_tree(from, name, &ignored);
	if (r < 0)
		(void)path_remove_tree(to, to_name, &ignored);
	return r;
}
