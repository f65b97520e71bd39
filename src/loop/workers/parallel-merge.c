/* Sets of done workers: merged together, verified once, halved when the checks fail. */
#include "loop/workers/parallel.h"

#include <string.h>

#define NAMES_MAX (4 * KiB) /* of tasks, in one line */

static char *names_of(struct worker *const *set, size_t n)
{
	cleanup_buf struct buf b;

	buf_init(&b, NAMES_MAX);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, "%s%s", i ? ", " : "", set[i]->task->id);
	return xstrdup(buf_str(&b));
}

/* Writes the head to the rows of the set, before anything is merged. A set of a killed loop has it. */
static int note_before(struct worker *const *set, size_t n, struct err *err)
{
	struct loop *l = set[0]->l;
	struct repo_oid head = {0};
	int r;

	if (set[0]->before)
		return 0;
	r = repo_head(l->repo, &head, NULL, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		set[i]->before = xstrdup(head.hex);
		worker_note(set[i]);
	}
	return state_save(&l->state, err);
}

/* The caller calls state_save(). */
static void forget_before(struct worker *const *set, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(take_ptr(set[i]->before));
		worker_note(set[i]);
	}
}

/* Merges one branch. *ret_why: it conflicts. */
static int merge_branch(struct worker *w, char **ret_why, struct err *err)
{
	cleanup_free char *message =
		xasprintf("Merge %s: %s", w->task->id, w->task->title ? w->task->title : "");
	cleanup_strv struct strv conflicts = {0};
	struct repo_oid after = {0};
	int r = repo_merge(w->l->repo, w->branch, message, &after, &conflicts, err);

	if (r == -EEXIST) {
		*ret_why =
			xasprintf("conflicts with what was merged before it, in %s%s; its commits "
				  "are on the branch %s",
				  conflicts.n ? conflicts.v[0] : "some file",
				  conflicts.n > 1 ? " and others" : "", w->branch);
		return 0;
	}
	if (r == 0) {
		free(w->commit);
		w->commit = xstrdup(after.hex);
	}
	return r;
}

static int verify_set(struct worker *const *set, size_t n, struct verify_result *v, struct err *err)
{
	cleanup_free const struct task **tasks = xcalloc(n, sizeof(struct task *));
	struct loop *l = set[0]->l;
	int r;

	for (size_t i = 0; i < n; i++)
		tasks[i] = set[i]->task;
	status_write(l, "verifying", 0);
	r = verify_tasks(l, tasks, n, v, err);
	loop_sandbox_stop(l);
	return r;
}

/* The checks passed. One write records that for the whole set; from then on it is not undone. */
static int keep(struct worker *const *set, size_t n, struct err *err)
{
	int r;

	forget_before(set, n);
	r = state_save(&set[0]->l->state, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = worker_accept(set[i], err);
	return r;
}

/* The checks failed: nothing of the set stays merged. */
static int undo(struct worker *const *set, size_t n, struct err *err)
{
	struct loop *l = set[0]->l;
	cleanup_free char *kept = NULL;
	int r = repo_reset_to(l->repo, NULL, set[0]->before, &kept, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		free(take_ptr(set[i]->commit));
	forget_before(set, n);
	return state_save(&l->state, err);
}

static int halve(struct pool *p, struct worker **set, size_t n, struct err *err)
{
	cleanup_free char *names = names_of(set, n);
	int r;

	show_line(&set[0]->l->show, STYLE_YELLOW,
		  "%s do not verify together: each half is merged by itself", names);
	r = workers_merge(p, set, n / 2, err);
	return r < 0 ? r : workers_merge(p, set + n / 2, n - n / 2, err);
}

static int judge(struct pool *p, struct worker **set, size_t n, struct err *err)
{
	cleanup_(verify_result_done) struct verify_result v = {0};
	cleanup_free char *why = NULL;
	int r;

	pool_set_base(p, set[0]->before);
	r = verify_set(set, n, &v, err);
	pool_set_base(p, NULL);
	if (r < 0 || v.ok)
		return r < 0 ? r : keep(set, n, err);
	r = undo(set, n, err);
	if (r < 0 || n > 1)
		return r < 0 ? r : halve(p, set, n, err);
	why = xasprintf("does not verify any more once it is merged:\n%.4000s",
			v.report ? v.report : "");
	return worker_reject(set[0], why, err);
}

/* Moves branches that conflict behind those that are merged; *ret_in: how many are. */
static int merge_branches(struct worker **set, size_t n, size_t *ret_in, char **ret_why,
			  struct err *err)
{
	cleanup_free struct worker **out = xcalloc(n, sizeof(struct worker *));
	size_t n_in = 0, n_out = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct worker *w = set[i];

		free(take_ptr(*ret_why));
		r = merge_branch(w, ret_why, err);
		if (*ret_why)
			out[n_out++] = w;
		else
			set[n_in++] = w;
	}
	if (r < 0)
		return r;
	memcpy(set + n_in, out, n_out * sizeof(struct worker *));
	forget_before(out, n_out);
	*ret_in = n_in;
	return 0;
}

int workers_merge(struct pool *p, struct worker **set, size_t n, struct err *err)
{
	cleanup_free char *why = NULL, *names = names_of(set, n);
	size_t in = 0;
	int r = note_before(set, n, err);

	show_line(&set[0]->l->show, STYLE_BOLD, "merging %s", names);
	if (r == 0)
		r = merge_branches(set, n, &in, &why, err);
	if (r == 0 && in > 0)
		r = judge(p, set, in, err);
	if (r == 0 && n == 1 && in == 0)
		return worker_reject(set[0], why, err);
	for (size_t i = in; r == 0 && i < n; i++)
		r = workers_merge(p, set + i, 1, err);
	return r;
}
