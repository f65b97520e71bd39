/* A spec becomes argument lists; nothing is run here. */
#include "engine/sbx/sbx.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "engine/plan.h"

#define SOCKET_PATH_MAX 103 /* of a unix socket below the plugin's directory of that name */

/* Docker's own image with the agent's program. */
static const char *template_of(const char *agent)
{
	const struct agent *a = agent_find(agent);

	return a ? a->template : NULL;
}

static int check_name(const struct sbx *x, struct err *err)
{
	const char *name = x->plan.spec->name, *home = getenv("HOME");
	cleanup_free char *socket =
		xasprintf("%s/.docker/sandboxes/vm/%s/docker-public.sock", home ? home : "", name);

	if (strlen(name) < 2 || streq(name, "default"))
		return err_usage(err, "'%s' is no name for %s; choose another with -n", name,
				 x->dialect->title);
	if (!x->dialect->force_remove && strlen(socket) > SOCKET_PATH_MAX)
		return err_usage(err,
				 "'%s' is too long a name for docker sandbox in this home "
				 "directory; choose a shorter one with -n",
				 name);
	return 0;
}

/* Places are the same inside and outside, and whole: there is nothing between. */
static int add_workspace(struct sbx *x, const struct spec_mount *m, struct err *err)
{
	if (!streq(m->source, m->target))
		return err_usage(err,
				 "engine %s shows a directory at its own path alone: mount '%s' "
				 "without another place, or use another engine",
				 x->dialect->engine, m->source);
	if (strchr(m->source, ':') || strchr(m->source, ','))
		return err_usage(err, "engine %s cannot be told of '%s': its path has a ':' or ','",
				 x->dialect->engine, m->source);
	if (!strv_has(&x->plan.workspaces, m->source))
		strv_pushf(&x->plan.workspaces, "%s%s", m->source,
			   m->kind == SPEC_BIND_RO ? ":ro" : "");
	return 0;
}

static int add_workspaces(struct sbx *x, struct err *err)
{
	const struct sandbox_spec *spec = x->plan.spec;
	int r = 0;

	strv_push(&x->plan.workspaces, spec->workspace);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind == SPEC_BIND_RO || m->kind == SPEC_BIND_RW)
			r = add_workspace(x, m, err);
		else if (m->kind != SPEC_HOME_FILE && m->kind != SPEC_HOME_SEED &&
			 m->kind != SPEC_FILE && m->kind != SPEC_PUT_BACK && m->kind != SPEC_OWN)
			r = err_usage(err, "engine %s cannot keep '%s' as it must be (%s)",
				      x->dialect->engine, m->target, spec_mount_kind_name(m->kind));
	}
	return r;
}

/* A limit is enforced as it was asked for, or it is an error: never something near it. */
static int check_limits(const struct sbx *x, struct err *err)
{
	const struct spec_limits *l = &x->plan.spec->limits;
	const char *engine = x->dialect->engine;

	if (!x->dialect->limits && (l->memory || l->cpu))
		return err_usage(err,
				 "engine %s has no bound on %s: its machine is as Docker makes it "
				 "(about 4 GB); leave it out, or use another engine",
				 engine, l->memory ? "memory" : "processors");
	if (l->memory && l->memory < SBX_MEMORY_MIN)
		return err_usage(
			err,
			"engine %s gives a machine at least 1 GiB of memory; ask for 1G or "
			"more, or use another engine",
			engine);
	if (l->cpu % 100)
		return err_usage(err,
				 "engine %s gives whole processors: limits.cpu must be 100, 200 …, "
				 "or use another engine",
				 engine);
	return 0;
}

int sbx_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct sbx *x = sbx_of(e);
	int r;

	x->plan.spec = spec;
	x->plan.template = spec->template ? spec->template : template_of(spec->agent);
	r = check_name(x, err);
	if (r == 0)
		r = check_limits(x, err);
	if (r == 0)
		r = add_workspaces(x, err);
	return r < 0 ? r : sbx_net_add(&x->plan, x->dialect, err);
}

static void dump_line(const struct strv *argv, FILE *out)
{
	for (size_t i = 0; i < argv->n; i++) {
		(void)fputs(i ? " " : "", out);
		plan_put_word(argv->v[i], out);
	}
	(void)fputc('\n', out);
}

/* A command as it would be run: only values that ralph sets are in its argument list. */
static void dump_exec(const struct sbx *x, FILE *out)
{
	cleanup_strv struct strv env = {0}, secrets = {0}, command = {0}, argv = {0};
	const struct sandbox_spec *spec = x->plan.spec;
	const struct engine_command c = {
		.cwd = spec->workspace, .argv = &command, .env = &env, .secrets = &secrets};

	spec_environ(spec, &env);
	for (size_t i = 0; i < spec->n_env; i++) {
		const struct spec_env *e = &spec->env[i];

		if (e->origin != SPEC_USER && !e->credential)
			continue;
		strv_env_set(&env, e->name, SPEC_HIDDEN);
		strv_push(&secrets, e->name);
	}
	strv_push(&command, "COMMAND");
	sbx_exec(x->dialect, spec->name, &c, &argv);
	dump_line(&argv, out);
}

void sbx_dump(const struct engine *e, FILE *out)
{
	const struct sbx *x = sbx_const(e);
	cleanup_(sbx_words_done) struct sbx_words net = {0}, load = {0};
	cleanup_strv struct strv create = {0}, stop = {0};

	if (sbx_must_load(&x->plan, x->dialect))
		sbx_load_words(&x->plan, x->dialect, "FILE", &load);
	for (size_t i = 0; i < load.n; i++)
		dump_line(&load.v[i], out);
	sbx_create(&x->plan, x->dialect, &create);
	dump_line(&create, out);
	x->dialect->restrict_net(&x->plan, x->dialect, &net);
	for (size_t i = 0; i < net.n; i++)
		dump_line(&net.v[i], out);
	dump_exec(x, out);
	sbx_begin(x->dialect, "stop", &stop);
	strv_push(&stop, x->plan.spec->name);
	dump_line(&stop, out);
}
