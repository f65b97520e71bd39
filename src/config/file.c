#include "config/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

struct config_file *config_file_free(struct config_file *f)
{
	if (!f)
		return NULL;
	for (enum key_id id = 0; id < KEY_N; id++)
		scan_value_done(&f->values[id]);
	strv_done(&f->notices);
	free(f->name);
	free(f);
	return NULL;
}

int config_file_parse(const char *name, const char *text, size_t len, const struct key *rows,
		      struct config_file **ret, struct err *err)
{
	cleanup_(config_file_freep) struct config_file *f = xcalloc(1, sizeof(*f));
	int r;

	f->name = xstrdup(name);
	strv_init(&f->notices);
	r = scan_yaml(name, text, len, rows, f->values, &f->notices, err);
	if (r < 0)
		return r;
	*ret = take_ptr(f);
	return 0;
}

/* <project>/.ralph/config.yaml lies in a tree that others write: only the project's own path, which
 * the user named, may lead over links. */
static int open_hostile(const char *path)
{
	cleanup_free char *dir = path_dir(path), *project = path_dir(dir);
	cleanup_free char *name = xasprintf("%s/%s", path_base(dir), path_base(path));
	cleanup_fd int dirfd = open(project, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dirfd < 0)
		return -errno;
	return path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

static int read_bytes(const char *path, enum config_file_flags flags, struct buf *ret,
		      bool *ret_there, struct err *err)
{
	cleanup_fd int fd = -1;
	struct stat st;
	int r;

	*ret_there = false;
	if (flags & CONFIG_FILE_HOSTILE) {
		fd = open_hostile(path);
		if (fd == -ELOOP)
			return err_usage(err,
					 "%s: is or lies behind a symbolic link; "
					 "a project's own file must be a plain one",
					 path);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return err_sys(err, -fd, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_usage(err, "%s: is not a regular file; remove it", path);
	r = fd_read_all(fd, ret);
	if (r == -ENOBUFS)
		return err_usage(err, "%s: is larger than %zu KiB; shorten it", path,
				 ret->max / KiB);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	*ret_there = true;
	return 0;
}

int config_project_read(const char *path, struct buf *ret, bool *ret_there, struct err *err)
{
	return read_bytes(path, CONFIG_FILE_HOSTILE, ret, ret_there, err);
}

int config_file_read(const char *path, enum config_file_flags flags, const struct key *rows,
		     struct config_file **ret, struct err *err)
{
	cleanup_buf struct buf b;
	bool there;
	int r;

	buf_init(&b, CONFIG_FILE_MAX);
	*ret = NULL;
	r = read_bytes(path, flags, &b, &there, err);
	return r < 0 || !there ? r : config_file_parse(path, buf_str(&b), b.len, rows, ret, err);
}
