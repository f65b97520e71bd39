#include "workspace/quarantine.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/quarantine-copy.h"

#define META_MAX (64 * KiB)
#define LIST_MAX 10000

static bool id_valid(const char *id)
{
	return strlen(id) == QUARANTINE_ID_LEN &&
	       strspn(id, "0123456789abcdef") == QUARANTINE_ID_LEN;
}

static int open_store(const struct places *p, enum shelf shelf, bool create, struct err *err)
{
	static const char *const names[] = {
		[SHELF_QUARANTINE] = "quarantine", [SHELF_NESTED] = SHELF_NESTED_NAME};
	cleanup_free char *path = path_join(p->state, names[shelf]);
	int fd, r = create ? path_mkdirs(p->state, 0700, err) : 0;

	if (r == 0 && create)
		r = path_private_dir(path, err);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", path) : fd;
}

/* A directory of its own below the store; *ret_id is its name. */
static int new_entry(int store, char ret_id[QUARANTINE_ID_LEN + 1], struct err *err)
{
	uint32_t random = 0;

	for (int i = 0; i < 16; i++) {
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return err_sys(err, errno, "cannot make a name");
		(void)snprintf(ret_id, QUARANTINE_ID_LEN + 1, "%08x", random);
		if (mkdirat(store, ret_id, 0700) == 0) {
			int fd = openat(store, ret_id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			return fd < 0 ? err_sys(err, errno, "cannot open '%s'", ret_id) : fd;
		}
		if (errno != EEXIST)
			break;
	}
	return err_sys(err, errno, "cannot make a directory in the quarantine");
}

/* beside: the name that it has where it was, because it could not be moved; NULL: it was. */
static int write_meta(int entry, const struct quarantine_input *in, const char *beside, mode_t mode,
		      struct err *err)
{
	cleanup_json json_t *j =
		json_pack("{so so so so so* so* sI sI}", "path", json_text(in->path), "root",
			  json_text(in->root), "why", json_text(in->why), "sandbox",
			  json_text(in->sandbox), "link", in->link ? json_text(in->link) : NULL,
			  "beside", beside ? json_text(beside) : NULL, "time",
			  (json_int_t)time(NULL), "mode", (json_int_t)mode);
	cleanup_free char *text = j ? json_dumps(j, JSON_INDENT(2)) : NULL;
	int r = text ? path_write_atomic(entry, "meta.json", text, strlen(text), 0600, 0) : -EINVAL;

	return r < 0 ? err_sys(err, -r, "cannot write to the quarantine") : 0;
}

/* One directory below dirfd, also one that the agent closed; it stays open then. */
static int enter(int dirfd, const char *name)
{
	int fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd == -EACCES && path_open_up(dirfd, name) == 0)
		fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0 && fstat(fd, &st) == 0 && !(st.st_mode & S_IXUSR))
		(void)fchmod(fd, (st.st_mode & 07777) | 0700);
	return fd;
}

/* Step by step, for a path with such directories on it. */
static int enter_all(int top, const char *rel)
{
	cleanup_strv struct strv names = {0};
	cleanup_fd int at = path_open_beneath(top, ".", O_RDONLY | O_DIRECTORY, 0);

	strv_split(&names, rel, '/');
	for (size_t i = 0; at >= 0 && i < names.n; i++) {
		int next = enter(at, names.v[i]);

		closep(&at);
		at = next;
	}
	return take_fd(at);
}

/* The directory that holds a path below root, no link on the way. */
static int open_parent(const char *root, const char *path, struct err *err)
{
	cleanup_fd int top = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_free char *dir = path_dir(path);
	const char *rel = dir + strlen(root);
	int fd;

	if (top < 0)
		return err_sys(err, errno, "cannot open '%s'", root);
	if (!path_under(dir, root))
		return err_set(err, EINVAL, "'%s' is not below '%s'", path, root);
	fd = path_open_beneath(top, *rel ? rel + 1 : ".", O_RDONLY | O_DIRECTORY, 0);
	if (fd == -EACCES)
		fd = enter_all(top, rel + 1);
	return fd < 0 ? err_sys(err, -fd, "cannot open '%s'", dir) : fd;
}

/* A rename takes whatever is there at that moment, and follows nothing. */
static int rename_once(int from, const char *name, int to, const char *to_name)
{
	return syscall(SYS_renameat2, from, name, to, to_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* A link has no mode, and keeps none. */
static void set_mode(int at, const char *name, mode_t mode)
{
	cleanup_fd int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[32];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		(void)chmod(self, mode & 07777);
}

/*
 * The agent can take the right to write from a directory, or from the one that is to be moved, whose
 * ".." a move changes; both are the user's, who gets it back for the move.
 */
static int rename_anyway(int from, const char *name, int to, const char *to_name)
{
	int r = rename_once(from, name, to, to_name);
	struct stat st, own;

	if ((r != -EACCES && r != -EPERM) || fstat(from, &st) < 0)
		return r;
	(void)fchmod(from, (st.st_mode & 07777) | 0700);
	r = rename_once(from, name, to, to_name);
	if ((r == -EACCES || r == -EPERM) && fstatat(from, name, &own, AT_SYMLINK_NOFOLLOW) == 0 &&
	    path_open_up(from, name) == 0) {
		r = rename_once(from, name, to, to_name);
		set_mode(r == 0 ? to : from, r == 0 ? to_name : name, own.st_mode);
	}
	(void)fchmod(from, st.st_mode & 07777);
	return r;
}

static int move(int from, const char *name, int to, const char *to_name)
{
	int r = rename_anyway(from, name, to, to_name);

	return r == -EXDEV ? quarantine_copy(from, name, to, to_name) : r;
}

/* What cannot be moved keeps its directory, under a name that nothing on the host looks for, and
 * nobody can read, run or enter it. */
static int disarm(int parent, const char *name, const char *beside)
{
	int r = rename_anyway(parent, name, parent, beside);

	if (r == 0)
		set_mode(parent, beside, 0); /* a link is harmless by its name */
	return r;
}

static int restore_link(int parent, const struct quarantine_input *in, struct err *err)
{
	if (in->link && symlinkat(in->link, parent, path_base(in->path)) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot put the link '%s' back", in->path);
	return 0;
}

static int take(int parent, int entry, const char *id, const struct quarantine_input *in,
		struct err *err)
{
	cleanup_free char *beside = xasprintf(QUARANTINE_BESIDE "%s", id);
	struct stat st = {0};
	int moved, r;

	(void)fstatat(parent, path_base(in->path), &st, AT_SYMLINK_NOFOLLOW);
	r = moved = move(parent, path_base(in->path), entry, "content");

	if (r < 0 && r != -ENOENT)
		r = disarm(parent, path_base(in->path), beside);
	if (r < 0)
		return err_sys(err, -r, "cannot move '%s' to quarantine", in->path);
	if (moved == 0)
		return 0;
	r = write_meta(entry, in, beside, st.st_mode & 07777, err);
	return r < 0 ? r : 1;
}

int quarantine_add(const struct places *p, const struct quarantine_input *in, char **ret_id,
		   struct err *err)
{
	cleanup_fd int store = open_store(p, in->shelf, true, err), parent = -1, entry = -1;
	char id[QUARANTINE_ID_LEN + 1];
	int r;

	if (store < 0)
		return store;
	parent = open_parent(in->root, in->path, err);
	if (parent < 0)
		return parent;
	entry = new_entry(store, id, err);
	if (entry < 0)
		return entry;
	r = write_meta(entry, in, NULL, 0, err);
	if (r == 0)
		r = take(parent, entry, id, in, err);
	if (r < 0) {
		struct err ignored;

		(void)path_remove_tree(store, id, &ignored);
		return r;
	}
	*ret_id = xstrdup(id);
	return restore_link(parent, in, err) < 0 ? -EIO : r;
}

int quarantine_discard(const struct quarantine_input *in, struct err *err)
{
	cleanup_fd int parent = open_parent(in->root, in->path, err);
	int r = parent < 0 ? parent : path_remove_tree(parent, path_base(in->path), err);

	return r < 0 ? r : restore_link(parent, in, err);
}

struct dated {
	char id[QUARANTINE_ID_LEN + 1];
	struct timespec at;
};

static int by_time(const void *a_, const void *b_)
{
	const struct dated *a = a_, *b = b_;

	if (a->at.tv_sec != b->at.tv_sec)
		return a->at.tv_sec < b->at.tv_sec ? -1 : 1;
	if (a->at.tv_nsec != b->at.tv_nsec)
		return a->at.tv_nsec < b->at.tv_nsec ? -1 : 1;
	return strcmp(a->id, b->id);
}

int quarantine_list(const struct places *p, enum shelf shelf, struct strv *out, struct err *err)
{
	cleanup_fd int store = open_store(p, shelf, false, err);
	cleanup_free struct dated *found = NULL;
	size_t n = 0;
	struct dirent *de;
	DIR *d;

	if (store < 0)
		return store == -ENOENT ? 0 : store;
	d = fdopendir(store);
	if (!d)
		return err_sys(err, errno, "cannot read the quarantine");
	(void)take_fd(store);
	while (n < LIST_MAX && (de = readdir(d))) {
		struct stat st;

		if (!id_valid(de->d_name) || fstatat(dirfd(d), de->d_name, &st, 0) < 0)
			continue;
		found = xrealloc(found, n + 1, sizeof(*found));
		memcpy(found[n].id, de->d_name, QUARANTINE_ID_LEN + 1);
		found[n++].at = st.st_ctim;
	}
	(void)closedir(d);
	if (n)
		qsort(found, n, sizeof(*found), by_time);
	for (size_t i = 0; i < n; i++)
		strv_push(out, found[i].id);
	return 0;
}

int quarantine_open(const struct places *p, enum shelf shelf, const char *id, struct err *err)
{
	cleanup_fd int store = id_valid(id) ? open_store(p, shelf, false, err) : -ENOENT;
	int fd = store < 0 ? store : openat(store, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return err_set(err, ENOENT, "there is no '%s' in quarantine; see: ralph quarantine ls", id);
}

int quarantine_meta(const struct places *p, enum shelf shelf, const char *id, json_t **ret,
		    struct err *err)
{
	cleanup_fd int entry = quarantine_open(p, shelf, id, err);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, META_MAX);
	if (entry < 0)
		return entry;
	r = path_read(entry, "meta.json", &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read the record of '%s'", id);
	r = json_parse(buf_str(&b), b.len, ret, err);
	if (r == 0)
		(void)json_object_set_new(*ret, "id", json_text(id));
	return r;
}

static int drop_beside(const json_t *meta, struct err *err)
{
	const char *root = NULL, *path = NULL, *beside = NULL;
	cleanup_fd int parent = -1;
	int r = json_get_str(meta, "root", &root, err);

	if (r == 0)
		r = json_get_str(meta, "path", &path, err);
	if (r == 0)
		r = json_get_str(meta, "beside", &beside, err);
	if (r < 0)
		return r;
	parent = open_parent(root, path, err);
	return parent < 0 ? 0 : path_remove_tree(parent, beside, err); /* gone with its directory */
}

int quarantine_drop(const struct places *p, enum shelf shelf, const char *id, struct err *err)
{
	cleanup_fd int entry = quarantine_open(p, shelf, id, err), store = -1;
	cleanup_json json_t *meta = NULL;

	if (entry < 0)
		return entry;
	if (quarantine_meta(p, shelf, id, &meta, err) == 0 && json_object_get(meta, "beside")) {
		int r = drop_beside(meta, err);

		if (r < 0)
			return r;
	}
	store = open_store(p, shelf, false, err);
	return store < 0 ? store : path_remove_tree(store, id, err);
}

/* The link that was put back in its place gives way again. */
static void unlink_restored(int parent, const char *name, const char *link)
{
	char text[4096];
	ssize_t n = readlinkat(parent, name, text, sizeof(text) - 1);

	if (!link || n < 0)
		return;
	text[n] = '\0';
	if (streq(text, link))
		(void)unlinkat(parent, name, 0);
}

static int arm(int parent, const json_t *meta, const char *beside, const char *name)
{
	int r = rename_anyway(parent, beside, parent, name);

	if (r == 0)
		set_mode(parent, name,
			 (mode_t)json_integer_value(json_object_get(meta, "mode")) | 0600);
	return r;
}

int quarantine_release(const struct places *p, enum shelf shelf, const char *id, struct err *err)
{
	cleanup_fd int entry = quarantine_open(p, shelf, id, err), parent = -1;
	const char *root = NULL, *path = NULL, *link = NULL, *beside = NULL;
	cleanup_json json_t *meta = NULL;
	int r = entry < 0 ? entry : quarantine_meta(p, shelf, id, &meta, err);

	if (r == 0)
		r = json_get_str(meta, "root", &root, err);
	if (r == 0)
		r = json_get_str(meta, "path", &path, err);
	if (r == 0)
		r = json_opt_str(meta, "link", &link, err);
	if (r == 0)
		r = json_opt_str(meta, "beside", &beside, err);
	if (r < 0)
		return r;
	parent = open_parent(root, path, err);
	if (parent < 0)
		return parent;
	unlink_restored(parent, path_base(path), link);
	r = beside ? arm(parent, meta, beside, path_base(path))
		   : move(entry, "content", parent, path_base(path));
	if (r == -EEXIST)
		return err_set(err, EEXIST, "'%s' is there again; move it away first", path);
	if (r < 0)
		return err_sys(err, -r, "cannot put '%s' back", path);
	return quarantine_drop(p, shelf, id, err);
}

int quarantine_keep(const struct places *p, const char *id, struct err *err)
{
	cleanup_fd int from = open_store(p, SHELF_NESTED, false, err);
	cleanup_fd int to = from < 0 ? from : open_store(p, SHELF_QUARANTINE, true, err);
	int r = to < 0 ? to : rename_once(from, id, to, id);

	return r < 0 && to >= 0 ? err_sys(err, -r, "cannot move '%s' to quarantine", id) : r;
}
