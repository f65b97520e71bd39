#include "repo/import/import-refs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "repo/import/import.h"

#define PARENT_TRIES 8
#define NOTE IMPORT_DIR "/" REFS_NOTE
#define NEXT IMPORT_DIR "/ref"
#define NOTE_MAX (4 * MiB)
#define PACKED_MAX (64 * MiB)
#define VALUE_MAX (4 * KiB)
#define WHO "ralph <ralph@localhost>"
#define REFLOG "ralph: import"
#define DEPTH_MAX 32
#define LOCK_TRIES 40 /* git holds a lock for moments */
#define LOCK_PAUSE_MS 50

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* HEAD is of the worktree, everything else of the repository. */
static int open_dir_of(const struct ref_moves *m, const char *ref)
{
	return open_dir(streq(ref, "HEAD") ? m->git->dir : m->git->common);
}

static void drop_lock(const struct ref_moves *m, const char *ref)
{
	cleanup_free char *lock = xasprintf("%s.lock", ref);
	cleanup_fd int dir = open_dir_of(m, ref);

	if (dir >= 0)
		(void)unlinkat(dir, lock, 0);
}

void refs_done(struct ref_moves *m)
{
	cleanup_fd int dir = m->git ? open_dir(m->git->dir) : -1;

	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].locked)
			drop_lock(m, m->v[i].ref);
		free(m->v[i].ref);
		free(m->v[i].from);
		free(m->v[i].to);
		free(m->v[i].was);
	}
	free(m->v);
	free(m->tip);
	if (dir >= 0 && !m->half)
		(void)unlinkat(dir, NOTE, 0);
}

void refs_add(struct ref_moves *m, const char *ref, const char *from, const char *to)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 16;
		m->v = xrealloc(m->v, m->cap, sizeof(*m->v));
	}
	m->v[m->n++] =
		(struct ref_move){.ref = xstrdup(ref), .from = xstrdup(from), .to = xstrdup(to)};
}

/* "\nOID REF\n" as OID; "-": it is not there. */
static char *find_packed(const char *packed, const char *ref)
{
	cleanup_free char *line = xasprintf(" %s\n", ref);
	const char *at = packed ? strstr(packed, line) : NULL, *start = at;

	while (start && start > packed && start[-1] != '\n')
		start--;
	return at ? xstrndup(start, (size_t)(at - start)) : xstrdup("-");
}

static char *read_value(const struct ref_moves *m, const char *ref, const char *packed)
{
	cleanup_fd int dir = open_dir_of(m, ref);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, VALUE_MAX);
	r = dir < 0 ? dir : path_read(dir, ref, &b);
	if (r == -ENOENT || r == -EISDIR || r == -ENOTDIR)
		return find_packed(packed, ref);
	if (r < 0)
		return xstrdup("?");
	b.data[strcspn(buf_str(&b), "\n")] = '\0';
	return xstrdup(b.data);
}

static char *read_packed(const struct ref_moves *m)
{
	cleanup_fd int dir = open_dir(m->git->common);
	struct buf b;

	buf_init(&b, PACKED_MAX);
	(void)buf_putc(&b, '\n');
	if (dir < 0 || path_read(dir, "packed-refs", &b) < 0)
		buf_clear(&b);
	return buf_take(&b);
}

/* The lock has its content from the moment that it is there. */
static int take_lock(int dir, int own, const char *ref, const char *to)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
	cleanup_free char *lock = xasprintf("%s.lock", ref), *text = xasprintf("%s\n", to);
	int r = path_write_atomic(own, NEXT, text, strlen(text), 0666, 0);

	for (int i = 0; r == 0 && linkat(own, NEXT, dir, lock, 0) < 0; i++) {
		if (errno != EEXIST)
			r = -errno;
		else if (i == LOCK_TRIES)
			r = -EBUSY;
		else
			(void)nanosleep(&pause, NULL);
	}
	return r;
}

static int make_parents(int dir, const char *ref)
{
	cleanup_free char *path = xstrdup(ref);

	for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdirat(dir, path, 0777) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

/* Directories that removed references left where this one is to be. */
static void remove_empty(int at, const char *name, unsigned depth)
{
	int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 || depth > DEPTH_MAX ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		closep(&fd);
		return;
	}
	while ((de = readdir(d)))
		if (de->d_type == DT_DIR && !streq(de->d_name, ".") && !streq(de->d_name, ".."))
			remove_empty(dirfd(d), de->d_name, depth + 1);
	(void)closedir(d);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

static int lock_one(const struct ref_moves *m, struct ref_move *v, struct err *err)
{
	cleanup_fd int dir = open_dir_of(m, v->ref), own = open_dir(m->git->dir);
	struct stat st;
	int r = dir < 0 ? dir : own < 0 ? own : -ENOENT;

	/* git removes empty directories of references whenever it sees one. */
	for (int i = 0; r == -ENOENT && i < PARENT_TRIES; i++) {
		r = make_parents(dir, v->ref);
		if (r == 0)
			r = take_lock(dir, own, v->ref, v->to);
	}
	v->locked = r == 0;
	if (r == 0)
		remove_empty(dir, v->ref, 0);
	/* No rename may fail for it later, when others have moved. */
	if (r == -ENOTDIR ||
	    (r == 0 && fstatat(dir, v->ref, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)))
		return err_set(err, EEXIST, "another reference stands in the way of '%s'", v->ref);
	return r < 0 ? err_sys(err, -r, "cannot lock '%s'", v->ref) : 0;
}

static bool is_free(const char *ref, const char *packed)
{
	cleanup_free char *below = xasprintf(" %s/", ref), *path = xstrdup(ref);
	bool is = !strstr(packed, below);

	for (char *p = strrchr(path, '/'); is && p && p > path + 4; p = strrchr(path, '/')) {
		cleanup_free char *value = NULL;

		*p = '\0';
		value = find_packed(packed, path);
		is = streq(value, "-");
	}
	return is;
}

static int check_one(const struct ref_moves *m, struct ref_move *v, const char *packed,
		     struct err *err)
{
	const char *is = v->was = read_value(m, v->ref, packed);

	if (!streq(v->from, "*") && !streq(v->from, is))
		return err_set(err, EAGAIN, "'%s' has moved meanwhile", v->ref);
	if (packed && streq(is, "-") && !is_free(v->ref, packed))
		return err_set(err, EAGAIN, "another reference stands in the way of '%s'", v->ref);
	return 0;
}

static int write_note(const struct ref_moves *m, struct err *err)
{
	cleanup_fd int dir = open_dir(m->git->dir);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, NOTE_MAX);
	(void)buf_printf(&b, "%s %s\n", m->finish ? "end" : "tip", m->tip ? m->tip : "-");
	for (size_t i = 0; i < m->n; i++)
		(void)buf_printf(&b, "%s\t%s\t%s\n", m->v[i].from, m->v[i].to, m->v[i].ref);
	r = dir < 0  ? dir
	    : b.full ? -ENOBUFS
		     : path_write_atomic(dir, NOTE, b.data, b.len, 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/" NOTE "'", m->git->dir) : 0;
}

int refs_lock(struct ref_moves *m, struct err *err)
{
	cleanup_free char *packed = NULL;
	int r = write_note(m, err);

	for (size_t i = 0; r == 0 && i < m->n; i++)
		r = lock_one(m, &m->v[i], err);
	/* Whoever packs references takes their locks, too. */
	packed = r == 0 ? read_packed(m) : NULL;
	for (size_t i = 0; r == 0 && i < m->n; i++)
		r = check_one(m, &m->v[i], packed, err);
	return r;
}

/* As git does it by default: a log that is there goes on, and branches get one. */
static void put_log(const struct ref_moves *m, const char *ref, const char *from, const char *to)
{
	cleanup_free char *log = xasprintf("logs/%s", ref), *line = NULL;
	cleanup_fd int dir = open_dir_of(m, ref), fd = -1;
	int make = 0;

	if (dir < 0 || strspn(to, "0123456789abcdef") != strlen(to))
		return;
	if (strncmp(ref, "refs/heads/", 11) == 0 && !streq(m->git->root, m->git->dir) &&
	    make_parents(dir, log) == 0)
		make = O_CREAT;
	fd = path_open_beneath(dir, log, O_WRONLY | O_APPEND | make, 0644);
	line = xasprintf("%.*s%s %s " WHO " %lld +0000\t" REFLOG "\n",
			 streq(from, "-") ? (int)strlen(to) : 0,
			 "0000000000000000000000000000000000000000000000000000000000000000",
			 streq(from, "-") ? "" : from, to, (long long)time(NULL));
	if (fd >= 0)
		(void)fd_write_all(fd, line, strlen(line)); /* a log that is short harms nobody */
}

/* What HEAD stands for, as an OID. */
static char *head_value(const struct ref_moves *m, const char *packed)
{
	char *is = read_value(m, "HEAD", packed);

	if (strncmp(is, "ref: ", 5) == 0) {
		cleanup_free char *by_name = is;

		is = read_value(m, by_name + 5, packed);
	}
	return is;
}

static int rename_one(const struct ref_moves *m, struct ref_move *v, struct err *err)
{
	cleanup_free char *lock = xasprintf("%s.lock", v->ref);
	cleanup_fd int dir = open_dir_of(m, v->ref);

	if (dir < 0 || renameat(dir, lock, dir, v->ref) < 0)
		return err_sys(err, dir < 0 ? -dir : errno, "cannot move '%s'", v->ref);
	v->locked = false;
	return 0;
}

int refs_commit(struct ref_moves *m, struct err *err)
{
	cleanup_free char *packed = read_packed(m), *was = head_value(m, packed), *is = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		r = rename_one(m, &m->v[i], err);
		m->half = r == 0 || i > 0;
	}
	for (size_t i = 0; r == 0 && i < m->n; i++)
		if (!streq(m->v[i].from, "*") && !streq(m->v[i].from, m->v[i].to))
			put_log(m, m->v[i].ref, m->v[i].from, m->v[i].to);
	is = head_value(m, packed);
	if (r == 0 && !streq(was, is))
		put_log(m, "HEAD", was, is);
	return r;
}

static void undo_one(struct ref_moves *m, struct ref_move *v, struct err *err)
{
	cleanup_free char *lock = xasprintf("%s.lock", v->ref), *is = NULL, *packed = NULL;
	cleanup_fd int dir = open_dir_of(m, v->ref), own = open_dir(m->git->dir);
	bool gone = streq(v->was, "-");

	if (dir < 0 || own < 0 || take_lock(dir, own, v->ref, gone ? v->to : v->was) < 0)
		return;
	v->locked = true;
	packed = read_packed(m);
	is = read_value(m, v->ref, packed);
	if (!streq(is, v->to))
		return;
	if (gone)
		(void)unlinkat(dir, v->ref, 0);
	else
		(void)rename_one(m, v, err);
}

void refs_undo(struct ref_moves *m)
{
	struct err ignored;

	for (size_t i = m->n; i-- > 0;)
		if (m->v[i].was)
			undo_one(m, &m->v[i], &ignored);
	m->half = false;
}

static bool read_line(struct ref_moves *m, char *line)
{
	char *to = strchr(line, '\t'), *ref = to ? strchr(to + 1, '\t') : NULL;

	if (!ref)
		return false;
	*to++ = *ref++ = '\0';
	refs_add(m, ref, line, to);
	return true;
}

/* A lock with the very content that the note says was ours. */
static void drop_left(const struct ref_moves *m, const struct ref_move *v)
{
	cleanup_free char *lock = xasprintf("%s.lock", v->ref), *text = xasprintf("%s\n", v->to);
	cleanup_fd int dir = open_dir_of(m, v->ref);
	cleanup_buf struct buf b;

	buf_init(&b, VALUE_MAX);
	if (dir >= 0 && path_read(dir, lock, &b) == 0 && streq(buf_str(&b), text))
		(void)unlinkat(dir, lock, 0);
}

bool refs_left(struct ref_moves *m)
{
	cleanup_fd int dir = open_dir(m->git->dir);
	cleanup_buf struct buf b;
	bool good;

	buf_init(&b, NOTE_MAX);
	if (dir < 0 || path_read(dir, NOTE, &b) < 0)
		return false;
	m->finish = strncmp(buf_str(&b), "end ", 4) == 0;
	good = m->finish || strncmp(buf_str(&b), "tip ", 4) == 0;
	for (char *line = b.data, *end; good && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (line != b.data)
			good = read_line(m, line);
		else if (!streq(line + 4, "-"))
			m->tip = xstrdup(line + 4);
	}
	for (size_t i = 0; i < m->n; i++)
		drop_left(m, &m->v[i]);
	return good;
}

bool refs_fit(struct ref_moves *m)
{
	cleanup_free char *packed = read_packed(m);
	bool fit = true;

	for (size_t i = 0; fit && i < m->n; i++) {
		struct ref_move *v = &m->v[i];
		char *is = read_value(m, v->ref, packed);

		fit = streq(v->from, "*") || streq(v->from, is) || streq(v->to, is);
		free(v->from);
		v->from = is;
	}
	return fit;
}

bool refs_at_tip(const struct ref_moves *m)
{
	cleanup_free char *packed = read_packed(m), *is = head_value(m, packed);

	return m->tip && streq(m->tip, is);
}
