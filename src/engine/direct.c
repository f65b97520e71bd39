/*
 * No sandbox at all: commands run as the user, on the host, with all the user has. It is an engine
 * so that the rest (records, events, time limits, the end of a command's tree) is as everywhere. It
 * is never chosen by itself, and who starts it has seen to the blocklist hook.
 */
#include "engine/ops.h"

#include <string.h>

#include "base/find-program.h"

static void direct_init(struct engine *e)
{
}

static int direct_probe(struct err *err)
{
	return 0;
}

static int direct_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	return 0;
}

static void direct_dump(const struct engine *e, FILE *out)
{
	(void)fputs("no sandbox: the command is run as it is, by this user, on this machine\n",
		    out);
}

static int direct_set_up(struct engine *e, struct err *err)
{
	return 0;
}

/* Looked for where the command would look. */
static int direct_exec(const struct engine *e, const struct engine_command *c,
		       struct engine_call *ret, struct err *err)
{
	const char *name = c->argv->v[0];
	cleanup_free char *file = strchr(name, '/')
					  ? xstrdup(name)
					  : path_find_program(name, strv_env_get(c->env, "PATH"));

	if (!file)
		return err_set(err, ENOENT, "there is no '%s' on PATH", name);
	strv_push(&ret->argv, file);
	for (size_t i = 1; i < c->argv->n; i++)
		strv_push(&ret->argv, c->argv->v[i]);
	strv_extend(&ret->env, c->env);
	ret->dir = c->cwd;
	return 0;
}

static int direct_stop(struct engine *e, struct err *err)
{
	return 0;
}

static void direct_done(struct engine *e)
{
}

const struct engine_ops engine_direct = {
	.name = "direct",
	.wall = "none",
	.caps = ENGINE_NO_GUEST | ENGINE_NO_WALL,
	.instance_size = sizeof(struct engine),
	.init = direct_init,
	.probe = direct_probe,
	.plan = direct_plan,
	.dump = direct_dump,
	.stop = direct_stop,
	.done = direct_done,
	.set_up = direct_set_up,
	.exec = direct_exec,
};
