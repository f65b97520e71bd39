#include "record/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/home.h"
#include "record/store.h"
#include "record/connect.h"

static uint64_t mtime_of(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_mtim.tv_sec : 0;
}

/* A workspace is gone only if it certainly does not exist: a disk error does not count. */
static bool is_gone(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

int record_look(const struct places *p, const char *name, struct record_facts *ret, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct record_facts f = {0};
	int r = store_open(p, name, false, &e, err);

	if (r < 0)
		return r;
	f.workspace = store_owner(p, name);
	f.gone = f.workspace && is_gone(f.workspace);
	/* The link is made once, at the first start; every command writes an event. */
	f.born = mtime_of(e.dir, "workspace");
	f.used = mtime_of(e.dir, "events.jsonl");
	if (f.used < f.born)
		f.used = f.born;
	*ret = f;
	return 0;
}

void record_done(struct record_facts *f)
{
	free(f->workspace);
	f->workspace = NULL;
}

struct count {
	uint64_t bytes, files;
	dev_t device;
	bool partial;
};

static void count_dir(struct count *c, int parent, const char *name, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	struct stat st;

	if (!d) {
		closep(&fd);
		c->partial = true;
		return;
	}
	while ((de = readdir(d))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		if (++c->files > RECORD_FILES_MAX ||
		    fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			c->partial = true;
			continue;
		}
		if (st.st_dev != c->device)
			continue;
		c->bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < RECORD_DEPTH_MAX)
			count_dir(c, dirfd(d), de->d_name, depth + 1);
		else if (S_ISDIR(st.st_mode))
			c->partial = true;
	}
	(void)closedir(d);
}

/* The link of the record leads to the project's home. */
static void count_home(struct count *c, const struct places *p, int record)
{
	cleanup_free char *homes = home_dir(p);
	cleanup_fd int dir = open(homes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char to[PATH_MAX];
	ssize_t n = readlinkat(record, "home", to, sizeof(to) - 1);

	to[n < 0 ? 0 : n] = '\0';
	if (dir >= 0 && home_is_key(path_base(to)))
		count_dir(c, dir, path_base(to), 0);
}

int record_size(const struct places *p, const char *name, uint64_t *ret, bool *ret_partial,
		struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct count c = {0};
	struct stat st;
	int r = store_open(p, name, false, &e, err);

	if (r < 0)
		return r;
	if (fstat(e.dir, &st) < 0)
		return err_sys(err, errno, "cannot look at the record of '%s'", name);
	c.device = st.st_dev;
	count_dir(&c, e.dir, ".", 0);
	count_home(&c, p, e.dir);
	*ret = c.bytes;
	*ret_partial = c.partial;
	return 0;
}

static bool is_live(const struct places *p, const char *name)
{
	cleanup_fd int conn = -1;
	struct err ignored;

	return live_connect(p, name, &conn, &ignored) < 0 || conn >= 0;
}

int record_same_workspace(const struct places *p, const char *name, const char *workspace,
			  struct strv *out, struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = store_list(p, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		cleanup_free char *owner = NULL;

		if (streq(names.v[i], name))
			continue;
		owner = store_owner(p, names.v[i]);
		if (owner && streq(owner, workspace) && is_live(p, names.v[i]))
			strv_push(out, names.v[i]);
	}
	return r;
}
