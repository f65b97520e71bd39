#include "loop/loop.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "work/work-state.h"
#include "compose/cred-check.h"
#include "compose/no-sandbox.h"
#include "compose/no-guest.h"
#include "live/live.h"
#include "record/loop-rules.h"
#include "record/loops.h"
#include "record/store.h"
#include "check/preflight.h"
#include "check/selftest.h"
#include "loop/placed/placed-gate.h"
#include "loop/home-line.h"
#include "loop/placed/placed.h"
#include "loop/review/review.h"
#include "loop/fallback/fallback.h"

#define STATE_TRIES 3

extern char **environ;

/* Opens ralph's directory in the workspace. The agent may have planted a symbolic link there:
 * none is followed. */
static int open_dir(int at, const char *name, mode_t mode, int *ret, struct err *err)
{
	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", name);
	*ret = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
	if (*ret < 0)
		return err_sys(err, -*ret,
			       "cannot open '%s', which must be a directory and no link", name);
	return 0;
}

static int open_places(struct loop *l, struct err *err)
{
	int r;

	l->workspace = open(l->q.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->workspace < 0)
		return err_sys(err, errno, "cannot open '%s'", l->q.workspace);
	r = open_dir(l->workspace, WORK_DIR, 0755, &l->dir, err);
	if (r == 0)
		r = work_put_ignore(l->dir, err);
	if (r == 0)
		r = open_dir(l->dir, "logs", 0700, &l->logs, err);
	return r;
}

/* True while the state directory is still the one that this loop holds. */
static bool is_current(const struct loop *l)
{
	cleanup_loop_place struct loop_path now = LOOP_PLACE_INIT;
	struct err ignored;
	struct stat a, b;

	return loops_find(&l->q.places, l->q.workspace, &now, &ignored) == 0 && now.state >= 0 &&
	       fstat(now.state, &a) == 0 && fstat(l->place.state, &b) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int open_state_dir(struct loop *l, struct err *err)
{
	int r;

	loop_path_done(&l->place);
	r = loops_find(&l->q.places, l->q.workspace, &l->place, err);
	if (r == 0 && l->place.state < 0)
		r = open_dir(l->dir, "state", 0700, &l->place.state, err);
	return r;
}

/* Locks the state: from here on no other loop moves it or uses it. */
static int take_state(struct loop *l, struct err *err)
{
	int r = 0;

	for (int i = 0; i < STATE_TRIES; i++) {
		r = open_state_dir(l, err);
		if (r == 0)
			r = control_take(&l->control, l->dir, l->place.state, l->place.apart, err);
		if (r < 0 || is_current(l))
			break;
		control_release(&l->control); /* the state was moved before it was locked */
		r = err_set(err, EBUSY, "the state of the loop is being moved; try again");
	}
	l->state.dir = l->place.state;
	return r;
}

/* An agent that sees the whole workspace must not read or write the loop's state. */
static int set_apart(struct loop *l, struct err *err)
{
	int r;

	l->shared = no_guest_choice(l->config->engine, l->q.direct);
	if (!l->shared || l->place.apart)
		return 0;
	r = loops_set_apart(&l->q.places, l->q.workspace, true, err);
	if (r < 0)
		return r;
	control_release(&l->control);
	return take_state(l, err);
}

struct work_where loop_where(const struct loop *l)
{
	return (struct work_where){l->q.workspace, l->place.state, l->shared, false};
}

/* ---- the request, merged with that of a resumed loop ---- */

static void take_limits(struct loop *l)
{
	const struct config *c = l->config;

	l->limits = (struct loop_limits){
		.iterations = c->loop.max_iterations,
		.micro_usd = c->loop.micro_usd,
		.duration_ms = c->loop.duration_ms,
		.max_stuck = c->loop.max_stuck,
		.max_attempts = c->loop.max_attempts,
	};
	if (l->mode == LOOP_PLAN && streq(config_origin(c, "loop.max_iterations"), "default"))
		l->limits.iterations = 1;
}

static int open_state(struct loop *l, struct err *err)
{
	struct err ignored = {0};
	int r;

	state_init(&l->state, l->place.state);
	r = state_load(&l->state, l->q.mode == LOOP_RESUME ? err : &ignored);
	if (l->q.mode == LOOP_RESUME && r == -ENOENT)
		return err_hint(err, r, "begin one with: ralph build");
	if (r < 0 && r != -ENOENT)
		return l->q.mode == LOOP_RESUME ? r : err_set(err, -r, "%s", ignored.msg);
	return 0;
}

/* Iteration numbers start at 1 again; the logs of the previous loop move to `before`, which
 * holds one generation. */
static int put_logs_by(struct loop *l, struct err *err)
{
	cleanup_fd int before = -1;
	int copy, r = path_remove_tree(l->logs, "before", err);
	struct dirent *e;
	DIR *d;

	if (r == 0)
		r = open_dir(l->logs, "before", 0700, &before, err);
	copy = r < 0 ? -1 : openat(l->logs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		closep(&copy);
		return r;
	}
	while ((e = readdir(d)))
		if (strncmp(e->d_name, "iteration-", 10) == 0 ||
		    strncmp(e->d_name, "verify-", 7) == 0)
			(void)renameat(l->logs, e->d_name, before, e->d_name);
	(void)closedir(d);
	return 0;
}

int loop_begin_anew(struct loop *l, struct err *err)
{
	struct loop_state *s = &l->state;
	int r = put_logs_by(l, err);
	const char *id;
	json_t *t;

	s->iterations = s->micro_usd = s->active_ms = s->waited = 0;
	s->tokens = (struct tokens){0};
	l->fresh = true;
	s->failing = UINT64_MAX;
	s->started = (uint64_t)time(NULL);
	json_decref(s->baseline);
	s->baseline = NULL;
	state_records_clear(s);
	json_decref(s->agents);
	json_decref(s->setup);
	s->agents = s->setup = NULL;
	json_object_foreach (s->tasks, id, t)
		(void)json_object_del(t, "stuck");
	return r < 0 ? r : state_save(s, err);
}

/* Removes the temporary files of a killed loop. */
static void clear_halves(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d) {
		closep(&copy);
		return;
	}
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n > 4 && streq(e->d_name + n - 4, ".tmp"))
			(void)unlinkat(dir, e->d_name, 0);
	}
	(void)closedir(d);
}

/* ---- the agent ---- */

static int find_agent(struct loop *l, struct err *err)
{
	l->agent = agent_find(l->config->agent);
	if (!l->agent) {
		cleanup_free char *names = agent_names();

		return err_usage(err, "there is no agent '%s'; known are %s", l->config->agent,
				 names);
	}
	if (!l->agent->program && l->q.command.n == 0) {
		cleanup_free char *names = agent_names();

		return err_usage(err, "no agent is named; name one of %s, or a command behind '--'",
				 names);
	}
	return 0;
}

/*
 * A loop that was killed leaves its sandbox to itself, which may still import what the agent did. It
 * has the home of an iteration that was cut short; the next start imports the rest.
 */
static int stop_left(struct loop *l, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *left = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	const char *name = l->build.spec->name;
	struct err ignored;

	if (store_open(&l->q.places, name, false, &e, &ignored) < 0 ||
	    store_read_spec(&e, &left, &ignored) < 0 || left->home_of != SPEC_HOME_WORKER)
		return 0;
	store_close(&e);
	return live_stop(&l->q.places, name, 0, err);
}

/* Its loop has just tried a sandbox with the same settings. */
static bool is_tested(const struct loop *l)
{
	return l->q.tested && selftest_passed_by(&l->q.places, l->build.spec, l->q.tested);
}

int loop_preflight(struct loop *l, struct err *err)
{
	cleanup_(preflight_done) struct preflight p = {0};
	struct preflight_input in = {
		.places = &l->q.places,
		.config = l->config,
		.agent = l->agent,
		.environ = environ,
	};
	int r = 0;

	if (l->q.direct)
		return 0;
	r = loop_sandbox_build(l, err);
	if (r == 0)
		r = stop_left(l, err);
	if (r < 0)
		return r;
	in.spec = l->build.spec;
	in.tried = is_tested(l);
	preflight_run(&in, &p);
	for (size_t i = 0; i < p.n; i++) {
		const struct preflight_row *row = &p.rows[i];

		/* Credentials were checked before anything was changed. */
		if (row->ok || row->credential)
			continue;
		show_line(&l->show, STYLE_RED, "%s: %s%s%s", row->what, row->found,
			  row->remedy ? "; " : "", row->remedy ? row->remedy : "");
		r = err_set(err, EIO, "this workspace is not fit for a loop; see: ralph preflight");
	}
	return r;
}

int loop_check_credentials(struct loop *l, struct err *err)
{
	return loop_check_credentials_of(l, l->agent, l->config, err);
}

int loop_check_credentials_of(struct loop *l, const struct agent *a, const struct config *c,
			      struct err *err)
{
	cleanup_(cred_report_done) struct cred_report report = {0};
	int r;

	/* Those of a task from another machine were checked there. */
	if (!a->services[0] || l->q.cred_line)
		return 0;
	r = cred_check(&l->q.places, c, environ, l->root, a, &report, err);
	if (r == 0 && cred_report_ok(&report))
		return 0;
	for (size_t i = 0; r == 0 && i < report.n; i++)
		if (report.v[i].state != CRED_STATE_OK && report.v[i].state != CRED_STATE_OFF)
			r = cred_unusable(report.v[i].service, report.v[i].problem, err);
	return r; /* 0: the user turned credentials off */
}

static int open_work(struct loop *l, struct err *err)
{
	struct work_where at = loop_where(l);
	struct err none = {0};
	int r;

	if (l->mode == LOOP_PLAN) /* this mode makes the list, see round.c */
		return 0;
	r = tree_elsewhere(l, &at.elsewhere, err);
	if (r < 0)
		return r;
	r = work_open(&at, l->q.tasks, &l->work, l->mode == LOOP_ANY ? &none : err);
	if (r == -ENOENT && l->mode == LOOP_ANY && !l->q.tasks)
		return 0; /* no list, only a prompt */
	if (r < 0 && l->mode == LOOP_ANY)
		*err = none;
	return r;
}

/* ---- all of it ---- */

/* The options of a resumed loop apply unless the new request sets them. */
static int take_request(struct loop *l, int fd, struct err *err)
{
	int r = loop_request_read(fd, &l->q, err);

	if (r < 0)
		return r;
	r = open_places(l, err);
	if (r == 0)
		r = take_state(l, err);
	if (r == 0)
		r = open_state(l, err);
	if (r == 0 && l->q.mode == LOOP_RESUME && l->state.request)
		r = loop_request_merge(&l->q, l->state.request, err);
	if (r < 0)
		return r;
	l->mode = l->q.mode == LOOP_RESUME ? l->q.kept_mode : l->q.mode;
	l->config = l->q.config;
	log_setup(l->config->log.level, l->config->log.format);
	l->show = (struct show){.color = l->q.color, .live = isatty(STDERR_FILENO)};
	return set_apart(l, err);
}

/* True when no task can be worked on, nothing of an earlier loop is unfinished and the user has
 * answered nothing since. Then the loop changes nothing at all. */
static bool is_idle(struct loop *l)
{
	const unsigned most = (unsigned)l->limits.max_attempts;

	if (!l->work || l->state.intent.phase != INTENT_NONE ||
	    json_object_size(l->state.workers) > 0 || (l->repo && repo_has_stash(l->repo)) ||
	    answers_wait(l) || (l->state.request && l->state.exit_code < 0))
		return false;
	return l->work->n > 0 && !work_next(l->work, most);
}

/* Those of a worker are its loop's, which holds them. */
static int hold_rules(struct loop *l, struct err *err)
{
	cleanup_free char *key = loops_key(l->q.workspace);

	if (l->q.parent)
		return 0;
	return loop_rules_hold(&l->q.places, key, l->q.mode != LOOP_RESUME, &l->rules_held, err);
}

static void release_rules(struct loop *l)
{
	cleanup_free char *key = l->rules_held < 0 ? NULL : loops_key(l->q.workspace);

	if (key)
		loop_rules_release(&l->q.places, key, l->over, &l->rules_held);
}

int loop_open(struct loop *l, int fd, struct err *err)
{
	int r;

	l->workspace = l->dir = l->logs = l->hold = l->root_fd = l->rules_held = -1;
	l->place = (struct loop_path)LOOP_PLACE_INIT;
	l->control = (struct control)CONTROL_INIT;
	r = take_request(l, fd, err);
	if (r == 0)
		r = find_agent(l, err);
	if (r == 0)
		r = fallback_open(l, err);
	if (r == 0)
		r = ev_new(&l->ev, err);
	if (r == 0)
		r = control_listen(&l->control, l->ev, err);
	if (r == 0)
		r = home_line_open(l, err);
	if (r < 0)
		return r;
	clear_halves(l->place.state);
	if (l->state.started == 0)
		l->state.started = (uint64_t)time(NULL);
	take_limits(l);
	if (l->q.direct)
		show_line(&l->show, STYLE_RED, "%s", direct_warning);
	r = tree_open(l, err);
	if (r == 0)
		r = open_work(l, err);
	l->idle = r == 0 && is_idle(l);
	if (r < 0 || l->idle)
		return r;
	r = l->q.direct ? 0 : loop_check_credentials(l, err);
	if (r == 0)
		r = review_open(l, err);
	if (r == 0)
		r = fallback_check(l, err);
	if (r == 0)
		r = tree_prepare(l, err);
	if (r == 0)
		r = tree_root(l, err);
	if (r == 0)
		r = loops_remember(&l->q.places, l->q.workspace, err);
	if (r == 0)
		r = hold_rules(l, err);
	if (r < 0)
		return r;
	json_decref(l->state.request);
	l->state.request = json_incref(l->q.doc);
	l->state.exit_code = -1;
	l->state.outage = l->state.tries = 0; /* --max-outage holds from each start */
	free(l->state.reason);
	l->state.reason = NULL;
	return state_save(&l->state, err);
}

void loop_close(struct loop *l)
{
	loop_sandbox_stop(l);
	home_line_close(l);
	release_rules(l);
	build_done(&l->build);
	placed_forget_base(l);
	placed_cred_free(l);
	placed_gate_free(l);
	placed_people_free(l);
	fallback_free(l);
	(void)work_free(l->work);
	(void)draft_free(l->draft);
	if (l->repo)
		repo_free(l->repo);
	state_done(&l->state);
	free(l->root);
	free(l->git_name);
	free(l->git_email);
	free(l->tool);
	strv_done(&l->questions);
	strv_done(&l->asks_told);
	free(l->stopped_by);
	json_decref(l->refused);
	json_decref(l->quarantined);
	free(l->transcript);
	control_release(&l->control);
	closep(&l->root_fd);
	closep(&l->logs);
	loop_path_done(&l->place);
	closep(&l->dir);
	closep(&l->workspace);
	if (l->ev)
		ev_free(l->ev);
	loop_request_done(&l->q);
}
