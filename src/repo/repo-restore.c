#include "repo/repo-stash.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "git/tree-path.h"
#include "repo/repo-file.h"

/* A path of the stash: its version in the HEAD of that time, and the stashed version. */
struct item {
	const char *path;
	const git_tree_entry *base, *index, *work, *fresh; /* NULL: no such file */
};

struct repo_restore {
	struct repo_job *j;
	const struct repo_stash_arg *arg;
	struct repo_snap_trees trees;
	git_index *index;
	git_tree *head; /* current HEAD */
	json_t *dirty;	/* paths as keys */
	struct buf content;
	int root, tmp;
};

typedef int item_fn(struct repo_restore *s, const struct item *i, struct err *err);

static git_tree_entry *entry_of(git_tree *tree, const char *path)
{
	git_tree_entry *e = NULL;

	if (!tree || git_tree_entry_bypath(&e, tree, path) < 0)
		return NULL;
	if (git_tree_entry_type(e) == GIT_OBJECT_BLOB)
		return e;
	git_tree_entry_free(e); /* a directory is not the file of this name */
	return NULL;
}

static bool same(const git_tree_entry *a, const git_tree_entry *b)
{
	if (!a || !b)
		return a == b;
	return git_oid_equal(git_tree_entry_id(a), git_tree_entry_id(b)) &&
	       git_tree_entry_filemode(a) == git_tree_entry_filemode(b);
}

/* True when the current file equals this entry. With NULL: true when there is no file. */
static bool file_is(struct repo_restore *s, const char *path, const git_tree_entry *e)
{
	uint32_t mode = 0;
	git_oid oid;
	int r = repo_file_read(s->root, path, &s->content, &mode);

	if (!e || r < 0)
		return !e && r == -ENOENT;
	return git_odb_hash(&oid, s->content.data ? s->content.data : "", s->content.len,
			    GIT_OBJECT_BLOB) == 0 &&
	       git_oid_equal(&oid, git_tree_entry_id(e)) &&
	       mode == (uint32_t)git_tree_entry_filemode(e);
}

static const git_tree_entry *became(const struct item *i)
{
	return i->fresh ? i->fresh : i->work;
}

static int busy(const struct item *i, const char *what, struct err *err)
{
	cleanup_free char *shown = gitpath_shown(i->path, strlen(i->path), 150);

	return err_set(err, EBUSY, "'%s' %s", shown, what);
}

static int set_index(struct repo_restore *s, const char *path, const git_tree_entry *e,
		     struct err *err)
{
	git_index_entry entry = {.path = path};
	int r;

	if (!e) {
		r = git_index_remove_bypath(s->index, path);
	} else {
		entry.id = *git_tree_entry_id(e);
		entry.mode = (uint32_t)git_tree_entry_filemode(e);
		r = git_index_add(s->index, &entry);
	}
	return r < 0 && r != GIT_ENOTFOUND ? gitlib_err(err, "cannot write the index") : 0;
}

/* Writes the file as a checkout does, with the user's line endings, but never through a link. */
static int write_base(struct repo_restore *s, const struct item *i, struct err *err)
{
	git_blob_filter_options opts;
	cleanup_git(blob) git_blob *blob = NULL;
	uint32_t mode = (uint32_t)git_tree_entry_filemode(i->base);
	git_buf text = {0};
	int r;

	(void)git_blob_filter_options_init(&opts, GIT_BLOB_FILTER_OPTIONS_VERSION);
	if (git_blob_lookup(&blob, s->j->git, git_tree_entry_id(i->base)) < 0)
		return gitlib_err(err, "cannot read a file of HEAD");
	if (mode == GIT_FILEMODE_LINK) {
		r = repo_file_write(s->root, s->tmp, i->path, git_blob_rawcontent(blob),
				    (size_t)git_blob_rawsize(blob), mode);
	} else {
		if (git_blob_filter(&text, blob, i->path, &opts) < 0)
			return gitlib_err(err, "cannot check out");
		r = repo_file_write(s->root, s->tmp, i->path, text.ptr, text.size, mode);
		git_buf_dispose(&text);
	}
	return r < 0 ? err_sys(err, -r, "cannot write '%s'", i->path) : 0;
}

/* Removes the stashed change of one path, and no later change. */
static int clean_item(struct repo_restore *s, const struct item *i, struct err *err)
{
	int r = i->fresh ? 0 : set_index(s, i->path, i->base, err);

	if (r < 0 || !file_is(s, i->path, became(i)))
		return r;
	/* The file is replaced atomically: a missing file after an interruption would match
	 * neither version. */
	if (i->base)
		return write_base(s, i, err);
	r = repo_file_remove(s->root, i->path);
	return r < 0 ? err_sys(err, -r, "cannot remove '%s'", i->path) : 0;
}

static int item_fits(struct repo_restore *s, const struct item *i, struct err *err)
{
	git_tree_entry *now;
	bool moved;

	if (file_is(s, i->path, became(i)))
		return 0;
	if (i->fresh)
		return file_is(s, i->path, NULL) ? 0 : busy(i, "is there now, and another", err);
	now = entry_of(s->head, i->path);
	moved = !same(now, i->base);
	git_tree_entry_free(now);
	if (moved)
		return busy(i, "has other content in what is checked out now", err);
	if (json_object_get(s->dirty, i->path))
		return busy(i, "has been changed since", err);
	return 0;
}

static int restore_item(struct repo_restore *s, const struct item *i, struct err *err)
{
	cleanup_git(blob) git_blob *blob = NULL;
	const git_tree_entry *e = became(i);
	int r = item_fits(s, i, err);

	if (r < 0)
		return r;
	if (!i->fresh && !same(i->index, i->base))
		r = set_index(s, i->path, i->index, err);
	if (r < 0 || file_is(s, i->path, e))
		return r;
	if (!e)
		r = repo_file_remove(s->root, i->path);
	else if (git_blob_lookup(&blob, s->j->git, git_tree_entry_id(e)) < 0)
		return gitlib_err(err, "cannot read the stash");
	else
		r = repo_file_write(s->root, s->tmp, i->path, git_blob_rawcontent(blob),
				    (size_t)git_blob_rawsize(blob),
				    (uint32_t)git_tree_entry_filemode(e));
	return r < 0 ? err_sys(err, -r, "cannot write '%s'", i->path) : 0;
}

static int one_path(struct repo_restore *s, const char *path, item_fn *fn, struct err *err)
{
	struct item i = {.path = path};
	git_tree_entry *base = entry_of(s->trees.base, path);
	git_tree_entry *index = entry_of(s->trees.index, path);
	git_tree_entry *work = entry_of(s->trees.work, path);
	git_tree_entry *fresh = entry_of(s->trees.fresh, path);
	int r;

	i.base = base;
	i.index = index;
	i.work = work;
	i.fresh = fresh;
	r = fn(s, &i, err);
	git_tree_entry_free(base);
	git_tree_entry_free(index);
	git_tree_entry_free(work);
	git_tree_entry_free(fresh);
	return r;
}

/* Adds the paths that differ between two trees, as keys. */
static int add_paths(git_repository *git, git_tree *a, git_tree *b, json_t *paths, struct err *err)
{
	cleanup_git(diff) git_diff *diff = NULL;
	git_diff_options opts;

	(void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	opts.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
	if (git_diff_tree_to_tree(&diff, git, a, b, &opts) < 0)
		return gitlib_err(err, "cannot read the stash");
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);
		const char *path = d->new_file.path ? d->new_file.path : d->old_file.path;

		(void)json_object_setn_new_nocheck(paths, path, strlen(path), json_true());
	}
	return 0;
}

static int note_dirty(struct repo_restore *s, struct err *err)
{
	cleanup_git(status_list) git_status_list *list = NULL;
	int r = repo_status(s->j, NULL, &list, err);

	for (size_t i = 0; r == 0 && i < repo_status_count(list); i++) {
		const git_status_entry *e = git_status_byindex(list, i);
		const git_diff_delta *d =
			e->index_to_workdir ? e->index_to_workdir : e->head_to_index;

		(void)json_object_set_new_nocheck(s->dirty, d->old_file.path, json_true());
	}
	return r;
}

static int begin(struct repo_restore *s, struct err *err)
{
	git_oid oid, head;
	cleanup_free char *ref = NULL;
	int r = repo_oid_of(s->arg->oid, &oid, err);

	if (r == 0)
		r = repo_snap_trees(s->j->git, &oid, &s->trees, err);
	if (r == 0)
		r = repo_head_ref(s->j->git, &ref, &head, err);
	if (r == 0 && !git_oid_is_zero(&head))
		r = gitlib_tree(s->j->git, &head, &s->head, err);
	if (r == 0)
		r = note_dirty(s, err);
	if (r == 0 && git_repository_index(&s->index, s->j->git) < 0)
		r = gitlib_err(err, "cannot read the index");
	return r;
}

static int each_item(struct repo_job *j, item_fn *fn, bool write, struct err *err)
{
	cleanup_fd int root = open(j->repo->git.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int tmp = open(j->repo->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct repo_restore s = {
		.j = j, .arg = j->arg, .root = root, .tmp = tmp, .dirty = json_object()};
	cleanup_json json_t *paths = json_object();
	const char *path;
	json_t *value;
	int r = begin(&s, err);

	buf_init(&s.content, REPO_SNAP_FILE_MAX);
	/* New files come first: one of them may be a link in place of a directory. */
	if (r == 0 && s.trees.fresh)
		r = add_paths(j->git, NULL, s.trees.fresh, paths, err);
	if (r == 0)
		r = add_paths(j->git, s.trees.base, s.trees.work, paths, err);
	if (r == 0)
		r = add_paths(j->git, s.trees.base, s.trees.index, paths, err);
	json_object_foreach (paths, path, value)
		if (r == 0)
			r = one_path(&s, path, fn, err);
	if (r == 0 && write && git_index_write(s.index) < 0)
		r = gitlib_err(err, "cannot write the index");
	repo_snap_trees_done(&s.trees);
	git_index_free(s.index);
	git_tree_free(s.head);
	json_decref(s.dirty);
	buf_done(&s.content);
	return r;
}

int repo_stash_clean(struct repo_job *j, json_t *out, struct err *err)
{
	const struct repo_stash_arg *arg = j->arg;
	cleanup_git(reference) git_reference *made = NULL;
	git_oid oid;
	int r = repo_oid_of(arg->oid, &oid, err);

	if (r == 0 && git_reference_create(&made, j->git, arg->ref, &oid, 1, "ralph: stash") < 0)
		r = gitlib_err(err, arg->ref);
	return r == 0 ? each_item(j, clean_item, true, err) : r;
}

int repo_stash_fits(struct repo_job *j, json_t *out, struct err *err)
{
	return each_item(j, item_fits, false, err);
}

int repo_stash_restore(struct repo_job *j, json_t *out, struct err *err)
{
	return each_item(j, restore_item, true, err);
}
