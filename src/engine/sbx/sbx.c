/*
 * Docker Sandboxes as an engine.
 *
 * DOC: Theory of operation
 *
 * There is no guest: a command is a run of `sbx exec`, whose 0, 1, 2 and exit code are the
 * command's. The other side keeps its sandboxes by itself; one is found again by its name, and is
 * ours when its workspace is.
 *
 * A start leaves a sandbox that runs what the host has: one that is there is stopped first, since
 * only that makes files known that were changed on the host, and ends what an earlier life left.
 * Then it is started (any exec does that), the network is restricted, and one host that nobody can
 * have allowed is asked for. The creation leaves a running sandbox, which is restricted at once.
 *
 * The end of `exec` on the host ends nothing inside. So each command has a mark in its environment,
 * which what it starts inherits, and a script ends everything that has it: as root, since the
 * sandbox's user may become root there. What takes the mark off itself lives until the sandbox is
 * stopped, which happens when its last command has ended.
 *
 * Both command lines stop a sandbox in which they see no session: the keeper is one.
 *
 * Commands are run by a shell, which then is the command: what is not there, or cannot be run, then
 * has the codes that it has everywhere, whatever the command line does with that.
 */
#include "engine/sbx/sbx.h"

#include <stdlib.h>
#include <string.h>

#include "base/find-program.h"

#define RELEASE_MS (60 * 1000)
#define SIGNAL_MS (30 * 1000)
#define INSIDE_HOME "/home/agent"
#define INSIDE_UID 1000

/* Inside, with the mark as $2 and the signal as $1: all that has it, and for SIGKILL until nothing
 * has. A process that ended and waits to be reaped has no environment any more. */
static const char signal_script[] =
	"n=0\n"
	"while :; do\n"
	"	found=$(grep -lxzsF -e \"RALPH_COMMAND=$2\" /proc/[0-9]*/environ)\n"
	"	for f in $found; do f=${f#/proc/}; kill -\"$1\" \"${f%/environ}\" 2>/dev/null; "
	"done\n"
	"	[ \"$1\" = 9 ] && [ -n \"$found\" ] || exit 0\n"
	"	n=$((n + 1))\n"
	"	[ $n -lt 100 ] || exit 1\n"
	"	sleep 0.05\n"
	"done\n";

/* Until its input ends: it does not outlive us there either. */
static const char keeper_script[] = "exec cat >/dev/null";

static void sbx_keeper(const struct engine *e, struct engine_call *ret)
{
	const struct sbx *x = sbx_const(e);

	sbx_shell(x->dialect, x->plan.spec->name, false, keeper_script, &ret->argv);
	sbx_environ(&ret->env);
}

static int sbx_exec_op(const struct engine *e, const struct engine_command *c,
		       struct engine_call *ret, struct err *err)
{
	const struct sbx *x = sbx_const(e);

	sbx_exec(x->dialect, x->plan.spec->name, c, &ret->argv);
	sbx_environ(&ret->env);
	for (size_t i = 0; i < c->secrets->n; i++) {
		const char *value = strv_env_get(c->env, c->secrets->v[i]);

		if (value && !sbx_is_client_env(c->secrets->v[i]))
			strv_env_set(&ret->env, c->secrets->v[i], value);
	}
	ret->dir = "/";
	return 0;
}

static int sbx_signal(const struct engine *e, const char *id, int sig, struct err *err)
{
	const struct sbx *x = sbx_const(e);
	cleanup_strv struct strv argv = {0};

	sbx_shell(x->dialect, x->plan.spec->name, true, signal_script, &argv);
	strv_pushf(&argv, "%d", sig);
	strv_push(&argv, id);
	return sbx_must(x->dialect, "signal a command in the sandbox", &argv, SIGNAL_MS, err);
}

/* ---- the end ---- */

static int stop_plan(const struct sbx *x, bool running, struct err *err)
{
	cleanup_(sbx_words_done) struct sbx_words net = {0};
	struct err ignored;

	if (x->dialect->release_net)
		x->dialect->release_net(&x->plan, x->dialect, &net);
	for (size_t i = 0; i < net.n; i++)
		(void)sbx_must(x->dialect, "release the network", &net.v[i], RELEASE_MS, &ignored);
	return running ? sbx_by_name(x->dialect, "stop", x->plan.spec->name, SBX_STOP_MS, err) : 0;
}

static int sbx_stop(struct engine *e, struct err *err)
{
	struct sbx *x = sbx_of(e);
	struct sbx_found found = {0};
	struct err ignored;
	int r = 0;

	if (!x->plan.spec)
		return 0;
	/* It may have been removed by hand, never been made, or be somebody else's. */
	if (sbx_look(x, &found, &ignored) < 0)
		r = stop_plan(x, true, err);
	else if (found.state != SBX_ABSENT && sbx_check_found(x, &found, &ignored) == 0)
		r = stop_plan(x, found.state == SBX_RUNNING, err);
	free(found.workspace);
	return r;
}

static void init(struct engine *e, const struct sbx_dialect *d)
{
	sbx_of(e)->dialect = d;
}

static void sbx_done(struct engine *e)
{
	struct sbx *x = sbx_of(e);

	strv_done(&x->plan.workspaces);
	strv_done(&x->plan.allow);
	strv_done(&x->plan.deny);
	strv_done(&x->plan.deny_ranges);
}

/* The user of Docker's templates. */
static int sbx_ask(struct sandbox_spec *spec, struct err *err)
{
	free(spec->home);
	spec->home = xstrdup(INSIDE_HOME);
	spec->uid = spec->gid = INSIDE_UID;
	return 0;
}

/* A killed supervisor's sandbox still runs, with what was allowed to it. */
static void sbx_clean(const struct sandbox_spec *spec)
{
	cleanup_(engine_freep) struct engine *e = NULL;
	struct err ignored;

	if (engine_new(spec->engine, &e, &ignored) == 0 && engine_plan(e, spec, &ignored) == 0)
		(void)engine_stop(e, &ignored);
}

static int list_of(const struct sbx_dialect *d, struct engine_list *ret, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	int r = sbx_call_list(d, &said, err);

	return r < 0 ? r : sbx_list_parse(said.out, strlen(said.out), ret, err);
}

static int remove_of(const struct sbx_dialect *d, const char *name, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	struct sbx_found found = {0};
	int r = sbx_call_list(d, &said, err);

	if (r == 0)
		r = sbx_list_find(said.out, strlen(said.out), name, &found, err);
	free(found.workspace);
	return r < 0 || found.state == SBX_ABSENT ? r : sbx_remove_now(d, name, err);
}

static int probe_of(const struct sbx_dialect *d, struct err *err)
{
	cleanup_free char *program = path_find_program(d->program[0], getenv("PATH"));
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	int r;

	if (program)
		r = sbx_version(d, SBX_PROBE_MS, &said, err);
	else
		r = err_set(err, ENOENT, "there is no %s on PATH; install Docker Sandboxes (sbx)",
			    d->program[0]);
	if (r < 0)
		err->exit_code = EXIT_RALPH;
	return r;
}

/* ---- the two of them ---- */

#define SBX_OPS(prefix, d)                                                                         \
	static void prefix##_init(struct engine *e)                                                \
	{                                                                                          \
		init(e, &(d));                                                                     \
	}                                                                                          \
	static int prefix##_probe(struct err *err)                                                 \
	{                                                                                          \
		return probe_of(&(d), err);                                                        \
	}                                                                                          \
	static void prefix##_notes(const struct sandbox_spec *spec, struct engine_notes *ret)      \
	{                                                                                          \
		sbx_notes(&(d), spec, ret);                                                        \
	}                                                                                          \
	static int prefix##_list(struct engine_list *ret, struct err *err)                         \
	{                                                                                          \
		return list_of(&(d), ret, err);                                                    \
	}                                                                                          \
	static int prefix##_remove(const char *name, struct err *err)                              \
	{                                                                                          \
		return remove_of(&(d), name, err);                                                 \
	}

SBX_OPS(new, sbx_new_dialect)
SBX_OPS(plugin, sbx_plugin_dialect)

#define SBX_ENGINE(prefix, name_, ...)                                                             \
	{                                                                                          \
		.name = name_, .wall = "a kernel of its own, in a virtual machine of Docker's",    \
		.holds = "the same, and bugs of your kernel; ralph's own walls are not in it",     \
		.costs = "Docker's program and account, KVM, memory of a machine",                 \
		.caps = ENGINE_NO_GUEST | ENGINE_NET, .instance_size = sizeof(struct sbx),         \
		.images = "docker", .host = SBX_HOST, .init = prefix##_init,                       \
		.notes = prefix##_notes, .ask = sbx_ask, .probe = prefix##_probe,                  \
		.plan = sbx_plan, .dump = sbx_dump, .stop = sbx_stop, .done = sbx_done,            \
		.clean = sbx_clean, .set_up = sbx_set_up, .keeper = sbx_keeper,                    \
		.exec = sbx_exec_op, .signal = sbx_signal, .list = prefix##_list,                  \
		.remove = prefix##_remove, __VA_ARGS__                                             \
	}

/* A plugin of Docker Desktop. */
const struct engine_ops engine_docker_sandbox = SBX_ENGINE(plugin, "docker-sandbox");
const struct engine_ops engine_sbx =
	SBX_ENGINE(new, "sbx", .other = &engine_docker_sandbox, .doctor = sbx_doctor);
