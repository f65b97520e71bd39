#include "work/work.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "work/draft.h"
#include "work/source.h"
#include "work/turn.h"
#include "work/work-state.h"

struct work *work_free(struct work *w)
{
	if (!w)
		return NULL;
	for (size_t i = 0; i < w->n; i++)
		(void)task_free(w->tasks[i]);
	for (size_t i = 0; i < w->n_gone; i++)
		(void)task_free(w->gone[i]);
	turns_done(w);
	free(w->tasks);
	free(w->gone);
	free(w->source);
	free(w->project);
	free(w->branch);
	free(w->base);
	free(w->description);
	strv_done(&w->verify);
	strv_done(&w->news);
	free(w->workspace);
	closep(&w->root);
	closep(&w->state);
	(void)source_free(w->from);
	free(w->open);
	free(w);
	return NULL;
}

struct task *work_task(const struct work *w, const char *id)
{
	for (size_t i = 0; i < w->n; i++)
		if (streq(w->tasks[i]->id, id))
			return w->tasks[i];
	return NULL;
}

static void replace(char **to, char **from)
{
	free(*to);
	*to = take_ptr(*from);
}

static void replace_list(struct strv *to, struct strv *from)
{
	strv_done(to);
	*to = *from;
	*from = (struct strv){0};
}

static void stand(struct task *t, enum task_state state, const char *why)
{
	char *copy = why ? xstrdup(why) : NULL;

	t->state = state;
	free(t->why);
	t->why = copy;
}

static void start_anew(struct task *t)
{
	stand(t, TASK_READY, NULL);
	t->attempts = 0;
	free(t->commit);
	t->commit = NULL;
}

/* Takes over a mark that the user made in the source since the last synchronisation. */
static void take_mark(struct work *w, struct task *t, enum task_state said, const char *why)
{
	t->said = said;
	if (said == t->state)
		return;
	if (said == TASK_DONE) {
		strv_pushf(&w->news, "%s is marked as done in %s", t->id, w->source);
		stand(t, TASK_DONE, "marked as done in the source");
	} else if (said == TASK_BLOCKED) {
		strv_pushf(&w->news, "%s is marked as blocked in %s", t->id, w->source);
		stand(t, TASK_BLOCKED, why);
	} else if (t->state == TASK_DONE || t->state == TASK_BLOCKED) {
		strv_pushf(&w->news, "%s is marked as open in %s: it is reopened", t->id,
			   w->source);
		start_anew(t);
	}
}

/* Updates a known task from the source. */
static void update(struct work *w, struct task *t, struct task *now)
{
	bool other = !streq(t->fingerprint, now->fingerprint);
	bool marked = now->said != t->said && !w->elsewhere;

	replace(&t->title, &now->title);
	replace(&t->description, &now->description);
	replace(&t->notes, &now->notes);
	replace_list(&t->criteria, &now->criteria);
	replace_list(&t->depends, &now->depends);
	replace_list(&t->verify, &now->verify);
	t->priority = now->priority;
	t->line = now->line;
	memcpy(t->fingerprint, now->fingerprint, sizeof(t->fingerprint));
	if (marked)
		take_mark(w, t, now->said, now->why);
	/* A user who changes a task and marks it as done means its new text. */
	if (!other || (marked && now->said == TASK_DONE))
		return;
	if (t->state == TASK_DONE) {
		strv_pushf(&w->news, "%s asks for something else now: it is reopened", t->id);
		start_anew(t);
	} else {
		strv_pushf(&w->news, "%s was changed", t->id);
		if (t->state != TASK_BUSY)
			start_anew(t);
	}
}

static void forget(struct work *w, struct task *t)
{
	w->gone = xrealloc(w->gone, w->n_gone + 1, sizeof(struct task *));
	w->gone[w->n_gone++] = t;
}

/* Replaces the work's tasks by those of a listing; a known task stays where it is in memory. */
static void reconcile(struct work *w, struct listing *l, bool first)
{
	struct task **tasks = xcalloc(l->n + 1, sizeof(struct task *));

	for (size_t i = 0; i < l->n; i++) {
		struct task *t = work_task(w, l->tasks[i]->id);

		if (t) {
			update(w, t, l->tasks[i]);
		} else {
			t = l->tasks[i];
			l->tasks[i] = NULL;
			if (!first)
				strv_pushf(&w->news, "%s is new", t->id);
		}
		tasks[i] = t;
	}
	for (size_t i = 0; i < w->n; i++) {
		struct task *t = w->tasks[i];
		bool stays = false;

		for (size_t k = 0; !stays && k < l->n; k++)
			stays = tasks[k] == t;
		if (stays)
			continue;
		strv_pushf(&w->news, "%s is no longer in %s", t->id, w->source);
		forget(w, t);
	}
	free(w->tasks);
	w->tasks = tasks;
	w->n = l->n;
	replace(&w->project, &l->project);
	replace(&w->branch, &l->branch);
	replace(&w->base, &l->base);
	replace(&w->description, &l->description);
	replace_list(&w->verify, &l->verify);
}

/* Creates the tasks from the state; reconcile() then updates them from the source. */
static void recall(struct work *w, const struct kept *k, bool look)
{
	w->tasks = xcalloc(k->n + 1, sizeof(struct task *));
	for (size_t i = 0; i < k->n; i++) {
		const struct kept_task *from = &k->tasks[i];
		struct task *t = w->tasks[w->n++] = task_new();

		t->id = xstrdup(from->id);
		t->title = xstrdup("");
		/* No agent works on the task any more, whatever the saved state says. */
		stand(t, from->state == TASK_BUSY && !look ? TASK_READY : from->state, from->why);
		t->said = from->said;
		t->commit = from->commit ? xstrdup(from->commit) : NULL;
		t->attempts = from->attempts;
		memcpy(t->fingerprint, from->fingerprint, sizeof(t->fingerprint));
	}
	if (look && k->open)
		w->open = xstrdup(k->open);
}

int work_reload(struct work *w, struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf text;
	int r;

	buf_init(&text, WORK_FILE_MAX);
	r = turn_source(w, &text, &l, err);
	if (r < 0)
		return r;
	w->kind = w->from->kind;
	reconcile(w, &l, false);
	return turn_write_back(w, err);
}

static int first_read(struct work *w, const struct kept *k, struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf text;
	int r;

	buf_init(&text, WORK_FILE_MAX);
	r = turn_source(w, &text, &l, err);
	if (r == 0 && !k->source)
		r = source_ready(w->from, w->root, &l, err);
	if (r < 0)
		return r;
	w->kind = w->from->kind;
	reconcile(w, &l, !k->source);
	return 0;
}

/* The source in the state is used unless the user names another one, which starts from scratch. */
static int find(struct work *w, const char *wish, struct kept *k, struct err *err)
{
	int r;

	/* A request for the next issue or spec continues the current one until it is done. */
	if (wish && k->source && !kept_all_done(k) &&
	    (gh_is_any(wish, k->source) || specs_is_any(w->workspace, wish, k->source)))
		wish = k->source;
	r = source_find(w->workspace, w->root, w->shared, wish ? wish : k->source, &w->from, err);

	if (r < 0)
		return wish || !k->source ? r
					  : err_hint(err, r,
						     "it was worked on before; for another list "
						     "say: --tasks FILE");
	w->source = xstrdup(w->from->name);
	if (k->source && !streq(k->source, w->source)) {
		strv_pushf(&w->news, "%s was worked on before; it is %s now", k->source, w->source);
		kept_done(k);
	}
	return 0;
}

/* The work opens its own descriptors, because the caller keeps those in `at`. */
static int open_dirs(struct work *w, const struct work_where *at, struct err *err)
{
	w->root = open(w->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->root < 0)
		return err_sys(err, errno, "cannot open '%s'", w->workspace);
	w->state = at->state >= 0
			   ? fcntl(at->state, F_DUPFD_CLOEXEC, 0)
			   : path_open_beneath(w->root, WORK_STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (w->state < 0 && at->state >= 0)
		return err_sys(err, errno, "cannot hold on to a directory");
	w->state = w->state < 0 ? -1 : w->state;
	return 0;
}

/* A reader of the state does not know the loop's sandbox. The open turn tells whether the agent
 * can reach all of the workspace. */
static bool tells_shared(const struct kept *k)
{
	return (k->reach && path_under(k->reach, WORK_DIR)) ||
	       (k->log_reach && path_under(k->log_reach, WORK_DIR));
}

static int open_work(const struct work_where *at, const char *source, bool look, struct work **ret,
		     struct err *err)
{
	cleanup_(work_freep) struct work *w = xcalloc(1, sizeof(*w));
	cleanup_kept struct kept k = {0};
	int r;

	w->root = w->state = -1;
	r = path_real(at->workspace, &w->workspace, err);
	if (r == 0)
		r = open_dirs(w, at, err);
	if (r == 0)
		r = kept_read(w->state, &k, err);
	if (r == 0 && !look)
		r = draft_recover(w->root, w->state, &w->news, err);
	if (r == 0 && !look)
		r = turn_recover(w->root, w->state, &k, &w->news, err);
	w->shared = at->shared || (look && tells_shared(&k));
	w->elsewhere = at->elsewhere;
	if (r == 0)
		r = find(w, source, &k, err);
	if (r < 0)
		return r;
	recall(w, &k, look);
	r = first_read(w, &k, err);
	if (r < 0)
		return r;
	w->elsewhere = false;
	*ret = take_ptr(w);
	return 0;
}

int work_open(const struct work_where *at, const char *source, struct work **ret, struct err *err)
{
	return open_work(at, source, false, ret, err);
}

int work_look(const struct work_where *at, const char *source, struct work **ret, struct err *err)
{
	return open_work(at, source, true, ret, err);
}

int work_save(struct work *w, struct err *err)
{
	return kept_write(w, err);
}
