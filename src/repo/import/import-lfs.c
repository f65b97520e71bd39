/*
 * Files of git-lfs, which it keeps beside git's objects by their SHA-256. "LFS LENGTH NAME" and the
 * bytes stand at the beginning of a repository's stream. Each is written to IMPORT_DIR, and it is
 * kept only if its content has that name. They become the user's with the objects.
 */
#include "repo/import/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "repo/take-stream.h"

#define STAGE IMPORT_DIR "/lfs"
#define NAME_LEN 64

static bool is_name(const char *s)
{
	return strlen(s) == NAME_LEN && strspn(s, "0123456789abcdef") == NAME_LEN;
}

/* lfs/objects/01/23/0123… of the repository; the caller frees it. */
static char *place_of(const struct import *im, const char *name)
{
	return xasprintf("%s/lfs/objects/%.2s/%.2s/%s", im->git.common, name, name + 2, name);
}

static int copy(struct repo_stream *s, int to, char hex[SHA256_DIGEST_STRING_LENGTH])
{
	char chunk[16 * KiB];
	SHA256_CTX sum;
	ssize_t n;
	int r = 0;

	SHA256Init(&sum);
	while (r == 0 && (n = repo_stream_read(s, chunk, sizeof(chunk))) > 0) {
		SHA256Update(&sum, (const uint8_t *)chunk, (size_t)n);
		r = to < 0 ? 0 : fd_write_all(to, chunk, (size_t)n);
	}
	(void)SHA256End(&sum, hex);
	return r == 0 && n < 0 ? (int)n : r;
}

static int stage(const struct import *im, struct repo_stream *s, const char *name, struct err *err)
{
	cleanup_free char *dir = path_join(im->git.dir, STAGE), *path = path_join(dir, name);
	char hex[SHA256_DIGEST_STRING_LENGTH];
	cleanup_fd int fd = -1;
	int r;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	r = fd < 0 ? -errno : copy(s, fd, hex);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		return err_sys(err, -r, "cannot write a file of git-lfs");
	return streq(hex, name)
		       ? 0
		       : err_set(err, EPROTO, "a file of git-lfs is not what its name says");
}

int import_take_lfs(struct import *im, struct repo_stream *s, const char *line, struct err *err)
{
	const char *space = strchr(line, ' ');
	cleanup_free char *digits = xstrndup(line, space ? (size_t)(space - line) : 0),
			  *there = NULL;
	uint64_t n, outer = s->left;
	struct stat st;
	int r = 0;

	if (!space || !is_name(space + 1) || parse_uint(digits, 0, REPO_PACK_MAX, &n) < 0 ||
	    n > outer)
		return err_set(err, EPROTO, "what git in the sandbox says cannot be understood");
	if (++im->n_lfs > IMPORT_LFS_MAX || s->total + n > REPO_PACK_MAX)
		return err_set(err, EFBIG, "there is more new data than is taken over");
	there = place_of(im, space + 1);
	repo_stream_enter(s, n);
	if (lstat(there, &st) < 0)
		r = stage(im, s, space + 1, err);
	if (r == 0 && repo_stream_leave(s) < 0)
		r = err_set(err, EPROTO, "the stream is cut off");
	/* The part that this is in goes on. */
	repo_stream_enter(s, outer == UINT64_MAX ? outer : outer - n);
	return r;
}

static int move_one(const struct import *im, int stage_fd, const char *name, struct err *err)
{
	cleanup_free char *to = place_of(im, name), *dir = path_dir(to);
	int r = path_mkdirs(dir, 0777, err);

	if (r == 0 && renameat(stage_fd, name, AT_FDCWD, to) < 0)
		r = err_sys(err, errno, "cannot move a file of git-lfs to '%s'", to);
	return r;
}

int import_move_lfs(struct import *im, struct err *err)
{
	cleanup_free char *dir = path_join(im->git.dir, STAGE);
	DIR *d = im->n_lfs ? opendir(dir) : NULL;
	struct dirent *de;
	int r = 0;

	while (r == 0 && d && (de = readdir(d)))
		if (is_name(de->d_name))
			r = move_one(im, dirfd(d), de->d_name, err);
	if (d)
		(void)closedir(d);
	return r;
}
