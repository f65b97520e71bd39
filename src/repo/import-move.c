/*
 * What was checked and planned becomes the user's. The order: objects, which nothing names yet; the
 * new index beside the old one; a note of what follows; all references in one transaction; the index.
 * An import that finds one was killed in between: it does what the note says,
 * as long as the lock of the index is still its own.
 */
#include "repo/import.h"

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

#define NOTE IMPORT_DIR "/note"
#define NOTE_MAX (2 * MiB)
#define REFLOG "ralph: import"
#define OWN_DEPTH_MAX 32
#define LOCK_TRIES 40
#define LOCK_PAUSE_MS 50

static int add_loose(const git_oid *oid, void *arg)
{
	git_odb *const *to = arg; /* from, to */
	git_odb_object *o = NULL;
	git_oid same;
	int r = git_odb_read(&o, to[0], oid);

	if (r == 0)
		r = git_odb_write(&same, to[1], git_odb_object_data(o), git_odb_object_size(o),
				  git_odb_object_type(o));
	git_odb_object_free(o);
	return r;
}

static int move_loose(const struct import *im, const char *objects, struct err *err)
{
	cleanup_git(odb) git_odb *real = NULL;
	git_odb *both[2] = {im->received, NULL};
	int r = git_odb_open(&real, objects);

	both[1] = real;
	if (r == 0)
		r = git_odb_foreach(im->received, add_loose, both);
	return r < 0 ? gitlib_err(err, "cannot write the objects") : 0;
}

/* The index of a pack last: git looks for that. */
static int move_pack(const struct import *im, const char *objects, struct err *err)
{
	static const char *const kinds[] = {"pack", "idx"};
	char hex[GIT_OID_HEXSZ + 1];

	(void)git_oid_tostr(hex, sizeof(hex), &im->pack);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup_free char *from =
			xasprintf("%s/pack/pack-%s.%s", im->quarantine, hex, kinds[i]);
		cleanup_free char *to = xasprintf("%s/pack/pack-%s.%s", objects, hex, kinds[i]);

		if (rename(from, to) < 0)
			return err_sys(err, errno, "cannot move the objects to '%s'", to);
	}
	return 0;
}

int import_move_objects(struct import *im, struct err *err)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");
	cleanup_free char *packs = path_join(objects, "pack");
	int r = 0;

	if (!im->received)
		return 0;
	if (im->n_objects > IMPORT_LOOSE_MAX)
		r = path_mkdirs(packs, 0777, err);
	if (r == 0)
		r = im->n_objects > IMPORT_LOOSE_MAX ? move_pack(im, objects, err)
						     : move_loose(im, objects, err);
	if (r == 0 && git_odb_refresh(im->odb) < 0)
		r = gitlib_err(err, "cannot read the objects");
	return r;
}

/* The transaction of one import. */
struct moves {
	struct import *im;
	git_transaction *tx;
	git_signature *who;
	struct err *err;
};

static int set(struct moves *m, const char *ref, const git_oid *oid)
{
	git_oid is;

	if (git_reference_name_to_id(&is, m->im->repo, ref) == 0 && git_oid_equal(&is, oid))
		return 0;
	if (git_transaction_lock_ref(m->tx, ref) < 0 ||
	    git_transaction_set_target(m->tx, ref, oid, m->who, REFLOG) < 0)
		return gitlib_err(m->err, ref);
	return 0;
}

/* A reference of ralph's own; a zero oid is none. */
static int set_own(struct moves *m, const char *part, const struct import_row *row,
		   const git_oid *oid)
{
	cleanup_free char *name = import_own_name(m->im, part, row->ref);

	return git_oid_is_zero(oid) ? 0 : set(m, name, oid);
}

static int set_seen(struct moves *m, const struct import_row *row)
{
	int r = set_own(m, "seen", row, &row->next_seen);

	return r == 0 ? set_own(m, "base", row, &row->next_base) : r;
}

/* What was held of it, once the user has decided. */
static int drop_held(struct moves *m, const struct import_row *row)
{
	cleanup_free char *name = import_own_name(m->im, "", row->ref);

	if (git_transaction_lock_ref(m->tx, name) < 0 || git_transaction_remove(m->tx, name) < 0)
		return gitlib_err(m->err, name);
	return 0;
}

/* The user's reference, if it is still where the rule saw it: its lock is held from here on. */
static int set_users(struct moves *m, const struct import_row *row)
{
	git_oid is = {0};

	if (git_transaction_lock_ref(m->tx, row->ref) < 0)
		return gitlib_err(m->err, row->ref);
	(void)git_reference_name_to_id(&is, m->im->repo, row->ref);
	if (!git_oid_equal(&is, &row->host))
		return err_set(m->err, EAGAIN, "'%s' has moved meanwhile", row->ref);
	if (git_transaction_set_target(m->tx, row->ref, &row->inside, m->who, REFLOG) < 0)
		return gitlib_err(m->err, row->ref);
	return 0;
}

static int set_row(struct moves *m, const struct import_row *row)
{
	int r = row->drop ? drop_held(m, row) : 0;

	if (r < 0)
		return r;
	switch (row->verdict) {
	case BRANCH_SYNC:
		return 0;
	case BRANCH_HOLD:
		return row->was_held ? 0 : set_own(m, "", row, &row->inside);
	case BRANCH_SAME:
		return row->kind == IMPORT_OTHER ? 0 : set_seen(m, row);
	case BRANCH_REWRITE:
		r = set_own(m, "was", row, &row->host);
		break;
	case BRANCH_TAKE:
		break;
	}
	if (r == 0)
		r = set_users(m, row);
	return r == 0 ? set_seen(m, row) : r;
}

static int set_head(struct moves *m)
{
	struct import *im = m->im;
	cleanup_free char *seen = import_own_name(im, "seen", "HEAD");
	cleanup_git(reference) git_reference *head = NULL;
	const char *is;

	if ((im->switch_to || im->settle_head) &&
	    (git_transaction_lock_ref(m->tx, seen) < 0 ||
	     git_transaction_set_symbolic_target(m->tx, seen, im->head, m->who, REFLOG) < 0))
		return gitlib_err(m->err, seen);
	if (!im->switch_to)
		return 0;
	if (git_transaction_lock_ref(m->tx, "HEAD") < 0 ||
	    git_reference_lookup(&head, im->repo, "HEAD") < 0)
		return gitlib_err(m->err, "cannot lock HEAD");
	is = git_reference_symbolic_target(head);
	if (!is || !streq(is, im->host_head))
		return err_set(m->err, EAGAIN, "HEAD has moved meanwhile");
	if (git_transaction_set_symbolic_target(m->tx, "HEAD", im->switch_to, m->who, REFLOG) < 0)
		return gitlib_err(m->err, "cannot move HEAD");
	return 0;
}

static int open_dir(const struct import *im)
{
	int fd = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void note_row(struct buf *b, const struct import_row *row)
{
	char from[GIT_OID_HEXSZ + 1], to[GIT_OID_HEXSZ + 1];

	(void)buf_printf(b, "%s %s %s\n", git_oid_tostr(from, sizeof(from), &row->host),
			 git_oid_tostr(to, sizeof(to), &row->inside), row->ref);
}

/* "OLD NEW REF" for each reference of the user's, "HEAD OLD NEW". */
static int write_note(const struct import *im, struct err *err)
{
	cleanup_fd int dir = open_dir(im);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, NOTE_MAX);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open '%s'", im->git.dir);
	for (size_t i = 0; i < im->n_rows; i++)
		if (import_is_taken(&im->rows[i]))
			note_row(&b, &im->rows[i]);
	if (im->switch_to)
		(void)buf_printf(&b, "HEAD %s %s\n", im->host_head, im->switch_to);
	r = b.full ? -ENOBUFS : path_write_atomic(dir, NOTE, b.data, b.len, 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/" NOTE "'", im->git.dir) : 0;
}

/* The transaction ended halfway: the index belongs to what HEAD is now. */
static int end_halfway(struct import *im, struct err *err)
{
	struct err second;
	git_oid is = {0};
	int r = gitlib_err(err, "cannot move all references");

	(void)git_reference_name_to_id(&is, im->repo, "HEAD");
	if (im->index_locked && git_oid_equal(&is, &im->next_tip))
		(void)import_index_commit(im, &second);
	return r;
}

static int move_refs(struct moves *m)
{
	struct import *im = m->im;
	int r;

	r = write_note(im, m->err);
	for (size_t i = 0; r == 0 && i < im->n_rows; i++)
		r = set_row(m, &im->rows[i]);
	if (r == 0)
		r = set_head(m);
	if (r == 0 && git_transaction_commit(m->tx) < 0)
		r = end_halfway(im, m->err);
	return r;
}

int import_move(struct import *im, struct err *err)
{
	struct moves m = {.im = im, .err = err};
	int r = 0;

	if (git_transaction_new(&m.tx, im->repo) < 0 ||
	    git_signature_now(&m.who, "ralph", "ralph@localhost") < 0)
		r = gitlib_err(err, "cannot move the references");
	if (r == 0)
		r = move_refs(&m);
	if (r == 0 && im->index_locked)
		r = import_index_commit(im, err);
	git_transaction_free(m.tx);
	git_signature_free(m.who);
	return r;
}

/* "OLD NEW REF": false when the reference is somewhere else by now. */
static bool redo_ref(const struct import *im, const char *line)
{
	cleanup_git(reference) git_reference *made = NULL;
	const char *name = line + (size_t)2 * (GIT_OID_HEXSZ + 1);
	git_oid from, to, is = {0};

	if (strlen(line) <= (size_t)2 * (GIT_OID_HEXSZ + 1) ||
	    git_oid_fromstrn(&from, line, GIT_OID_HEXSZ) < 0 ||
	    git_oid_fromstrn(&to, line + GIT_OID_HEXSZ + 1, GIT_OID_HEXSZ) < 0)
		return false;
	(void)git_reference_name_to_id(&is, im->repo, name);
	if (git_oid_equal(&is, &to))
		return true;
	if (!git_oid_equal(&is, &from))
		return false;
	return git_reference_create_matching(&made, im->repo, name, &to, 1,
					     git_oid_is_zero(&from) ? NULL : &from, REFLOG) == 0;
}

/* "OLD NEW" */
static bool redo_head(const struct import *im, char *line)
{
	cleanup_git(reference) git_reference *head = NULL, *moved = NULL;
	char *to = strchr(line, ' ');
	const char *is;

	if (!to || git_reference_lookup(&head, im->repo, "HEAD") < 0)
		return false;
	*to++ = '\0';
	is = git_reference_symbolic_target(head);
	if (is && streq(is, to))
		return true;
	return is && streq(is, line) &&
	       git_reference_symbolic_create(&moved, im->repo, "HEAD", to, 1, REFLOG) == 0;
}

/*
 * A lock of a reference that a killed import left: it holds nothing, or what the import was about to
 * write. git fills its own locks as soon as it has them, so one that stays empty is not git's.
 */
static bool is_left(int dir, const char *lock, const char *content)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
	cleanup_buf struct buf b;

	buf_init(&b, NOTE_MAX);
	for (int i = 0; i < LOCK_TRIES; i++) {
		buf_clear(&b);
		if (path_read(dir, lock, &b) < 0)
			return false;
		if (b.len)
			return streq(buf_str(&b), content);
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

static void drop_lock(const char *path, const char *ref, const char *content)
{
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *lock = xasprintf("%s.lock", ref);
	struct stat st;

	if (dir >= 0 && fstatat(dir, lock, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_left(dir, lock, content))
		(void)unlinkat(dir, lock, 0);
}

static void drop_line_locks(const struct import *im, const char *line)
{
	const char *space = strrchr(line, ' ');
	cleanup_free char *content = NULL;

	if (!space)
		return;
	if (strncmp(line, "HEAD ", 5) == 0) {
		content = xasprintf("ref: %s\n", space + 1);
		drop_lock(im->git.dir, "HEAD", content);
	} else if (strlen(line) > (size_t)2 * GIT_OID_HEXSZ) {
		content = xasprintf("%.*s\n", GIT_OID_HEXSZ, line + GIT_OID_HEXSZ + 1);
		drop_lock(im->git.common, space + 1, content);
	}
}

/* Nobody but imports writes there. */
static void drop_own_locks(int at, const char *name, unsigned depth)
{
	int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 || depth > OWN_DEPTH_MAX ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		closep(&fd);
		return;
	}
	while ((de = readdir(d))) {
		const char *dot = strrchr(de->d_name, '.');

		if (de->d_name[0] == '.')
			continue;
		if (de->d_type == DT_DIR)
			drop_own_locks(dirfd(d), de->d_name, depth + 1);
		else if (dot && streq(dot, ".lock"))
			(void)unlinkat(dirfd(d), de->d_name, 0);
	}
	(void)closedir(d);
}

static void drop_locks(const struct import *im, const char *note)
{
	cleanup_fd int common = open(im->git.common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t n; *note; note += n + (note[n] == '\n')) {
		cleanup_free char *line = NULL;

		n = strcspn(note, "\n");
		line = xstrndup(note, n);
		drop_line_locks(im, line);
	}
	if (common >= 0)
		drop_own_locks(common, "refs/ralph", 0);
}

/* false: the index that was prepared does not fit any more. */
static bool redo(struct import *im, struct buf *note)
{
	bool fits = note->len > 0;

	for (char *line = note->data, *end; fits && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		fits = strncmp(line, "HEAD ", 5) == 0 ? redo_head(im, line + 5)
						      : redo_ref(im, line);
	}
	return fits;
}

/* The lock of the repository is ours, so no import is alive that the lock of the index could be
 * of. */
int import_recover(struct import *im, struct err *err)
{
	cleanup_fd int dir = open_dir(im);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, NOTE_MAX);
	r = dir < 0 ? dir : path_read(dir, NOTE, &b);
	if (r < 0 && r != -ENOENT)
		return err_sys(err, -r, "cannot read '%s/" NOTE "'", im->git.dir);
	if (r == 0)
		drop_locks(im, buf_str(&b));
	im->index_locked = import_index_is_ours(im);
	if (r == 0 && im->index_locked && redo(im, &b)) {
		r = import_index_commit(im, err);
		if (r < 0)
			return r;
	}
	import_index_drop(im);
	r = path_remove_tree(dir, IMPORT_DIR, err);
	if (r == 0 && mkdirat(dir, IMPORT_DIR, 0700) < 0)
		r = err_sys(err, errno, "cannot write to '%s'", im->git.dir);
	return r;
}
