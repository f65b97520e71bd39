/*
 * libexec/ralph/tasks VERB WORKSPACE SOURCE [ID]: the tasks of a workspace, for `ralph task`. With
 * an empty SOURCE, ralph finds it. The output is one JSON document, also for an error.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "work/work.h"
#include "record/loops.h"
#include "record/places.h"

static json_t *text_or_null(const char *s)
{
	return s ? json_text(s) : json_null();
}

static json_t *strings(const struct strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, json_text(v->v[i]));
	return a;
}

/* True for a ready task with an unfinished dependency. */
static bool waits(const struct work *w, const struct task *t)
{
	for (size_t i = 0; i < t->depends.n; i++) {
		const struct task *on = work_task(w, t->depends.v[i]);

		if (!on || on->state != TASK_DONE)
			return t->state == TASK_READY;
	}
	return false;
}

static json_t *task_json(const struct work *w, const struct task *t)
{
	json_t *j = json_pack("{so so ss sb so sI so}", "id", json_text(t->id), "title",
			      json_text(t->title), "state", task_state_name(t->state), "waits",
			      waits(w, t), "why", text_or_null(t->why), "attempts",
			      (json_int_t)t->attempts, "commit", text_or_null(t->commit));

	(void)json_object_set_new(
		j, "priority", t->priority == INT64_MAX ? json_null() : json_integer(t->priority));
	(void)json_object_set_new(j, "description", text_or_null(t->description));
	(void)json_object_set_new(j, "criteria", strings(&t->criteria));
	(void)json_object_set_new(j, "depends", strings(&t->depends));
	(void)json_object_set_new(j, "verify", strings(&t->verify));
	(void)json_object_set_new(j, "notes", text_or_null(t->notes));
	return j;
}

static json_t *work_json(const struct work *w)
{
	json_t *tasks = json_array();

	for (size_t i = 0; i < w->n; i++)
		(void)json_array_append_new(tasks, task_json(w, w->tasks[i]));
	return json_pack("{so so so so so so}", "source", json_text(w->source), "project",
			 text_or_null(w->project), "branch", text_or_null(w->branch), "verify",
			 strings(&w->verify), "news", strings(&w->news), "tasks", tasks);
}

static struct task *find(const struct work *w, const char *id, struct err *err)
{
	struct task *t = id ? work_task(w, id) : NULL;

	if (!t)
		(void)err_usage(err, "%s has no task '%.80s'; 'ralph task ls' lists them",
				w->source, id ? id : "");
	return t;
}

static int find_state(const char *workspace, struct loop_path *ret, struct err *err)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, err);

	return r < 0 ? r : loops_find(&p, workspace, ret, err);
}

static int look(const char *workspace, const char *source, const char *id, json_t **ret,
		struct err *err)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	struct task *t;
	int r = find_state(workspace, &at, err);

	if (r == 0)
		r = work_look(&(struct work_where){workspace, at.state, false, false}, source, &w,
			      err);
	if (r < 0)
		return r;
	if (!id) {
		*ret = work_json(w);
		return 0;
	}
	t = find(w, id, err);
	if (!t)
		return -EINVAL;
	*ret = task_json(w, t);
	return 0;
}

/* Locks the state as a loop does: a running loop would not notice the change. */
static int lock_state(const struct loop_path *at, int *ret, struct err *err)
{
	int fd;

	if (at->state < 0) /* no state, so no loop */
		return 0;
	fd = path_open_beneath(at->state, "lock", O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return err_sys(err, -fd, "cannot open '%s/lock'", at->path);
	*ret = fd;
	if (fd_lock(fd, 0) < 0)
		return err_set(err, EBUSY,
			       "a loop works here; pause it first: ralph pause, and ralph resume "
			       "afterwards");
	return 0;
}

static int reopen(const char *workspace, const char *source, const char *id, json_t **ret,
		  struct err *err)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_fd int lock = -1;
	struct task *t;
	int r = find_state(workspace, &at, err);

	if (r == 0)
		r = lock_state(&at, &lock, err);
	if (r == 0)
		r = work_open(&(struct work_where){workspace, at.state, false, false}, source, &w,
			      err);
	if (r < 0)
		return r;
	t = find(w, id, err);
	if (!t)
		return -EINVAL;
	r = work_reopen(w, t, err);
	if (r < 0)
		return r;
	*ret = work_json(w);
	return 0;
}

static int run(int argc, char **argv, json_t **ret, struct err *err)
{
	const char *source, *id;

	if (argc < 4 || argc > 5)
		return err_usage(err, "this program is started by: ralph task");
	source = *argv[3] ? argv[3] : NULL;
	id = argc > 4 ? argv[4] : NULL;
	if (streq(argv[1], "ls") && !id)
		return look(argv[2], source, NULL, ret, err);
	if (streq(argv[1], "show") && id)
		return look(argv[2], source, id, ret, err);
	if (streq(argv[1], "reopen") && id)
		return reopen(argv[2], source, id, ret, err);
	return err_usage(err, "this program is started by: ralph task");
}

int main(int argc, char **argv)
{
	cleanup_json json_t *j = NULL;
	struct err err = {0};
	int r = run(argc, argv, &j, &err);

	if (r < 0)
		j = json_pack("{so si}", "error", json_text(err.msg), "exit",
			      err_exit_code(&err, EXIT_RUNTIME));
	(void)json_dumpf(j, stdout, JSON_INDENT(2));
	return fflush(stdout) == 0 ? 0 : 1;
}
