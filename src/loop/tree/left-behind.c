/* After an iteration that was cut off, its files and commits are half of something. The next agent
 * starts with a fresh context and is told of them. */
#include "loop/loop.h"

#include <string.h>

#include "base/buf.h"
#include "base/path.h"

#define FILES_MAX 50
#define TEXT_MAX (16 * KiB)

static bool was_cut_off(enum run_end end)
{
	return end != RUN_OK && end != RUN_NOT_STARTED && end != RUN_EMPTY;
}

static bool is_own(const struct strv *own, const char *line)
{
	const char *path = *line ? strchr(line + 1, ' ') : NULL;

	for (size_t i = 0; path && i < own->n; i++)
		if (path_under(path + 1, own->v[i]))
			return true;
	return false;
}

static void put_files(struct loop *l, struct buf *b)
{
	cleanup_strv struct strv dirty = {0}, own = {0};
	struct err err = {0};
	size_t n = 0;

	if (repo_dirty(l->repo, &dirty, &err) < 0) {
		(void)buf_printf(b, "It cannot be told which files are not committed: %s\n",
				 err.msg);
		return;
	}
	if (l->work)
		work_own_paths(l->work, &own);
	for (size_t i = 0; i < dirty.n; i++)
		if (!is_own(&own, dirty.v[i]) && n++ < FILES_MAX)
			(void)buf_printf(b, "Not committed: %s\n", dirty.v[i]);
	if (n > FILES_MAX)
		(void)buf_printf(b, "Not committed: %zu more\n", n - FILES_MAX);
	if (n == 0)
		(void)buf_puts(b, "No file is uncommitted.\n");
}

static void put_commits(const struct loop *l, struct buf *b)
{
	const struct intent *i = &l->state.intent;

	if (i->rejected)
		(void)buf_puts(b, "Its commits were not accepted, and are not on the branch.\n");
	else if (i->new_head && *i->head)
		(void)buf_printf(b, "Its commits are on the branch: git log %.12s..HEAD\n",
				 i->head);
	else if (i->new_head)
		(void)buf_puts(b, "Its commits are on the branch: git log\n");
	else
		(void)buf_puts(b, "It made no commit.\n");
}

void left_behind_note(struct loop *l, const struct task *t)
{
	const struct intent *i = &l->state.intent;
	const char *id = t ? t->id : "";
	struct buf b;

	(void)json_object_del(state_task(&l->state, id), "left");
	if (!was_cut_off(i->end) || !l->repo)
		return;
	buf_init(&b, TEXT_MAX);
	(void)buf_printf(&b, "The iteration before this one did not come to its end (%s).\n",
			 run_end_name(i->end));
	put_commits(l, &b);
	put_files(l, &b);
	(void)buf_puts(&b, "Look at this before you go on: it may be half of something.\n");
	state_task_set(&l->state, id, "left", json_text(buf_str(&b)));
	buf_done(&b);
}
