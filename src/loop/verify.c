#include "loop/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "live/home-checks.h"
#include "loop/job.h"
#include "loop/prepare/prepare.h"
#include "loop/report/report.h"
#include "loop/tree/loose.h"

#define TAIL_MAX (4 * KiB) /* maximum output of a command in the next prompt */
#define REPORT_MAX (32 * KiB)
#define OUTPUT_MAX (256 * KiB) /* of all commands, for a reviewer */
#define KEPT_MAX (64 * KiB)    /* of one command, in the log */
#define LOG_MAX MiB	       /* of the log of one iteration; then outputs are left out */

/*
 * DOC: Theory of operation
 *
 * The checks run in a sandbox of their own, under the name of the agent's, which has stopped: no
 * process of the agent lives, /tmp is new, and home and git directory are others (compose/build.h,
 * `checks`). The home is empty, or as loop.setup leaves an empty one (prepare/). The working tree is
 * the agent's, and must be the commit's (tree/loose.c). Where the agent reaches everything that there
 * is (l->shared), the checks run where the agent ran.
 */

/* One verify command of the host. */
struct check {
	struct loop *l;
	struct job job;
	struct ev_timer limit;
	struct buf tail; /* the last of its output, at least KEPT_MAX of it */
	uint64_t bytes;	 /* of its output */
	bool timed_out, stopped;
};

static void on_output(struct job *j, bool is_err, const char *p, size_t n)
{
	struct check *c = j->owner;

	c->bytes += n;
	if (n > KEPT_MAX) {
		p += n - KEPT_MAX;
		n = KEPT_MAX;
	}
	if (c->tail.len + n > c->tail.max)
		buf_consume(&c->tail, c->tail.len > KEPT_MAX ? c->tail.len - KEPT_MAX : 0);
	(void)buf_append(&c->tail, p, n);
}

static void on_ended(struct job *j)
{
	ev_stop(j->ev);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	struct check *c = ev_owner(t, struct check, limit);

	c->timed_out = true;
	job_signal(&c->job, SIGKILL);
}

static void on_control(void *arg)
{
	struct check *c = arg;

	if (!c->l->control.stop)
		return;
	c->stopped = true;
	job_signal(&c->job, SIGKILL);
}

static const struct job_handler handler = {.output = on_output, .ended = on_ended};

/* Returns 0 on success, 1 on failure, -ECANCELED when the user stopped the loop. */
static int run_one(struct check *c, const char *command, struct err *err)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	struct job_command jc = {.argv = &argv, .env = &env, .input = -1};
	struct loop *l = c->l;
	int r;

	if (l->q.direct) {
		jc.whole = l->root;
		loop_sandbox_host_env(&env);
	}
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_push(&argv, command);
	c->job.handler = &handler;
	c->job.owner = c;
	r = job_start(&c->job, l->ev, &l->q.places, l->build.spec->name, &jc, err);
	if (r < 0)
		return r;
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
		r = err_set(err, EIO, "cannot verify: %s", c->job.failure);
	else if (r == 0)
		r = c->job.code != 0;
	return r;
}

static const char *last_bytes(struct buf *b, size_t n)
{
	return buf_str(b) + (b->len > n ? b->len - n : 0);
}

/* Every command of an iteration has a line in logs/verify-NNN.jsonl, whatever came of it. The file is
 * for people: a loop that cannot write it goes on. */
static void keep_output(struct loop *l, const char *command, struct check *c, uint64_t ms)
{
	cleanup_free char *name = xasprintf("verify-%03llu.jsonl",
					    (unsigned long long)l->state.iterations),
			  *text = NULL;
	cleanup_fd int fd =
		openat(l->logs, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	cleanup_json json_t *j = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	j = json_pack("{so si sb sI sI so}", "command", json_text(command), "code", c->job.code,
		      "timed_out", c->timed_out, "ms", (json_int_t)ms, "bytes",
		      (json_int_t)c->bytes, "output",
		      json_text(st.st_size < (off_t)LOG_MAX ? last_bytes(&c->tail, KEPT_MAX) : ""));
	text = json_dumps(j, JSON_COMPACT);
	if (text && fd_write_all(fd, text, strlen(text)) == 0)
		(void)fd_write_all(fd, "\n", 1);
}

static int run_command(struct loop *l, const char *command, struct buf *report, struct buf *output,
		       struct err *err)
{
	struct check c = {.l = l, .limit.fn = on_limit};
	uint64_t begun = now_ms();
	int r;

	buf_init(&c.tail, 2 * KEPT_MAX);
	show_line(&l->show, STYLE_DIM, "verify  %s", command);
	r = run_one(&c, command, err);
	if (r >= 0)
		keep_output(l, command, &c, now_ms() - begun);
	if (r > 0) {
		cleanup_free char *how = c.timed_out ? xstrdup("did not come to an end")
						     : xasprintf("ended with %d", c.job.code);

		show_line(&l->show, STYLE_RED, "verify  %s: %s", command, how);
		if (report)
			(void)buf_printf(report, "`%s` %s:\n\n%s\n\n", command, how,
					 last_bytes(&c.tail, TAIL_MAX));
	}
	if (r >= 0 && output)
		(void)buf_printf(output, "`%s` ended with %d:\n\n%s\n\n", command, c.job.code,
				 last_bytes(&c.tail, TAIL_MAX));
	job_done(&c.job);
	buf_done(&c.tail);
	return r;
}

static void general_commands(const struct loop *l, struct strv *ret)
{
	strv_extend(ret, &l->config->loop.verify);
	for (size_t i = 0; l->work && i < l->work->verify.n; i++)
		if (!strv_has(ret, l->work->verify.v[i]))
			strv_push(ret, l->work->verify.v[i]);
}

bool verify_proves(const struct loop *l, const struct task *t)
{
	cleanup_strv struct strv commands = {0};

	general_commands(l, &commands);
	for (size_t i = 0; i < commands.n; i++)
		if (!json_is_false(json_object_get(l->state.baseline, commands.v[i])))
			return true;
	return t->verify.n > 0;
}

size_t verify_proved(const struct loop *l)
{
	size_t n = 0;

	for (size_t i = 0; l->work && i < l->work->n; i++)
		n += verify_proves(l, l->work->tasks[i]);
	return n;
}

/* Without a verify command, only the commit and the agent's claim decide; the user is told so. */
static void tell_unverified(struct loop *l, const struct strv *commands)
{
	if (commands->n == 0 && verify_proved(l) == 0)
		show_line(&l->show, STYLE_YELLOW,
			  "no command verifies this work: name one with --verify, or as "
			  "verifyCommands in the list");
}

/* Returns 1 when loop.setup fails: *ret_said is how, and the caller frees it. */
static int begin_checks(struct loop *l, char **ret_said, struct err *err)
{
	int r = 0;

	if (l->shared)
		return l->hold < 0 ? loop_sandbox_start(l, err) : 0;
	if (l->hold >= 0)
		refused_hosts_tell(l);
	loop_sandbox_stop(l);
	if (!l->build.spec)
		r = loop_sandbox_build(l, err);
	if (r == 0)
		r = prepare_checks(l, true, ret_said, err);
	return r == 0 ? loop_sandbox_start_checks(l, err) : r;
}

static void end_checks(struct loop *l)
{
	struct err err = {0};

	if (l->shared || l->hold < 0)
		return;
	if (l->state.intent.phase != INTENT_NONE)
		refused_hosts_tell(l);
	loop_sandbox_stop(l);
	if (home_checks_drop(&l->q.places, l->build.spec->name, &err) < 0)
		log_warn("loop", "%s", err.msg);
}

int verify_baseline(struct loop *l, struct err *err)
{
	cleanup_strv struct strv commands = {0};
	cleanup_free char *said = NULL;
	json_t *found;
	uint64_t failing = 0;
	int r = 0;

	general_commands(l, &commands);
	tell_unverified(l, &commands);
	if (l->state.baseline || commands.n == 0)
		return 0;
	status_write(l, "verifying", 0);
	show_line(&l->show, STYLE_BOLD, "what fails before anything is done");
	r = begin_checks(l, &said, err);
	if (r > 0)
		r = prepare_refuse(l, said, err);
	if (r == 0)
		r = loose_before(l, err);
	found = json_object();
	for (size_t i = 0; r == 0 && i < commands.n; i++) {
		r = run_command(l, commands.v[i], NULL, NULL, err);
		if (r >= 0)
			(void)json_object_set_new(found, commands.v[i], json_boolean(r == 0));
		failing += r > 0;
		r = r > 0 ? 0 : r;
	}
	if (r == 0)
		r = loose_after(l, err);
	end_checks(l);
	loop_sandbox_stop(l);
	if (r < 0) {
		json_decref(found);
		return r;
	}
	l->state.baseline = found;
	l->state.failing = failing;
	return state_save(&l->state, err);
}

/* A command that failed from the start is not counted against the agent until it succeeds once. */
static bool is_excused(const struct loop *l, const char *command)
{
	return json_is_false(json_object_get(l->state.baseline, command));
}

static void all_commands(const struct task *const *tasks, size_t n, struct strv *ret)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < tasks[k]->verify.n; i++)
			if (!strv_has(ret, tasks[k]->verify.v[i]))
				strv_push(ret, tasks[k]->verify.v[i]);
}

/* The first `general` commands are for all tasks. */
static int run_commands(struct loop *l, const struct strv *commands, size_t general,
			struct verify_result *ret, struct buf *report, struct buf *output,
			struct err *err)
{
	int r = loose_before(l, err);

	for (size_t i = 0; r >= 0 && i < commands->n; i++) {
		bool excused = i < general && is_excused(l, commands->v[i]);

		r = run_command(l, commands->v[i], report, output, err);
		ret->failing += r > 0 && i < general;
		if (r > 0 && !excused)
			ret->ok = false;
		if (r == 0 && excused)
			(void)json_object_set_new(l->state.baseline, commands->v[i], json_true());
	}
	return r < 0 ? r : loose_after(l, err);
}

int verify_tasks(struct loop *l, const struct task *const *tasks, size_t n,
		 struct verify_result *ret, struct err *err)
{
	cleanup_strv struct strv commands = {0};
	cleanup_free char *said = NULL;
	cleanup_buf struct buf report, output;
	size_t general;
	int r;

	buf_init(&report, REPORT_MAX);
	buf_init(&output, OUTPUT_MAX);
	*ret = (struct verify_result){.ok = true};
	general_commands(l, &commands);
	general = commands.n;
	all_commands(tasks, n, &commands);
	ret->commands = commands.n;
	r = commands.n ? begin_checks(l, &said, err) : 0;
	if (r > 0) {
		/* A commit that cannot be set up passes no check. */
		ret->ok = false;
		ret->failing = general;
		(void)buf_printf(&report, "The setup %s\n\n", said);
	} else if (r == 0) {
		r = run_commands(l, &commands, general, ret, &report, &output, err);
	}
	end_checks(l);
	if (r < 0)
		return r;
	if (report.len)
		ret->report = buf_take(&report);
	if (output.len)
		ret->output = buf_take(&output);
	return 0;
}

int verify_run(struct loop *l, const struct task *t, struct verify_result *ret, struct err *err)
{
	int r = verify_tasks(l, &t, t != NULL, ret, err);

	if (r == 0 && t && !verify_proves(l, t))
		ret->commands = 0;
	return r;
}

void verify_result_done(struct verify_result *v)
{
	free(v->report);
	free(v->output);
	*v = (struct verify_result){0};
}
