/*
 * What an import held, and the user decides now. The working tree has the agent's files already, so
 * `git merge` would refuse to overwrite them: a merge here is made of commits alone, and then the
 * branch and the index move as in an import.
 */
#include "repo/import/import.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/strv.h"

#define HELD_MAX 4096

/* refs/ralph/NAME/…; the caller frees it. */
static char *own_prefix(const struct import *im)
{
	return xasprintf("refs/ralph/%s/", im->name);
}

/* Notes of imports, below the same name: the user does not decide about those. */
static bool is_note(const char *rest)
{
	return strncmp(rest, "seen/", 5) == 0 || strncmp(rest, "base/", 5) == 0 ||
	       strncmp(rest, "was/", 4) == 0 || streq(rest, PUT_BACK_PIN);
}

/* The names of what is held (notes: of the rest), without their beginning. */
static int list_own(const struct import *im, bool notes, struct strv *ret, struct err *err)
{
	cleanup_free char *prefix = own_prefix(im), *glob = xasprintf("%s*", prefix);
	git_reference_iterator *it = NULL;
	const char *name;
	int r = git_reference_iterator_glob_new(&it, im->repo, glob);

	while (r == 0 && ret->n < HELD_MAX && git_reference_next_name(&name, it) == 0)
		if (is_note(name + strlen(prefix)) == notes)
			strv_push(ret, name + strlen(prefix));
	git_reference_iterator_free(it);
	strv_sort(ret);
	return r < 0 ? gitlib_err(err, "cannot read what is held") : 0;
}

static git_oid oid_of(const struct import *im, const char *ref)
{
	git_oid oid;

	return git_reference_name_to_id(&oid, im->repo, ref) == 0 ? oid : (git_oid){0};
}

static void put_look(struct import *im, const git_oid *is, const git_oid *host, json_t *j)
{
	cleanup_(import_look_done) struct import_look look = {0};
	const struct import_row row = {.inside = *is, .host = *host};
	cleanup_json json_t *paths = json_array();

	import_look(im, &row, &look);
	for (size_t i = 0; i < look.paths.n; i++)
		(void)json_array_append_new(paths,
					    json_pack("{so ss}", "path", json_text(look.paths.v[i]),
						      "why", look.why.v[i]));
	if (look.n_paths)
		(void)json_object_set(j, "protected", paths);
	if (look.links)
		(void)json_object_set_new(j, "gitlinks", json_true());
}

static void put_held(struct import *im, const char *rest, json_t *held)
{
	cleanup_free char *as = xasprintf("refs/ralph/%s/%s", im->name, rest);
	cleanup_free char *ref = xasprintf("refs/%s", rest);
	git_oid is = oid_of(im, as), host = oid_of(im, ref);
	size_t ahead = 0, behind = 0;
	struct import_hex hex;
	json_t *j = json_pack("{so so ss}", "ref", json_text(rest), "as", json_text(as), "oid",
			      import_hex(im, &is, &hex));

	put_look(im, &is, &host, j);
	if (!git_oid_is_zero(&host) &&
	    git_graph_ahead_behind(&ahead, &behind, im->repo, &is, &host) == 0) {
		(void)json_object_set_new(j, "ahead", json_integer((json_int_t)ahead));
		(void)json_object_set_new(j, "behind", json_integer((json_int_t)behind));
	}
	if (im->module) {
		(void)json_object_set_new(j, "module", json_text(im->module));
		(void)json_object_set_new(j, "root", json_text(im->git.root));
	}
	(void)json_array_append_new(held, j);
}

static int list_one(struct import *im, json_t *held, struct err *err)
{
	cleanup_strv struct strv refs = {0};
	int r = list_own(im, false, &refs, err);

	for (size_t i = 0; r == 0 && i < refs.n; i++)
		put_held(im, refs.v[i], held);
	return r;
}

int settle_list(const struct import_input *in, json_t *out, struct err *err)
{
	cleanup_(import_done) struct import im = {
		.name = in->name, .named = &in->named, .helper = -1, .lock = -1};
	cleanup_fd int lock = -1;
	json_t *held = json_array();
	int r = import_open(&im, in->root, &lock, err);

	(void)json_object_set_new(out, "held", held);
	if (r == 0)
		r = import_open_modules(&im, err);
	if (r == 0)
		r = import_confine(&im, err);
	for (size_t i = 0; r == 0 && i < im.n_modules; i++)
		r = im.modules[i].repo ? list_one(&im.modules[i], held, err) : 0;
	return r == 0 ? list_one(&im, held, err) : r;
}

/* A commit with both as parents; no file and no reference changes. NULL why: *ret is there. */
static const char *merge(const struct import *im, git_signature *who, const struct import_row *row,
			 git_oid *ret)
{
	cleanup_git(commit) git_commit *ours = NULL, *theirs = NULL;
	cleanup_git(index) git_index *index = NULL;
	cleanup_git(tree) git_tree *tree = NULL;
	cleanup_free char *message = xasprintf("Merge %s of sandbox %s\n", row->ref, im->name);
	const git_commit *parents[2];
	git_oid tree_id;

	if (git_commit_lookup(&ours, im->repo, &row->host) < 0 ||
	    git_commit_lookup(&theirs, im->repo, &row->inside) < 0)
		return "one of the two is no commit";
	if (git_merge_commits(&index, im->repo, ours, theirs, NULL) < 0)
		return "the two cannot be merged";
	if (git_index_has_conflicts(index))
		return "the two conflict; merge it yourself, or replace yours with --force";
	parents[0] = ours;
	parents[1] = theirs;
	if (!who)
		return "git does not know whose commit the merge is; set user.name and user.email";
	if (git_index_write_tree_to(&tree_id, index, im->repo) < 0 ||
	    git_tree_lookup(&tree, im->repo, &tree_id) < 0 ||
	    git_commit_create(ret, im->repo, NULL, who, who, NULL, message, tree, 2, parents) < 0)
		return "the merge cannot be written";
	return NULL;
}

struct settling {
	struct import *im;
	unsigned how;	    /* enum settle_how */
	git_signature *who; /* NULL: not known */
	char *text;	    /* the last reason that was put together */
	json_t *settled, *left;
};

/* NULL: the user has seen what its commits would bring. */
static const char *look_at(struct settling *s, const struct import_row *row)
{
	cleanup_(import_look_done) struct import_look look = {0};
	bool links = s->how & (SETTLE_GITLINKS | SETTLE_FORCE), files = s->how & SETTLE_PROTECTED;
	cleanup_free char *says = NULL;

	import_look(s->im, row, &look);
	look.failed = look.failed && !(links && files);
	look.links = look.links && !links;
	look.below = look.below && !files;
	/* A submodule has its row there. */
	if (files || (links && look.n_paths == 1 && streq(look.paths.v[0], ".gitmodules")))
		look.n_paths = 0;
	says = import_look_says(&look);
	free(s->text);
	s->text = says ? xasprintf("%s; look at it, and then use %s", says,
				   look.links	 ? "--gitlinks"
				   : look.failed ? "--gitlinks --protected"
						 : "--protected")
		       : NULL;
	return s->text;
}

/* Decides about a branch; NULL: the row says what becomes of it. */
static const char *decide_branch(struct settling *s, struct import_row *row)
{
	struct import *im = s->im;
	git_oid held = row->inside;
	const char *why = NULL;

	row->next_seen = held;
	row->next_base = held;
	if (!git_oid_is_zero(&row->host) && import_descends(im, &row->host, &held)) {
		row->verdict = BRANCH_SYNC; /* it is part of the user's branch already */
		return NULL;
	}
	if (import_is_elsewhere(im, row->ref) && !(im->host_head && streq(im->host_head, row->ref)))
		return "it is checked out in another worktree";
	why = look_at(s, row);
	if (why)
		return why;
	row->verdict = (s->how & SETTLE_FORCE) && !git_oid_is_zero(&row->host) ? BRANCH_REWRITE
									       : BRANCH_TAKE;
	if (row->verdict == BRANCH_REWRITE || git_oid_is_zero(&row->host) ||
	    import_descends(im, &held, &row->host))
		return NULL;
	why = merge(im, s->who, row, &row->inside);
	row->next_base = row->inside;
	return why;
}

static const char *decide(struct settling *s, struct import_row *row)
{
	if (s->how & SETTLE_DROP) {
		row->verdict = BRANCH_SYNC;
		return NULL;
	}
	if (strncmp(row->ref, "refs/heads/", 11) == 0)
		return decide_branch(s, row);
	if (strncmp(row->ref, "refs/tags/", 10) == 0 && (s->how & SETTLE_FORCE)) {
		if (look_at(s, row))
			return s->text;
		row->verdict = git_oid_is_zero(&row->host) ? BRANCH_TAKE : BRANCH_REWRITE;
		row->next_seen = row->next_base = row->inside;
		return NULL;
	}
	return strncmp(row->ref, "refs/tags/", 10) == 0
		       ? "the tag is elsewhere in your repository; replace it with --force"
		       : "git can use it where it is";
}

static void put(const struct settling *s, json_t *list, const char *rest, const char *key,
		const char *text)
{
	json_t *j = json_pack("{so ss}", "ref", json_text(rest), key, text);

	if (s->im->module)
		(void)json_object_set_new(j, "module", json_text(s->im->module));
	(void)json_array_append_new(list, j);
}

/* One reference, with the index where it is the current branch. */
static int settle_one(struct settling *s, const char *rest, struct err *err)
{
	static const char *const words[] = {
		[BRANCH_SAME] = "same",	      [BRANCH_SYNC] = "dropped",
		[BRANCH_TAKE] = "taken",      [BRANCH_REWRITE] = "replaced",
		[BRANCH_HOLD] = "left alone",
	};
	struct import *im = s->im;
	cleanup_free char *ref = streq(rest, "HEAD") ? xstrdup(rest) : xasprintf("refs/%s", rest);
	cleanup_free char *as = xasprintf("refs/ralph/%s/%s", im->name, rest);
	struct import_row row = {.ref = ref, .inside = oid_of(im, as), .drop = true};
	const char *why;
	int r;

	row.host = streq(rest, "HEAD") ? (git_oid){0} : oid_of(im, ref);
	why = git_oid_is_zero(&row.inside) ? "nothing of that name is held" : decide(s, &row);
	im->next_tip = im->host_head && streq(im->host_head, ref) && import_is_taken(&row)
			       ? row.inside
			       : im->host_tip;
	r = why ? -EBUSY : import_prepare(im, &why, err);
	if (r == -EBUSY) {
		put(s, s->left, rest, "why", why);
		return 0;
	}
	im->rows = &row;
	im->n_rows = 1;
	if (r == 0)
		r = import_move(im, err);
	im->rows = NULL;
	im->n_rows = 0;
	if (r == 0)
		put(s, s->settled, rest, "how", words[row.verdict]);
	return r;
}

static int settle_all(struct settling *s, const char *ref, struct err *err)
{
	cleanup_strv struct strv refs = {0};
	int r = *ref ? 0 : list_own(s->im, false, &refs, err);

	if (*ref)
		strv_push(&refs, ref);
	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		if (!*ref && !(s->how & SETTLE_DROP) && strncmp(refs.v[i], "heads/", 6) != 0)
			continue;
		r = import_read_head(s->im, err);
		if (r == 0)
			r = settle_one(s, refs.v[i], err);
		free(take_ptr(s->im->host_head));
	}
	return r;
}

/* The superproject may be held for what its submodules hold. */
static int settle_modules(struct settling *s, struct err *err)
{
	struct import *top = s->im;
	int r = 0;

	for (size_t i = 0; r == 0 && i < top->n_modules; i++) {
		s->im = &top->modules[i];
		if (!s->im->repo)
			continue;
		r = import_recover(s->im, err);
		if (r == 0)
			r = settle_all(s, "", err);
	}
	s->im = top;
	return r;
}

int settle_run(const struct import_input *in, unsigned how, const char *ref, json_t *out,
	       struct err *err)
{
	cleanup_(import_done) struct import im = {
		.name = in->name, .named = &in->named, .helper = -1, .lock = -1};
	struct settling s = {.im = &im, .how = how, .settled = json_array(), .left = json_array()};
	cleanup_fd int lock = -1;
	int r = import_open(&im, in->root, &lock, err);

	(void)json_object_set_new(out, "settled", s.settled);
	(void)json_object_set_new(out, "left", s.left);
	/* The user's settings can be read only now. */
	if (r == 0 && git_signature_default(&s.who, im.repo) < 0)
		s.who = NULL;
	if (r == 0)
		r = import_open_modules(&im, err);
	if (r == 0)
		r = import_confine(&im, err);
	if (r == 0)
		r = import_recover(&im, err);
	if (r == 0 && !*ref)
		r = settle_modules(&s, err);
	if (r == 0)
		r = settle_all(&s, ref, err);
	git_signature_free(s.who);
	free(s.text);
	return r;
}

static int advance_to(struct import *im, struct import_row *row, struct err *err)
{
	bool current = streq(row->ref, im->host_head ? im->host_head : "HEAD");
	const char *why = NULL;
	int r;

	im->next_tip = current ? row->inside : im->host_tip;
	r = import_prepare(im, &why, err);
	if (r == -EBUSY)
		return err_set(err, EBUSY, "'%s' cannot move now: %s", row->ref, why);
	im->rows = row;
	im->n_rows = 1;
	if (r == 0)
		r = import_move(im, err);
	im->rows = NULL;
	im->n_rows = 0;
	return r;
}

int settle_advance(const char *root, const char *name, const struct advance *a, struct err *err)
{
	cleanup_(import_done) struct import im = {.name = name, .helper = -1, .lock = -1};
	cleanup_free char *ref = xstrdup(a->ref);
	struct import_row row = {.ref = ref, .verdict = BRANCH_TAKE};
	cleanup_fd int lock = -1;
	git_oid is;
	int r;

	r = import_open(&im, root, &lock, err);
	if (r == 0 && (!import_oid(&im, a->to, &row.inside) ||
		       (!streq(a->from, "-") && !import_oid(&im, a->from, &row.host))))
		r = err_usage(err, "advance: that is no commit");
	if (r == 0)
		r = import_confine(&im, err);
	if (r == 0)
		r = import_recover(&im, err);
	if (r == 0)
		r = import_read_head(&im, err);
	is = oid_of(&im, ref);
	if (r < 0 || git_oid_equal(&is, &row.inside))
		return r;
	return advance_to(&im, &row, err);
}

int settle_forget(const char *root, const char *name, struct err *err)
{
	cleanup_(import_done) struct import im = {.name = name, .helper = -1, .lock = -1};
	cleanup_strv struct strv refs = {0};
	cleanup_fd int lock = -1;
	int r = import_open(&im, root, &lock, err);

	if (r == 0)
		r = list_own(&im, true, &refs, err);
	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		cleanup_free char *ref = xasprintf("refs/ralph/%s/%s", name, refs.v[i]);

		if (git_reference_remove(im.repo, ref) < 0)
			r = gitlib_err(err, ref);
	}
	return r;
}
