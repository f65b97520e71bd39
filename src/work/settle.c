#include "work/turn.h"

#include <string.h>

#include "work/text.h"

#define WHY_MAX 2000

/* Maps the state to one of the three that every format can express. */
static enum task_state shown(const struct task *t)
{
	return t->state == TASK_DONE || t->state == TASK_BLOCKED ? t->state : TASK_READY;
}

static void replace_text(char **to, const char *from, size_t max)
{
	char *copy = from ? text_short(from, strlen(from), max) : NULL;

	free(*to);
	*to = copy;
}

/* Records the state of each task as the source now shows it. */
static void in_step(struct work *w, const struct buf *text)
{
	cleanup_listing struct listing l = {0};
	struct err ignored = {0};

	if (w->from->format->read(w->source, text->data, text->len, &l, &ignored) < 0)
		return;
	for (size_t i = 0; i < l.n; i++) {
		struct task *t = work_task(w, l.tasks[i]->id);

		if (t)
			t->said = l.tasks[i]->said;
	}
}

/* *changed: the text must be written. */
static int mark_all(struct work *w, struct buf *text, bool *changed)
{
	int r = 0;

	*changed = false;
	for (size_t i = 0; r == 0 && i < w->n; i++) {
		struct buf new;

		if (w->tasks[i]->said == shown(w->tasks[i]))
			continue;
		buf_init(&new, WORK_FILE_MAX);
		r = w->from->format->mark(text->data, text->len, w->tasks[i], &new);
		if (r == -ENOENT) /* the user removed the task: the next reload notices it */
			r = 0;
		else if (r == 0 && (new.len != text->len ||
				    (new.len &&memcmp(new.data, text->data, new.len) != 0))) {
			struct buf old = *text;

			*text = new;
			new = old;
			*changed = true;
		}
		buf_done(&new);
	}
	return r;
}

static int write_marks(struct work *w, struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf text;
	bool changed = false;
	int r;

	buf_init(&text, WORK_FILE_MAX);
	r = turn_source(w, &text, &l, err);
	if (r < 0)
		return r;
	r = mark_all(w, &text, &changed);
	if (r < 0)
		return err_set(err, -r, "%s: there is no room for the marks; shorten it",
			       w->source);
	if (changed)
		r = source_write(w->from, w->root, &text, err);
	if (r == 0)
		in_step(w, &text);
	return r;
}

static bool needs_marks(const struct work *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->tasks[i]->said != shown(w->tasks[i]))
			return true;
	return false;
}

int turn_write_back(struct work *w, struct err *err)
{
	struct err why = {0};

	w->pending = false;
	if (needs_marks(w) && write_marks(w, &why) < 0) {
		strv_pushf(&w->news, "%s is not written back yet: %s", w->source, why.msg);
		w->pending = true;
	}
	return work_save(w, err);
}

/* This order is safe against a crash at any point. The state file records the result before the
 * source does, and the turn closes when the agent's files are restored. */
static int stand(struct work *w, struct err *err)
{
	int r = work_save(w, err);

	if (r == 0)
		r = turn_close(w, err);
	return r < 0 ? r : turn_write_back(w, err);
}

int work_settle(struct work *w, struct task *t, enum task_state state, const char *why,
		const char *commit, struct err *err)
{
	t->state = state;
	replace_text(&t->why, why, WHY_MAX);
	if (commit)
		replace_text(&t->commit, commit, WHY_MAX);
	return stand(w, err);
}

int work_give_back(struct work *w, struct task *t, struct err *err)
{
	if (t->attempts)
		t->attempts--;
	if (t->state == TASK_BUSY)
		t->state = TASK_READY;
	return stand(w, err);
}

int work_reopen(struct work *w, struct task *t, struct err *err)
{
	t->attempts = 0;
	free(t->commit);
	t->commit = NULL;
	return work_settle(w, t, TASK_READY, NULL, NULL, err);
}

int work_close(struct work *w, struct err *err)
{
	struct work_counts c = work_count(w, 0);
	const char *status = "needs-attention";
	struct err why = {0};
	int r = turn_close(w, err);

	if (r == 0)
		r = turn_write_back(w, err);
	if (r < 0 || !w->from->gh)
		return r;
	if (c.done == c.total)
		status = "done";
	else if (c.decide == 0 && c.stuck == 0 && c.ready == 0)
		status = "blocked";
	else if (c.decide == 0 && c.stuck == 0 && c.blocked == 0)
		return 0; /* the work continues later */
	if (gh_status(w->from->gh, status, &why) < 0)
		strv_pushf(&w->news, "%s could not be labelled: %s", w->source, why.msg);
	return 0;
}
