/*
 * What becomes of each reference that changed inside. The commits that the rule needs are
 * references themselves, below refs/ralph/NAME: seen/ is where both sides had the branch last,
 * base/ the last tip that the user made. Where there is none yet, the tips tell it that the private
 * directory was made with.
 */
#include "repo/import/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/private/private-git.h"

#define POINTER_MAX (4 * KiB)
#define STATE_MAX (64 * KiB)
#define SHALLOW_COMMITS_MAX 1000000 /* looked at; beyond that a commit descends from nothing */

char *import_own_name(const struct import *im, const char *part, const char *ref)
{
	const char *rest = strncmp(ref, "refs/", 5) == 0 ? ref + 5 : ref;

	return xasprintf("refs/ralph/%s/%s%s%s", im->name, part, *part ? "/" : "", rest);
}

bool import_is_taken(const struct import_row *row)
{
	return row->verdict == BRANCH_TAKE || row->verdict == BRANCH_REWRITE;
}

static void hold(struct import_row *row, const char *why)
{
	row->verdict = BRANCH_HOLD;
	row->why = why;
}

/* Zero where there is none. */
static git_oid oid_of(const struct import *im, const char *ref)
{
	git_oid oid;

	return git_reference_name_to_id(&oid, im->repo, ref) == 0 ? oid : (git_oid){0};
}

static git_oid own_oid(const struct import *im, const char *part, const char *ref)
{
	cleanup_free char *name = import_own_name(im, part, ref);

	return oid_of(im, name);
}

static int compare_tip(const void *ref, const void *tip)
{
	return strcmp(ref, ((const struct import_tip *)tip)->ref);
}

static git_oid told_oid(const struct import *im, const char *ref)
{
	const struct import_tip *t =
		im->n_tips ? bsearch(ref, im->tips, im->n_tips, sizeof(*im->tips), compare_tip)
			   : NULL;

	return t ? t->oid : (git_oid){0};
}

static void find_tips(const struct import *im, struct import_row *row)
{
	git_oid told = told_oid(im, row->ref), seen = own_oid(im, "seen", row->ref);

	row->host = oid_of(im, row->ref);
	row->synced = git_oid_is_zero(&seen) ? told : seen;
	row->user = git_oid_is_zero(&seen) ? told : own_oid(im, "base", row->ref);
}

/* libgit2 gives up where a commit is missing, as all are that a shallow clone ends before. */
static bool descends_shallow(const struct import *im, const git_oid *commit,
			     const git_oid *ancestor)
{
	git_oid *todo = xmalloc(sizeof(*todo));
	size_t n = 1, cap = 1, seen = 0;
	bool found = false;

	todo[0] = *commit;
	/* Breadth first; a commit that several name is looked at as often, up to the limit. */
	while (seen < n && !found && seen < SHALLOW_COMMITS_MAX) {
		cleanup_git(commit) git_commit *c = NULL;

		found = git_oid_equal(&todo[seen], ancestor);
		if (git_commit_lookup(&c, im->repo, &todo[seen++]) < 0)
			continue;
		for (unsigned i = 0; i < git_commit_parentcount(c); i++) {
			if (n == cap)
				todo = xrealloc(todo, cap *= 2, sizeof(*todo));
			todo[n++] = *git_commit_parent_id(c, i);
		}
	}
	free(todo);
	return found;
}

bool import_descends(const struct import *im, const git_oid *commit, const git_oid *ancestor)
{
	int r = git_oid_equal(commit, ancestor)
			? 1
			: git_graph_descendant_of(im->repo, commit, ancestor);

	return r < 0 ? descends_shallow(im, commit, ancestor) : r == 1;
}

static bool descends(const char *commit, const char *ancestor, void *arg)
{
	const struct import *im = arg;
	git_oid a, b;

	return import_oid(im, commit, &a) && import_oid(im, ancestor, &b) &&
	       import_descends(im, &a, &b);
}

static const char *hex_of(const struct import *im, const git_oid *oid, struct import_hex *h)
{
	return git_oid_is_zero(oid) ? NULL : import_hex(im, oid, h);
}

/* The user's own rebase of this branch, which the agent ended: it was to be rewritten. */
static bool is_rebased(const struct import *im, const struct import_row *row)
{
	static const char *const kinds[] = {"rebase-merge", "rebase-apply"};
	cleanup_fd int dir = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	git_oid onto;
	bool is = false;

	for (size_t i = 0; im->finishes && !is && i < ARRAY_SIZE(kinds); i++) {
		cleanup_free char *name = path_join(kinds[i], "head-name");
		cleanup_free char *base = path_join(kinds[i], "onto");
		cleanup_buf struct buf ref, oid;

		buf_init(&ref, POINTER_MAX);
		buf_init(&oid, POINTER_MAX);
		is = dir >= 0 && path_read(dir, name, &ref) == 0 &&
		     path_read(dir, base, &oid) == 0 && ref.len == strlen(row->ref) + 1 &&
		     strncmp(buf_str(&ref), row->ref, strlen(row->ref)) == 0 &&
		     import_oid(im, buf_str(&oid), &onto) &&
		     git_oid_equal(&row->host, &row->synced) &&
		     import_descends(im, &row->inside, &onto);
	}
	return is;
}

static void judge_branch(struct import *im, struct import_row *row)
{
	struct import_hex h[4];
	const struct branch_tips t = {
		.host = hex_of(im, &row->host, &h[0]),
		.synced = hex_of(im, &row->synced, &h[1]),
		.user = hex_of(im, &row->user, &h[2]),
		.inside = hex_of(im, &row->inside, &h[3]),
	};

	row->verdict = branch_rule(&t, descends, im);
	if (row->verdict == BRANCH_HOLD && is_rebased(im, row))
		row->verdict = BRANCH_REWRITE;
	if (row->verdict == BRANCH_HOLD)
		row->why = !t.host				     ? "you deleted it meanwhile"
			   : streq(t.host, t.synced ? t.synced : "") ? "it rewrites your commits"
								     : "you committed there too";
}

static void judge_tag(struct import_row *row)
{
	if (git_oid_equal(&row->inside, &row->host))
		row->verdict = BRANCH_SAME;
	else if (git_oid_equal(&row->inside, &row->synced))
		row->verdict = BRANCH_SYNC;
	else if (git_oid_is_zero(&row->host) && git_oid_is_zero(&row->synced))
		row->verdict = BRANCH_TAKE;
	else
		hold(row, "a tag of that name is, or was, elsewhere");
}

/* A detached HEAD is worth keeping only where it is new. */
static void judge_other(const struct import *im, struct import_row *row)
{
	if (streq(row->ref, "HEAD") &&
	    (im->busy || !im->received || !git_odb_exists(im->received, &row->inside)))
		row->verdict = BRANCH_SAME;
	else
		hold(row, streq(row->ref, "HEAD") ? "it is on no branch" : "it is the agent's own");
}

/* Is this what the HEAD in a directory says? */
static bool head_is(int dir, const char *ref)
{
	cleanup_fd int fd = path_open_beneath(dir, "HEAD", O_RDONLY | O_NONBLOCK, 0);
	cleanup_free char *want = xasprintf("ref: %s\n", ref);
	cleanup_buf struct buf b;

	buf_init(&b, POINTER_MAX);
	return fd >= 0 && fd_read_all(fd, &b) == 0 && streq(buf_str(&b), want);
}

/* A worktree of the user's where this branch is checked out: its files would be another commit's. */
bool import_is_elsewhere(const struct import *im, const char *ref)
{
	cleanup_fd int common = open(im->git.common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int list =
		common < 0 ? -1 : path_open_beneath(common, "worktrees", O_RDONLY | O_DIRECTORY, 0);
	DIR *d = list < 0 ? NULL : fdopendir(list);
	bool found = common < 0 || (!streq(im->git.dir, im->git.common) && head_is(common, ref));
	struct dirent *de;

	while (!found && d && (de = readdir(d))) {
		cleanup_fd int dir = -1;

		if (de->d_name[0] == '.' || (!streq(im->git.dir, im->git.common) &&
					     streq(de->d_name, path_base(im->git.dir))))
			continue;
		dir = path_open_beneath(dirfd(d), de->d_name, O_RDONLY | O_DIRECTORY, 0);
		found = dir >= 0 && head_is(dir, ref);
	}
	if (d)
		(void)closedir(d);
	return found;
}

static bool has_below(const struct import *im, const char *ref)
{
	cleanup_free char *glob = xasprintf("%s/*", ref);
	git_reference_iterator *it = NULL;
	const char *name;
	bool has = git_reference_iterator_glob_new(&it, im->repo, glob) < 0 ||
		   git_reference_next_name(&name, it) == 0;

	git_reference_iterator_free(it);
	return has;
}

/* "a" and "a/b" cannot both be there. */
static bool is_in_the_way(const struct import *im, const char *ref)
{
	cleanup_free char *path = xstrdup(ref);
	git_oid oid;

	for (char *p = strrchr(path, '/'); p && p > path + strlen("refs"); p = strrchr(path, '/')) {
		*p = '\0';
		if (git_reference_name_to_id(&oid, im->repo, path) == 0)
			return true;
	}
	return has_below(im, ref);
}

static bool is_ref(const struct import *im, const char *space, const char *name)
{
	cleanup_free char *ref = xasprintf("%s%s", space, name);
	git_oid oid;

	return git_reference_name_to_id(&oid, im->repo, ref) == 0;
}

static bool is_object(const struct import *im, const char *name)
{
	size_t n = strlen(name);
	git_oid prefix, full;

	if (n > import_hex_len(im) || strspn(name, "0123456789abcdefABCDEF") != n)
		return false;
	n = n < GIT_OID_HEXSZ ? n : GIT_OID_HEXSZ;
	return n >= GIT_OID_MINPREFIXLEN && git_oid_fromstrn(&prefix, name, n) == 0 &&
	       git_odb_exists_prefix(&full, im->odb, &prefix, n) != GIT_ENOTFOUND;
}

/* A new branch or tag whose name the user's git takes for something that is there already: `git reset
 * origin/main` would take the agent's branch of that name. */
static bool means_other(const struct import *im, const struct import_row *row)
{
	static const char *const prefixes[] = {"refs/", "heads/", "tags/", "remotes/"};
	bool branch = row->kind == IMPORT_BRANCH;
	const char *name = row->ref + strlen(branch ? "refs/heads/" : "refs/tags/");
	cleanup_free char *head = path_join(name, "HEAD"); /* `origin` is a remote's HEAD */

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	/* HEAD, FETCH_HEAD and the like. */
	return streq(name, "@") || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(name) ||
	       is_ref(im, branch ? "refs/tags/" : "refs/heads/", name) ||
	       is_ref(im, "refs/remotes/", name) || is_ref(im, "refs/remotes/", head) ||
	       is_ref(im, "refs/", name) || is_object(im, name);
}

static bool is_symbolic(const struct import *im, const char *ref)
{
	cleanup_git(reference) git_reference *found = NULL;

	return git_reference_lookup(&found, im->repo, ref) == 0 &&
	       git_reference_type(found) == GIT_REFERENCE_SYMBOLIC;
}

/* A repository that is new has nothing that its commits could change: the user adopts all of it. */
static bool is_clean(struct import *im, struct import_row *row)
{
	cleanup_(import_look_done) struct import_look look = {0};

	import_look(im, row, &look);
	if (im->fresh)
		look.n_paths = 0;
	free(row->look);
	row->look = import_look_says(&look);
	return !row->look;
}

static void judge(struct import *im, struct import_row *row)
{
	git_oid held = own_oid(im, "", row->ref);

	find_tips(im, row);
	if (row->kind == IMPORT_BRANCH)
		judge_branch(im, row);
	else if (row->kind == IMPORT_TAG)
		judge_tag(row);
	else
		judge_other(im, row);
	if (import_is_taken(row)) {
		if (is_symbolic(im, row->ref))
			hold(row, "it stands for another reference");
		else if (git_oid_is_zero(&row->host) && is_in_the_way(im, row->ref))
			hold(row, "another reference stands in its way");
		else if (git_oid_is_zero(&row->host) && means_other(im, row))
			hold(row, "its name means something else here");
		else if (row->kind == IMPORT_BRANCH &&
			 !(im->host_head && streq(im->host_head, row->ref)) &&
			 import_is_elsewhere(im, row->ref))
			hold(row, "it is checked out in another worktree");
		else if (!is_clean(im, row))
			hold(row, row->look);
	}
	row->was_held = git_oid_equal(&held, &row->inside);
	row->next_seen = row->inside;
	row->next_base = git_oid_equal(&row->host, &row->synced) ? row->user : row->host;
}

int import_read_head(struct import *im, struct err *err)
{
	cleanup_git(reference) git_reference *head = NULL;
	const char *target;

	if (git_reference_lookup(&head, im->repo, "HEAD") < 0)
		return gitlib_err(err, "cannot read HEAD");
	target = git_reference_symbolic_target(head);
	im->host_head = target ? xstrdup(target) : NULL;
	im->host_tip = oid_of(im, "HEAD");
	return 0;
}

struct import_row *import_find_row(const struct import *im, const char *ref)
{
	for (size_t i = 0; i < im->n_rows; i++)
		if (streq(im->rows[i].ref, ref))
			return &im->rows[i];
	return NULL;
}

struct import_row *import_current(const struct import *im)
{
	struct import_row *row = im->host_head ? import_find_row(im, im->host_head) : NULL;

	return row && import_is_taken(row) ? row : NULL;
}

static char *head_text(const struct import *im, const char *branch, const git_oid *oid)
{
	struct import_hex h;

	return xstrdup(branch ? branch : import_hex(im, oid, &h));
}

/* Where both sides were last; "": not known. */
static char *synced_head(const struct import *im)
{
	cleanup_free char *name = import_own_name(im, "seen", "HEAD");
	cleanup_git(reference) git_reference *ref = NULL;

	if (git_reference_lookup(&ref, im->repo, name) == 0)
		return head_text(im, git_reference_symbolic_target(ref), git_reference_target(ref));
	return xstrdup(im->told_head ? im->told_head : "");
}

static bool is_commit(const struct import *im, const git_oid *oid)
{
	cleanup_git(commit) git_commit *commit = NULL;

	return git_commit_lookup(&commit, im->repo, oid) == 0;
}

/* The commit of the agent's HEAD, as the host will have it; zero: it will not. */
static git_oid head_tip(struct import *im)
{
	struct import_row *row = import_find_row(im, im->head ? im->head : "HEAD");
	struct import_row unchanged = {.ref = im->head};

	if (!im->head)
		return is_commit(im, &row->inside) && is_clean(im, row) ? row->inside
									: (git_oid){0};
	if (row)
		return import_is_taken(row) || row->verdict == BRANCH_SAME ? row->inside
									   : (git_oid){0};
	find_tips(im, &unchanged);
	return git_oid_equal(&unchanged.host, &unchanged.synced) ? unchanged.host : (git_oid){0};
}

static void switch_head(struct import *im, char *to, const git_oid *tip)
{
	struct import_row *detached = im->head ? NULL : import_find_row(im, "HEAD");

	im->switch_to = to;
	im->next_tip = *tip;
	if (detached)
		detached->verdict = BRANCH_SAME;
}

static void plan_head(struct import *im)
{
	struct import_row *detached = import_find_row(im, "HEAD");
	const struct import_row *current = import_current(im);
	cleanup_free char *synced = synced_head(im),
			  *host = head_text(im, im->host_head, &im->host_tip);
	cleanup_free char *inside = NULL;
	git_oid tip;

	im->next_tip = current ? current->inside : im->host_tip;
	if (!im->head && !detached)
		return;
	inside = head_text(im, im->head, detached ? &detached->inside : NULL);
	if (detached && (streq(inside, host) || streq(inside, synced)))
		detached->verdict = BRANCH_SAME;
	if (streq(inside, host)) {
		im->settle_head = streq(inside, synced) ? NULL : take_ptr(inside);
		return;
	}
	if (streq(inside, synced))
		return; /* the user switched, not the agent */
	/* A commit on no branch does not take the user from a branch, but where the commit of a
	 * submodule is what counts. */
	im->again = im->when != IMPORT_IDLE || im->busy;
	if (im->again || (!im->head && im->host_head && !im->module))
		return;
	tip = head_tip(im);
	if (!streq(host, synced))
		im->head_why = "you switched branches, too";
	else if (git_oid_is_zero(&tip))
		im->head_why = "the branch is not as the agent has it";
	else if (im->head && import_is_elsewhere(im, im->head))
		im->head_why = "the branch is checked out in another worktree";
	else
		switch_head(im, take_ptr(inside), &tip);
}

/* The operation that the user had begun is as it was told, and inside it is over. */
static void find_finished(struct import *im)
{
	cleanup_fd int dir = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf state;

	buf_init(&state, STATE_MAX);
	if (dir >= 0)
		private_git_state(dir, &state);
	im->finishes =
		!im->busy && state.len && im->told_state && streq(buf_str(&state), im->told_state);
}

/* A merge is over when its commit is there: one that the agent dropped is still the user's. */
static bool is_merged(const struct import *im)
{
	static const char begin[] = "STATE MERGE_HEAD ";
	const char *line = im->told_state ? strstr(im->told_state, begin) : NULL;
	const struct import_row *current = import_current(im);
	git_oid theirs;

	return !line || (current && import_oid(im, line + strlen(begin), &theirs) &&
			 import_descends(im, &current->inside, &theirs));
}

/* A sync brought it in, and the host has gone on since. */
static bool is_behind(const struct import *im, const struct import_row *row)
{
	return !git_oid_is_zero(&row->host) && !git_oid_is_zero(&row->synced) &&
	       import_descends(im, &row->host, &row->inside) &&
	       import_descends(im, &row->inside, &row->synced);
}

/*
 * For a loop: what the agent made of a reference is held, and nothing is noted. What the user alone
 * moved is no work of the agent's.
 */
static void judge_held(const struct import *im, struct import_row *row)
{
	git_oid held = own_oid(im, "", row->ref);

	find_tips(im, row);
	hold(row, "a loop moves its own branch alone");
	if (!streq(row->ref, "HEAD") &&
	    (git_oid_equal(&row->inside, &row->host) || git_oid_equal(&row->inside, &row->synced) ||
	     is_behind(im, row)))
		row->verdict = BRANCH_SYNC;
	row->was_held = git_oid_equal(&held, &row->inside);
}

/* The commit that the agent's files are of becomes a row, whatever branch it is on. */
static void add_head_row(struct import *im)
{
	const struct import_row *row = im->head ? import_find_row(im, im->head) : NULL;
	git_oid tip = row ? row->inside : im->head ? told_oid(im, im->head) : (git_oid){0};

	if (git_oid_is_zero(&tip) || im->n_rows == IMPORT_REFS_MAX)
		return;
	im->rows[im->n_rows++] =
		(struct import_row){.ref = xstrdup("HEAD"), .kind = IMPORT_OTHER, .inside = tip};
}

static int plan_held(struct import *im)
{
	add_head_row(im);
	for (size_t i = 0; i < im->n_rows; i++)
		judge_held(im, &im->rows[i]);
	im->next_tip = im->host_tip;
	return 0;
}

int import_plan(struct import *im, struct err *err)
{
	int r = import_read_head(im, err);

	if (r == 0 && im->when == IMPORT_HOLD)
		return plan_held(im);
	find_finished(im);
	for (size_t i = 0; r == 0 && i < im->n_rows; i++)
		judge(im, &im->rows[i]);
	im->finishes = im->finishes && is_merged(im);
	if (r == 0)
		plan_head(im);
	return r;
}
