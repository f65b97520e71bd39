#include "engine/vm/vm-setup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

/*
 * The machine's first file system: ralph's two programs, the drivers, and empty directories, as a
 * cpio archive in the "newc" form, which the kernel unpacks by itself.
 */
#define FILE_MAX (16 * MiB)
#define IMAGE_MAX (64 * MiB)
#define MODULES_MAX 32

static const char *const drivers[] = {"virtio_mmio", "virtio_console", "virtio_rng", "9pnet_virtio",
				      "9p"};

struct image {
	struct buf out;
	unsigned ino;
};

static void pad(struct buf *b)
{
	while (b->len % 4)
		(void)buf_putc(b, '\0');
}

static void put_entry(struct image *im, const char *name, unsigned mode, const struct buf *data,
		      unsigned major, unsigned minor)
{
	(void)buf_printf(&im->out, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
			 im->ino, mode, 0U, 0U, 1U, 0U, data ? (unsigned)data->len : 0U, 0U, 0U,
			 major, minor, (unsigned)strlen(name) + 1, 0U);
	im->ino++;
	(void)buf_append(&im->out, name, strlen(name) + 1);
	pad(&im->out);
	if (data && data->len)
		(void)buf_append(&im->out, data->data, data->len);
	pad(&im->out);
}

static int put_file(struct image *im, const char *name, unsigned mode, const char *from,
		    struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, FILE_MAX);
	r = path_read(AT_FDCWD, from, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", from);
	put_entry(im, name, S_IFREG | mode, &b, 0, 0);
	return 0;
}

/* Names of files have hyphens where names of drivers may not. */
static bool is_driver(const char *file, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (file[i] != name[i] && !(file[i] == '-' && name[i] == '_'))
			return false;
	return streq(file + n, ".ko");
}

static char *find_driver(const char *dir, const char *name)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	char *found = NULL;

	while (d && !found && (de = readdir(d)))
		if (strlen(de->d_name) == strlen(name) + 3 && is_driver(de->d_name, name))
			found = xstrdup(de->d_name);
	if (d)
		(void)closedir(d);
	return found;
}

/* What it needs first. One that is no file is in the kernel itself. */
static int add_driver(struct strv *order, const char *dir, const char *name, int depth,
		      struct err *err)
{
	static const char mark[] = "\0depends=";
	cleanup_free char *file = find_driver(dir, name), *path = NULL;
	cleanup_buf struct buf b;
	const char *list;
	int r = 0;

	buf_init(&b, FILE_MAX);
	if (!file || strv_has(order, file))
		return 0;
	if (depth > MODULES_MAX || order->n >= MODULES_MAX)
		return err_set(err, ELOOP, "the kernel's drivers need each other without end");
	path = path_join(dir, file);
	r = path_read(AT_FDCWD, path, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	list = memmem(b.data, b.len, mark, sizeof(mark) - 1);
	for (list = list ? list + sizeof(mark) - 1 : ""; *list && r == 0;) {
		char word[64];
		size_t n = strcspn(list, ",");

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, list);
		r = add_driver(order, dir, word, depth + 1, err);
		list += n + (list[n] == ',');
	}
	if (r == 0)
		strv_push(order, file);
	return r;
}

static int put_drivers(struct image *im, const char *dir, struct err *err)
{
	cleanup_strv struct strv order = {0};
	cleanup_buf struct buf list;
	int r = 0;

	buf_init(&list, 4 * KiB);
	for (size_t i = 0; i < ARRAY_SIZE(drivers) && r == 0; i++)
		r = add_driver(&order, dir, drivers[i], 0, err);
	for (size_t i = 0; i < order.n && r == 0; i++) {
		cleanup_free char *path = path_join(dir, order.v[i]);
		cleanup_free char *name = xasprintf("m/%s", order.v[i]);

		(void)buf_printf(&list, "%s\n", order.v[i]);
		r = put_file(im, name, 0644, path, err);
	}
	if (r == 0)
		put_entry(im, "m/order", S_IFREG | 0644, &list, 0, 0);
	return r;
}

int vm_image_write(const struct vm_files *f, struct err *err)
{
	static const char *const dirs[] = {"dev", "proc", "r", "t", "cg", "m"};
	struct image im = {.ino = 1};
	int r;

	buf_init(&im.out, IMAGE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		put_entry(&im, dirs[i], S_IFDIR | 0755, NULL, 0, 0);
	put_entry(&im, "dev/console", S_IFCHR | 0600, NULL, 5, 1);
	r = put_file(&im, "init", 0755, f->program, err);
	if (r == 0)
		r = put_file(&im, "guest", 0755, f->guest, err);
	if (r == 0)
		r = put_drivers(&im, f->modules, err);
	put_entry(&im, "TRAILER!!!", 0, NULL, 0, 0);
	if (r == 0 && im.out.full)
		r = err_set(err, EFBIG, "the machine's first file system became too large");
	if (r == 0) {
		r = path_write_atomic(AT_FDCWD, f->initramfs, im.out.data, im.out.len, 0600, 0);
		if (r < 0)
			(void)err_sys(err, -r, "cannot write '%s'", f->initramfs);
	}
	buf_done(&im.out);
	return r;
}
