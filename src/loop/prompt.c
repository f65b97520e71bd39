#include "loop/loop.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "loop/prepare/prepare.h"
#include "loop/review/review.h"

#define PROMPT_MAX (1 * MiB)

/* Reads a file that the user named, or one below the workspace, where the agent may have planted
 * a symbolic link: none is followed. */
static int read_beneath(int dir, const char *name, struct buf *b)
{
	cleanup_fd int fd = path_open_beneath(dir, name, O_RDONLY, 0);

	return fd < 0 ? fd : fd_read_all(fd, b);
}

/* Reads the prompt that ralph ships, for a workspace without its own. */
static int read_shipped(struct loop *l, const char *name, struct buf *b, struct err *err)
{
	cleanup_free char *dir = path_join(l->q.places.data, "init"), *path = path_join(dir, name);
	int r = path_read(AT_FDCWD, path, b);

	return r < 0 ? err_sys(err, -r, "cannot read '%s'; is ralph installed completely?", path)
		     : 0;
}

static int read_prompt(struct loop *l, struct buf *b, struct err *err)
{
	const char *own = l->mode == LOOP_PLAN ? "PROMPT_plan.md" : "PROMPT_build.md";
	cleanup_free char *in_dir = path_join(WORK_DIR, own);
	const char *const places[] = {in_dir, own, WORK_DIR "/prompt.md", "ralph/prompt.md"};
	int r;

	if (l->q.prompt) {
		r = path_read(AT_FDCWD, l->q.prompt, b);
		return r < 0 ? err_sys(err, -r, "cannot read the prompt '%s'", l->q.prompt) : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		r = read_beneath(l->workspace, places[i], b);
		if (r == 0)
			return 0;
		if (r != -ENOENT)
			return err_sys(err, -r, "cannot read the prompt '%s'", places[i]);
	}
	return read_shipped(l, own, b, err);
}

static void put_answers(struct loop *l, const struct task *t, struct buf *b)
{
	answers_put(b, json_object_get(state_task(&l->state, t->id), "answers"), "You asked");
}

static void put_task(struct loop *l, const struct task *t, struct buf *b)
{
	const char *last = state_task_str(&l->state, t->id, "last");

	(void)buf_puts(b, "\n\n# Your task\n\n");
	work_brief(l->work, t, b);
	put_answers(l, t, b);
	review_put(l, t, b);
	if (last)
		(void)buf_printf(b, "\n# What happened the last time\n\n%s\n", last);
	(void)buf_puts(b,
		       "\n# How to end\n\n"
		       "Commit what you did, new files too: with a file that is neither committed "
		       "nor ignored the task is\nnot done. When it is done, say so in your copy "
		       "of the list; the checks are then run by the program\nthat started you, "
		       "which does not take your word for it.\n");
}

static void put_setup(struct loop *l, struct buf *b)
{
	const char *failed = prepare_failure(l);

	if (failed)
		(void)buf_printf(b, "\n# The sandbox could not be prepared\n\n%s\n", failed);
}

static void put_left(struct loop *l, const struct task *t, struct buf *b)
{
	const char *left = state_task_str(&l->state, t ? t->id : "", "left");

	if (left)
		(void)buf_printf(b, "\n# What was left behind\n\n%s", left);
}

int prompt_make(struct loop *l, const struct task *t, char **ret, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, PROMPT_MAX);
	r = read_prompt(l, &b, err);
	if (r < 0)
		return r;
	if (t && l->mode != LOOP_PLAN)
		put_task(l, t, &b);
	if (l->mode != LOOP_PLAN)
		put_left(l, t, &b);
	put_setup(l, &b);
	loop_asks_put(l, &b);
	if (l->draft) {
		(void)buf_puts(&b, "\n\n# The list\n\n");
		draft_brief(l->draft, &b);
	}
	(void)buf_puts(&b,
		       "\nYour last message may have, alone on a line, one of:\n"
		       "<promise>COMPLETE</promise> when everything you were asked for is done,\n"
		       "<promise>BLOCKED:why</promise> when you cannot go on,\n"
		       "<promise>DECIDE:question</promise> when a person must decide.\n");
	if (b.full)
		return err_usage(err, "the prompt is longer than %zu bytes", PROMPT_MAX);
	*ret = buf_take(&b);
	return 0;
}
