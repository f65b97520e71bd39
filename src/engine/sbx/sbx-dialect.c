#include "engine/sbx/sbx.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/parse.h"

/* A name nobody can have allowed: it does not exist. */
#define CANARY "not-allowed.ralph.invalid:443"

void sbx_words_done(struct sbx_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		strv_done(&w->v[i]);
	free(w->v);
	*w = (struct sbx_words){0};
}

struct strv *sbx_words_add(struct sbx_words *w)
{
	w->v = xrealloc(w->v, w->n + 1, sizeof(*w->v));
	strv_init(&w->v[w->n]);
	return &w->v[w->n++];
}

void sbx_begin(const struct sbx_dialect *d, const char *verb, struct strv *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(d->program) && d->program[i]; i++)
		strv_push(ret, d->program[i]);
	strv_push(ret, verb);
}

static void push_option(struct strv *v, const char *option, const char *value)
{
	strv_push(v, option);
	strv_push(v, value);
}

static char *comma_list(const struct strv *v)
{
	char *text = xstrdup(v->n ? v->v[0] : "");

	for (size_t i = 1; i < v->n; i++) {
		cleanup_free char *old = text;

		text = xasprintf("%s,%s", old, v->v[i]);
	}
	return text;
}

/* ---- what is alike ---- */

static void push_limits(const struct spec_limits *l, struct strv *v)
{
	if (l->memory) {
		strv_push(v, "-m");
		strv_pushf(v, "%llum", (unsigned long long)(l->memory / MiB));
	}
	if (l->cpu) {
		strv_push(v, "--cpus");
		strv_pushf(v, "%llu", (unsigned long long)(l->cpu / 100));
	}
}

/* Of Docker's registry; any other is taken for one of this machine. */
static bool is_dockers(const char *image)
{
	static const char own[] = "docker/sandbox-templates:";

	return strncmp(image, own, strlen(own)) == 0;
}

void sbx_create(const struct sbx_plan *p, const struct sbx_dialect *d, struct strv *ret)
{
	sbx_begin(d, "create", ret);
	push_option(ret, "--name", p->spec->name);
	if (p->template)
		push_option(ret, "-t", p->template);
	if (p->template && d->local_image && !is_dockers(p->template))
		strv_push(ret, d->local_image);
	if (d->limits)
		push_limits(&p->spec->limits, ret);
	strv_push(ret, d->agent ? d->agent : agent_default()->name);
	strv_extend(ret, &p->workspaces);
}

void sbx_remove(const struct sbx_dialect *d, const char *name, struct strv *ret)
{
	sbx_begin(d, "rm", ret);
	if (d->force_remove)
		strv_push(ret, "--force");
	strv_push(ret, name);
}

/* Whatever decides how the host's own command line works. */
bool sbx_is_client_env(const char *name)
{
	static const char *const names[] = {
		"PATH", "HOME", "USER", "LOGNAME", "NO_COLOR", "TMPDIR", NETWORK_ENV, ALL_PROXY_ENV,
	};
	static const char *const prefixes[] = {"DOCKER_", "SBX_", "SANDBOXD_", "XDG_", "LD_", "GO"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* By name alone where the value must not be seen in the list of processes: it is taken from the
 * environment of the command line. */
static void push_env(const struct engine_command *c, struct strv *ret)
{
	for (size_t i = 0; i < c->env->n; i++) {
		const char *entry = c->env->v[i];
		cleanup_free char *name = xstrndup(entry, strcspn(entry, "="));

		if (strv_has(c->secrets, name) && !sbx_is_client_env(name))
			push_option(ret, "-e", name);
		else
			push_option(ret, "-e", entry);
	}
}

void sbx_exec(const struct sbx_dialect *d, const char *name, const struct engine_command *c,
	      struct strv *ret)
{
	sbx_begin(d, "exec", ret);
	strv_push(ret, "-i");
	if (c->tty)
		strv_push(ret, "-t");
	push_env(c, ret);
	if (c->id) {
		strv_push(ret, "-e");
		strv_pushf(ret, "RALPH_COMMAND=%s", c->id);
	}
	push_option(ret, "-w", c->cwd);
	strv_push(ret, name);
	push_option(ret, "sh", "-c");
	push_option(ret, "exec \"$@\"", "ralph");
	strv_extend(ret, c->argv);
}

void sbx_shell(const struct sbx_dialect *d, const char *name, bool root, const char *script,
	       struct strv *ret)
{
	sbx_begin(d, "exec", ret);
	strv_push(ret, "-i");
	if (root)
		push_option(ret, "-u", "root");
	strv_push(ret, name);
	push_option(ret, "sh", "-c");
	push_option(ret, script, "ralph");
}

/* ---- sbx ---- */

static void policy(const struct sbx_plan *p, const struct sbx_dialect *d, const char *verb,
		   struct strv *ret)
{
	sbx_begin(d, "policy", ret);
	push_option(ret, verb, "network");
	push_option(ret, "--sandbox", p->spec->name);
}

static void new_restrict(const struct sbx_plan *p, const struct sbx_dialect *d,
			 struct sbx_words *ret)
{
	cleanup_free char *allow = comma_list(&p->allow), *deny = comma_list(&p->deny);
	struct strv *v;

	/* Denials first: a sandbox is never wider than it will be. */
	if (p->deny.n) {
		v = sbx_words_add(ret);
		policy(p, d, "deny", v);
		strv_push(v, deny);
	}
	if (p->allow.n || p->open) {
		v = sbx_words_add(ret);
		policy(p, d, "allow", v);
		strv_push(v, p->open ? "**" : allow);
	}
}

static void new_check(const struct sbx_plan *p, const struct sbx_dialect *d, struct strv *ret)
{
	policy(p, d, "check", ret);
	/* The verb stands before its kind, the options before the target. */
	strv_push(ret, CANARY);
}

static void new_release(const struct sbx_plan *p, const struct sbx_dialect *d,
			struct sbx_words *ret)
{
	cleanup_strv struct strv all = {0};
	cleanup_free char *text = NULL;
	struct strv *v;

	if (p->open)
		strv_push(&all, "**");
	else
		strv_extend(&all, &p->allow);
	strv_extend(&all, &p->deny);
	if (all.n == 0)
		return;
	text = comma_list(&all);
	v = sbx_words_add(ret);
	policy(p, d, "rm", v);
	push_option(v, "--resource", text);
}

const struct sbx_dialect sbx_new_dialect = {
	.engine = "sbx",
	.title = "sbx",
	.program = {"sbx"},
	.agent = "shell",
	.load_image = true,
	.below = "**.",
	.limits = true,
	.force_remove = true,
	.restrict_net = new_restrict,
	.check_net = new_check,
	.release_net = new_release,
	.net_log = "sbx policy log",
};

/* ---- docker sandbox ---- */

static void push_each(struct strv *v, const char *option, const struct strv *values)
{
	for (size_t i = 0; i < values->n; i++)
		push_option(v, option, values->v[i]);
}

static void plugin_restrict(const struct sbx_plan *p, const struct sbx_dialect *d,
			    struct sbx_words *ret)
{
	struct strv *v = sbx_words_add(ret);

	sbx_begin(d, "network", v);
	push_option(v, "proxy", p->spec->name);
	push_option(v, "--policy", p->open ? "allow" : "deny");
	push_each(v, "--allow-host", &p->allow);
	push_each(v, "--block-host", &p->deny);
	push_each(v, "--block-cidr", &p->deny_ranges);
}

#define PLUGIN_NOTES                                                                               \
	.net_log = "docker sandbox network log",                                                   \
	.net_notes = {                                                                             \
		"programs that ignore HTTP_PROXY and HTTPS_PROXY reach nothing",                   \
		"docker sandbox forgets no host: what an earlier start allowed stays allowed "     \
		"until ralph rm",                                                                  \
	}

const struct sbx_dialect sbx_plugin_dialect = {
	.engine = "docker-sandbox",
	.title = "docker sandbox",
	.program = {"docker", "sandbox"},
	.agent = "shell",
	.below = "*.",
	.ranges_apart = true,
	.restrict_net = plugin_restrict,
	PLUGIN_NOTES,
};

const struct sbx_dialect sbx_early_dialect = {
	.engine = "docker-sandbox",
	.title = "docker sandbox",
	.program = {"docker", "sandbox"},
	.local_image = "--load-local-template",
	.below = "*.",
	.one_workspace = true,
	.ranges_apart = true,
	.restrict_net = plugin_restrict,
	PLUGIN_NOTES,
};

/* "… v0.7.1 <sha>" and "Client Version:  v0.12.0" */
const struct sbx_dialect *sbx_dialect_of(const char *version_text)
{
	const char *p = version_text;

	while ((p = strstr(p, "v0."))) {
		char minor[8] = "";
		uint64_t n = 0;
		size_t len;

		p += strlen("v0.");
		len = strspn(p, "0123456789");
		if (len == 0 || len >= sizeof(minor))
			continue;
		memcpy(minor, p, len);
		if (parse_uint(minor, 0, 999, &n) < 0)
			continue;
		return n >= 11 && n <= 12  ? &sbx_plugin_dialect
		       : n >= 7 && n <= 10 ? &sbx_early_dialect
					   : NULL;
	}
	return NULL;
}
