/*
 * Looks for submodules, and for files that the host runs, in commits on their way to the user. A
 * file that the agent can only read in the tree gets there with the user's next `git checkout`, so
 * such commits wait for the user.
 */
#include "repo/import/import.h"

#include <string.h>

#include "git/tree-path.h"

#define COMMITS_MAX 100000  /* more than that are not looked at */
#define CHANGES_MAX 1000000 /* of one commit */
#define SHOWN_MAX 200

static const char *const users_refs[] = {"refs/heads/*", "refs/remotes/*", "refs/tags/*"};

struct looking {
	struct import *im;
	struct import_look *look;
	unsigned left; /* changes that are still looked at */
	bool links;    /* submodules count, too */
	/* Of a merge: NULL trees have nothing. */
	bool merge;
	git_tree *base, *ours, *theirs, *result;
};

void import_look_done(struct import_look *look)
{
	strv_done(&look->paths);
	strv_done(&look->why);
}

static bool is_named_by(const char *row, const char *path, const git_diff_delta *d)
{
	return gitpath_is_named(row, path, d->old_file.mode, d->new_file.mode);
}

static bool is_named(const struct import *im, const char *path, const git_diff_delta *d)
{
	for (size_t i = 0; im->named && i < im->named->n; i++) {
		const char *row = im->named->v[i];
		size_t n = im->below ? strlen(im->below) : 0;
		cleanup_free char *inner = NULL;

		if (is_named_by(row, path, d))
			return true;
		/* A submodule has its own root, and rows are of the repository around it. */
		if (!n || strncmp(row + 1, im->below, n) != 0 || row[1 + n] != '/')
			continue;
		inner = xasprintf("%c%s", row[0], row + 1 + n + 1);
		if (is_named_by(inner, path, d))
			return true;
	}
	return false;
}

/* NULL: the agent may change it. */
static const char *why_protected(const struct import *im, const char *path, const git_diff_delta *d)
{
	const char *why = gitpath_protected(path);

	if (!why && d->new_file.mode == GIT_FILEMODE_LINK)
		why = gitpath_protected_link(path);
	return why ? why : is_named(im, path, d) ? "a program that your git settings name" : NULL;
}

struct entry {
	git_oid oid; /* zero: there is none */
	git_filemode_t mode;
};

static bool entry_at(git_tree *tree, const char *path, struct entry *ret)
{
	git_tree_entry *e = NULL;
	int r = tree ? git_tree_entry_bypath(&e, tree, path) : GIT_ENOTFOUND;

	*ret = (struct entry){0};
	if (r == 0) {
		ret->oid = *git_tree_entry_id(e);
		ret->mode = git_tree_entry_filemode_raw(e);
	}
	git_tree_entry_free(e);
	return r == 0 || r == GIT_ENOTFOUND;
}

static bool is_same(const struct entry *a, const struct entry *b)
{
	return a->mode == b->mode && git_oid_equal(&a->oid, &b->oid);
}

/* A merge has what one side changed and the other did not: its parents are looked at themselves. */
static bool is_merged(const struct looking *l, const char *path)
{
	struct entry base, ours, theirs, result;

	if (!l->merge || !entry_at(l->base, path, &base) || !entry_at(l->ours, path, &ours) ||
	    !entry_at(l->theirs, path, &theirs) || !entry_at(l->result, path, &result))
		return false;
	return is_same(&base, &ours) ? is_same(&theirs, &result)
				     : is_same(&base, &theirs) && is_same(&ours, &result);
}

static void add(struct import_look *look, const char *path, const char *why)
{
	cleanup_free char *shown = gitpath_shown(path, strlen(path), SHOWN_MAX);

	if (strv_has(&look->paths, shown))
		return;
	look->n_paths++;
	if (look->paths.n < IMPORT_LOOK_MAX) {
		strv_push(&look->paths, shown);
		strv_push(&look->why, why);
	}
}

/*
 * A submodule that goes to a commit which is held in it: `git submodule update` of the user would check
 * it out. One that the host does not have is fetched by the user.
 */
static bool is_held_below(const struct import *im, const char *path, const git_oid *oid)
{
	git_revwalk *walk = NULL;
	const struct import *m = NULL;
	git_oid next;
	int r;

	for (size_t i = 0; !m && i < im->n_modules; i++)
		if (im->modules[i].repo && im->modules[i].below &&
		    streq(im->modules[i].below, path))
			m = &im->modules[i];
	if (!m || !git_odb_exists(m->odb, oid))
		return false;
	r = git_revwalk_new(&walk, m->repo);
	if (r == 0)
		r = git_revwalk_push(walk, oid);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(users_refs); i++)
		r = git_revwalk_hide_glob(walk, users_refs[i]);
	(void)git_revwalk_hide_head(walk);
	r = r == 0 ? git_revwalk_next(&next, walk) : r;
	git_revwalk_free(walk);
	return r != GIT_ITEROVER;
}

/* Nothing is kept: a small pack can have trees that stand for millions of paths. */
static int on_change(const git_diff *so_far, const git_diff_delta *d, const char *matched,
		     void *arg)
{
	struct looking *l = arg;
	const char *path = d->new_file.path ? d->new_file.path : d->old_file.path, *why;

	if (l->left-- == 0)
		return -1;
	if (l->links && d->new_file.mode == GIT_FILEMODE_COMMIT &&
	    d->old_file.mode != GIT_FILEMODE_COMMIT)
		l->look->links = true;
	if (d->new_file.mode == GIT_FILEMODE_COMMIT && is_held_below(l->im, path, &d->new_file.id))
		l->look->below = true;
	why = why_protected(l->im, path, d);
	if (why && !is_merged(l, path))
		add(l->look, path, why);
	return 1;
}

static void compare(struct looking *l, git_tree *from, git_tree *to)
{
	cleanup_git(diff) git_diff *diff = NULL;
	git_diff_options opts;

	(void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	opts.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
	opts.notify_cb = on_change;
	opts.payload = l;
	l->left = CHANGES_MAX;
	if (git_diff_tree_to_tree(&diff, l->im->repo, from, to, &opts) < 0)
		l->look->failed = true;
}

static bool parent_tree(git_commit *commit, unsigned i, git_tree **ret)
{
	cleanup_git(commit) git_commit *parent = NULL;

	return git_commit_parent(&parent, commit, i) == 0 && git_commit_tree(ret, parent) == 0;
}

/* No tree: the two have nothing in common, or more than one commit. */
static bool base_tree(const struct import *im, git_commit *commit, git_tree **ret)
{
	git_oidarray bases = {0};
	cleanup_git(commit) git_commit *base = NULL;
	int r = git_merge_bases(&bases, im->repo, git_commit_parent_id(commit, 0),
				git_commit_parent_id(commit, 1));
	bool good = r == GIT_ENOTFOUND || (r == 0 && bases.count == 1 &&
					   git_commit_lookup(&base, im->repo, &bases.ids[0]) == 0 &&
					   git_commit_tree(ret, base) == 0);

	git_oidarray_dispose(&bases);
	return good;
}

static void look_at_commit(struct import *im, git_commit *commit, struct import_look *look)
{
	cleanup_git(tree) git_tree *base = NULL, *a = NULL, *b = NULL, *to = NULL;
	struct looking l = {.im = im, .look = look, .links = true};
	unsigned n = git_commit_parentcount(commit);

	if (git_commit_tree(&to, commit) < 0 || (n && !parent_tree(commit, 0, &a)) ||
	    (n == 2 && !parent_tree(commit, 1, &b))) {
		look->failed = true;
		return;
	}
	l.merge = n == 2 && base_tree(im, commit, &base);
	l.base = base;
	l.ours = a;
	l.theirs = b;
	l.result = to;
	compare(&l, a, to);
	l.links = false;
	/* A merge can undo what any side changed. */
	for (unsigned i = 1; i < n && !look->failed; i++) {
		cleanup_git(tree) git_tree *side = NULL;

		if (parent_tree(commit, i, &side))
			compare(&l, side, to);
		else
			look->failed = true;
	}
}

/* The tree of a reference; *ret stays NULL where there is none. */
static int tree_of(struct import *im, const git_oid *oid, git_tree **ret)
{
	cleanup_git(object) git_object *o = NULL;

	if (git_oid_is_zero(oid))
		return 0;
	return git_object_lookup(&o, im->repo, oid, GIT_OBJECT_ANY) < 0
		       ? -1
		       : git_object_peel((git_object **)ret, o, GIT_OBJECT_TREE);
}

/* libgit2 cannot walk where commits are missing: the last ones are compared. */
static void look_at_tips(struct import *im, const struct import_row *row, struct import_look *look)
{
	cleanup_git(tree) git_tree *a = NULL, *b = NULL;
	struct looking l = {.im = im, .look = look, .links = true};

	if (tree_of(im, git_oid_is_zero(&row->host) ? &im->host_tip : &row->host, &a) < 0 ||
	    tree_of(im, &row->inside, &b) < 0)
		look->failed = true;
	else
		compare(&l, a, b);
}

void import_look(struct import *im, const struct import_row *row, struct import_look *ret)
{
	git_revwalk *walk = NULL;
	unsigned left = COMMITS_MAX;
	git_oid oid;
	int r;

	*ret = (struct import_look){0};
	if (git_repository_is_shallow(im->repo) != 0) {
		look_at_tips(im, row, ret);
		return;
	}
	r = git_revwalk_new(&walk, im->repo);
	if (r == 0)
		r = git_revwalk_push(walk, &row->inside);
	/* What the user's branches have is the user's already. */
	if (r == 0)
		r = git_revwalk_hide_glob(walk, "refs/heads/*");
	while (r == 0 && !ret->failed && (r = git_revwalk_next(&oid, walk)) == 0) {
		cleanup_git(commit) git_commit *commit = NULL;

		if (left-- == 0 || git_commit_lookup(&commit, im->repo, &oid) < 0)
			ret->failed = true;
		else
			look_at_commit(im, commit, ret);
	}
	git_revwalk_free(walk);
	ret->failed = ret->failed || r != GIT_ITEROVER;
}

char *import_look_says(const struct import_look *look)
{
	cleanup_free char *more =
		look->n_paths > 1 ? xasprintf(", and %zu more", look->n_paths - 1) : xstrdup("");

	if (look->links)
		return xstrdup("it adds a submodule");
	if (look->below)
		return xstrdup("it moves a submodule to commits that are held");
	if (look->failed)
		return xstrdup("ralph cannot look at all that its commits change");
	return look->n_paths ? xasprintf("it changes files that your host runs: %s (%s)%s",
					 look->paths.v[0], look->why.v[0], more)
			     : NULL;
}
