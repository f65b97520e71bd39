#include "image/image-manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"

struct walk {
	const char *name;
	struct buf *out;
	unsigned files;
	uint64_t bytes;
	struct err *err;
};

static int walk_dir(struct walk *w, int dir, const char *path, unsigned depth);

int image_context_too_large(const char *name, struct err *err)
{
	return err_usage(err,
			 "%s: holds more than %zu MiB, %d files or %d levels; leave out what the "
			 "image does not need",
			 name, IMAGE_CONTEXT_BYTES_MAX / MiB, IMAGE_CONTEXT_FILES_MAX,
			 IMAGE_CONTEXT_DEPTH_MAX);
}

static int too_large(struct walk *w)
{
	return image_context_too_large(w->name, w->err);
}

/* The line includes the length of each path, because paths may contain anything, also newlines. */
static int put_entry(struct walk *w, char kind, mode_t mode, const char *what, const char *path)
{
	if (buf_printf(w->out, "%c %04o %zu:%s %zu:%s\n", kind, (unsigned)(mode & 0777),
		       strlen(what), what, strlen(path), path) < 0)
		return too_large(w);
	return 0;
}

static int hash_file(struct walk *w, int fd, char ret[SHA256_DIGEST_STRING_LENGTH])
{
	char *chunk = xmalloc(64 * KiB);
	SHA2_CTX ctx;
	ssize_t n;

	SHA256Init(&ctx);
	while ((n = read(fd, chunk, 64 * KiB)) > 0) {
		SHA256Update(&ctx, (const uint8_t *)chunk, (size_t)n);
		w->bytes += (uint64_t)n;
		if (w->bytes > IMAGE_CONTEXT_BYTES_MAX)
			break;
	}
	free(chunk);
	if (n < 0)
		return -errno;
	(void)SHA256End(&ctx, ret);
	return n > 0 ? -EFBIG : 0;
}

static int walk_file(struct walk *w, int dir, const char *leaf, const char *path)
{
	cleanup_fd int fd = path_open_beneath(dir, leaf, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	char sum[SHA256_DIGEST_STRING_LENGTH] = "";
	struct stat st;
	int r = fd;

	if (r >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		r = -ESTALE;
	if (r >= 0)
		r = hash_file(w, fd, sum);
	if (r == -EFBIG)
		return too_large(w);
	if (r < 0)
		return err_sys(w->err, -r, "cannot read '%s/%s'", w->name, path);
	return put_entry(w, 'f', st.st_mode, sum, path);
}

static int walk_link(struct walk *w, int dir, const char *leaf, const char *path, unsigned depth)
{
	char text[4096];
	ssize_t n = readlinkat(dir, leaf, text, sizeof(text) - 1);

	if (n < 0)
		return err_sys(w->err, errno, "cannot read '%s/%s'", w->name, path);
	text[n] = '\0';
	if (!copy_link_inside(text, depth))
		return err_usage(w->err,
				 "%s/%s: is a symbolic link that leads out of that directory; put "
				 "a copy in its place",
				 w->name, path);
	return put_entry(w, 'l', 0777, text, path);
}

static int walk_entry(struct walk *w, int dir, const char *leaf, const char *path, unsigned depth)
{
	cleanup_fd int sub = -1;
	struct stat st;

	if (depth > IMAGE_CONTEXT_DEPTH_MAX || ++w->files > IMAGE_CONTEXT_FILES_MAX)
		return too_large(w);
	if (depth == 1 && streq(leaf, ".dockerignore"))
		return err_usage(w->err,
				 "%s/%s: is not heeded; keep files that the image does not need "
				 "elsewhere, and remove it",
				 w->name, path);
	if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(w->err, errno, "cannot look at '%s/%s'", w->name, path);
	if (S_ISREG(st.st_mode))
		return walk_file(w, dir, leaf, path);
	if (S_ISLNK(st.st_mode))
		return walk_link(w, dir, leaf, path, depth);
	if (!S_ISDIR(st.st_mode))
		return err_usage(w->err,
				 "%s/%s: is neither a file nor a directory nor a link; remove it",
				 w->name, path);
	sub = path_open_beneath(dir, leaf, O_RDONLY | O_DIRECTORY, 0);
	if (sub < 0)
		return err_sys(w->err, -sub, "cannot open '%s/%s'", w->name, path);
	return walk_dir(w, sub, path, depth);
}

/* Reads all names first, up to the limit. */
static int list_names(struct walk *w, int dir, struct strv *ret)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *de;

	if (!d) {
		int eno = errno;

		closep(&again);
		return err_sys(w->err, eno, "cannot read '%s'", w->name);
	}
	while (ret->n <= IMAGE_CONTEXT_FILES_MAX && (de = readdir(d)))
		if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
			strv_push(ret, de->d_name);
	(void)closedir(d);
	strv_sort(ret);
	return 0;
}

/* path: "" at the top. */
static int walk_dir(struct walk *w, int dir, const char *path, unsigned depth)
{
	cleanup_strv struct strv names = {0};
	struct stat st;
	int r = list_names(w, dir, &names);

	if (r == 0 && fstat(dir, &st) < 0)
		r = err_sys(w->err, errno, "cannot look at '%s/%s'", w->name, path);
	/* The permissions of the top directory are not included: nobody chose them. */
	if (r == 0 && depth > 0)
		r = put_entry(w, 'd', st.st_mode, "", path);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		cleanup_free char *sub = *path ? path_join(path, names.v[i]) : xstrdup(names.v[i]);

		r = walk_entry(w, dir, names.v[i], sub, depth + 1);
	}
	return r;
}

int image_manifest(int dir, const char *name, struct buf *out, struct err *err)
{
	struct walk w = {.name = name, .out = out, .err = err};

	return walk_dir(&w, dir, "", 0);
}
