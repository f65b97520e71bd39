/*
 * The spec of a sandbox without a guest: what is inside comes from elsewhere (an image, a machine
 * of its own) or, with no sandbox at all, is the host itself. So there is no root to be made of the
 * host's files, and no tools to look for: the workspace, the agent's settings, the credentials and
 * the network's rules.
 */
#include "compose/build.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "compose/git-user.h"
#include "engine/engine.h"
#include "policy/refused-env.h"
#include "workspace/gitdir.h"
#include "workspace/restore.h"

/* Below those that the system gives to connections by itself, above those of services. */
#define PORT_FIRST 10240
#define PORT_COUNT 22016

/*
 * Always the same for a sandbox: what its network policy allows outlives a start, and must never
 * lead to another program that got the number meanwhile. FNV-1a: no attacker chooses among these.
 */
static uint16_t port_of(const struct places *p, const char *name)
{
	cleanup_free char *home = xasprintf("%s/%s", p->state, name);
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *c = home; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x100000001b3u;
	return (uint16_t)(PORT_FIRST + h % PORT_COUNT);
}

static bool has_way(const struct sandbox_spec *s, enum spec_way way)
{
	for (size_t i = 0; i < s->n_credentials; i++)
		if (s->credentials[i].way == way)
			return true;
	return false;
}

static bool is_shown(enum spec_mount_kind k)
{
	return k == SPEC_BIND_RO || k == SPEC_BIND_RW || k == SPEC_HOME_FILE || k == SPEC_HOME_SEED;
}

/* A loop writes these entries of .ralph while a sandbox runs. */
static const char *const loops_own[] = {"agent", "logs", "active", "summary.json"};

static void add_loops_own(struct sandbox_spec *s, const struct strv *agents)
{
	cleanup_free char *dir = path_join(s->workspace, ".ralph");

	if (!restore_has(s, dir))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(loops_own); i++) {
		cleanup_free char *path = path_join(dir, loops_own[i]);

		(void)spec_mount_add(s, SPEC_OWN, NULL, path, "what a loop writes");
	}
	/* Files that the loop makes only later count as well. */
	for (size_t i = 0; agents && i < agents->n; i++) {
		cleanup_free char *path = path_join(s->workspace, agents->v[i]);

		(void)spec_mount_add(s, SPEC_OWN, NULL, path, "the loop's word to the agent");
	}
}

/* Files of the workspace cannot be made read-only here, so ralph restores them after each command.
 * Watches and quarantine handle new files, as with every engine. */
static void change_protection(struct sandbox_spec *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_mounts; i++) {
		struct spec_mount *m = &s->mounts[i];

		if (m->kind == SPEC_PROTECT)
			m->kind = SPEC_PUT_BACK;
		if ((is_shown(m->kind) && !m->of_tree) || m->kind == SPEC_PUT_BACK) {
			s->mounts[n++] = *m;
			continue;
		}
		spec_mount_done(m);
	}
	s->n_mounts = n;
}

/* A file that other engines hide could be read here, so the user must move it or allow it. */
static int check_hidden(const struct sandbox_spec *s, struct err *err)
{
	for (size_t i = 0; i < s->n_mounts && !engine_has(s->engine, ENGINE_HIDE); i++)
		if (s->mounts[i].kind == SPEC_HIDE)
			return err_usage(
				err,
				"engine %s hides no files, and '%s' could be read inside; move "
				"it out of the workspace, allow it with --mask '!%s', or use "
				"another engine",
				s->engine, s->mounts[i].target, path_base(s->mounts[i].target));
	return 0;
}

static int add_workspace(struct sandbox_spec *s, const struct build_input *in,
			 const struct gitdir *git, struct err *err)
{
	int r;

	if (in->clone && !engine_has(s->engine, ENGINE_CLONE))
		return err_usage(err, "engine %s has no --clone; use another engine", s->engine);
	r = in->clone ? build_clone(s, in, git, err) : build_workspace(s, in, git, err);
	if (r == 0)
		r = build_mounts(s, in, err);
	if (r == 0)
		r = check_hidden(s, err);
	if (r < 0)
		return r;
	change_protection(s);
	git_user(s, in, git);
	add_loops_own(s, in->agents_own);
	build_watch_path(s, getenv("PATH"));
	return 0;
}

/* Bounds that only a guest or a container can set: who asked for one is told. */
static int check_limits(const struct sandbox_spec *s, const struct config *c, struct err *err)
{
	static const char *const keys[] = {"limits.pids", "limits.open_files", "limits.tmp"};

	for (size_t i = 0; i < ARRAY_SIZE(keys) && !engine_has(s->engine, ENGINE_LIMITS); i++)
		if (!streq(config_origin(c, keys[i]), "default"))
			return err_usage(err,
					 "engine %s cannot hold %s (%s); take it out, or use "
					 "another engine",
					 s->engine, keys[i], config_origin(c, keys[i]));
	return 0;
}

/* The user's own bounds; the rest is the other side's. */
static void set_limits(struct sandbox_spec *s, const struct config *c)
{
	s->limits = (struct spec_limits){
		.memory = c->limits.memory,
		.cpu = c->limits.cpu,
		.timeout_ms = c->limits.timeout_ms,
		.method = xasprintf("engine %s", s->engine),
	};
	s->budget = (struct spec_budget){c->budget.micro_usd, c->budget.tokens};
	strv_extend(&s->prices, &c->prices);
}

/* Inside, the gateway is a port of this machine: the engine must have a name for it. */
static int add_port(struct sandbox_spec *s, const struct places *p, struct err *err)
{
	if (!engine_host(s->engine))
		return err_usage(err,
				 "engine %s cannot reach the gateway, which has the credentials; "
				 "use another engine",
				 s->engine);
	s->port = port_of(p, s->name);
	return 0;
}

static int add_rest(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
		    char **notice, struct err *err)
{
	int r = build_env(s, in, NULL, err);

	if (r == 0)
		r = build_env_forwarded(s, in, err);
	if (r == 0)
		r = build_cred(s, in, a, notice, err);
	if (r == 0 && has_way(s, SPEC_WAY_PHANTOM))
		r = add_port(s, in->places, err);
	if (r == 0)
		r = build_net(s, in, err);
	return r < 0 ? r : build_agent(s, in, a, err);
}

/* What git runs by itself is put back afterwards, and so are references (workspace/kept-refs.h). */
static void keep_git(struct sandbox_spec *s, const struct gitdir *git)
{
	static const char *const names[] = {"config", "config.worktree", "hooks", "info"};
	struct stat st;

	if (!git->root)
		return;
	(void)spec_mount_add(s, SPEC_BIND_RW, git->common, git->common, "git directory");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup_free char *path = path_join(git->common, names[i]);

		if (lstat(path, &st) == 0)
			(void)spec_mount_add(s, SPEC_PUT_BACK, path, path,
					     "git runs what is named in it");
	}
}

/* Nothing of it is a wall: what a command has is what the user has. */
static int fill_direct(struct sandbox_spec *s, const struct build_input *in,
		       const struct gitdir *git, struct err *err)
{
	if (in->clone)
		return err_usage(err, "--clone and --no-sandbox exclude each other");
	keep_git(s, git);
	s->quarantine = SPEC_QUARANTINE_NONE;
	s->net.tier = POLICY_FULL;
	return 0;
}

/* A spec that the engine cannot express fails now, while the user can correct it. */
static int check_plan(const struct sandbox_spec *s, struct err *err)
{
	cleanup_(engine_freep) struct engine *e = NULL;
	int r = engine_new(s->engine, &e, err);

	return r < 0 ? r : engine_plan(e, s, err);
}

/* The engine has an image for each agent. Another one is the user's choice, or what the project's
 * own Dockerfile makes. */
static int choose_template(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	cleanup_free char *file = path_join(s->workspace, ".ralph/Dockerfile");
	struct stat st;

	if (!engine_images(s->engine) || (!in->config->image.name && lstat(file, &st) < 0))
		return 0;
	return build_image(s, in, &s->template, err);
}

int build_no_guest(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		   const struct agent *a, char **notice, struct err *err)
{
	int r;

	set_limits(s, in->config);
	if (no_guest_without_wall(s))
		return fill_direct(s, in, git, err);
	r = check_limits(s, in->config, err);
	if (r == 0)
		r = engine_ask(s, err);
	if (r == 0)
		r = choose_template(s, in, err);
	if (r == 0)
		r = add_workspace(s, in, git, err);
	if (r == 0)
		r = add_rest(s, in, a, notice, err);
	return r < 0 ? r : check_plan(s, err);
}
