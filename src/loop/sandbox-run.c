#include "loop/loop.h"
#include "loop/tree/may-change.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "hook/hook-settings.h"
#include "loop/loop-usage.h"
#include "loop/prepare/prepare.h"
#include "compose/no-sandbox.h"
#include "live/home-keep.h"
#include "live/live.h"
#include "record/loops.h"
#include "record/store.h"
#include "check/selftest.h"

#define HOOKS_MAX (64 * KiB)

extern char **environ;

/* type 0: anything but a link. */
static bool is_in_tree(const struct loop *l, const char *rel, mode_t type)
{
	cleanup_fd int fd =
		path_open_beneath(l->root_fd >= 0 ? l->root_fd : l->workspace, rel, O_PATH, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (!type || (st.st_mode & S_IFMT) == type);
}

/* Masks the loop's state: the agent must not read it. */
static void hide_state(struct loop *l)
{
	cleanup_free char *state = path_join(l->root, WORK_STATE_DIR);
	cleanup_free char *active = path_join(l->root, WORK_DIR "/active");
	struct spec_mount *m;

	if (is_in_tree(l, WORK_STATE_DIR, S_IFDIR)) {
		m = spec_mount_add(l->build.spec, SPEC_MASK, NULL, state, "the loop's own memory");
		m->mode = S_IFDIR;
		m->of_tree = true;
	}
	if (is_in_tree(l, WORK_DIR "/active", 0))
		(void)spec_mount_add(l->build.spec, SPEC_HIDE, NULL, active,
				     "the loop's own memory");
}

/* Builds the agent's hooks, which call ralph while it works, for an agent with managed settings. */
static int make_hooks(const struct loop *l, json_t **ret, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, HOOKS_MAX);
	/* Without a sandbox the command line sets up the hooks; an engine without a guest has no
	 * ralph inside. */
	if (!l->agent->managed.path || l->shared)
		return 0;
	r = hook_settings(&b, HOOK_SET_INSIDE, HOOK_INSIDE);
	if (r < 0)
		return err_sys(err, -r, "cannot make the agent's hooks");
	return json_parse(buf_str(&b), b.len, ret, err);
}

static int build(struct loop *l, bool checks, struct err *err)
{
	cleanup_json json_t *hooks = NULL;
	cleanup_strv struct strv own = {0}, may = {0};
	cleanup_free char *key = loops_key(l->q.parent ? l->q.parent : l->q.workspace);
	struct build_input in = {
		.places = &l->q.places,
		.config = l->config,
		.path = l->root,
		.name = l->q.sandbox,
		.environ = environ,
		.agents_own = &own,
		.may_change = &may,
		.run_agent = l->agent->program != NULL,
		.direct = l->q.direct,
		.home_of = SPEC_HOME_WORKER,
		.checks = checks,
		.asks = !checks && !l->shared && !l->q.direct,
		.loop = key,
		.credentials = l->q.credentials,
		.cred_line = l->q.cred_line,
		.make_image = true,
		.argv0 = l->agent->program ? l->agent->program
			 : l->q.command.n  ? l->q.command.v[0]
					   : NULL,
	};
	int r = make_hooks(l, &hooks, err);

	if (r < 0)
		return r;
	in.hooks = hooks;
	loop_may_change(l, NULL, &may);
	if (l->work)
		work_agents_own(l->work, &own);
	if (l->draft)
		draft_agents_own(l->draft, &own);
	build_done(&l->build);
	l->build = (struct build){0};
	r = build_spec(&in, &l->build, err);
	if (r == 0 && !l->shared)
		hide_state(l);
	return r;
}

int loop_sandbox_build(struct loop *l, struct err *err)
{
	return build(l, false, err);
}

/*
 * The sandbox's budget is its spending so far plus the allowance of this iteration. The gateway
 * enforces it for every agent whose traffic it counts; most agents have no limit of their own. The
 * remainder of the loop's limit applies as well.
 */
static void limit_spending(struct loop *l)
{
	struct spec_budget *b = &l->build.spec->budget;
	uint64_t limit = l->limits.micro_usd, left = 0;
	struct loop_usage m;

	if (limit)
		left = limit > l->state.micro_usd ? limit - l->state.micro_usd : 1;
	l->allowance = l->config->loop.iteration_micro_usd;
	if (left && (!l->allowance || left < l->allowance))
		l->allowance = left;
	if (!l->allowance || l->q.direct)
		return;
	loop_usage_read(&l->q.places, l->build.spec->name, &m);
	if (!b->micro_usd || m.micro_usd + l->allowance < b->micro_usd)
		b->micro_usd = m.micro_usd + l->allowance;
}

/* Nothing that an earlier session left in the home reaches a new loop. */
static int empty_home(struct loop *l, struct err *err)
{
	int r = l->fresh && !l->q.direct ? home_empty(&l->q.places, l->build.spec->name, err) : 0;

	if (r == 0)
		l->fresh = false;
	return r;
}

/* Starts the sandbox that was built. */
static int start(struct loop *l, struct err *err)
{
	int r;

	limit_spending(l);
	r = live_start_up(&l->q.places, l->build.spec, 0, &l->hold, err);
	/* A worker's sandbox is that of its loop with another tree. */
	if (r == 0 &&
	    !(l->q.tested && selftest_passed_by(&l->q.places, l->build.spec, l->q.tested)))
		r = selftest_first_use(&l->q.places, l->build.spec, SELFTEST_OF_SANDBOX, l->hold,
				       err);
	if (r < 0)
		closep(&l->hold);
	return r;
}

int loop_sandbox_start(struct loop *l, struct err *err)
{
	int r = loop_sandbox_build(l, err);

	if (r == 0)
		r = empty_home(l, err);
	if (r == 0 && !l->shared)
		r = prepare_home(l, err);
	if (r == 0)
		r = start(l, err);
	if (r < 0 || !l->shared)
		return r;
	r = prepare_in_place(l, err);
	if (r < 0)
		loop_sandbox_stop(l);
	return r;
}

int loop_sandbox_start_checks(struct loop *l, struct err *err)
{
	int r = build(l, true, err);

	return r < 0 ? r : start(l, err);
}

void loop_sandbox_stop(struct loop *l)
{
	struct err err = {0};

	if (l->hold < 0)
		return;
	/* The commands have ended, so the remaining processes get no grace time. */
	if (live_stop(&l->q.places, l->build.spec->name, 0, &err) < 0)
		log_warn("loop", "%s", err.msg);
	closep(&l->hold);
}

void loop_sandbox_keep(struct loop *l)
{
	cleanup_free char *record = NULL;
	struct err err = {0};

	if (!l->build.spec || l->q.direct)
		return;
	loop_sandbox_stop(l);
	record = store_record(&l->q.places, l->build.spec->name);
	if (home_keep(&l->q.places, record, l->build.spec, &err) < 0)
		log_warn("loop", "%s", err.msg);
}

/* Passes the limit to an agent that has an option for it. */
static void push_budget(const struct loop *l, struct strv *ret)
{
	uint64_t usd = l->config->loop.iteration_micro_usd;

	if (!l->agent->budget || usd == 0)
		return;
	strv_push(ret, l->agent->budget);
	strv_pushf(ret, "%llu.%06llu", (unsigned long long)(usd / 1000000),
		   (unsigned long long)(usd % 1000000));
}

/* All agents that are programs have this option. */
static void push_model(const struct loop *l, struct strv *ret)
{
	const char *model = l->config->loop.model;

	if (!model || !*model)
		return;
	strv_push(ret, "--model");
	strv_push(ret, model);
}

/* False: the agent is one of --fallback. */
static bool is_own_agent(const struct loop *l)
{
	return l->config == l->q.config;
}

int loop_sandbox_agent_argv(const struct loop *l, struct strv *ret, struct err *err)
{
	const struct agent *a = l->agent;
	cleanup_strv struct strv own = {0};
	int r = 0;

	if (l->build.argv0)
		strv_push(ret, l->build.argv0);
	for (size_t i = 0; a->program && a->headless[i]; i++)
		strv_push(ret, a->headless[i]);
	if (a->program) {
		push_budget(l, ret);
		push_model(l, ret);
		if (a->mcp && l->build.spec && spec_env_find(l->build.spec, ASK_ENV))
			strv_push(ret, a->mcp);
	}
	/* The user's arguments are for the agent that the user named. */
	for (size_t i = a->program ? 0 : 1; i < l->q.command.n && is_own_agent(l); i++)
		strv_push(&own, l->q.command.v[i]);
	if (l->q.direct)
		r = no_sandbox_wire(&l->q.places, a->program ? a : NULL, l->root, &own, ret, err);
	strv_extend(ret, &own);
	return r;
}

void loop_sandbox_host_env(struct strv *ret)
{
	for (char **e = environ; *e; e++)
		strv_push(ret, *e);
}

void loop_sandbox_agent_env(const struct loop *l, struct strv *ret)
{
	cleanup_free char *token = hook_loop_token((uint64_t)getpid(), loops_start_time(getpid()));

	if (l->q.direct)
		loop_sandbox_host_env(ret);
	/* Hooks recognise an agent of a loop by this variable. */
	strv_pushf(ret, HOOK_LOOP_ENV "=%s", token);
	strv_pushf(ret, "RALPH_ITERATION=%llu", (unsigned long long)l->state.iterations);
	if (l->task)
		strv_pushf(ret, "RALPH_TASK=%s", l->task->id);
	if (l->git_name) {
		strv_pushf(ret, "GIT_AUTHOR_NAME=%s", l->git_name);
		strv_pushf(ret, "GIT_COMMITTER_NAME=%s", l->git_name);
		strv_pushf(ret, "GIT_AUTHOR_EMAIL=%s", l->git_email);
		strv_pushf(ret, "GIT_COMMITTER_EMAIL=%s", l->git_email);
	}
}
