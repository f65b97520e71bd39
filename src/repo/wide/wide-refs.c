/*
 * References for libgit2. Loose files and packed-refs are read as they are at each question; writing and
 * removing takes git's locks. Logs are neither read nor kept, but for what import-refs.c writes.
 */
#include "repo/wide/wide-parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <git2/sys/refdb_backend.h>
#include <git2/sys/repository.h>
#include <git2/sys/refs.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define VALUE_MAX (4 * KiB)
#define PACKED_MAX (64 * MiB)
#define NAMES_MAX 300000
#define DEPTH_MAX 32
#define LOCK_TRIES 40
#define LOCK_PAUSE_US 50000

struct refs {
	git_refdb_backend parent;
	struct wide *w;
	char *dir, *common;
	char *packed; /* "\n" and the file, as it was at this time */
	struct stat packed_st;
};

struct names {
	git_reference_iterator parent;
	struct refs *refs;
	struct strv v;
	size_t at;
};

/* These are of one worktree; everything else is of the repository. */
static const char *dir_of(const struct refs *r, const char *ref)
{
	return strncmp(ref, "refs/", 5) != 0 || strncmp(ref, "refs/bisect/", 12) == 0 ||
			       strncmp(ref, "refs/worktree/", 14) == 0 ||
			       strncmp(ref, "refs/rewritten/", 15) == 0
		       ? r->dir
		       : r->common;
}

static int read_packed(struct refs *r)
{
	cleanup_free char *path = path_join(r->common, "packed-refs");
	struct stat st = {0};
	struct buf b;
	int rc;

	if (lstat(path, &st) < 0 && errno != ENOENT)
		return -errno;
	if (r->packed && st.st_ino == r->packed_st.st_ino && st.st_size == r->packed_st.st_size &&
	    memcmp(&st.st_ctim, &r->packed_st.st_ctim, sizeof(st.st_ctim)) == 0)
		return 0;
	buf_init(&b, PACKED_MAX);
	(void)buf_putc(&b, '\n');
	rc = path_read(AT_FDCWD, path, &b);
	if (rc < 0 && rc != -ENOENT) {
		buf_done(&b);
		return rc;
	}
	free(r->packed);
	r->packed = buf_take(&b);
	r->packed_st = st;
	return 0;
}

/* "OID" or "ref: NAME"; *ret NULL: there is none. The caller frees it. */
static int read_value(struct refs *r, const char *ref, char **ret)
{
	cleanup_free char *line = xasprintf(" %s\n", ref), *path = path_join(dir_of(r, ref), ref);
	cleanup_buf struct buf b;
	const char *at;
	int rc;

	*ret = NULL;
	buf_init(&b, VALUE_MAX);
	rc = path_read(AT_FDCWD, path, &b);
	if (rc == 0) {
		*ret = xstrndup(buf_str(&b), strcspn(buf_str(&b), "\n"));
		return 0;
	}
	if (rc != -ENOENT && rc != -EISDIR && rc != -ENOTDIR)
		return rc;
	rc = read_packed(r);
	at = rc == 0 ? strstr(r->packed, line) : NULL;
	if (at && at - r->packed > WIDE_HEX && at[-WIDE_HEX - 1] == '\n')
		*ret = xstrndup(at - WIDE_HEX, WIDE_HEX);
	return rc;
}

static int make_ref(const struct refs *r, const char *name, const char *value, git_reference **ret)
{
	git_oid oid;

	if (strncmp(value, "ref: ", 5) == 0)
		*ret = git_reference__alloc_symbolic(name, value + 5);
	else if (strlen(value) == WIDE_HEX && wide_oid(r->w, value, &oid))
		*ret = git_reference__alloc(name, &oid, NULL);
	else
		return GIT_ERROR;
	return *ret ? 0 : GIT_ERROR;
}

static int lookup(git_reference **ret, git_refdb_backend *be, const char *name)
{
	struct refs *r = (struct refs *)be;
	cleanup_free char *value = NULL;
	int rc = read_value(r, name, &value);

	if (rc < 0)
		return GIT_ERROR;
	return value ? make_ref(r, name, value, ret) : GIT_ENOTFOUND;
}

static int exists(int *ret, git_refdb_backend *be, const char *name)
{
	cleanup_free char *value = NULL;
	int rc = read_value((struct refs *)be, name, &value);

	*ret = value != NULL;
	return rc < 0 ? GIT_ERROR : 0;
}

/* ---- all of them ---- */

static int walk(struct strv *names, const char *dir, const char *name, unsigned depth)
{
	cleanup_free char *path = path_join(dir, name);
	DIR *d = depth > DEPTH_MAX ? NULL : opendir(path);
	struct dirent *de;
	int r = 0;

	if (!d)
		return depth > DEPTH_MAX ? -EFBIG : errno == ENOENT ? 0 : -errno;
	while (r == 0 && (de = readdir(d))) {
		cleanup_free char *sub = xasprintf("%s/%s", name, de->d_name);
		size_t n = strlen(de->d_name);

		if (de->d_name[0] == '.' || (n > 5 && streq(de->d_name + n - 5, ".lock")))
			continue;
		if (de->d_type == DT_DIR)
			r = walk(names, dir, sub, depth + 1);
		else if (names->n == NAMES_MAX)
			r = -EFBIG;
		else
			strv_push(names, sub);
	}
	(void)closedir(d);
	return r;
}

static int add_packed(struct refs *r, struct strv *names)
{
	int rc = read_packed(r);

	for (const char *line = rc == 0 ? r->packed : NULL; line && *line;) {
		size_t n = strcspn(++line, "\n");

		if (n > WIDE_HEX + 1 && line[WIDE_HEX] == ' ' && line[0] != '#') {
			if (names->n == NAMES_MAX)
				return -EFBIG;
			strv_take(names, xstrndup(line + WIDE_HEX + 1, n - WIDE_HEX - 1));
		}
		line += n;
	}
	return rc;
}

static int next_name(const char **ret, git_reference_iterator *it)
{
	struct names *n = (struct names *)it;

	/* Sorted: the same name of both kinds stands together. */
	while (n->at && n->at < n->v.n && streq(n->v.v[n->at], n->v.v[n->at - 1]))
		n->at++;
	if (n->at >= n->v.n)
		return GIT_ITEROVER;
	*ret = n->v.v[n->at++];
	return 0;
}

static int next(git_reference **ret, git_reference_iterator *it)
{
	const char *name;
	int r;

	do {
		r = next_name(&name, it);
		if (r == 0)
			r = lookup(ret, &((struct names *)it)->refs->parent, name);
	} while (r == GIT_ENOTFOUND); /* removed meanwhile */
	return r;
}

static void names_free(git_reference_iterator *it)
{
	struct names *n = (struct names *)it;

	strv_done(&n->v);
	free(n);
}

static int iterator(git_reference_iterator **ret, git_refdb_backend *be, const char *glob)
{
	struct refs *r = (struct refs *)be;
	struct names *n = xcalloc(1, sizeof(*n));
	cleanup_strv struct strv all = {0};
	int rc = walk(&all, r->common, "refs", 0);

	if (rc == 0 && !streq(r->dir, r->common))
		rc = walk(&all, r->dir, "refs", 0);
	if (rc == 0)
		rc = add_packed(r, &all);
	for (size_t i = 0; rc == 0 && i < all.n; i++)
		if (!glob || fnmatch(glob, all.v[i], 0) == 0)
			strv_push(&n->v, all.v[i]);
	strv_sort(&n->v);
	n->refs = r;
	n->parent.next = next;
	n->parent.next_name = next_name;
	n->parent.free = names_free;
	*ret = &n->parent;
	if (rc < 0)
		names_free(&n->parent);
	return rc < 0 ? GIT_ERROR : 0;
}

/* ---- writing ---- */

static int take_lock(const char *path)
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < LOCK_TRIES; i++) {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return -errno;
		if (fd < 0)
			(void)usleep(LOCK_PAUSE_US);
	}
	return fd < 0 ? -EBUSY : fd;
}

/* Puts this text in the place of a file whose lock is held. */
static int replace(const char *path, int fd, const char *text, size_t n)
{
	cleanup_free char *lock = xasprintf("%s.lock", path);
	int r = fd_write_all(fd, text, n);

	if (r == 0 && rename(lock, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(lock);
	return r;
}

static int write_ref(git_refdb_backend *be, const git_reference *ref, int force,
		     const git_signature *who, const char *message, const git_oid *old,
		     const char *old_target)
{
	struct refs *r = (struct refs *)be;
	const char *name = git_reference_name(ref), *to = git_reference_symbolic_target(ref);
	cleanup_free char *path = path_join(dir_of(r, name), name), *parent = path_dir(path);
	cleanup_free char *lock = xasprintf("%s.lock", path), *text = NULL, *is = NULL;
	char hex[WIDE_HEX + 1];
	struct err ignored;
	cleanup_fd int fd = -1;
	int rc;

	if (!to && !wide_hex(r->w, git_reference_target(ref), hex))
		return GIT_ERROR;
	text = to ? xasprintf("ref: %s\n", to) : xasprintf("%s\n", hex);
	if (path_mkdirs(parent, 0777, &ignored) < 0)
		return GIT_ERROR;
	fd = take_lock(lock);
	if (fd < 0)
		return GIT_ELOCKED;
	rc = read_value(r, name, &is);
	if (rc == 0 && is && !force && !old && !old_target) {
		(void)unlink(lock);
		return GIT_EEXISTS;
	}
	if (rc < 0)
		(void)unlink(lock);
	return rc < 0 || replace(path, fd, text, strlen(text)) < 0 ? GIT_ERROR : 0;
}

/* packed-refs without one line, and without what a tag in it stands for. */
static int drop_packed(struct refs *r, const char *ref)
{
	cleanup_free char *path = path_join(r->common, "packed-refs");
	cleanup_free char *lock = xasprintf("%s.lock", path), *line = xasprintf(" %s\n", ref);
	cleanup_fd int fd = -1;
	const char *at, *rest;
	cleanup_buf struct buf b;
	int rc = read_packed(r);

	buf_init(&b, PACKED_MAX);
	if (rc < 0 || !strstr(r->packed, line))
		return rc;
	fd = take_lock(lock);
	if (fd < 0)
		return fd;
	rc = read_packed(r);
	at = rc == 0 ? strstr(r->packed, line) : NULL;
	if (!at || at - r->packed <= WIDE_HEX) {
		(void)unlink(lock);
		return rc;
	}
	rest = at + strlen(line);
	if (*rest == '^')
		rest += strcspn(rest, "\n") + 1;
	(void)buf_append(&b, r->packed + 1, (size_t)(at - WIDE_HEX - r->packed - 1));
	(void)buf_puts(&b, rest);
	if (b.full) {
		(void)unlink(lock);
		return -ENOBUFS;
	}
	return replace(path, fd, buf_str(&b), b.len);
}

static int remove_ref(git_refdb_backend *be, const char *name, const git_oid *old,
		      const char *old_target)
{
	struct refs *r = (struct refs *)be;
	cleanup_free char *path = path_join(dir_of(r, name), name), *parent = path_dir(path);
	cleanup_free char *lock = xasprintf("%s.lock", path);
	cleanup_free char *log = xasprintf("%s/logs/%s", dir_of(r, name), name);
	struct err ignored;
	cleanup_fd int fd = -1;
	int rc;

	if (path_mkdirs(parent, 0777, &ignored) < 0)
		return GIT_ERROR;
	fd = take_lock(lock);
	if (fd < 0)
		return GIT_ELOCKED;
	rc = drop_packed(r, name);
	if (rc == 0 && unlink(path) < 0 && errno != ENOENT)
		rc = -errno;
	if (rc == 0)
		(void)unlink(log);
	(void)unlink(lock);
	return rc < 0 ? GIT_ERROR : 0;
}

static int has_log(git_refdb_backend *be, const char *name)
{
	return 0;
}

static int no_log(git_refdb_backend *be, const char *name)
{
	return 0;
}

/* libgit2 wants all of these, and nobody here asks for them. */
static int rename_ref(git_reference **ret, git_refdb_backend *be, const char *from, const char *to,
		      int force, const git_signature *who, const char *message)
{
	return GIT_ERROR;
}

static int read_log(git_reflog **ret, git_refdb_backend *be, const char *name)
{
	return GIT_ENOTFOUND;
}

static int write_log(git_refdb_backend *be, git_reflog *log)
{
	return GIT_ERROR;
}

static int rename_log(git_refdb_backend *be, const char *from, const char *to)
{
	return GIT_ERROR;
}

static void refs_free(git_refdb_backend *be)
{
	struct refs *r = (struct refs *)be;

	free(r->dir);
	free(r->common);
	free(r->packed);
	free(r);
}

int wide_refs_attach(struct wide *w, const struct gitdir *git, git_repository *repo)
{
	struct refs *r = xcalloc(1, sizeof(*r));
	git_refdb *db = NULL;
	int rc;

	(void)git_refdb_init_backend(&r->parent, GIT_REFDB_BACKEND_VERSION);
	r->w = w;
	r->dir = xstrdup(git->dir);
	r->common = xstrdup(git->common);
	r->parent.exists = exists;
	r->parent.lookup = lookup;
	r->parent.iterator = iterator;
	r->parent.write = write_ref;
	r->parent.del = remove_ref;
	r->parent.has_log = has_log;
	r->parent.ensure_log = no_log;
	r->parent.reflog_delete = no_log;
	r->parent.rename = rename_ref;
	r->parent.reflog_read = read_log;
	r->parent.reflog_write = write_log;
	r->parent.reflog_rename = rename_log;
	r->parent.free = refs_free;
	rc = git_refdb_new(&db, repo);
	if (rc < 0) {
		refs_free(&r->parent);
		return rc;
	}
	rc = git_refdb_set_backend(db, &r->parent);
	if (rc == 0)
		rc = git_repository_set_refdb(repo, db);
	git_refdb_free(db);
	return rc;
}
