#include "workspace/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "policy/protect.h"
#include "workspace/host-run.h"
#include "workspace/tree-programs.h"
#include "workspace/state-link.h"
#include "workspace/tree-shape.h"
#include "workspace/tree-walk.h"

#define FILE_NAME "seen"
#define FILE_MAX (64 * MiB)
#define LINK_MAX 4096

struct entry {
	char sum[SHA256_DIGEST_STRING_LENGTH];
	char *path;
};

struct seen {
	struct entry *v;
	size_t n;
	struct tree_shape *
		*shapes; /* of each watch of the spec; NULL: it was read from the record */
	size_t n_shapes;
};

static int add_entry(SHA256_CTX *to, int dirfd, const char *name, unsigned depth);

static int add_link(SHA256_CTX *to, int dirfd, const char *name)
{
	char text[LINK_MAX];
	ssize_t n = readlinkat(dirfd, name, text, sizeof(text));

	if (n < 0)
		return -errno;
	SHA256Update(to, (const uint8_t *)text, (size_t)n);
	return 0;
}

static int add_file(SHA256_CTX *to, int fd)
{
	cleanup_free uint8_t *piece = xmalloc(64 * KiB);
	ssize_t n;

	while ((n = read(fd, piece, 64 * KiB)) > 0)
		SHA256Update(to, piece, (size_t)n);
	return n < 0 ? -errno : 0;
}

static int list_names(int fd, struct strv *ret)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *de;

	if (!d) {
		closep(&copy);
		return -errno;
	}
	while ((de = readdir(d)))
		if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
			strv_push(ret, de->d_name);
	(void)closedir(d);
	strv_sort(ret);
	return 0;
}

static int add_dir(SHA256_CTX *to, int fd, unsigned depth)
{
	cleanup_strv struct strv names = {0};
	int r = list_names(fd, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = depth == 0 ? -ELOOP : add_entry(to, fd, names.v[i], depth - 1);
	return r;
}

/* What cannot be read is known by its inode. */
static int add_inode(SHA256_CTX *to, const struct stat *st)
{
	const uint64_t parts[] = {st->st_dev,
				  st->st_ino,
				  (uint64_t)st->st_size,
				  (uint64_t)st->st_mtim.tv_sec,
				  (uint64_t)st->st_mtim.tv_nsec,
				  (uint64_t)st->st_ctim.tv_sec,
				  (uint64_t)st->st_ctim.tv_nsec};

	SHA256Update(to, (const uint8_t *)parts, sizeof(parts));
	return 0;
}

static int add_entry(SHA256_CTX *to, int dirfd, const char *name, unsigned depth)
{
	const int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	cleanup_fd int fd = -1;
	struct stat st;
	uint32_t mode;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	mode = st.st_mode & (S_IFMT | 0111);
	SHA256Update(to, (const uint8_t *)&mode, sizeof(mode));
	SHA256Update(to, (const uint8_t *)name, strlen(name) + 1);
	if (S_ISLNK(st.st_mode))
		return add_link(to, dirfd, name);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = openat(dirfd, name, how);
	if (fd < 0)
		return add_inode(to, &st);
	return S_ISDIR(st.st_mode) ? add_dir(to, fd, depth) : add_file(to, fd);
}

static int sum_of(int dirfd, const char *name, char ret[SHA256_DIGEST_STRING_LENGTH])
{
	SHA256_CTX c;
	int r;

	SHA256Init(&c);
	r = add_entry(&c, dirfd, name, TREE_DEPTH_MAX);
	(void)SHA256End(&c, ret);
	return r;
}

void seen_parts(const struct sandbox_spec *spec, int dirfd, const char *name, const char *path,
		unsigned depth, seen_part_fn *fn, void *arg)
{
	cleanup_strv struct strv names = {0};
	cleanup_fd int fd = -1;

	if (spec_may_change(spec, path))
		return;
	if (depth && spec_may_change_below(spec, path))
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || list_names(fd, &names) < 0) {
		fn(arg, dirfd, name, path);
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *below = path_join(path, names.v[i]);

		seen_parts(spec, fd, names.v[i], below, depth - 1, fn, arg);
	}
}

/* ---- git directories ---- */

#define GIT_KEY "git:" /* before their paths; alone: they were written down */

bool seen_is_place(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_watches; i++)
		if ((spec->watches[i].kind == SPEC_WATCH_GIT ||
		     spec->watches[i].kind == SPEC_WATCH_WORKTREE) &&
		    streq(spec->watches[i].dir, path))
			return true;
	return false;
}

static bool is_there(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool seen_is_git(int fd)
{
	return is_there(fd, "HEAD") && (is_there(fd, "objects") || is_there(fd, "commondir"));
}

/* The directory itself, and not one that got its number later. */
static int add_identity(SHA256_CTX *to, int dirfd, const char *name)
{
	struct statx sx;

	if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &sx) < 0)
		return -errno;
	if (!(sx.stx_mask & STATX_BTIME))
		sx.stx_btime = (struct statx_timestamp){0};
	SHA256Update(to, (const uint8_t *)&sx.stx_dev_major, sizeof(sx.stx_dev_major));
	SHA256Update(to, (const uint8_t *)&sx.stx_dev_minor, sizeof(sx.stx_dev_minor));
	SHA256Update(to, (const uint8_t *)&sx.stx_ino, sizeof(sx.stx_ino));
	SHA256Update(to, (const uint8_t *)&sx.stx_btime.tv_sec, sizeof(sx.stx_btime.tv_sec));
	SHA256Update(to, (const uint8_t *)&sx.stx_btime.tv_nsec, sizeof(sx.stx_btime.tv_nsec));
	return 0;
}

/* Everything but objects, which say what they are by their names. Takes fd. */
static int add_git_content(SHA256_CTX *to, int fd)
{
	cleanup_strv struct strv names = {0};
	struct stat st;
	int r;

	r = list_names(fd, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		if (!streq(names.v[i], "objects") ||
		    fstatat(fd, "objects", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			r = add_entry(to, fd, names.v[i], TREE_DEPTH_MAX);
	(void)close(fd);
	return r;
}

/*
 * A git directory that the start protects (a place of the spec) or covers is known by itself: what
 * counts in it cannot be written inside. Of any other everything must be as it was.
 */
static int git_sum(const struct sandbox_spec *spec, int dirfd, const char *name, const char *path,
		   char ret[SHA256_DIGEST_STRING_LENGTH])
{
	SHA256_CTX c;
	struct stat st;
	int r = 0, fd;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return sum_of(dirfd, name, ret);
	SHA256Init(&c);
	r = add_identity(&c, dirfd, name);
	if (r == 0 && !seen_is_place(spec, path) && !host_run_is_mounted(spec, path) &&
	    !host_run_is_covered(spec, path)) {
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? -errno : add_git_content(&c, fd);
	}
	(void)SHA256End(&c, ret);
	return r;
}

static struct entry *add(struct seen *s, const char *path)
{
	s->v = xrealloc(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n] = (struct entry){.path = xstrdup(path)};
	return &s->v[s->n++];
}

struct stock {
	const struct sandbox_spec *spec;
	struct seen *seen;
	const char *state;
	struct findings *out;
};

static void look_for_state(const struct stock *k, const struct tree_dir *d, const char *name)
{
	cleanup_free char *path = NULL;

	if (!state_link(d->fd, d->path, name, k->state))
		return;
	path = path_join(d->path, name);
	(void)findings_add(k->out, path, xstrdup(HOST_RUN_STATE_LINK), true);
}

/* One that cannot be looked at counts as new. An empty one, too: it is a place for one. */
static void note_git(const struct stock *k, const struct tree_dir *d, const char *name,
		     const char *path)
{
	cleanup_free char *key = xasprintf(GIT_KEY "%s", path);
	cleanup_fd int fd = path_open_beneath(d->fd, name, O_RDONLY | O_DIRECTORY, 0);
	cleanup_strv struct strv names = {0};

	if (fd >= 0 && (list_names(fd, &names) < 0 || names.n == 0))
		return;
	if (git_sum(k->spec, d->fd, name, path, add(k->seen, key)->sum) < 0)
		free(k->seen->v[--k->seen->n].path);
}

static void on_leave(void *arg, const struct tree_dir *d)
{
	if (!seen_is_git(d->fd))
		return;
	*d->matters = true;
	note_git(arg, d, ".", d->path);
}

static void note_part(void *arg, int dirfd, const char *name, const char *path)
{
	struct seen *s = arg;

	if (sum_of(dirfd, name, add(s, path)->sum) < 0)
		free(s->v[--s->n].path); /* then it counts as new */
}

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	const struct stock *k = arg;
	struct seen *s = k->seen;
	cleanup_free char *path = NULL;

	if (type == DT_LNK || (type != DT_DIR && strcasecmp(name, ".git") == 0))
		look_for_state(k, d, name);
	if (strcasecmp(name, ".git") == 0) {
		*d->matters = true;
		path = path_join(d->path, name);
		note_git(k, d, name, path);
		return false;
	}
	if (!protect_match(PROTECT_TREE, path_base(d->path), name) &&
	    (type == DT_DIR || !protect_holds(name)))
		return true;
	*d->matters = true;
	path = path_join(d->path, name);
	seen_parts(k->spec, d->fd, name, path, TREE_DEPTH_MAX, note_part, s);
	return true;
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	/* The start has refused it already, or it is no business of the sandbox's. */
}

/* Submodules and worktrees of a git directory that the start protects, and its protected names. */
static bool on_git_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	const struct stock *k = arg;
	cleanup_free char *path = NULL;

	if (d->depth || !protect_match(PROTECT_GIT, "", name))
		return type != DT_REG && !streq(name, "objects");
	path = path_join(d->path, name);
	if (sum_of(d->fd, name, add(k->seen, path)->sum) < 0)
		free(k->seen->v[--k->seen->n].path);
	return false;
}

static void walk(const struct stock *k, const struct spec_watch *watch, struct tree_shape **ret)
{
	static const struct tree_ops tree = {on_name, on_leave, on_refused},
				     git = {on_git_name, on_leave, on_refused};
	int fd;

	if (watch->kind == SPEC_WATCH_PATH)
		return;
	fd = open(watch->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (watch->kind == SPEC_WATCH_TREE)
		(void)tree_walk_note(fd, watch->dir, &tree, (void *)k, ret);
	else
		(void)tree_walk(fd, watch->dir, &git, (void *)k);
}

/* ---- programs ---- */

#define PROGRAM_KEY "program:" /* before their paths; alone: they were written down */

/*
 * Of a program the inode is enough: whoever changes or moves one gives it another time of change.
 * Of a directory it is only that there is one, and no link.
 */
static int program_sum(int dirfd, const char *name, const struct stat *st,
		       char ret[SHA256_DIGEST_STRING_LENGTH])
{
	const uint32_t mode = S_ISDIR(st->st_mode) ? S_IFDIR : st->st_mode & (S_IFMT | 0111);
	SHA256_CTX c;
	int r = 0;

	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)&mode, sizeof(mode));
	if (S_ISLNK(st->st_mode))
		r = add_link(&c, dirfd, name);
	else if (!S_ISDIR(st->st_mode))
		r = add_inode(&c, st);
	(void)SHA256End(&c, ret);
	return r;
}

static bool note_program(void *arg, enum program_visit visit, int dirfd, const char *name,
			 const char *path, const struct stat *st)
{
	cleanup_free char *key = xasprintf(PROGRAM_KEY "%s", path);
	struct seen *s = arg;

	if (program_sum(dirfd, name, st, add(s, key)->sum) < 0)
		free(s->v[--s->n].path);
	return true;
}

static void note_programs(struct seen *s, const struct sandbox_spec *spec)
{
	memset(add(s, PROGRAM_KEY)->sum, '0', SHA256_DIGEST_STRING_LENGTH - 1);
	programs_visit(spec, note_program, s);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static struct seen *sorted(struct seen *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_path);
	return s;
}

struct seen *seen_new(const struct sandbox_spec *spec, const char *state, struct findings *out)
{
	struct seen *s = xcalloc(1, sizeof(*s));
	const struct stock k = {spec, s, state, out};

	memset(add(s, GIT_KEY)->sum, '0', SHA256_DIGEST_STRING_LENGTH - 1);
	s->n_shapes = spec->n_watches;
	s->shapes = xcalloc(spec->n_watches, sizeof(struct tree_shape *));
	for (size_t i = 0; i < spec->n_watches; i++)
		walk(&k, &spec->watches[i], &s->shapes[i]);
	note_programs(s, spec);
	return sorted(s);
}

const struct tree_shape *seen_shape(const struct seen *s, size_t watch)
{
	return s && watch < s->n_shapes ? s->shapes[watch] : NULL;
}

struct seen *seen_free(struct seen *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].path);
	for (size_t i = 0; i < s->n_shapes; i++)
		tree_shape_free(s->shapes[i]);
	free(s->shapes);
	free(s->v);
	free(s);
	return NULL;
}

static const struct entry *find(const struct seen *s, const char *path)
{
	const struct entry key = {.path = (char *)path};

	return s->n ? bsearch(&key, s->v, s->n, sizeof(key), by_path) : NULL;
}

bool seen_has_git(const struct seen *s)
{
	return find(s, GIT_KEY);
}

bool seen_git_same(const struct seen *s, const struct sandbox_spec *spec, int dirfd,
		   const char *name, const char *path)
{
	cleanup_free char *key = xasprintf(GIT_KEY "%s", path);
	const struct entry *e = find(s, key);
	char sum[SHA256_DIGEST_STRING_LENGTH];

	return e && git_sum(spec, dirfd, name, path, sum) == 0 && streq(sum, e->sum);
}

bool seen_same(const struct seen *s, int dirfd, const char *name, const char *path)
{
	const struct entry *e = find(s, path);
	char sum[SHA256_DIGEST_STRING_LENGTH];

	return e && sum_of(dirfd, name, sum) == 0 && streq(sum, e->sum);
}

bool seen_has_programs(const struct seen *s)
{
	return find(s, PROGRAM_KEY);
}

bool seen_program_same(const struct seen *s, int dirfd, const char *name, const char *path,
		       const struct stat *st)
{
	cleanup_free char *key = xasprintf(PROGRAM_KEY "%s", path);
	const struct entry *e = find(s, key);
	char sum[SHA256_DIGEST_STRING_LENGTH];

	/* A directory that is new holds programs that are. */
	if (!e)
		return S_ISDIR(st->st_mode);
	return program_sum(dirfd, name, st, sum) == 0 && streq(sum, e->sum);
}

int seen_write(struct seen *s, int dir)
{
	cleanup_buf struct buf b;

	buf_init(&b, FILE_MAX);
	for (size_t i = 0; i < s->n; i++) {
		(void)buf_puts(&b, s->v[i].sum);
		(void)buf_append(&b, s->v[i].path, strlen(s->v[i].path) + 1);
	}
	return b.full ? -EFBIG : path_write_atomic(dir, FILE_NAME, b.data, b.len, 0600, 0);
}

struct seen *seen_read(int dir)
{
	const size_t sum = SHA256_DIGEST_STRING_LENGTH - 1;
	struct seen *s = xcalloc(1, sizeof(*s));
	cleanup_buf struct buf b;

	buf_init(&b, FILE_MAX);
	if (path_read(dir, FILE_NAME, &b) < 0)
		return seen_free(s);
	for (size_t at = 0; at + sum < b.len;) {
		struct entry *e = add(s, b.data + at + sum);

		memcpy(e->sum, b.data + at, sum);
		at += sum + strlen(e->path) + 1;
	}
	return sorted(s);
}
