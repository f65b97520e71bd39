#include "work/work.h"

#include <string.h>

#include "base/path.h"
#include "work/source.h"

void work_agents_own(const struct work *w, struct strv *ret)
{
	if (!w->from->reach || !w->from->log_reach)
		strv_push(ret, WORK_AGENT_DIR);
	/* With the whole workspace in reach, the agent may also write these files below .ralph;
	 * work_proposals() and work_settle() restore them. */
	if (w->from->reach && path_under(w->from->rel, WORK_DIR))
		strv_push(ret, w->from->rel);
	if (w->from->log_reach && path_under(w->from->log, WORK_DIR))
		strv_push(ret, w->from->log);
}

void work_own_paths(const struct work *w, struct strv *ret)
{
	strv_push(ret, WORK_DIR);
	if (w->from->reach)
		strv_push(ret, w->from->rel);
	if (w->from->log_reach)
		strv_push(ret, w->from->log);
}

void work_files(const struct work *w, struct strv *ret)
{
	if (w->from->rel)
		strv_push(ret, w->from->rel);
	if (w->from->log)
		strv_push(ret, w->from->log);
}

const char *work_copy_path(const struct work *w)
{
	return w->from->copy;
}

static void put_list(struct buf *b, const char *title, const struct strv *v, const char *quote)
{
	if (v->n == 0)
		return;
	(void)buf_printf(b, "\n%s\n", title);
	for (size_t i = 0; i < v->n; i++)
		(void)buf_printf(b, "- %s%s%s\n", quote, v->v[i], quote);
}

static const char *how_to_say_done(const struct work *w)
{
	if (w->kind == WORK_PRD)
		return "set `passes` of this story to true; you may write to its `notes`";
	return "mark this task as done (tick its box, or put ` [done]` behind its heading); you "
	       "may tick the boxes below it";
}

void work_brief(const struct work *w, const struct task *t, struct buf *b)
{
	(void)buf_printf(b, "## Your task: %s: %s\n", t->id, t->title);
	if (t->description && *t->description)
		(void)buf_printf(b, "\n%s\n", t->description);
	if (w->kind == WORK_PRD) /* the other formats have them in the description */
		put_list(b, "It is done when:", &t->criteria, "");
	put_list(b, "These commands will be run to check it:", &t->verify, "`");
	put_list(b, "And these, as for every task:", &w->verify, "`");
	if (t->notes && *t->notes)
		(void)buf_printf(b, "\nNotes so far:\n\n%s\n", t->notes);
	(void)buf_printf(b,
			 "\nThe list of all tasks is `%s`. When this one is done and committed, %s."
			 " Anything else you change in it will be put back.\n",
			 w->from->copy, how_to_say_done(w));
	(void)buf_printf(
		b,
		"What earlier iterations learned is in `%s`: read it first, add to its end,"
		" and keep the section `## Codebase Patterns` at its top up to date.\n",
		w->from->progress);
}
