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
#include "workspace/state-link.h"
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

/* Takes fd. */
static int add_dir(SHA256_CTX *to, int fd, unsigned depth)
{
	cleanup_strv struct strv names = {0};
	DIR *d = fdopendir(fd);
	struct dirent *de;
	int r = 0;

	if (!d) {
		closep(&fd);
		return -errno;
	}
	while ((de = readdir(d)))
		if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
			strv_push(&names, de->d_name);
	strv_sort(&names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = depth == 0 ? -ELOOP : add_entry(to, dirfd(d), names.v[i], depth - 1);
	(void)closedir(d);
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
	return S_ISDIR(st.st_mode) ? add_dir(to, take_fd(fd), depth) : add_file(to, fd);
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

static struct entry *add(struct seen *s, const char *path)
{
	s->v = xrealloc(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n] = (struct entry){.path = xstrdup(path)};
	return &s->v[s->n++];
}

struct stock {
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

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	const struct stock *k = arg;
	struct seen *s = k->seen;
	cleanup_free char *path = NULL;

	if (type == DT_LNK || (type != DT_DIR && strcasecmp(name, ".git") == 0))
		look_for_state(k, d, name);
	if (strcasecmp(name, ".git") == 0)
		return false;
	if (!protect_match(PROTECT_TREE, path_base(d->path), name) &&
	    (type == DT_DIR || !protect_holds(name)))
		return true;
	path = path_join(d->path, name);
	if (sum_of(d->fd, name, add(s, path)->sum) < 0)
		free(s->v[--s->n].path); /* then it counts as new */
	return true;
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	/* The start has refused it already, or it is no business of the sandbox's. */
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
	static const struct tree_ops ops = {on_name, NULL, on_refused};
	struct seen *s = xcalloc(1, sizeof(*s));
	struct stock k = {s, state, out};

	for (size_t i = 0; i < spec->n_watches; i++)
		if (spec->watches[i].kind == SPEC_WATCH_TREE)
			(void)tree_walk(open(spec->watches[i].dir,
					     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
					spec->watches[i].dir, &ops, &k);
	return sorted(s);
}

struct seen *seen_free(struct seen *s)
{
	for (size_t i = 0; s && i < s->n; i++)
		free(s->v[i].path);
	if (s)
		free(s->v);
	free(s);
	return NULL;
}

bool seen_same(const struct seen *s, int dirfd, const char *name, const char *path)
{
	const struct entry key = {.path = (char *)path};
	const struct entry *e = s->n ? bsearch(&key, s->v, s->n, sizeof(key), by_path) : NULL;
	char sum[SHA256_DIGEST_STRING_LENGTH];

	return e && sum_of(dirfd, name, sum) == 0 && streq(sum, e->sum);
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
