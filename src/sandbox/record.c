#include "sandbox/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "sandbox/connect.h"

#define SIZE_DEPTH_MAX 64      /* a descriptor each */
#define SIZE_ENTRIES_MAX 500000 /* an agent's home may hold anything */
#define BLOCK 512

struct walk {
	struct record *to;
	dev_t dev;
	int entries;
};

/* Takes the descriptor. Never follows a link, never leaves the file system. */
static void add_dir(struct walk *w, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *de;
	struct stat st;

	if (!d)
		(void)close(fd);
	while (d && (de = readdir(d))) {
		int sub;

		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		if (w->entries++ >= SIZE_ENTRIES_MAX || depth >= SIZE_DEPTH_MAX) {
			w->to->cut = true;
			break;
		}
		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_dev != w->dev)
			continue;
		w->to->size += (uint64_t)st.st_blocks * BLOCK;
		if (!S_ISDIR(st.st_mode))
			continue;
		sub = openat(dirfd(d), de->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (sub >= 0)
			add_dir(w, sub, depth + 1);
	}
	if (d)
		(void)closedir(d);
}

void record_read(const struct store_entry *e, struct record *ret)
{
	struct walk w = {.to = ret};
	struct stat st;
	int fd;

	*ret = (struct record){0};
	/* The link to the workspace is made at the first start and never touched again. */
	if (fstatat(e->dir, "workspace", &st, AT_SYMLINK_NOFOLLOW) == 0)
		ret->created = st.st_mtime;
	if (fstatat(e->dir, "events.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0)
		ret->used = st.st_mtime;
	fd = openat(e->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		closep(&fd);
		return;
	}
	w.dev = st.st_dev;
	add_dir(&w, fd, 0);
}

static bool is_live(const struct places *p, const char *name)
{
	cleanup_fd int conn = -1;
	struct err ignored;

	return live_connect(p, name, &conn, &ignored) < 0 || conn >= 0;
}

int record_neighbours(const struct places *p, const char *name, const char *workspace,
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

static bool is_gone(const char *workspace)
{
	struct stat st;

	return lstat(workspace, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool record_is_orphan(const struct places *p, const char *name)
{
	cleanup_free char *owner = store_owner(p, name);

	return owner && is_gone(owner);
}

static bool is_unused(const struct places *p, const char *name, uint64_t older_s)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err ignored;
	struct stat st;
	time_t now = time(NULL);

	if (older_s == 0)
		return true;
	if (store_open(p, name, false, &e, &ignored) < 0)
		return false;
	if (fstatat(e.dir, "events.jsonl", &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    fstatat(e.dir, "workspace", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return st.st_mtime <= now && (uint64_t)(now - st.st_mtime) >= older_s;
}

int record_prunable(const struct places *p, uint64_t older_s, struct record_prune *ret,
		    struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = store_list(p, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		cleanup_free char *owner = store_owner(p, names.v[i]);

		/* A record without an owner is being made, or damaged: `ralph rm` is for that. */
		if (!owner || !is_gone(owner) || !is_unused(p, names.v[i], older_s) ||
		    is_live(p, names.v[i]))
			continue;
		strv_push(&ret->names, names.v[i]);
		strv_push(&ret->workspaces, owner);
	}
	return r;
}

void record_prune_done(struct record_prune *r)
{
	strv_done(&r->names);
	strv_done(&r->workspaces);
}
