#include "loop/loop.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "record/loops.h"

#define ASKS_MAX 20 /* questions that the status shows */

static json_t *tasks_json(const struct loop *l)
{
	struct work_counts c = {0};

	if (l->work)
		c = work_count(l->work, (unsigned)l->limits.max_attempts);
	return json_pack("{sI sI sI sI}", "total", (json_int_t)c.total, "done", (json_int_t)c.done,
			 "blocked", (json_int_t)(c.blocked + c.decide), "stuck",
			 (json_int_t)c.stuck);
}

static json_t *tokens_json(const struct tokens *t)
{
	return json_pack("{sI sI sI sI}", "input", (json_int_t)t->input, "output",
			 (json_int_t)t->output, "cache_read", (json_int_t)t->cache_read,
			 "cache_write", (json_int_t)t->cache_write);
}

/* Open questions of agents: the loop waits for a person, even while it works on other tasks. */
static json_t *asks_json(const struct loop *l)
{
	json_t *a = json_array(), *t;
	const char *id;

	json_object_foreach (l->state.tasks, id, t) {
		json_t *question = json_object_get(t, "question");

		if (question && json_array_size(a) < ASKS_MAX)
			(void)json_array_append_new(a, json_pack("{so sO}", "task", json_text(id),
								 "question", question));
	}
	return a;
}

/* Workers on other machines, for people who look for their jobs. */
static json_t *workers_json(const struct loop *l)
{
	json_t *a = json_array(), *row;
	const char *id;

	json_object_foreach (l->state.workers, id, row)
		if (json_object_get(row, "place") && json_object_get(row, "node"))
			(void)json_array_append_new(
				a, json_pack("{so sO sO sO* sO*}", "task", json_text(id), "place",
					     json_object_get(row, "place"), "node",
					     json_object_get(row, "node"), "job",
					     json_object_get(row, "job"), "sandbox",
					     json_object_get(row, "sandbox")));
	return a;
}

void status_write(struct loop *l, const char *phase, uint64_t until)
{
	const struct loop_state *s = &l->state;
	cleanup_json json_t *j = NULL;
	cleanup_free char *text = NULL;

	l->phase = phase;
	j = json_pack("{si so sI sI so* ss ss sI sI so so sI sI sI sI si}", "version", 1,
		      "workspace", json_text(l->q.workspace), "pid", (json_int_t)getpid(), "start",
		      (json_int_t)loops_start_time(getpid()), "sandbox",
		      l->build.spec ? json_text(l->build.spec->name) : NULL, "agent",
		      l->agent->name, "phase", phase, "iteration", (json_int_t)s->iterations,
		      "max_iterations",
		      (json_int_t)(l->limits.iterations ? l->limits.iterations + s->waited : 0),
		      "tasks", tasks_json(l), "tokens", tokens_json(&s->tokens), "micro_usd",
		      (json_int_t)s->micro_usd, "until", (json_int_t)until, "started",
		      (json_int_t)s->started, "updated", (json_int_t)time(NULL), "exit_code",
		      s->exit_code);
	if (!j)
		return;
	if (l->task)
		(void)json_object_set_new(
			j, "task",
			json_pack("{so so}", "id", json_text(l->task->id), "title",
				  json_text(l->task->title ? l->task->title : "")));
	if (l->limits.micro_usd)
		(void)json_object_set_new(j, "max_micro_usd",
					  json_integer((json_int_t)l->limits.micro_usd));
	if (l->q.parent)
		(void)json_object_set_new(j, "parent", json_text(l->q.parent));
	if (l->tool)
		(void)json_object_set_new(j, "tool", json_text(l->tool));
	(void)json_object_set_new(j, "asks", asks_json(l));
	if (l->placement)
		(void)json_object_set_new(j, "workers", workers_json(l));
	if (s->reason)
		(void)json_object_set_new(j, "reason", json_text(s->reason));
	if (l->next)
		(void)json_object_set_new(j, "next", json_text(l->next));
	text = json_dumps(j, JSON_COMPACT);
	/* The status file is only informational, so a failed write does not end the loop. */
	if (text)
		(void)path_write_atomic(l->place.state, "status.json", text, strlen(text), 0600, 0);
}
