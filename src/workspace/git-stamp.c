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
#define BLOCK 2048 /* of names; each level has one */

struct stamp {
	uint64_t hash;
	unsigned dirs, entries;
	bool files;	/* those in directories count by themselves too */
	int64_t newest; /* the latest change of anything that was looked at, in ns */
};

int64_t git_stamp_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

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
	if (git_stamp_ns(&st->st_ctim) > s->newest)
		s->newest = git_stamp_ns(&st->st_ctim);
}

/* A name that is not there is a state as well. */
static void mix_name(struct stamp *s, int dir, const char *name)
{
	struct stat st;
	bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	mix(s, &there, sizeof(there));
	if (there)
		mix_stat(s, &st);
}

static bool is_sample(const char *name)
{
	size_t n = strlen(name);

	return n > 7 && strcmp(name + n - 7, ".sample") == 0;
}

static int walk(struct stamp *s, int at, const char *name, unsigned depth);

static int walk_entry(struct stamp *s, int at, const char *name, unsigned char type, unsigned depth)
{
	if (++s->entries > GIT_STAMP_ENTRIES_MAX)
		return -EOVERFLOW;
	if (type == DT_DIR)
		return name[0] == '.' ? 0 : walk(s, at, name, depth + 1);
	if (s->files && !is_sample(name))
		mix_name(s, at, name);
	return 0;
}

/* Without opendir(), whose own looks at the descriptor cost as much as this: every command ends
 * with one. */
static int walk_names(struct stamp *s, int fd, unsigned depth)
{
	char block[BLOCK] __attribute__((aligned(__alignof__(struct dirent64))));
	ssize_t n;

	while ((n = getdents64(fd, block, sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *de = (const void *)(block + at);
			int r = walk_entry(s, fd, de->d_name, de->d_type, depth);

			if (r < 0)
				return r;
			at += de->d_reclen;
		}
	}
	return n < 0 ? -EOVERFLOW : 0;
}

/* A reference that moves is a new file, so its directory has changed. */
static int walk(struct stamp *s, int at, const char *name, unsigned depth)
{
	cleanup_fd int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return 0; /* none, or not what git takes for one */
	if (fstat(fd, &st) < 0 || ++s->dirs > GIT_STAMP_DIRS_MAX || depth > DEPTH_MAX)
		return -EOVERFLOW;
	mix_stat(s, &st);
	return walk_names(s, fd, depth);
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

/*
 * A file that is written in place changes itself, one that is replaced changes its directory as
 * well. So the directory stands for all names in it that were not there.
 */
static void mix_source(struct stamp *s, int dir, int common)
{
	static const char *const of_worktree[] = {"HEAD", "index", "config.worktree", "ORIG_HEAD",
						  "info/sparse-checkout"};
	static const char *const of_repository[] = {"config",
						    "packed-refs",
						    "shallow",
						    "info/exclude",
						    "info/attributes",
						    "logs/refs/stash",
						    "objects/info/alternates"};

	for (size_t i = 0; i < sizeof(of_worktree) / sizeof(of_worktree[0]); i++)
		mix_name(s, dir, of_worktree[i]);
	for (size_t i = 0; i < sizeof(of_repository) / sizeof(of_repository[0]); i++)
		mix_name(s, common, of_repository[i]);
}

int git_stamp_source(int dir, int common, uint64_t *ret, int64_t *ret_newest)
{
	struct stamp s = {.hash = 0xcbf29ce484222325ULL, .files = true};
	struct stat st[2];
	int r;

	if (fstat(dir, &st[0]) < 0 || fstat(common, &st[1]) < 0)
		return -errno;
	mix(&s, &st[0].st_dev, sizeof(st[0].st_dev));
	mix_stat(&s, &st[0]);
	mix_stat(&s, &st[1]);
	mix_source(&s, dir, common);
	r = walk(&s, common, "refs", 0);
	if (r == 0)
		r = walk(&s, common, "hooks", 0);
	if (r == 0 && st[0].st_ino != st[1].st_ino)
		r = walk(&s, dir, "refs", 0);
	*ret = s.hash;
	*ret_newest = s.newest;
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
