#include "loop/prepare/prepare.h"

#include <signal.h>
#include <string.h>

#include "base/fd.h"
#include "live/home-checks.h"
#include "live/home-keep.h"
#include "loop/job.h"
#include "loop/tree/loose.h"

#define TAIL_MAX (4 * KiB) /* of a command's output, for a message and the next prompt */

struct preparing {
	struct loop *l;
	struct job job;
	struct ev_timer limit;
	struct buf tail;
	bool timed_out, stopped;
};

static void on_output(struct job *j, bool is_err, const char *p, size_t n)
{
	struct preparing *c = j->owner;
	size_t keep = n > TAIL_MAX ? TAIL_MAX : n;

	if (c->tail.len + keep > c->tail.max)
		buf_consume(&c->tail, c->tail.len > TAIL_MAX ? c->tail.len - TAIL_MAX : 0);
	(void)buf_append(&c->tail, p + (n - keep), keep);
}

static void on_ended(struct job *j)
{
	ev_stop(j->ev);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	struct preparing *c = ev_owner(t, struct preparing, limit);

	c->timed_out = true;
	job_signal(&c->job, SIGKILL);
}

static void on_control(void *arg)
{
	struct preparing *c = arg;

	c->stopped = c->l->control.stop != 0;
	if (c->stopped)
		job_signal(&c->job, SIGKILL);
}

static int start(struct preparing *c, const char *command, struct err *err)
{
	static const struct job_handler handler = {.output = on_output, .ended = on_ended};
	cleanup_strv struct strv argv = {0}, env = {0};
	struct loop *l = c->l;
	const struct job_command jc = {
		.argv = &argv, .env = &env, .input = -1, .whole = l->q.direct ? l->root : NULL};

	if (l->q.direct)
		loop_sandbox_host_env(&env);
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_push(&argv, command);
	c->job.handler = &handler;
	c->job.owner = c;
	return job_start(&c->job, l->ev, &l->q.places, l->build.spec->name, &jc, err);
}

static int wait_end(struct preparing *c, struct err *err)
{
	struct loop *l = c->l;
	int r;

	ev_timer_set(l->ev, &c->limit, l->config->loop.verify_ms);
	l->control.changed = on_control;
	l->control.arg = c;
	on_control(c);
	r = ev_run(l->ev, err);
	l->control.changed = NULL;
	ev_timer_stop(l->ev, &c->limit);
	if (r == 0 && c->stopped)
		r = -ECANCELED;
	else if (r == 0 && c->job.failure)
		r = err_set(err, EIO, "cannot prepare: %s", c->job.failure);
	return r;
}

/* Returns 0, 1 when the command failed (*ret_said is how, and its output), or -errno. */
static int run_command(struct loop *l, const char *command, char **ret_said, struct err *err)
{
	struct preparing c = {.l = l, .limit.fn = on_limit};
	int r;

	buf_init(&c.tail, 2 * TAIL_MAX);
	show_line(&l->show, STYLE_DIM, "setup   %s", command);
	r = start(&c, command, err);
	if (r == 0)
		r = wait_end(&c, err);
	if (r == 0 && (c.timed_out || c.job.code != 0)) {
		*ret_said = c.timed_out ? xasprintf("`%s` did not come to an end:\n\n%s", command,
						    buf_str(&c.tail))
					: xasprintf("`%s` ended with %d:\n\n%s", command,
						    c.job.code, buf_str(&c.tail));
		r = 1;
	}
	job_done(&c.job);
	buf_done(&c.tail);
	return r;
}

/* {"done": {sandbox: inputs of its agents' home}, "prepared": …, "runs", "ms", "failed"} */
static json_t *state_of(struct loop *l)
{
	if (!l->state.setup)
		l->state.setup = json_pack("{s{} si si}", "done", "runs", 0, "ms", 0);
	return l->state.setup;
}

static json_t *part_of(struct loop *l, const char *key)
{
	json_t *state = state_of(l), *part = json_object_get(state, key);

	if (!part) {
		part = json_object();
		(void)json_object_set_new(state, key, part);
	}
	return part;
}

static void count(json_t *state, uint64_t began)
{
	json_int_t ms = json_integer_value(json_object_get(state, "ms"));

	(void)json_object_set_new(
		state, "runs",
		json_integer(json_integer_value(json_object_get(state, "runs")) + 1));
	(void)json_object_set_new(state, "ms", json_integer(ms + (json_int_t)(now_ms() - began)));
}

static int run_all(struct loop *l, char **ret_said, struct err *err)
{
	const struct strv *commands = &l->config->loop.setup;
	uint64_t began = now_ms();
	int r = loose_before(l, err);

	for (size_t i = 0; r == 0 && i < commands->n; i++)
		r = run_command(l, commands->v[i], ret_said, err);
	if (r >= 0 && loose_after(l, err) < 0)
		r = -EIO;
	count(state_of(l), began);
	return r;
}

static void tell_failure(struct loop *l, const char *said)
{
	show_line(&l->show, STYLE_RED, "setup   %.*s", (int)strcspn(said, "\n"), said);
	show_quote(&l->show, said, SHOW_WORDS_LINES);
}

int prepare_refuse(struct loop *l, const char *said, struct err *err)
{
	tell_failure(l, said);
	return err_set(err, EIO, "the sandbox cannot be prepared: %.*s", (int)strcspn(said, "\n"),
		       said);
}

/* Before the first iteration the project itself cannot be prepared; later it is an agent's change. */
static int take_failure(struct loop *l, const char *said, struct err *err)
{
	if (json_array_size(l->state.records) == 0)
		return prepare_refuse(l, said, err);
	tell_failure(l, said);
	(void)json_object_set_new(state_of(l), "failed", json_text(said));
	return state_save(&l->state, err);
}

int prepare_in_place(struct loop *l, struct err *err)
{
	json_t *done;
	cleanup_free char *said = NULL;
	const char *name = l->build.spec->name, *before;
	char inputs[PREPARE_HASH_LEN];
	int r;

	if (l->config->loop.setup.n == 0)
		return 0;
	done = part_of(l, "done");
	before = json_string_value(json_object_get(done, name));
	if (prepare_inputs(l, inputs) && before && streq(before, inputs))
		return 0;
	r = run_all(l, &said, err);
	if (r < 0)
		return r;
	(void)json_object_del(state_of(l), "failed");
	(void)json_object_del(done, name);
	/* The commands may have written their own inputs. */
	if (r == 0 && prepare_inputs(l, inputs))
		(void)json_object_set_new(done, name, json_string(inputs));
	return r == 0 ? state_save(&l->state, err) : take_failure(l, said, err);
}

/* True when prepared-home is of these inputs. exact: and of a commit, without any other file. */
static bool is_prepared(struct loop *l, const char *inputs, bool exact)
{
	const json_t *home = json_object_get(part_of(l, "prepared"), l->build.spec->name);
	const char *of = json_string_value(json_object_get(home, "inputs"));

	return of && streq(of, inputs) && !(exact && json_is_true(json_object_get(home, "loose")));
}

/* Runs the commands in a home that is empty, and keeps it. */
static int prepare_anew(struct loop *l, char **ret_said, struct err *err)
{
	const struct places *p = &l->q.places;
	cleanup_free char *name = xstrdup(l->build.spec->name);
	int r;

	/* A kill from here on leaves a home that nothing names. */
	(void)json_object_del(part_of(l, "prepared"), name);
	r = state_save(&l->state, err);
	if (r == 0)
		r = home_checks_forget(p, name, err);
	if (r == 0)
		r = loop_sandbox_start_checks(l, err);
	if (r == 0)
		r = run_all(l, ret_said, err);
	loop_sandbox_stop(l);
	if (r == 0)
		r = home_checks_keep(p, name, err);
	else if (r > 0 && home_checks_drop(p, name, err) < 0)
		r = -EIO;
	return r;
}

int prepare_checks(struct loop *l, bool exact, char **ret_said, struct err *err)
{
	char inputs[PREPARE_HASH_LEN];
	bool known;
	int r;

	/* A loop before this one may have prepared a home. */
	if (l->config->loop.setup.n == 0)
		return home_checks_forget(&l->q.places, l->build.spec->name, err);
	if (prepare_inputs(l, inputs) && is_prepared(l, inputs, exact))
		return 0;
	r = prepare_anew(l, ret_said, err);
	if (r != 0)
		return r;
	/* The commands may have written their own inputs. */
	known = prepare_inputs(l, inputs);
	(void)json_object_del(state_of(l), "failed");
	(void)json_object_set_new(
		part_of(l, "prepared"), l->build.spec->name,
		json_pack("{ss sb}", "inputs", known ? inputs : "", "loose", loose_any(l)));
	return state_save(&l->state, err);
}

/* Gives the agents what was prepared. Their conversations are kept, see live/home-keep.h. */
static int give(struct loop *l, json_t *done, const char *inputs, struct err *err)
{
	const struct places *p = &l->q.places;
	const char *name = l->build.spec->name;
	int r = home_empty(p, name, err);

	if (r == 0)
		r = home_checks_give(p, name, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(done, name, json_string(inputs));
	return state_save(&l->state, err);
}

int prepare_home(struct loop *l, struct err *err)
{
	cleanup_free char *said = NULL;
	const char *before;
	char inputs[PREPARE_HASH_LEN];
	json_t *done;
	int r;

	if (l->config->loop.setup.n == 0)
		return 0;
	r = prepare_checks(l, false, &said, err);
	if (r > 0) {
		r = take_failure(l, said, err);
	} else if (r == 0) {
		done = part_of(l, "done");
		before = json_string_value(json_object_get(done, l->build.spec->name));
		if (!prepare_inputs(l, inputs) || !before || !streq(before, inputs))
			r = give(l, done, inputs, err);
	}
	/* Files that setup made in the tree may have to be protected. */
	return r == 0 && l->build.spec->checks ? loop_sandbox_build(l, err) : r;
}

const char *prepare_failure(const struct loop *l)
{
	return json_string_value(json_object_get(l->state.setup, "failed"));
}
