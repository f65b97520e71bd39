#include "compose/build.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/cgroup.h"
#include "engine/engine.h"
#include "compose/git-user.h"
#include "workspace/gitdir.h"
#include "workspace/nested.h"
#include "compose/resource-limits.h"
#include "record/home.h"
#include "record/name.h"
#include "compose/packages.h"
#include "record/store.h"
#include "compose/tools.h"
#include "compose/workspace-path.h"

#define ROOT_SHOWN_AS 1000 /* uid and gid inside when ralph runs as root */
#define REVIEW_DIR_SIZE (64 * KiB)

static int find_workspace(const struct build_input *in, struct workspace *ret, struct err *err)
{
	const struct places *p = in->places;
	const char *own[] = {p->state, p->config, p->runtime, NULL};
	const struct workspace_input wi = {.path = in->path, .home = p->home, .state = own};

	return workspace_resolve(&wi, ret, err);
}

static int choose_name(const struct build_input *in, const struct workspace *w,
		       const struct gitdir *g, char **ret, struct err *err)
{
	cleanup_free char *plain = NULL, *owner = NULL, *branch = NULL;

	if (in->name) {
		if (!name_valid(in->name))
			return err_usage(
				err,
				"'%s' is no sandbox name: use 1 to %d of a-z, 0-9 and '-', "
				"beginning and ending with a letter or digit",
				in->name, NAME_LEN_MAX);
		*ret = xstrdup(in->name);
		return 0;
	}
	if (in->review)
		branch = xasprintf("%s-review", g->branch ? g->branch : path_base(w->path));
	else if (in->clone && g->branch)
		branch = xasprintf("%s-clone", g->branch);
	else if (g->branch)
		branch = xstrdup(g->branch);
	plain = name_make(in->config->agent, branch, path_base(w->path), w->identity, false);
	owner = store_owner(in->places, plain);
	if (!owner || streq(owner, w->path))
		*ret = take_ptr(plain);
	else
		*ret = name_make(in->config->agent, branch, path_base(w->path), w->identity, true);
	return 0;
}

/* A missing --clone must not give the workspace itself to a sandbox that works in a clone. */
static int check_clone(const struct build_input *in, const struct sandbox_spec *s, struct err *err)
{
	cleanup_free char *clone = store_clone(in->places, s->name);
	struct stat st;

	if (!in->clone && lstat(clone, &st) == 0)
		return err_usage(err, "sandbox '%s' works in a clone; use --clone, or another name",
				 s->name);
	return 0;
}

/* A name the user chose may be another workspace's already. */
static int check_owner(const struct build_input *in, const struct sandbox_spec *s, struct err *err)
{
	cleanup_free char *owner = store_owner(in->places, s->name);

	if (owner && !streq(owner, s->workspace))
		return err_usage(err, "sandbox '%s' belongs to '%s'; choose another name", s->name,
				 owner);
	return owner ? check_clone(in, s, err) : 0;
}

static int set_identity(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	const char *engine = engine_no_sandbox();
	int r = in->direct ? 0 : engine_find(in->config->engine, &engine, err);

	if (r < 0)
		return r;
	s->engine = xstrdup(engine);
	s->agent = xstrdup(in->config->agent);
	s->inbox = places_inbox(in->places, in->config->inbox.dir);
	s->inbox_every_ms = in->config->inbox.every_ms;
	s->keepalive_ms = in->config->network.keepalive_ms;
	s->home = xstrdup(in->places->home);
	s->hostname = xstrdup(s->name);
	s->uid = geteuid() == 0 ? ROOT_SHOWN_AS : geteuid();
	s->gid = geteuid() == 0 ? ROOT_SHOWN_AS : getegid();
	/* Which kernel it is, is a part of the spec. */
	if (engine_has(engine, ENGINE_OWN_KERNEL) || engine_has(engine, ENGINE_MACHINE))
		return engine_ask(s, err);
	return engine_has(engine, ENGINE_IMAGE) ? build_container(s, in, err) : 0;
}

/* A cgroup bounds the sandbox as a whole: ralph's own, or the container's. */
static int find_support(const struct sandbox_spec *s, const struct cgroup_source *src,
			struct cgroup_support *ret, struct err *err)
{
	if (!s->container.image)
		return cgroup_probe(src, ret, err);
	*ret = (struct cgroup_support){.controllers = s->limits.controllers};
	return 0;
}

static int set_limits(struct sandbox_spec *s, const struct config *c, struct err *err)
{
	cleanup_(cgroup_support_done) struct cgroup_support support = {0};
	cleanup_(cgroup_source_done) struct cgroup_source src = {0};
	struct limits_facts facts;
	int r = cgroup_source_read(&src, err);

	if (r == 0)
		r = limits_facts_read(&src, &facts, err);
	if (r == 0)
		r = find_support(s, &src, &support, err);
	if (r == 0)
		r = limits_decide(c, &facts, &support, &s->limits, err);
	if (r < 0)
		return r;
	s->budget = (struct spec_budget){c->budget.micro_usd, c->budget.tokens};
	strv_extend(&s->prices, &c->prices);
	s->limits.controllers = support.controllers;
	cgroup_support_to_spec(&support, &s->limits);
	if (s->container.image && support.controllers) {
		free(s->limits.method);
		s->limits.method = xasprintf("the container's cgroup, by %s", s->engine);
	}
	if (engine_has(s->engine, ENGINE_MACHINE)) {
		support.controllers |= CGROUP_MEMORY | CGROUP_PIDS;
		s->limits.controllers = support.controllers;
		free(s->limits.method);
		s->limits.method = xstrdup("the machine's memory, and a cgroup in it");
	}
	s->limits.n_rlimits =
		limits_rlimits(&s->limits, &facts, support.controllers, s->limits.rlimits);
	return 0;
}

static void add_tools(struct sandbox_spec *s, const struct tools *t)
{
	for (size_t i = 0; i < t->n_binds; i++)
		(void)spec_mount_add(s, SPEC_BIND_RO, t->binds[i].path, t->binds[i].path,
				     t->binds[i].reason);
	for (size_t i = 0; i < t->n_links; i++)
		(void)spec_mount_add(
			s, path_under(t->links[i].path, s->home) ? SPEC_HOME_LINK : SPEC_SYMLINK,
			t->links[i].text, t->links[i].path, t->links[i].reason);
}

int build_mounts(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	for (size_t i = 0; i < in->config->n_mounts; i++) {
		const struct config_mount *m = &in->config->mounts[i];
		cleanup_free char *real = NULL;
		int r = path_real(m->path, &real, err);

		if (r == -ENOENT || r == -ENOTDIR)
			r = err_usage(err, "'%s' does not exist; make it, or take it out", m->path);
		if (r < 0)
			return err_wrap(err, r, "%s: mounts",
					config_item_origin(in->config, "mounts", i));
		/* A sandbox that writes there could widen every sandbox. */
		if (m->writable &&
		    (path_under(in->places->state, real) || path_under(real, in->places->state) ||
		     path_under(in->places->config, real) || path_under(real, in->places->config)))
			return err_usage(err,
					 "%s: mounts: '%s' holds ralph's own state or "
					 "configuration, which a sandbox must not write",
					 config_item_origin(in->config, "mounts", i), m->path);
		spec_mount_add(s, m->writable ? SPEC_BIND_RW : SPEC_BIND_RO, real,
			       m->target ? m->target : m->path,
			       tools_is_private(real, in->places->home)
				       ? "asked for by you: such places hold credentials"
				       : "asked for by you")
			->asked = true;
		if (m->writable)
			r = build_guard(s, in, NULL, real, m->target ? m->target : m->path, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static const char *const home_reasons[] = {
	[SPEC_HOME_PROJECT] = "the project's home, of all its sandboxes",
	[SPEC_HOME_WORKER] = "the worker's own home",
	[SPEC_HOME_ONCE] = "a home of its own, gone with it",
};

static char *host_home(const struct sandbox_spec *s, const struct build_input *in)
{
	cleanup_free char *record = store_record(in->places, s->name);

	return home_mounted(in->places, record, s);
}

/* What the author of a change wrote is not there to be read as instructions. */
static int build_review(struct sandbox_spec *s)
{
	struct spec_mount *m = spec_mount_add(s, SPEC_TMPFS, NULL, s->workspace,
					      "empty: a reviewer is given the change");

	m->size = REVIEW_DIR_SIZE;
	m->mode = 0555;
	(void)spec_mount_add(s, SPEC_RO, NULL, s->workspace, "a reviewer writes nothing here");
	return 0;
}

/* add_mounts() makes mounts from these, besides the request. */
struct found {
	const struct agent *agent;
	const struct tools *tools;
	const struct gitdir *git;
};

/* Without a network there is no gateway that an agent could ask. */
static void add_ask(struct sandbox_spec *s, const struct places *p)
{
	cleanup_free char *ask = places_program(p, "ralph-ask");

	if (s->net.tier == POLICY_NONE)
		return;
	(void)spec_mount_add(s, SPEC_BIND_RO, ask, ASK_INSIDE,
			     "the program by which the agent asks you");
	spec_env_set(s, ASK_ENV, ASK_INSIDE, SPEC_SET, "ralph");
}

static int add_mounts(struct sandbox_spec *s, const struct build_input *in, const struct found *f,
		      char **notice, struct err *err)
{
	cleanup_free char *home = host_home(s, in);
	cleanup_free char *guest = places_program(in->places, "guest");
	int r;

	build_root(s);
	(void)spec_mount_add(s, SPEC_BIND_RO, guest, "/run/ralph/guest", "ralph's own pid 1");
	(void)spec_mount_add(s, SPEC_BIND_RW, home, s->home,
			     s->checks ? "a home that no agent wrote" : home_reasons[s->home_of]);
	/* A home of its own is all the memory that the agent has. */
	if (s->container.image && s->home_of == SPEC_HOME_PROJECT) {
		build_volume(s, in, f->agent);
		for (size_t i = 0; build_agent_at(s, i); i++)
			build_volume(s, in, build_agent_at(s, i));
	}
	add_tools(s, f->tools);
	r = in->review	? build_review(s)
	    : in->clone ? build_clone(s, in, f->git, err)
			: build_workspace(s, in, f->git, err);
	if (r == 0)
		r = build_mounts(s, in, err);
	if (r == 0 && !in->review)
		nested_mount(s, in->places);
	git_user(s, in, f->git);
	build_watch_path(s, getenv("PATH"));
	if (r == 0)
		r = build_cred(s, in, f->agent, notice, err);
	if (r == 0)
		r = build_net(s, in, err);
	if (r == 0 && in->asks)
		add_ask(s, in->places);
	build_browsers(s, in->places);
	if (r == 0)
		r = build_agent_check(s, in, f->agent, f->tools, err);
	if (r == 0)
		r = build_agent(s, in, f->agent, err);
	(void)spec_mount_add(s, SPEC_RO, NULL, "/", "nothing else can be written");
	return r;
}

static char *start_dir(const char *workspace)
{
	cleanup_free char *cwd = getcwd(NULL, 0);

	return cwd && path_under(cwd, workspace) ? take_ptr(cwd) : xstrdup(workspace);
}

static void shown_by_user(const struct config *c, struct strv *ret)
{
	for (size_t i = 0; i < c->n_mounts; i++)
		if (!c->mounts[i].target || streq(c->mounts[i].target, c->mounts[i].path))
			strv_push(ret, c->mounts[i].path);
}

/* The host's programs that the command needs, and what PATH is inside. */
static int find_tools(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
		      const struct build *b, bool home_programs, struct tools *ret, struct err *err)
{
	cleanup_free char *host_path = build_search_path(s, a, in->places->home);
	cleanup_free char *home = host_home(s, in);
	cleanup_strv struct strv shown = {0}, more = {0};
	const struct tools_input ti = {
		.argv0 = in->argv0,
		.path = host_path,
		.home = in->places->home,
		.workspace = s->workspace,
		.cwd = b->cwd,
		.shown = &shown,
		.more = &more,
		.home_programs = home_programs,
	};
	int r;

	shown_by_user(in->config, &shown);
	build_programs(s, &more);
	r = tools_resolve(&ti, ret, err);
	return r < 0 ? r : packages_check(in->config, ret, s->home, home, err);
}

static int fill(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		struct build *ret, struct err *err)
{
	cleanup_(tools_done) struct tools tools = {0};
	cleanup_free char *path = NULL;
	const struct agent *a;
	bool home_programs;
	int r = set_identity(s, in, err);

	if (r == 0)
		r = check_owner(in, s, err);
	if (r == 0 && !no_guest(s))
		r = set_limits(s, in->config, err);
	if (r == 0)
		r = build_agent_find(in, &a, err);
	if (r < 0)
		return r;
	if (in->begun)
		in->begun(in->arg, in->places, s);
	s->home_of = in->home_of;
	s->checks = in->checks;
	s->loop = in->loop ? xstrdup(in->loop) : NULL;
	if (no_guest(s)) {
		ret->argv0 = in->argv0 ? xstrdup(in->argv0) : NULL;
		return build_no_guest(s, in, git, a, &ret->notice, err);
	}
	s->project = xstrdup(git->common ? git->common : s->workspace);
	s->home_key = home_key(s->project, s->instance);
	home_programs = build_agents(s, in, &ret->notice);
	/* An image has its own programs. */
	r = s->container.image ? 0 : find_tools(s, in, a, ret, home_programs, &tools, err);
	if (r < 0)
		return r;
	path = s->container.image ? build_image_path(s) : tools_path_text(&tools);
	r = build_env(s, in, path, err);
	if (r == 0)
		r = add_mounts(s, in, &(struct found){a, &tools, git}, &ret->notice, err);
	if (r < 0)
		return r;
	ret->argv0 = tools.argv0		       ? xstrdup(tools.argv0)
		     : s->container.image && in->argv0 ? xstrdup(in->argv0)
						       : NULL;
	return 0;
}

/* Finds workspace, branch and instance of the sandbox. The name needs a configuration, which says
 * the agent; without one it is left out. */
static int identify(const struct build_input *in, struct sandbox_spec *s, struct workspace *w,
		    struct gitdir *g, struct err *err)
{
	char key[GITDIR_KEY_LEN + 1];
	int r = find_workspace(in, w, err);

	if (r == 0)
		r = gitdir_find(w->path, in->places->home, g, err);
	if (r == 0 && in->config)
		r = choose_name(in, w, g, &s->name, err);
	if (r < 0)
		return r;
	gitdir_key(g, w->path, key);
	s->instance = xstrdup(key);
	s->workspace = xstrdup(w->path);
	s->branch = g->branch ? xstrdup(g->branch) : NULL;
	return 0;
}

int build_identity(const struct build_input *in, struct sandbox_spec *s, struct err *err)
{
	cleanup_(workspace_done) struct workspace w = {0};
	cleanup_(gitdir_done) struct gitdir g = {0};

	return identify(in, s, &w, &g, err);
}

int build_spec(const struct build_input *in, struct build *ret, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	cleanup_(workspace_done) struct workspace w = {0};
	cleanup_(gitdir_done) struct gitdir g = {0};
	int r = identify(in, s, &w, &g, err);

	*ret = (struct build){0};
	if (r < 0)
		return r;
	ret->cwd = start_dir(s->workspace);
	r = fill(s, in, &g, ret, err);
	if (r == 0)
		r = spec_check(s, err);
	if (r < 0) {
		build_done(ret);
		return r;
	}
	if (!w.writable)
		build_notice(&ret->notice, "you may not write to '%s'; neither may the sandbox",
			     w.path);
	else if (g.note)
		build_notice(&ret->notice, "%s", g.note);
	ret->spec = take_ptr(s);
	return 0;
}

void build_notice(char **notice, const char *fmt, ...)
{
	cleanup_free char *old = *notice, *text;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	*notice = old ? xasprintf("%s; %s", old, text) : xstrdup(text);
}

void build_done(struct build *b)
{
	b->spec = spec_free(b->spec);
	free(b->argv0);
	free(b->cwd);
	free(b->notice);
	*b = (struct build){0};
}

int build_print_plan(const struct sandbox_spec *spec, FILE *out, struct err *err)
{
	cleanup_(engine_freep) struct engine *e = NULL;
	int r = engine_new(spec->engine, &e, err);

	if (r == 0)
		r = engine_plan(e, spec, err);
	if (r == 0)
		engine_dump(e, out);
	return r;
}
