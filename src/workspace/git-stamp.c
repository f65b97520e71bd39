#include "workspace/git-stamp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define DEPTH_MAX 16

struct stamp {
	uint64_t hash;
	unsigned dirs, entries;
};

/* FNV-1a. Nobody can set a ctime. */
static void mix(struct stamp *s, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (; n > 0; n--, c++)
		s->hash = (s->hash ^ *c) * 0x100000001b3ULL;
}

static void mix_stat(struct stamp *s, const struct stat *st)
{
	mix(s, &st->st_ino, sizeof(st->st_ino));
	mix(s, &st->st_ctim.tv_sec, sizeof(st->st_ctim.tv_sec));
	mix(s, &st->st_ctim.tv_nsec, sizeof(st->st_ctim.tv_nsec));
	mix(s, &st->st_size, sizeof(st->st_size));
}

/* A reference that moves is a new file, so its directory has changed. */
static int walk(struct stamp *s, int at, const char *name, unsigned depth)
{
	int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0), r = 0;
	struct dirent *de;
	struct stat st;
	DIR *d;

	if (fd < 0)
		return 0; /* none, or not what git takes for one */
	d = fstat(fd, &st) < 0 ? NULL : fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return -EOVERFLOW;
	}
	mix_stat(s, &st);
	if (++s->dirs > GIT_STAMP_DIRS_MAX || depth > DEPTH_MAX)
		r = -EOVERFLOW;
	while (r == 0 && (de = readdir(d))) {
		if (++s->entries > GIT_STAMP_ENTRIES_MAX)
			r = -EOVERFLOW;
		else if (de->d_type == DT_DIR && de->d_name[0] != '.')
			r = walk(s, dirfd(d), de->d_name, depth + 1);
	}
	(void)closedir(d);
	return r;
}

static int stamp_modules(struct stamp *s, int at, const char *name, unsigned depth);

/* One repository, and those of its submodules. */
static int stamp_one(struct stamp *s, int dir, unsigned depth)
{
	static const char *const files[] = {"HEAD", "packed-refs"};
	struct stat st;
	int r;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (fstatat(dir, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			mix_stat(s, &st);
	r = walk(s, dir, "refs", 0);
	return r < 0 ? r : stamp_modules(s, dir, "modules", depth);
}

/* The name of a submodule may have slashes in it. */
static int stamp_modules(struct stamp *s, int at, const char *name, unsigned depth)
{
	int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0), r = 0;
	struct dirent *de;
	struct stat st;
	DIR *d;

	if (fd < 0)
		return 0;
	d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return -EOVERFLOW;
	}
	if (++s->dirs > GIT_STAMP_DIRS_MAX || depth > DEPTH_MAX)
		r = -EOVERFLOW;
	else if (depth > 0 && fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0)
		r = stamp_one(s, fd, depth + 1);
	else
		while (r == 0 && (de = readdir(d))) {
			if (++s->entries > GIT_STAMP_ENTRIES_MAX)
				r = -EOVERFLOW;
			else if (de->d_type == DT_DIR && de->d_name[0] != '.')
				r = stamp_modules(s, fd, de->d_name, depth + 1);
		}
	(void)closedir(d);
	return r;
}

int git_stamp(int dir, uint64_t *ret)
{
	struct stamp s = {.hash = 0xcbf29ce484222325ULL};
	int r = stamp_one(&s, dir, 0);

	*ret = s.hash;
	return r;
}

#define NUMBER_LEN 16

static void print(uint64_t stamp, char ret[NUMBER_LEN + 1])
{
	(void)snprintf(ret, NUMBER_LEN + 1, "%016llx", (unsigned long long)stamp);
}

int git_imported_is(int record, int dir)
{
	char now[NUMBER_LEN + 1];
	cleanup_buf struct buf b;
	uint64_t stamp;
	int r;

	buf_init(&b, NUMBER_LEN);
	r = path_read(record, GIT_IMPORTED, &b);
	if (r == -ENOENT)
		return r;
	if (r < 0 || git_stamp(dir, &stamp) < 0)
		return 0;
	print(stamp, now);
	return streq(buf_str(&b), now);
}

int git_imported_set(int record, uint64_t stamp)
{
	char text[NUMBER_LEN + 1];

	print(stamp, text);
	return path_write_atomic(record, GIT_IMPORTED, text, NUMBER_LEN, 0600, 0);
}
