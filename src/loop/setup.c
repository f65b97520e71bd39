#include "loop/loop.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "sandbox/cred-check.h"
#include "sandbox/gitdir.h"
#include "sandbox/loops.h"

#define EXIT_CREDENTIAL LOOP_CREDENTIAL
#define DIRTY_SHOWN 5

extern char **environ;

/* A directory of ours in the workspace, where an agent may have put anything: no link. */
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
		r = open_dir(l->dir, "state", 0700, &l->state_dir, err);
	if (r == 0)
		r = open_dir(l->dir, "logs", 0700, &l->logs, err);
	return r;
}

/* ---- what was asked for, or what the loop that goes on was asked for ---- */

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

	state_init(&l->state, l->state_dir);
	r = state_load(&l->state, l->q.mode == LOOP_RESUME ? err : &ignored);
	if (l->q.mode == LOOP_RESUME && r == -ENOENT)
		return err_hint(err, r, "begin one with: ralph build");
	if (r < 0 && r != -ENOENT)
		return l->q.mode == LOOP_RESUME ? r : err_set(err, -r, "%s", ignored.msg);
	return 0;
}

/* Counters begin anew; what the killed one was about to do stays to be finished. */
static void begin_anew(struct loop *l)
{
	struct loop_state *s = &l->state;

	s->iterations = s->micro_usd = s->active_ms = 0;
	s->tokens = (struct tokens){0};
	s->failing = UINT64_MAX;
	s->started = (uint64_t)time(NULL);
	json_decref(s->baseline);
	s->baseline = NULL;
	(void)json_array_clear(s->records);
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
	if (!l->agent->program && l->q.command.n == 0)
		return err_usage(err,
				 "the agent is a command: name one behind '--', or an agent with "
				 "--agent");
	return 0;
}

int loop_check_credentials(struct loop *l, struct err *err)
{
	cleanup_(cred_report_done) struct cred_report report = {0};
	int r;

	if (!l->agent->services[0])
		return 0;
	r = cred_check(&l->q.places, l->config, environ, l->agent, &report, err);
	if (r == 0 && cred_report_ok(&report))
		return 0;
	for (size_t i = 0; r == 0 && i < report.n; i++)
		if (report.v[i].state != CRED_STATE_OK && report.v[i].state != CRED_STATE_OFF)
			r = err_set(err, EACCES, "%s: %s", report.v[i].service,
				    report.v[i].problem ? report.v[i].problem
							: "there is no credential");
	if (r == 0)
		return 0; /* the user wants none */
	err->exit_code = EXIT_CREDENTIAL;
	return err_hint(err, r, "see: ralph check-token");
}

/* ---- the repository ---- */

static int refuse_dirty(struct loop *l, struct err *err)
{
	cleanup_strv struct strv dirty = {0}, own = {0};
	size_t n = 0;
	int r = repo_dirty(l->repo, &dirty, err);

	if (r < 0)
		return r;
	if (l->work)
		work_own_paths(l->work, &own);
	for (size_t i = 0; i < dirty.n; i++) {
		const char *path = strlen(dirty.v[i]) > 2 ? strchr(dirty.v[i] + 1, ' ') : NULL;

		if (path && strv_has(&own, path + 1))
			continue;
		if (n++ < DIRTY_SHOWN)
			log_error("loop", "not committed: %s", dirty.v[i]);
	}
	if (n == 0)
		return 0;
	if (l->q.stash)
		return repo_stash(l->repo, err);
	return err_usage(err,
			 "%zu files of the workspace are not as they were committed; commit them, "
			 "or use --stash",
			 n);
}

static char *branch_name(const struct loop *l)
{
	if (l->q.branch)
		return xstrdup(l->q.branch);
	if (l->state.branch)
		return xstrdup(l->state.branch);
	if (!l->work)
		return NULL;
	if (l->work->branch)
		return xstrdup(l->work->branch);
	if (l->work->project || l->work->description)
		return repo_slug(l->work->project ? l->work->project : l->work->description);
	return NULL;
}

static int take_branch(struct loop *l, struct err *err)
{
	cleanup_free char *branch = branch_name(l), *now = NULL;
	bool made = false;
	int r = repo_head(l->repo, NULL, &now, err);

	if (r < 0 || !branch || l->mode == LOOP_PLAN)
		return r;
	if (!l->state.home_branch && now)
		l->state.home_branch = xstrdup(now);
	free(l->state.branch);
	l->state.branch = xstrdup(branch);
	if (!l->q.worktree && !l->state.worktree) {
		if (now && streq(now, branch))
			return 0;
		r = repo_branch(l->repo, branch, l->work ? l->work->base : NULL, &made, err);
		if (r == 0)
			show_line(&l->show, STYLE_NONE, "branch %s%s", branch, made ? ", new" : "");
		return r;
	}
	r = repo_worktree_add(l->repo, branch, l->work ? l->work->base : NULL, &l->root, err);
	if (r < 0)
		return r;
	free(l->state.worktree);
	l->state.worktree = xstrdup(l->root);
	return 0;
}

/* Everything from here on is done to the tree that the agent works in. */
static int open_root(struct loop *l, struct err *err)
{
	cleanup_free char *state = path_join(l->q.workspace, WORK_STATE_DIR);
	int r = 0;

	if (!l->root) {
		l->root = xstrdup(l->q.workspace);
		l->root_fd = -1;
		return 0;
	}
	l->root_fd = open(l->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->root_fd < 0)
		return err_sys(err, errno, "cannot open '%s'", l->root);
	repo_free(l->repo);
	l->repo = NULL;
	r = repo_open(l->root, state, &l->repo, err);
	if (r == 0)
		r = repo_view_use(l->repo, l->state.view, err);
	show_line(&l->show, STYLE_NONE, "worktree %s", l->root);
	return r;
}

static int open_repo(struct loop *l, struct err *err)
{
	cleanup_free char *state = path_join(l->q.workspace, WORK_STATE_DIR), *said = NULL;
	int r = repo_open(l->q.workspace, state, &l->repo, err);

	if (r == -ENOENT) {
		show_line(&l->show, STYLE_YELLOW,
			  "no repository here: nothing can be committed or put back");
		return 0;
	}
	if (r == 0)
		r = repo_recover(l->repo, &said, err);
	if (said)
		show_line(&l->show, STYLE_YELLOW, "%s", said);
	/* Taken once, before the first agent runs. */
	if (r == 0 && !l->state.view)
		r = repo_view_take(l->repo, &l->state.view, err);
	if (r == 0)
		r = repo_view_use(l->repo, l->state.view, err);
	if (r == 0)
		r = repo_identity(l->repo, &l->git_name, &l->git_email, err);
	return r;
}

static int prepare_repo(struct loop *l, struct err *err)
{
	int r = 0;

	if (!l->repo)
		return 0;
	/* A loop that goes on finds its agent's unfinished work. */
	if (l->q.mode != LOOP_RESUME && l->mode != LOOP_PLAN &&
	    l->state.intent.phase == INTENT_NONE)
		r = refuse_dirty(l, err);
	if (r == 0)
		r = take_branch(l, err);
	return r;
}

static int open_work(struct loop *l, struct err *err)
{
	struct err none = {0};
	int r;

	if (l->mode == LOOP_PLAN) /* the list is what is planned, see round.c */
		return 0;
	r = work_open(l->q.workspace, l->q.tasks, &l->work, l->mode == LOOP_ANY ? &none : err);
	if (r == -ENOENT && l->mode == LOOP_ANY && !l->q.tasks)
		return 0; /* the prompt is all there is */
	if (r < 0 && l->mode == LOOP_ANY)
		*err = none;
	return r;
}

/* ---- all of it ---- */

static int remember(struct loop *l, struct err *err)
{
	char key[GITDIR_KEY_LEN + 1];
	struct gitdir g = {0};
	int r = gitdir_find(l->q.workspace, l->q.places.home, &g, err);

	if (r < 0)
		return r;
	gitdir_key(&g, l->q.workspace, key);
	gitdir_done(&g);
	return loops_remember(&l->q.places, key, l->q.workspace, err);
}

/* What a resumed loop was started with holds, where nothing else is said now. */
static int take_request(struct loop *l, int fd, struct err *err)
{
	int r = loop_request_read(fd, &l->q, err);

	if (r < 0)
		return r;
	r = open_places(l, err);
	if (r == 0)
		r = control_take(&l->control, l->dir, l->state_dir, err);
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
	return 0;
}

int loop_open(struct loop *l, int fd, struct err *err)
{
	int r;

	l->workspace = l->dir = l->logs = l->state_dir = l->hold = l->root_fd = -1;
	l->control = (struct control)CONTROL_INIT;
	r = take_request(l, fd, err);
	if (r == 0)
		r = find_agent(l, err);
	if (r == 0)
		r = ev_new(&l->ev, err);
	if (r == 0)
		r = control_listen(&l->control, l->ev, err);
	if (r < 0)
		return r;
	if (l->q.mode != LOOP_RESUME)
		begin_anew(l);
	take_limits(l);
	r = loop_check_credentials(l, err);
	if (r == 0)
		r = open_repo(l, err);
	if (r == 0)
		r = open_work(l, err);
	if (r == 0)
		r = prepare_repo(l, err);
	if (r == 0)
		r = open_root(l, err);
	if (r == 0)
		r = remember(l, err);
	if (r < 0)
		return r;
	json_decref(l->state.request);
	l->state.request = json_incref(l->q.doc);
	l->state.exit_code = -1;
	free(l->state.reason);
	l->state.reason = NULL;
	return state_save(&l->state, err);
}

void loop_close(struct loop *l)
{
	box_stop(l);
	build_done(&l->build);
	(void)work_free(l->work);
	(void)draft_free(l->draft);
	if (l->repo)
		repo_free(l->repo);
	state_done(&l->state);
	free(l->root);
	free(l->git_name);
	free(l->git_email);
	free(l->tool);
	control_release(&l->control);
	closep(&l->root_fd);
	closep(&l->logs);
	closep(&l->state_dir);
	closep(&l->dir);
	closep(&l->workspace);
	if (l->ev)
		ev_free(l->ev);
	loop_request_done(&l->q);
}
