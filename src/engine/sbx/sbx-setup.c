/* From no sandbox, or one that is there, to one in which commands can be run; see sbx.c. */
#include "engine/sbx/sbx.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define LIST_MS (60 * 1000)
#define POLICY_MS (60 * 1000)
#define START_MS (180 * 1000)
#define CREATE_MS (720 * 1000)
#define CREATE_TRIES 2

/* Content comes on stdin. */
static const char file_script[] = "if [ \"$2\" = seed ] && [ -e \"$1\" ]; then exit 0; fi\n"
				  "mkdir -p \"${1%/*}\" && cat >\"$1\"\n";

int sbx_call_list(const struct sbx_dialect *d, struct sbx_said *ret, struct err *err)
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

int sbx_look(const struct sbx *x, struct sbx_found *ret, struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	int r = sbx_call_list(x->dialect, &said, err);

	*ret = (struct sbx_found){0};
	if (r == 0)
		r = sbx_list_find(said.out, strlen(said.out), x->plan.spec->name, ret, err);
	/* A program that asks for a login instead prints no list. */
	return r == -EBADMSG ? sbx_explain(x->dialect, "read the list of sandboxes", &said, err)
			     : r;
}

int sbx_by_name(const struct sbx_dialect *d, const char *verb, const char *name, int timeout_ms,
		struct err *err)
{
	cleanup_free char *what = xasprintf("%s sandbox '%s'", verb, name);
	cleanup_strv struct strv argv = {0};

	sbx_begin(d, verb, &argv);
	strv_push(&argv, name);
	return sbx_must(d, what, &argv, timeout_ms, err);
}

int sbx_remove_now(const struct sbx_dialect *d, const char *name, struct err *err)
{
	cleanup_strv struct strv argv = {0};

	sbx_remove(d, name, &argv);
	return sbx_must(d, "remove the sandbox", &argv, SBX_STOP_MS, err);
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
	int r = sbx_load_image(x, err);

	if (r < 0)
		return r;
	r = -EIO;
	sbx_create(&x->plan, x->dialect, &argv);
	for (int i = 0; r < 0 && i < CREATE_TRIES; i++) {
		struct sbx_found left = {0};

		r = sbx_must(x->dialect, "create the sandbox", &argv, CREATE_MS, err);
		if (r == 0)
			return 0;
		if (sbx_look(x, &left, &ignored) == 0 && left.state == SBX_ABSENT)
			i = CREATE_TRIES; /* nothing is in the way: it would fail again */
		free(left.workspace);
		(void)sbx_remove_now(x->dialect, x->plan.spec->name, &ignored);
	}
	return r;
}

/* Not ours to use, or to remove: somebody else's may have our name. */
int sbx_check_found(const struct sbx *x, const struct sbx_found *f, struct err *err)
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
	int r = sbx_check_found(x, f, err);

	if (r == 0 && f->state == SBX_RUNNING)
		r = sbx_by_name(x->dialect, "stop", x->plan.spec->name, SBX_STOP_MS, err);
	if (r == 0)
		r = wake(x, err);
	/* One that was stopped may not have told whose it is. */
	if (r == 0 && !f->workspace)
		r = sbx_look(x, &again, err);
	if (r == 0 && !f->workspace)
		r = sbx_check_found(x, &again, err);
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

int sbx_version(const struct sbx_dialect *d, int timeout_ms, struct sbx_said *ret, struct err *err)
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
	r = sbx_version(d, SBX_PROBE_MS, &said, err);
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

int sbx_set_up(struct engine *e, struct err *err)
{
	struct sbx *x = sbx_of(e);
	struct sbx_found found = {0};
	int r = settle_dialect(x, err);

	if (r == 0)
		r = sbx_look(x, &found, err);
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
