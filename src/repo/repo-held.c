/*
 * What an agent of a loop proposes: it is held below refs/ralph/NAME, where an import or the look at a
 * shared git directory has put it. Nothing of it is the user's before the loop has judged it.
 */
#include "repo/repo-held.h"

#include <string.h>

#include "base/buf.h"
#include "git/tree-path.h"
#include "repo/repo-move.h"

#define HELD_MAX 4096
#define SHOWN_MAX 200

struct want_held {
	const char *name;   /* of the sandbox */
	const char *kept;   /* a commit that has its reference already; "": none */
	const char *branch; /* the loop's, without refs/heads/; NULL: HEAD is on none */
};

static char *own_name(const struct want_held *w, const char *rest)
{
	return xasprintf("refs/ralph/%s/%s", w->name, rest);
}

static char *branch_name(const struct want_held *w)
{
	return w->branch ? xasprintf("heads/%s", w->branch) : xstrdup("HEAD");
}

/* Zero where there is none. */
static git_oid held_oid(git_repository *git, const struct want_held *w, const char *rest)
{
	cleanup_free char *name = own_name(w, rest);
	git_oid oid;

	return git_reference_name_to_id(&oid, git, name) == 0 ? oid : (git_oid){0};
}

static bool contains(git_repository *git, const git_oid *tip, const git_oid *commit)
{
	return git_oid_is_zero(commit) || git_oid_equal(tip, commit) ||
	       (!git_oid_is_zero(tip) && git_graph_descendant_of(git, tip, commit) == 1);
}

/* Notes of imports, which are no proposals. */
static bool is_note(const char *rest)
{
	return strncmp(rest, "seen/", 5) == 0 || strncmp(rest, "base/", 5) == 0;
}

static bool is_held(const char *rest)
{
	return strncmp(rest, "heads/", 6) == 0 || strncmp(rest, "tags/", 5) == 0 ||
	       strncmp(rest, "notes/", 6) == 0 || streq(rest, "stash") || streq(rest, "HEAD");
}

typedef bool pick_fn(const char *rest);

static int list(git_repository *git, const struct want_held *w, pick_fn *pick, struct strv *ret,
		struct err *err)
{
	cleanup_free char *prefix = own_name(w, ""), *glob = xasprintf("%s*", prefix);
	git_reference_iterator *it = NULL;
	const char *name;
	int r = git_reference_iterator_glob_new(&it, git, glob);

	while (r == 0 && ret->n < HELD_MAX && git_reference_next_name(&name, it) == 0)
		if (pick(name + strlen(prefix)))
			strv_push(ret, name + strlen(prefix));
	git_reference_iterator_free(it);
	strv_sort(ret);
	return r < 0 ? gitlib_err(err, "cannot read what the agent made") : 0;
}

/* ---- repo_proposal() ---- */

struct proposed {
	git_oid tip;	 /* of the loop's branch */
	git_oid own, at; /* what the agent made of it, and the commit of its files */
};

static bool is_new(git_repository *git, const struct proposed *p, const git_oid *oid)
{
	return !git_oid_is_zero(oid) && !contains(git, &p->tip, oid);
}

/* The commit that the agent is on counts, unless what it did to the loop's branch has that and more. */
static git_oid choose(git_repository *git, const struct proposed *p)
{
	bool own = is_new(git, p, &p->own), at = is_new(git, p, &p->at);

	if (at && !(own && contains(git, &p->own, &p->at)))
		return p->at;
	return own ? p->own : (git_oid){0};
}

/* Another branch of the agent's with this commit; NULL: none. */
static char *other_branch(git_repository *git, const struct want_held *w, const git_oid *oid,
			  struct err *err)
{
	cleanup_strv struct strv refs = {0};
	cleanup_free char *own = branch_name(w);

	if (list(git, w, is_held, &refs, err) < 0)
		return NULL;
	for (size_t i = 0; i < refs.n; i++) {
		git_oid is = held_oid(git, w, refs.v[i]);
		const char *name = refs.v[i] + strlen("heads/");

		if (strncmp(refs.v[i], "heads/", 6) == 0 && !streq(refs.v[i], own) &&
		    git_oid_equal(&is, oid))
			return gitpath_shown(name, strlen(name), SHOWN_MAX);
	}
	return NULL;
}

static int find_proposal(struct repo_job *j, json_t *out, struct err *err)
{
	struct want_held w = *(const struct want_held *)j->arg;
	cleanup_free char *ref = NULL, *own = NULL, *other = NULL;
	struct proposed p = {0};
	git_oid chosen;
	int r = repo_head_ref(j->git, &ref, &p.tip, err);

	if (r < 0)
		return r;
	w.branch = ref ? ref + strlen("refs/heads/") : NULL;
	own = branch_name(&w);
	p.own = held_oid(j->git, &w, own);
	p.at = held_oid(j->git, &w, "HEAD");
	chosen = choose(j->git, &p);
	repo_put_oid(out, "tip", &p.tip);
	repo_put_oid(out, "at", git_oid_is_zero(&p.at) ? &p.tip : &p.at);
	repo_put_oid(out, "commit", &chosen);
	(void)json_object_set_new(out, "ref", json_text(ref ? ref : "HEAD"));
	if (git_oid_is_zero(&chosen) || git_oid_equal(&chosen, &p.own))
		return 0;
	other = other_branch(j->git, &w, &chosen, err);
	(void)json_object_set_new(out, "elsewhere", json_true());
	(void)json_object_set_new(out, "other", json_text(other ? other : ""));
	/* What the agent did to the loop's branch is left out where the two have gone apart. */
	(void)json_object_set_new(
		out, "apart",
		json_boolean(!contains(j->git, &chosen, &p.tip) ||
			     (is_new(j->git, &p, &p.own) && !contains(j->git, &chosen, &p.own))));
	return 0;
}

int repo_proposal(struct repo *r, const char *name, struct repo_proposal *ret, struct err *err)
{
	const struct want_held w = {.name = name};
	const struct repo_task task = REPO_TASK(find_proposal, &w, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0 && (repo_answer_oid(out, "tip", &ret->tip) < 0 ||
			repo_answer_oid(out, "at", &ret->at) < 0 ||
			repo_answer_oid(out, "commit", &ret->commit) < 0))
		rc = err_set(err, EPROTO, "what the agent made has no name");
	if (rc < 0)
		return rc;
	ret->ref = repo_answer_str(out, "ref");
	ret->elsewhere = json_is_true(json_object_get(out, "elsewhere"));
	ret->other = repo_answer_str(out, "other");
	ret->apart = json_is_true(json_object_get(out, "apart"));
	return 0;
}

void repo_proposal_done(struct repo_proposal *p)
{
	free(p->ref);
	free(p->other);
	*p = (struct repo_proposal){0};
}

/* ---- repo_proposal_settle() ---- */

static int remove_held(git_repository *git, const struct want_held *w, const char *rest,
		       struct err *err)
{
	cleanup_free char *name = own_name(w, rest);
	int r = git_reference_remove(git, name);

	return r < 0 && r != GIT_ENOTFOUND ? gitlib_err(err, name) : 0;
}

/* A proposal that nothing else keeps gets a name among what was rejected. */
static int give_up(struct repo_job *j, const struct want_held *w, const char *rest,
		   const git_oid *tip, json_t *out, struct err *err)
{
	git_oid oid = held_oid(j->git, w, rest), kept = {0};
	int r = *w->kept ? repo_oid_of(w->kept, &kept, err) : 0;

	if (r == 0 && !git_oid_is_zero(&oid) && !contains(j->git, tip, &oid) &&
	    !contains(j->git, &kept, &oid))
		r = repo_keep_ref(j->git, "rejected", w->branch ? w->branch : "detached", &oid, out,
				  err);
	return r == 0 ? remove_held(j->git, w, rest, err) : r;
}

static bool is_note_or_held(const char *rest)
{
	return is_note(rest) || is_held(rest);
}

static int settle(struct repo_job *j, json_t *out, struct err *err)
{
	struct want_held w = *(const struct want_held *)j->arg;
	cleanup_free char *ref = NULL, *own = NULL;
	cleanup_strv struct strv refs = {0};
	git_oid tip;
	int r = repo_head_ref(j->git, &ref, &tip, err);

	if (r < 0)
		return r;
	w.branch = ref ? ref + strlen("refs/heads/") : NULL;
	own = branch_name(&w);
	r = give_up(j, &w, own, &tip, out, err);
	if (r == 0)
		r = give_up(j, &w, "HEAD", &tip, out, err);
	if (r == 0)
		r = list(j->git, &w, is_note_or_held, &refs, err);
	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		git_oid is = held_oid(j->git, &w, refs.v[i]);

		if (is_note(refs.v[i]) ||
		    (strncmp(refs.v[i], "heads/", 6) == 0 && contains(j->git, &tip, &is)))
			r = remove_held(j->git, &w, refs.v[i], err);
	}
	return r;
}

int repo_proposal_settle(struct repo *r, const char *name, const char *kept, char **ret_kept,
			 struct err *err)
{
	const struct want_held w = {.name = name, .kept = kept};
	const struct repo_task task = REPO_TASK(settle, &w, REPO_TASK_WRITE);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0 && ret_kept)
		*ret_kept = repo_answer_str(out, "ref");
	return rc;
}

/* ---- repo_held_refs() ---- */

static int list_held(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_strv struct strv refs = {0};
	json_t *names = json_array();
	int r = list(j->git, j->arg, is_held, &refs, err);

	(void)json_object_set_new(out, "refs", names);
	for (size_t i = 0; i < refs.n; i++)
		if (!streq(refs.v[i], "HEAD"))
			(void)json_array_append_new(names, json_text(refs.v[i]));
	return r;
}

int repo_held_refs(struct repo *r, const char *name, struct strv *ret, struct err *err)
{
	const struct want_held w = {.name = name};
	const struct repo_task task = REPO_TASK(list_held, &w, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0)
		repo_answer_list(out, "refs", ret);
	return rc;
}
