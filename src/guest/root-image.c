/*
 * DOC: Theory of operation
 *
 * The image of a container is the container's root, with the runtime's own mounts in it, and with
 * GUEST_CONTAINER, where the host's directories lie as nobody inside may see them. So it is not bound as
 * a whole: each entry of it is, read-only, unless the runtime mounted it there. Where the list
 * makes something below a directory (/etc/passwd, the home), or the runtime has mounted something
 * there (a volume that the image asks for), that directory is made anew and filled in the same way;
 * what the list makes itself is left out, and what was mounted is an empty directory. So the list
 * has its way whatever is in the image, nothing is there that it does not know, and nothing is
 * written into the image.
 */
#include "guest/root-image.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/strv.h"

#define ENTRIES_MAX 8192 /* of the directories that are made anew, together */
#define DEPTH_MAX 32

#define TABLE_MAX (1 * MiB)

struct image {
	struct builder *b;
	const struct guest_root *root;
	size_t after;	    /* rows from here on count */
	struct strv points; /* mount points of the container runtime */
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

enum { WHOLE, PART, MOUNTED, TAKEN };

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
	for (size_t i = 0; i < im->points.n; i++) {
		if (streq(im->points.v[i], path))
			return MOUNTED;
		if (is_below(im->points.v[i], path))
			lot = PART;
	}
	return lot;
}

/* "ID PARENT DEVICE ROOT POINT …": all points but the root's own. */
static int find_points(struct image *im)
{
	cleanup_fd int fd = openat(im->b->own, "proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	cleanup_buf struct buf table;
	char *rest, *line;
	int r;

	buf_init(&table, TABLE_MAX);
	r = fd < 0 ? -errno : fd_read_all(fd, &table);
	for (rest = table.data; r == 0 && rest && (line = strsep(&rest, "\n")) && *line;) {
		char *point = NULL;

		for (int i = 0; i < 5; i++)
			point = strsep(&line, " ");
		if (!point)
			return -EPROTO;
		parse_table_word(point);
		if (!streq(point, "/"))
			strv_push(&im->points, point);
	}
	return r;
}

static int lay_link(struct image *im, int dir, const char *name, const char *target)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return rootpath_symlink(&im->b->site, target, text);
}

static int lay_dir(struct image *im, int dir, const char *path, int depth);

static int lay_entry(struct image *im, int dir, const char *name, const char *target, int depth)
{
	cleanup_fd int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int lot = lot_of(im, target), r;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (lot == TAKEN)
		return 0;
	if (lot == MOUNTED)
		return S_ISDIR(st.st_mode) ? rootpath_dir(&im->b->site, target, 0755) : 0;
	if (S_ISLNK(st.st_mode))
		return lay_link(im, dir, name, target);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0; /* a device or a socket in an image is nothing to start from */
	if (lot == PART && S_ISDIR(st.st_mode)) {
		r = rootpath_dir(&im->b->site, target, 0755);
		return r < 0 ? r : lay_dir(im, fd, target, depth + 1);
	}
	return builder_bind(im->b, fd, S_ISDIR(st.st_mode), target,
			    BUILDER_PLAIN | MOUNT_ATTR_RDONLY);
}

static bool is_skipped(const char *path, const char *name)
{
	return streq(name, ".") || streq(name, "..") ||
	       (path[0] == '\0' && streq(name, &GUEST_CONTAINER[1]));
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
	/* Descriptors are closed in bulk: those of the way here must stay, and what was there
	 * before. */
	if (fd >= first)
		im->b->site.first = fd + 1;
	r = lay_entries(im, d, path, depth);
	im->b->site.first = first;
	site_changed(&im->b->site);
	return r;
}

int root_image_lay(struct builder *b, const struct guest_root *root, size_t row)
{
	struct image im = {.b = b, .root = root, .after = row + 1};
	int r;

	if (!b->in_container || !streq(root->mounts[row].target, "/"))
		return -EINVAL;
	strv_init(&im.points);
	r = find_points(&im);
	if (r == 0)
		r = lay_dir(&im, b->own, "", 0);
	strv_done(&im.points);
	return r;
}
