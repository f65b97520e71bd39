/* Judges the commits that an agent made, on the host. */
#include "loop/loop.h"
#include "loop/tree/may-change.h"

#include <string.h>

#include "base/path.h"
#include "base/text/quote-word.h"
#include "loop/tree/kept-files.h"
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

/* Says how a submodule that was moved is taken, or how its files are put back: git's own program does
 * that, as the settings of a submodule are not protected. */
static void tell_submodule(struct loop *l, const struct repo_check_result *c)
{
	for (size_t i = 0; i < c->n_findings; i++) {
		cleanup_buf struct buf b;

		buf_init(&b, 64 * KiB);
		if (!streq(c->findings[i].rule, "submodule"))
			continue;
		quote_word(&b, c->findings[i].path);
		show_line(&l->show, STYLE_YELLOW,
			  "the submodule is as it was in the commit; its files come back with: git "
			  "submodule update --force -- %s; to take what agents do to submodules: "
			  "--submodules take",
			  buf_str(&b));
		return;
	}
}

static int take_back(struct loop *l, const struct repo_check_result *c, const struct strv *ours,
		     const struct strv *differ, struct err *err)
{
	struct intent *i = &l->state.intent;
	cleanup_free char *where = NULL;
	cleanup_buf struct buf b;
	int root = l->root_fd >= 0 ? l->root_fd : l->workspace, r;
	struct kept_files k = {0};

	buf_init(&b, LAST_MAX);
	(void)buf_puts(&b, "Your commits were taken back:\n");
	tell_findings(l, c, &b);
	for (size_t n = 0; n < differ->n && n < FINDINGS_SHOWN; n++) {
		show_line(&l->show, STYLE_RED, "protected: '%s' is ralph's own", differ->v[n]);
		(void)buf_printf(&b, "- '%s' is not yours to write\n", differ->v[n]);
	}
	kept_files_read(root, ours, &k);
	r = repo_reset_to(l->repo, i->head, &where, err);
	if (r == 0)
		r = kept_files_put(root, &k, false, err);
	if (r < 0)
		return r;
	if (where)
		show_line(&l->show, STYLE_YELLOW, "what was there is kept at %s", where);
	tell_submodule(l, c);
	if (i->task)
		state_task_set(&l->state, i->task, "last", json_text(buf_str(&b)));
	return 0;
}

/* Decides whether the new commits count. Commits that do not count are reset before it returns. */
static int judge_commits(struct loop *l, const char *head, struct err *err)
{
	struct intent *i = &l->state.intent;
	cleanup_strv struct strv own = {0}, ours = {0}, differ = {0}, values = {0}, may = {0};
	const struct repo_rules rules = {.name = l->git_name,
					 .email = l->git_email,
					 .own = &own,
					 .may_change = &may,
					 .submodules = l->config->loop.submodules,
					 .values = &values};
	cleanup_(repo_check_done) struct repo_check_result c = {0};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, LAST_MAX);
	if (l->work)
		work_own_paths(l->work, &own);
	else
		strv_push(&own, WORK_DIR);
	secret_values(l->build.spec, &values);
	loop_may_change(l, i->task ? i->task : "", &may);
	r = repo_check(l->repo, i->head, head, &rules, &c, err);
	if (r == 0)
		r = repo_ours(l->repo, i->head, head, &own, &ours, &differ, err);
	if (r < 0)
		return r;
	/* An agent may commit any change to its own copy of the list: ralph does not read it
	 * from there. */
	for (size_t n = 0; n < differ.n;) {
		if (path_under(differ.v[n], WORK_DIR)) {
			n++;
			continue;
		}
		free(differ.v[n]);
		memmove(&differ.v[n], &differ.v[n + 1], (differ.n - n) * sizeof(differ.v[0]));
		differ.n--;
	}
	i->rejected = !c.counts || differ.n > 0;
	i->new_head = !i->rejected && c.paths > 0; /* an empty commit is no progress */
	if (i->rejected)
		return take_back(l, &c, &ours, &differ, err);
	tell_findings(l, &c, &b);
	return 0;
}

int commits_check(struct loop *l, struct err *err)
{
	struct intent *i = &l->state.intent;
	const char *base = i->task ? state_task_str(&l->state, i->task, "base") : NULL, *now;
	struct repo_oid head = {0};
	int r;

	if (!l->repo || i->checked)
		return 0;
	r = repo_head(l->repo, &head, NULL, err);
	if (r == 0 && !streq(head.hex, i->head))
		r = judge_commits(l, head.hex, err);
	if (r < 0)
		return r;
	now = i->rejected ? i->head : head.hex;
	i->committed = base && !streq(base, now);
	i->checked = true;
	free(i->commit);
	i->commit = i->new_head || i->committed ? xstrdup(now) : NULL;
	return state_save(&l->state, err);
}
