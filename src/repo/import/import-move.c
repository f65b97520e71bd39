/*
 * What was checked and planned becomes the user's. The order: objects, which nothing names yet; the
 * new index beside the old one; a note of what follows; all references in one transaction; the index.
 * An import that finds one was killed in between: it does what the note says,
 * as long as the lock of the index is still its own.
 */
#include "repo/import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "repo/import/import-refs.h"

#define AUTOSTASH_MAX (4 * KiB)

/* A reference of ralph's own; a zero oid is none. */
static void add_own(struct ref_moves *m, const struct import *im, const char *part,
		    const struct import_row *row, const git_oid *oid)
{
	cleanup_free char *name = import_own_name(im, part, row->ref);
	struct import_hex h;
	git_oid is;

	if (!git_oid_is_zero(oid) &&
	    !(git_reference_name_to_id(&is, im->repo, name) == 0 && git_oid_equal(&is, oid)))
		refs_add(m, name, "*", import_hex(im, oid, &h));
}

/* "a" and "a/b" cannot both be there: what was noted of the one that is gone gives way. */
static void clear_way(const struct import *im, const char *name)
{
	cleanup_free char *glob = xasprintf("%s/*", name), *path = xstrdup(name);
	cleanup_strv struct strv gone = {0};
	git_reference_iterator *it = NULL;
	const char *below;
	git_oid is;

	if (git_reference_name_to_id(&is, im->repo, name) == 0)
		return;
	if (git_reference_iterator_glob_new(&it, im->repo, glob) == 0)
		while (git_reference_next_name(&below, it) == 0)
			strv_push(&gone, below);
	git_reference_iterator_free(it);
	for (char *p = strrchr(path, '/'); p && p > path + strlen("refs/ralph/");
	     p = strrchr(path, '/')) {
		git_oid oid;

		*p = '\0';
		if (git_reference_name_to_id(&oid, im->repo, path) == 0)
			strv_push(&gone, path);
	}
	for (size_t i = 0; i < gone.n; i++)
		(void)git_reference_remove(im->repo, gone.v[i]);
}

/* Where both sides are, or the user's tip. */
static void add_note(struct ref_moves *m, const struct import *im, const char *part,
		     const struct import_row *row, const git_oid *oid)
{
	cleanup_free char *name = import_own_name(im, part, row->ref);

	if (!git_oid_is_zero(oid))
		clear_way(im, name);
	add_own(m, im, part, row, oid);
}

static bool is_agreed(const struct import_row *row)
{
	return import_is_taken(row) || (row->verdict == BRANCH_SAME && row->kind != IMPORT_OTHER);
}

/* What keeps commits that are about to lose their reference. */
static void add_kept(struct ref_moves *m, const struct import *im)
{
	for (size_t i = 0; i < im->n_rows; i++) {
		const struct import_row *row = &im->rows[i];

		if (row->verdict == BRANCH_HOLD && !row->was_held)
			add_own(m, im, "", row, &row->inside);
		if (row->verdict == BRANCH_REWRITE)
			add_own(m, im, "was", row, &row->host);
		if (is_agreed(row))
			add_note(m, im, "base", row, &row->next_base);
	}
}

/* The user's references, if they are still where the rule saw them. */
static void add_users(struct ref_moves *m, const struct import *im)
{
	for (size_t i = 0; i < im->n_rows; i++) {
		const struct import_row *row = &im->rows[i];
		struct import_hex from, to;

		if (import_is_taken(row))
			refs_add(m, row->ref, import_hex(im, &row->host, &from),
				 import_hex(im, &row->inside, &to));
	}
}

/* As HEAD has it. */
static char *head_value(const char *text)
{
	return strncmp(text, "refs/", 5) == 0 ? xasprintf("ref: %s", text) : xstrdup(text);
}

static void add_head(struct ref_moves *m, const struct import *im)
{
	struct import_hex tip;
	const char *is = im->host_head ? im->host_head : import_hex(im, &im->host_tip, &tip);
	cleanup_free char *from = head_value(is), *to = NULL;
	cleanup_free char *was = import_own_name(im, "was", "HEAD");

	if (!im->switch_to)
		return;
	/* A commit on no branch may be named by nothing else. */
	if (!im->host_head && !import_descends(im, &im->next_tip, &im->host_tip))
		refs_add(m, was, "*", import_hex(im, &im->host_tip, &tip));
	to = head_value(im->switch_to);
	refs_add(m, "HEAD", from, to);
}

/* Where both sides are, last: until then the next import would take it all again. */
static void add_seen(struct ref_moves *m, const struct import *im)
{
	cleanup_free char *seen = import_own_name(im, "seen", "HEAD");
	const char *head = im->switch_to ? im->switch_to : im->settle_head;
	cleanup_free char *value = head ? head_value(head) : NULL;

	for (size_t i = 0; i < im->n_rows; i++)
		if (is_agreed(&im->rows[i]))
			add_note(m, im, "seen", &im->rows[i], &im->rows[i].next_seen);
	if (value)
		refs_add(m, seen, "*", value);
}

/* What was held of it, once the user has decided. */
static int drop_held(struct import *im, struct err *err)
{
	for (size_t i = 0; i < im->n_rows; i++) {
		cleanup_free char *name = import_own_name(im, "", im->rows[i].ref);

		if (im->rows[i].drop && git_reference_remove(im->repo, name) < 0)
			return gitlib_err(err, name);
	}
	return 0;
}

/* Changes that git put aside when the operation began. The agent has them in the tree, and here is
 * the user's copy. */
static void add_autostash(struct ref_moves *m, const struct import *im)
{
	static const char *const files[] = {"MERGE_AUTOSTASH", "rebase-merge/autostash",
					    "rebase-apply/autostash"};
	cleanup_fd int dir = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *was = import_own_name(im, "was", "autostash");

	for (size_t i = 0; m->finish && dir >= 0 && i < ARRAY_SIZE(files); i++) {
		cleanup_buf struct buf b;

		buf_init(&b, AUTOSTASH_MAX);
		if (path_read(dir, files[i], &b) < 0 || b.len < import_hex_len(im))
			continue;
		b.data[import_hex_len(im)] = '\0';
		refs_add(m, was, "*", b.data);
		return;
	}
}

static int end_operation(const struct import *im, struct err *err)
{
	static const char *const more[] = {"AUTO_MERGE", "MERGE_AUTOSTASH", "REBASE_HEAD"};
	cleanup_fd int dir = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (git_repository_state_cleanup(im->repo) < 0)
		return gitlib_err(err, "cannot end the operation in progress");
	for (size_t i = 0; dir >= 0 && i < ARRAY_SIZE(more); i++)
		(void)unlinkat(dir, more[i], 0);
	return 0;
}

/* References and index. What has moved halfway stays as it is: the next import finishes it. */
static int move_all(struct import *im, struct ref_moves *m, struct err *err)
{
	int r = refs_lock(m, err);

	if (r == 0)
		r = import_check_there(im, true, err);
	if (r == 0)
		r = refs_commit(m, err);
	if (r == 0) {
		r = import_check_there(im, false, err);
		if (r < 0)
			refs_undo(m);
	}
	if (r == 0 && im->index_locked)
		r = import_index_commit(im, err);
	if (r == 0 && m->finish)
		r = end_operation(im, err);
	if (r == 0)
		m->half = false;
	if (m->half) {
		im->own = false;
		im->index_locked = false;
	}
	return r;
}

int import_move(struct import *im, struct err *err)
{
	cleanup_(refs_done) struct ref_moves m = {.git = &im->git};
	struct import_hex tip;
	int r;

	m.finish = im->finishes && im->index_locked;
	add_autostash(&m, im);
	add_kept(&m, im);
	add_users(&m, im);
	add_head(&m, im);
	add_seen(&m, im);
	if (im->index_locked)
		m.tip = xstrdup(import_hex(im, &im->next_tip, &tip));
	r = move_all(im, &m, err);
	return r == 0 ? drop_held(im, err) : r;
}

/* The lock of the repository is ours, so no import is alive that the lock of the index could be
 * of. */
int import_recover(struct import *im, struct err *err)
{
	cleanup_fd int dir = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_(refs_done) struct ref_moves m = {.git = &im->git};
	bool left = refs_left(&m);
	int r = 0;

	im->index_locked = import_index_is_ours(im);
	if (left && (!m.tip || im->index_locked) && refs_fit(&m))
		r = move_all(im, &m, err);
	else if (left && im->index_locked && refs_at_tip(&m))
		r = import_index_commit(im, err);
	if (r == 0 && left && m.finish && refs_at_tip(&m))
		r = end_operation(im, err);
	if (r < 0) {
		m.half = true;
		im->index_locked = false;
		return r;
	}
	import_index_drop(im);
	r = dir < 0 ? err_sys(err, errno, "cannot open '%s'", im->git.dir)
		    : path_remove_tree(dir, IMPORT_DIR, err);
	if (r == 0 && mkdirat(dir, IMPORT_DIR, 0700) < 0)
		r = err_sys(err, errno, "cannot write to '%s'", im->git.dir);
	im->own = r == 0;
	return r;
}
