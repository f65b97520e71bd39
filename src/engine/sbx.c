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
#include "engine/sbx.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "engine/find.h"
#include "engine/plan.h"

#define PROBE_MS (20 * 1000)
#define LIST_MS (60 * 1000)
#define POLICY_MS (60 * 1000)
#define START_MS (180 * 1000)
#define STOP_MS (120 * 1000)
#define CREATE_MS (720 * 1000)
#define SIGNAL_MS (30 * 1000)
#define CREATE_TRIES 2
#define SOCKET_PATH_MAX 103 /* of a unix socket below the plugin's directory of that name */

struct sbx {
	struct engine base;
	const struct sbx_dialect *dialect;
	struct sbx_plan plan;
};

static struct sbx *sbx_of(struct engine *e)
{
	return (struct sbx *)e;
}

static const struct sbx *sbx_const(const struct engine *e)
{
	return (const struct sbx *)e;
}

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

/* Content comes on stdin. */
static const char file_script[] = "if [ \"$2\" = seed ] && [ -e \"$1\" ]; then exit 0; fi\n"
				  "mkdir -p \"${1%/*}\" && cat >\"$1\"\n";

/* ---- what will be done ---- */

/* What the agent's program is installed in, by Docker. */
static const char *template_of(const char *agent)
{
	static const char *const rows[][2] = {
		{"claude", "docker/sandbox-templates:claude-code"},
		{"codex", "docker/sandbox-templates:codex"},
		{"gemini", "docker/sandbox-templates:gemini"},
		{"copilot", "docker/sandbox-templates:copilot"},
		{"opencode", "docker/sandbox-templates:opencode"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (streq(rows[i][0], agent))
			return rows[i][1];
	return NULL;
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
			 m->kind != SPEC_FILE)
			r = err_usage(err, "engine %s cannot keep '%s' as it must be (%s)",
				      x->dialect->engine, m->target, spec_mount_kind_name(m->kind));
	}
	return r;
}

static int sbx_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct sbx *x = sbx_of(e);
	int r;

	x->plan.spec = spec;
	x->plan.template = spec->template ? spec->template : template_of(spec->agent);
	r = check_name(x, err);
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

/* A command as it would be run. */
static void dump_exec(const struct sbx *x, FILE *out)
{
	cleanup_strv struct strv env = {0}, secrets = {0}, command = {0}, argv = {0};
	const struct sandbox_spec *spec = x->plan.spec;
	const struct engine_command c = {
		.cwd = spec->workspace, .argv = &command, .env = &env, .secrets = &secrets};

	spec_environ(spec, &env);
	for (size_t i = 0; i < spec->n_env; i++) {
		if (!spec->env[i].credential)
			continue;
		strv_push(&env, spec->env[i].name);
		strv_push(&secrets, spec->env[i].name);
	}
	strv_push(&command, "COMMAND");
	sbx_exec(x->dialect, spec->name, &c, &argv);
	dump_line(&argv, out);
}

static void sbx_dump(const struct engine *e, FILE *out)
{
	const struct sbx *x = sbx_const(e);
	cleanup_(sbx_words_done) struct sbx_words net = {0};
	cleanup_strv struct strv create = {0}, stop = {0};

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

/* ---- doing it ---- */

static int call_list(const struct sbx_dialect *d, struct sbx_said *ret, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	int r;

	sbx_begin(d, "ls", &argv);
	strv_push(&argv, "--json");
	r = sbx_call(&argv, -1, LIST_MS, ret, err);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT,
			       "%s: no list of sandboxes within %d s; does it ask for a login? "
			       "Run: sbx login",
			       d->title, LIST_MS / 1000);
	if (r == 0 && ret->code != 0)
		r = sbx_explain(d, "list the sandboxes", ret, err);
	return r;
}

static int look(const struct sbx *x, struct sbx_found *ret, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	int r = call_list(x->dialect, &said, err);

	*ret = (struct sbx_found){0};
	if (r == 0)
		r = sbx_list_find(said.out, strlen(said.out), x->plan.spec->name, ret, err);
	/* What asks for a login in between prints no list. */
	return r == -EBADMSG ? sbx_explain(x->dialect, "read the list of sandboxes", &said, err)
			     : r;
}

static int by_name(const struct sbx_dialect *d, const char *verb, const char *name, int timeout_ms,
		   struct err *err)
{
	cleanup_free char *what = xasprintf("%s sandbox '%s'", verb, name);
	cleanup_strv struct strv argv = {0};

	sbx_begin(d, verb, &argv);
	strv_push(&argv, name);
	return sbx_must(d, what, &argv, timeout_ms, err);
}

static int remove_now(const struct sbx_dialect *d, const char *name, struct err *err)
{
	cleanup_strv struct strv argv = {0};

	sbx_remove(d, name, &argv);
	return sbx_must(d, "remove the sandbox", &argv, STOP_MS, err);
}

/* Any command starts a sandbox that is stopped. */
static int wake(const struct sbx *x, struct err *err)
{
	cleanup_strv struct strv argv = {0};

	sbx_begin(x->dialect, "exec", &argv);
	strv_push(&argv, x->plan.spec->name);
	strv_push(&argv, "true");
	return sbx_must(x->dialect, "run a first command in the sandbox", &argv, START_MS, err);
}

/* A host that nobody allowed must be out of reach, or "deny" is not what it says. */
static int check_net(const struct sbx *x, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	cleanup_strv struct strv argv = {0};
	int r;

	if (!x->dialect->check_net || x->plan.open)
		return 0;
	x->dialect->check_net(&x->plan, x->dialect, &argv);
	r = sbx_call(&argv, -1, POLICY_MS, &said, err);
	if (r < 0 || said.code == 1)
		return r;
	if (said.code != 0)
		return sbx_explain(x->dialect, "check the network policy", &said, err);
	return err_set(err, EPERM,
		       "%s lets sandboxes reach every host: its policy is not deny-all; run: sbx "
		       "policy reset -f, then: sbx policy init deny-all (or use --net inet)",
		       x->dialect->title);
}

static int restrict_net(const struct sbx *x, struct err *err)
{
	cleanup_(sbx_words_done) struct sbx_words net = {0};
	int r = 0;

	x->dialect->restrict_net(&x->plan, x->dialect, &net);
	for (size_t i = 0; r == 0 && i < net.n; i++)
		r = sbx_must(x->dialect, "restrict the sandbox's network", &net.v[i], POLICY_MS,
			     err);
	return r < 0 ? r : check_net(x, err);
}

/* A creation that fails may leave a record behind, which then stands in the way. */
static int create(const struct sbx *x, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	struct err ignored;
	int r = -EIO;

	sbx_create(&x->plan, x->dialect, &argv);
	for (int i = 0; r < 0 && i < CREATE_TRIES; i++) {
		struct sbx_found left = {0};

		r = sbx_must(x->dialect, "create the sandbox", &argv, CREATE_MS, err);
		if (r == 0)
			return 0;
		if (look(x, &left, &ignored) == 0 && left.state == SBX_ABSENT)
			i = CREATE_TRIES; /* nothing is in the way: it would fail again */
		free(left.workspace);
		(void)remove_now(x->dialect, x->plan.spec->name, &ignored);
	}
	return r;
}

/* Not ours to use, or to remove: somebody else's may have our name. */
static int check_found(const struct sbx *x, const struct sbx_found *f, struct err *err)
{
	const struct sandbox_spec *spec = x->plan.spec;

	if (f->workspace && !streq(f->workspace, spec->workspace))
		return err_set(err, EEXIST,
			       "%s has a sandbox '%s' already, of '%s'; choose another name with "
			       "-n",
			       x->dialect->title, spec->name, f->workspace);
	if (f->state == SBX_BROKEN)
		return err_set(err, EIO,
			       "%s has only half a sandbox '%s'; remove it with: ralph rm %s",
			       x->dialect->title, spec->name, spec->name);
	if (f->workspace_gone)
		return err_set(err, EIO,
			       "%s has lost the workspace of sandbox '%s'; remove it with: ralph "
			       "rm %s",
			       x->dialect->title, spec->name, spec->name);
	return 0;
}

static int reuse(const struct sbx *x, const struct sbx_found *f, struct err *err)
{
	struct sbx_found again = {0};
	int r = check_found(x, f, err);

	if (r == 0 && f->state == SBX_RUNNING)
		r = by_name(x->dialect, "stop", x->plan.spec->name, STOP_MS, err);
	if (r == 0)
		r = wake(x, err);
	/* One that was stopped may not have told whose it is. */
	if (r == 0 && !f->workspace)
		r = look(x, &again, err);
	if (r == 0 && !f->workspace)
		r = check_found(x, &again, err);
	free(again.workspace);
	return r < 0 ? r : restrict_net(x, err);
}

static int write_file(const struct sbx *x, const struct spec_mount *m, struct err *err)
{
	cleanup_fd int content = fd_memfd("file", m->data, strlen(m->data));
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	cleanup_strv struct strv argv = {0};
	int r;

	if (content < 0)
		return err_sys(err, -content, "cannot create a memory file");
	sbx_shell(x->dialect, x->plan.spec->name, m->kind == SPEC_FILE, file_script, &argv);
	strv_push(&argv, m->target);
	strv_push(&argv, m->kind == SPEC_HOME_SEED ? "seed" : "always");
	r = sbx_call(&argv, content, START_MS, &said, err);
	if (r == 0 && said.code != 0)
		r = sbx_explain(x->dialect, "write a file of the agent's", &said, err);
	return r;
}

static int write_files(const struct sbx *x, struct err *err)
{
	const struct sandbox_spec *spec = x->plan.spec;
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++)
		if (spec->mounts[i].data)
			r = write_file(x, &spec->mounts[i], err);
	return r;
}

static int version(const struct sbx_dialect *d, int timeout_ms, struct sbx_said *ret,
		   struct err *err)
{
	cleanup_strv struct strv argv = {0};
	int r;

	sbx_begin(d, "version", &argv);
	r = sbx_call(&argv, -1, timeout_ms, ret, err);
	/* The stub of the plugin that is gone prints the same for every command. */
	if (r == 0 && (ret->code != 0 || strstr(ret->out, "has been removed")))
		r = sbx_explain(d, "say its version", ret, err);
	return r;
}

/* Which of the plugin's versions it is decides how a sandbox is made. */
static int settle_dialect(struct sbx *x, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	const struct sbx_dialect *d = x->dialect;
	int r;

	if (d == &sbx_new_dialect)
		return 0;
	r = version(d, PROBE_MS, &said, err);
	if (r < 0)
		return r;
	d = sbx_dialect_of(said.out);
	if (!d)
		return err_set(err, ENOTSUP,
			       "this version of docker sandbox is not known; 0.7 to 0.12 are, and "
			       "sbx is what followed");
	if (d->one_workspace && x->plan.workspaces.n > 1)
		return err_set(err, ENOTSUP,
			       "this docker sandbox is older than 0.11 and shows one directory: "
			       "'%s' cannot be mounted",
			       x->plan.workspaces.v[1]);
	x->dialect = d;
	return 0;
}

static int sbx_set_up(struct engine *e, struct err *err)
{
	struct sbx *x = sbx_of(e);
	struct sbx_found found = {0};
	int r = settle_dialect(x, err);

	if (r == 0)
		r = look(x, &found, err);
	if (r == 0 && found.state != SBX_ABSENT) {
		r = reuse(x, &found, err);
	} else if (r == 0) {
		r = create(x, err);
		if (r == 0)
			r = restrict_net(x, err);
		if (r == 0)
			r = wake(x, err);
	}
	free(found.workspace);
	return r < 0 ? r : write_files(x, err);
}

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
		(void)sbx_must(x->dialect, "release the network", &net.v[i], POLICY_MS, &ignored);
	return running ? by_name(x->dialect, "stop", x->plan.spec->name, STOP_MS, err) : 0;
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
	if (look(x, &found, &ignored) < 0)
		r = stop_plan(x, true, err);
	else if (found.state != SBX_ABSENT && check_found(x, &found, &ignored) == 0)
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
	int r = call_list(d, &said, err);

	return r < 0 ? r : sbx_list_parse(said.out, strlen(said.out), ret, err);
}

static int remove_of(const struct sbx_dialect *d, const char *name, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	struct sbx_found found = {0};
	int r = call_list(d, &said, err);

	if (r == 0)
		r = sbx_list_find(said.out, strlen(said.out), name, &found, err);
	free(found.workspace);
	return r < 0 || found.state == SBX_ABSENT ? r : remove_now(d, name, err);
}

static int probe_of(const struct sbx_dialect *d, struct err *err)
{
	cleanup_free char *program = host_find_program(d->program[0], getenv("PATH"));
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	int r;

	if (program)
		r = version(d, PROBE_MS, &said, err);
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

#define SBX_ENGINE(prefix, name_, summary_)                                                        \
	{                                                                                          \
		.name = name_, .summary = summary_, .caps = ENGINE_HOSTED | ENGINE_OWN_KERNEL,     \
		.instance_size = sizeof(struct sbx), .init = prefix##_init,                        \
		.probe = prefix##_probe, .plan = sbx_plan, .dump = sbx_dump, .stop = sbx_stop,     \
		.done = sbx_done, .clean = sbx_clean, .set_up = sbx_set_up, .keeper = sbx_keeper,  \
		.exec = sbx_exec_op, .signal = sbx_signal, .list = prefix##_list,                  \
		.remove = prefix##_remove,                                                         \
	}

const struct engine_ops engine_sbx = SBX_ENGINE(new, "sbx", "Docker Sandboxes");
const struct engine_ops engine_docker_sandbox =
	SBX_ENGINE(plugin, "docker-sandbox", "Docker Sandboxes as a plugin of Docker Desktop");
