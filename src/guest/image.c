/*
 * DOC: Theory of operation
 *
 * The image of a container is the container's root, with the runtime's own mounts in it, and with
 * GUEST_BOX, where the host's directories lie as nobody inside may see them. So it is not bound as a
 * whole: each entry of it is, read-only, unless the runtime mounted it there. Where the list makes
 * something below a directory (/etc/passwd, the home), that directory is made anew and filled in the
 * same way; what the list makes itself is left out. So the list has its way whatever is in the image,
 * and nothing has to be written into the image.
 */
#include "guest/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/mem.h"

#define ENTRIES_MAX 8192 /* of the directories that are made anew, together */
#define DEPTH_MAX 32

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000 /* of linux/stat.h, which musl's headers do not join with */
#endif

struct image {
	struct builder *b;
	const struct guest_root *root;
	size_t after; /* rows from here on count */
	size_t entries;
};

/* Rows that put something at their place; the others change what is there. */
static bool puts_something(enum guest_mount_kind k)
{
	return k <= GUEST_DIR;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

enum { WHOLE, PART, TAKEN };

static int lot_of(const struct image *im, const char *path)
{
	int lot = WHOLE;

	for (size_t i = im->after; i < im->root->n_mounts; i++) {
		const struct guest_mount *m = &im->root->mounts[i];

		if (!puts_something(m->kind))
			continue;
		if (streq(m->target, path))
			return TAKEN;
		if (is_below(m->target, path))
			lot = PART;
	}
	return lot;
}

/* What the runtime mounted there is no part of the image. */
static bool is_mount(int fd)
{
	struct {
		uint32_t mask, blksize;
		uint64_t attributes;
		char rest[240];
	} st; /* of statx(2), up to what is looked at */

	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0U, &st) == 0 &&
	       (st.attributes & STATX_ATTR_MOUNT_ROOT);
}

static int lay_link(struct image *im, int dir, const char *name, const char *target)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return place_symlink(&im->b->site, target, text);
}

static int lay_dir(struct image *im, int dir, const char *path, int depth);

static int lay_entry(struct image *im, int dir, const char *name, const char *target, int depth)
{
	cleanup_fd int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int lot = lot_of(im, target), r;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (lot == TAKEN || is_mount(fd))
		return 0;
	if (S_ISLNK(st.st_mode))
		return lay_link(im, dir, name, target);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0; /* a device or a socket in an image is nothing to start from */
	if (lot == PART && S_ISDIR(st.st_mode)) {
		r = place_dir(&im->b->site, target, 0755);
		return r < 0 ? r : lay_dir(im, fd, target, depth + 1);
	}
	return builder_bind(im->b, fd, S_ISDIR(st.st_mode), target,
			    BUILDER_PLAIN | MOUNT_ATTR_RDONLY);
}

static bool is_skipped(const char *path, const char *name)
{
	return streq(name, ".") || streq(name, "..") ||
	       (path[0] == '\0' && streq(name, &GUEST_BOX[1]));
}

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static int lay_entries(struct image *im, DIR *d, const char *path, int depth)
{
	const struct dirent *e;

	while ((e = readdir(d))) {
		char target[PATH_MAX];
		int n = snprintf(target, sizeof(target), "%s/%s", path, e->d_name), r;

		if (is_skipped(path, e->d_name))
			continue;
		if (n >= (int)sizeof(target))
			return -ENAMETOOLONG;
		if (++im->entries > ENTRIES_MAX)
			return -E2BIG;
		r = lay_entry(im, dirfd(d), e->d_name, target, depth);
		if (r < 0)
			return r;
		site_tidy(&im->b->site);
	}
	return 0;
}

/* path: of the directory, without a last '/'. */
static int lay_dir(struct image *im, int dir, const char *path, int depth)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	cleanup_(closedirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int first = im->b->site.first;

	if (!d)
		return -errno;
	if (depth > DEPTH_MAX)
		return -ELOOP;
	/* Descriptors are closed in bulk: those of the way here must stay. */
	im->b->site.first = fd + 1;
	r = lay_entries(im, d, path, depth);
	im->b->site.first = first;
	site_changed(&im->b->site);
	return r;
}

int image_lay(struct builder *b, const struct guest_root *root, size_t row)
{
	struct image im = {.b = b, .root = root, .after = row + 1};

	if (!b->boxed || !streq(root->mounts[row].target, "/"))
		return -EINVAL;
	return lay_dir(&im, b->own, "", 0);
}
