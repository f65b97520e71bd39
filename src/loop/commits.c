/* Judges the commits that an agent made, on the host. */
#include "loop/loop.h"
#include "loop/tree/may-change.h"

#include <string.h>

#include "base/path.h"
#include "loop/tree/kept-files.h"
#include "loop/tree/modules.h"
#include "live/autosave.h"

#define LAST_MAX (16 * KiB) /* of what the next prompt is told */
#define FINDINGS_SHOWN 10

/* Lists why commits do not count, for the user and for the next prompt. */
static void tell_findings(struct loop *l, const struct repo_check_result *c, struct buf *b)
{
	for (size_t i = 0; i < c->n_findings && i < FINDINGS_SHOWN; i++) {
		const struct repo_finding *f = &c->findings[i];

		if (f->severity == REPO_NOTE)
			continue;
		show_line(&l->show, f->severity == REPO_REJECT ? STYLE_RED : STYLE_YELLOW, "%s: %s",
			  f->rule, f->text);
		if (f->severity == REPO_REJECT)
			(void)buf_printf(b, "- %s\n", f->text);
	}
}

/* The loop's own branch, as people write it. */
static const char *branch_of(const struct repo_proposal *p)
{
	return streq(p->ref, "HEAD") ? "HEAD" : p->ref + strlen("refs/heads/");
}

/* Where the agent committed, if not there; the caller frees it. */
static char *where_of(const struct repo_proposal *p)
{
	return p->other ? xasprintf("on branch '%s'", p->other) : xstrdup("on no branch");
}

/* The agent committed elsewhere, and not on top of the loop's branch. */
static void tell_apart(struct loop *l, const struct repo_proposal *p, struct buf *b)
{
	cleanup_free char *where = where_of(p);

	if (!p->apart)
		return;
	show_line(&l->show, STYLE_RED,
		  "branch: the commits are %s, which does not go on from '%s', the branch of this "
		  "loop",
		  where, branch_of(p));
	(void)buf_printf(
		b,
		"- they are %s and do not go on from '%s', the branch of this work: commit "
		"there, and make no other branch\n",
		where, branch_of(p));
}

/* The findings of one look at an agent's commits. */
struct look {
	struct repo_check_result checked;
	struct strv ours, differ;
};

static void look_done(struct look *k)
{
	repo_check_done(&k->checked);
	strv_done(&k->ours);
	strv_done(&k->differ);
}

/* Brings the files to another commit of the branch; the agent's own are kept under a reference. */
static int put_files(struct loop *l, const char *from, const char *to, const struct strv *ours,
		     struct err *err)
{
	int root = l->root_fd >= 0 ? l->root_fd : l->workspace, r;
	cleanup_free char *where = NULL;
	struct kept_files k = {0};

	kept_files_read(root, ours, &k);
	r = repo_reset_to(l->repo, from, to, &where, err);
	if (r < 0) {
		kept_files_done(&k);
		return r;
	}
	r = kept_files_put(root, &k, false, err);
	if (where)
		show_line(&l->show, STYLE_YELLOW, "what was there is kept at %s", where);
	return r;
}

static int reject(struct loop *l, const struct repo_proposal *p, const struct look *k,
		  struct err *err)
{
	struct intent *i = &l->state.intent;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, LAST_MAX);
	(void)buf_puts(&b, "Your commits were taken back:\n");
	tell_apart(l, p, &b);
	tell_findings(l, &k->checked, &b);
	for (size_t n = 0; n < k->differ.n && n < FINDINGS_SHOWN; n++) {
		show_line(&l->show, STYLE_RED, "protected: '%s' is ralph's own", k->differ.v[n]);
		(void)buf_printf(&b, "- '%s' is not yours to write\n", k->differ.v[n]);
	}
	i->rejected = true;
	i->new_head = false;
	r = put_files(l, p->at.hex, p->tip.hex, &k->ours, err);
	if (r == 0)
		r = modules_put_back(l, &k->checked, err);
	if (r < 0)
		return r;
	if (i->task)
		state_task_set(&l->state, i->task, "last", json_text(buf_str(&b)));
	return proposal_settle(l, p->at.hex, err);
}

/* An agent may commit any change to its own copy of the list: ralph does not read it from there. */
static void drop_lists(struct strv *differ)
{
	for (size_t n = 0; n < differ->n;) {
		if (path_under(differ->v[n], WORK_DIR)) {
			n++;
			continue;
		}
		free(differ->v[n]);
		memmove(&differ->v[n], &differ->v[n + 1], (differ->n - n) * sizeof(differ->v[0]));
		differ->n--;
	}
}

static int look(struct loop *l, const struct repo_proposal *p, struct look *ret, struct err *err)
{
	struct intent *i = &l->state.intent;
	cleanup_strv struct strv own = {0}, values = {0}, may = {0};
	const struct repo_rules rules = {.name = l->git_name,
					 .email = l->git_email,
					 .own = &own,
					 .may_change = &may,
					 .named = &l->build.spec->git.named,
					 .submodules = l->config->loop.submodules,
					 .values = &values};
	const char *from = p->tip.hex, *to = p->commit.hex;
	int r;

	if (l->work)
		work_own_paths(l->work, &own);
	else
		strv_push(&own, WORK_DIR);
	secret_values(l->build.spec, &values);
	loop_may_change(l, i->task ? i->task : "", &may);
	r = p->apart ? 0 : repo_check(l->repo, from, to, &rules, &ret->checked, err);
	if (r == 0)
		r = repo_ours(l->repo, from, to, &own, &ret->ours, &ret->differ, err);
	if (r == 0)
		drop_lists(&ret->differ);
	return r;
}

/* The commits passed: the branch goes on to them, and so do the files of an agent that is elsewhere. */
static int take(struct loop *l, const struct repo_proposal *p, const struct look *k,
		struct err *err)
{
	cleanup_free char *where = where_of(p);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, LAST_MAX);
	tell_findings(l, &k->checked, &b);
	if (p->elsewhere)
		show_line(&l->show, STYLE_YELLOW, "the commits %s are taken onto '%s'", where,
			  branch_of(p));
	/* An empty commit is no progress. Saved first: a branch that has moved has nothing new. */
	l->state.intent.new_head = k->checked.paths > 0;
	r = state_save(&l->state, err);
	if (r == 0)
		r = proposal_take(l, p, p->commit.hex, err);
	if (r == 0 && !streq(p->at.hex, p->commit.hex))
		r = put_files(l, p->at.hex, p->commit.hex, &k->ours, err);
	if (r == 0)
		r = modules_settle(l, err);
	return r == 0 ? proposal_settle(l, p->at.hex, err) : r;
}

/* Decides whether the new commits count. */
static int judge_commits(struct loop *l, const struct repo_proposal *p, struct err *err)
{
	cleanup_(look_done) struct look k = {0};
	int r = look(l, p, &k, err);

	if (r < 0)
		return r;
	return p->apart || !k.checked.counts || k.differ.n > 0 ? reject(l, p, &k, err)
							       : take(l, p, &k, err);
}

/* Another branch than the loop's is checked out by now: nothing there is the loop's to move. */
static int check_branch(const struct loop *l, const struct repo_proposal *p, struct err *err)
{
	if (!l->state.branch || streq(branch_of(p), l->state.branch))
		return 0;
	(void)err_set(err, EBUSY, "'%s' is checked out, and the branch of this loop is '%s'",
		      branch_of(p), l->state.branch);
	return err_hint(err, -EBUSY, "switch back, then go on with: ralph resume");
}

static int find_commits(struct loop *l, struct repo_proposal *p, struct err *err)
{
	static const struct strv none = {0};
	int r = repo_proposal(l->repo, l->build.spec->name, p, err);

	if (r == 0)
		r = check_branch(l, p, err);
	if (r < 0)
		return r;
	if (p->commit.hex[0])
		return judge_commits(l, p, err);
	/* Without a commit, an agent may still have left the files of another one. */
	if (streq(p->at.hex, p->tip.hex) || streq(p->at.hex, l->state.intent.head))
		return modules_settle(l, err);
	r = modules_settle(l, err);
	return r < 0 ? r : put_files(l, p->at.hex, p->tip.hex, &none, err);
}

int commits_check(struct loop *l, struct err *err)
{
	struct intent *i = &l->state.intent;
	const char *base = i->task ? state_task_str(&l->state, i->task, "base") : NULL;
	cleanup_(repo_proposal_done) struct repo_proposal p = {0};
	struct repo_oid now = {0};
	int r;

	if (!l->repo || i->checked)
		return 0;
	r = find_commits(l, &p, err);
	if (r == 0)
		r = repo_head(l->repo, &now, NULL, err);
	if (r < 0)
		return r;
	i->committed = base && !streq(base, now.hex);
	i->checked = true;
	free(i->commit);
	i->commit = i->new_head || i->committed ? xstrdup(now.hex) : NULL;
	return state_save(&l->state, err);
}
