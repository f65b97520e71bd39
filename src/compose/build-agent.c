/*
 * From an agent's row to the spec: its variables, the files of its first start, what is managed,
 * the hosts it needs. Credentials are in the spec by then (build-cred.c).
 */
#include "compose/build.h"

#include <fnmatch.h>
#include <string.h>

#include "agent/identity.h"
#include "base/path.h"
#include "engine/engine.h"
#include "hook/hook-settings.h"
#include "netrules/net-listeners.h"
#include "netrules/net-rules.h"

int build_agent_find(const struct build_input *in, const struct agent **ret, struct err *err)
{
	cleanup_free char *names = NULL;

	*ret = agent_find(in->config->agent);
	if (*ret)
		return 0;
	names = agent_names();
	return err_usage(err, "agent '%s' is not known; use one of %s", in->config->agent, names);
}

/* The credential a row speaks of, where the sandbox has a phantom for it. */
static const struct spec_credential *phantom_of(const struct sandbox_spec *s, const char *provider)
{
	for (size_t i = 0; i < s->n_credentials; i++) {
		const struct spec_credential *c = &s->credentials[i];

		if (c->way == SPEC_WAY_PHANTOM && streq(c->provider, provider))
			return c;
	}
	return NULL;
}

static bool has_phantom(const struct sandbox_spec *s, const struct agent *a)
{
	for (const struct agent_env *e = a->env; e->name; e++)
		if (e->provider && phantom_of(s, e->provider))
			return true;
	return false;
}

struct row_values {
	struct agent_values v;
	char *endpoint;
};

static void values_of(const struct sandbox_spec *s, const struct spec_credential *c,
		      struct row_values *ret)
{
	*ret = (struct row_values){.v = {.workspace = s->workspace, .home = s->home}};
	if (!c)
		return;
	if (c->endpoint && s->port)
		ret->endpoint = xasprintf("http://%s:%u/_ralph/%s", engine_host(s->engine), s->port,
					  c->endpoint);
	else if (c->endpoint)
		ret->endpoint =
			xasprintf("http://127.0.0.1:%d/_ralph/%s", NET_PROXY_PORT, c->endpoint);
	ret->v.endpoint = ret->endpoint;
	ret->v.options = &c->options;
}

static void values_done(struct row_values *v)
{
	free(v->endpoint);
}

/* Any command has the variables of a credential that the settings name. A login that is here for
 * another agent has that agent's own variables, and a second name of it would confuse the agent. */
static bool is_for_agents(const struct sandbox_spec *s, const struct build_input *in,
			  const struct agent *a, const struct spec_credential *c)
{
	return c && !a->program && s->agents.n && !config_credential(in->config, c->name);
}

static void add_env(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
		    const struct agent_env *e)
{
	const struct spec_credential *c = e->provider ? phantom_of(s, e->provider) : NULL;
	const struct spec_env *there = spec_env_find(s, e->name);
	cleanup_(values_done) struct row_values v = {0};
	cleanup_free char *value = NULL;

	/* A variable that the user set keeps its value. */
	if ((e->provider && !c) || (there && there->origin == SPEC_USER) ||
	    is_for_agents(s, in, a, c))
		return;
	values_of(s, c, &v);
	value = agent_expand(e->value, &v.v, false);
	if (!value)
		return;
	if (c && strstr(value, SPEC_PHANTOM))
		spec_env_phantom(s, e->name, value, c->name);
	else
		spec_env_set(s, e->name, value, SPEC_SET, "ralph");
}

static bool has_target(const struct sandbox_spec *s, const char *target)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (streq(s->mounts[i].target, target))
			return true;
	return false;
}

static void add_seed(struct sandbox_spec *s, const struct agent *a, const struct agent_seed *seed)
{
	const struct spec_credential *c = seed->provider ? phantom_of(s, seed->provider) : NULL;
	cleanup_free char *target = path_join(s->home, seed->path);
	cleanup_(values_done) struct row_values v = {0};
	cleanup_free char *text = agent_seed_text(a, seed, spec_env_find(s, ASK_ENV));
	cleanup_free char *content = NULL;
	struct spec_mount *m;

	if ((seed->provider && !c) || has_target(s, target))
		return;
	values_of(s, c, &v);
	content = agent_expand(text, &v.v, true);
	if (!content)
		return;
	m = spec_mount_add(s, seed->always ? SPEC_HOME_FILE : SPEC_HOME_SEED, NULL, target,
			   seed->always ? "settings of the agent, by ralph"
					: "so that the agent's first start asks nothing");
	m->data = take_ptr(content);
	m->mode = 0600;
}

/* Read-only and out of the workspace: what the agent writes cannot take it back. */
static int add_managed(struct sandbox_spec *s, const struct build_input *in,
		       const struct agent_managed *managed, struct err *err)
{
	cleanup_free char *hook = NULL;
	cleanup_json json_t *j = NULL;
	struct spec_mount *m;
	int r;

	if (!managed->path)
		return in->hooks ? err_set(err, ENOTSUP, "agent '%s' takes no hooks", s->agent) : 0;
	r = json_parse(managed->content, strlen(managed->content), &j, err);
	if (r == 0 && in->hooks)
		r = json_object_set(j, "hooks", (json_t *)in->hooks);
	if (r < 0)
		return r;
	m = spec_mount_add(s, SPEC_FILE, NULL, managed->path,
			   "settings that hold whatever the agent writes");
	m->data = json_dumps(j, JSON_COMPACT);
	m->mode = 0444;
	if (in->hooks) {
		hook = places_program(in->places, "hook");
		(void)spec_mount_add(s, SPEC_BIND_RO, hook, HOOK_INSIDE,
				     "the program that answers the agent's hooks");
	}
	return 0;
}

static int add_hosts(struct sandbox_spec *s, const struct build_input *in, const char *const *hosts,
		     const char *source, struct err *err)
{
	int r = 0;

	for (; *hosts && r == 0; hosts++)
		r = net_rules_add(s, in->environ, false, *hosts, source, err);
	return r;
}

static void add_provider_tools(struct sandbox_spec *s, const struct config *c,
			       const struct agent *a)
{
	const char *tools = c->network.provider_tools;

	if (streq(tools, "none"))
		return;
	if (!streq(tools, "agent")) {
		strv_split(&s->provider_tools, tools, ',');
		return;
	}
	for (const char *const *t = a->provider_tools; *t; t++)
		if (!strv_has(&s->provider_tools, *t))
			strv_push(&s->provider_tools, *t);
}

/* Their login hosts stay closed: `ralph up --agent NAME` is for logging in. */
static int add_others_net(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	const struct agent *a;
	int r = 0;

	for (size_t i = 0; r == 0 && (a = build_agent_at(s, i)); i++) {
		cleanup_free char *source = xasprintf("agent %s", a->name);

		if (streq(in->config->network.provider_tools, "agent"))
			add_provider_tools(s, in->config, a);
		r = add_hosts(s, in, a->hosts, source, err);
	}
	return r;
}

int build_agent_net(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	cleanup_free char *source = NULL, *login = NULL;
	const struct agent *a;
	int r = build_agent_find(in, &a, err);

	if (r < 0)
		return r;
	add_provider_tools(s, in->config, a);
	source = xasprintf("agent %s", a->name);
	login = xasprintf("agent %s: login", a->name);
	r = add_hosts(s, in, a->hosts, source, err);
	if (r == 0)
		r = add_others_net(s, in, err);
	/* With a phantom the gateway speaks to the provider, and nobody else: a sandbox that could
	 * would send there what it has read, under a key of somebody else's. */
	if (r == 0 && !has_phantom(s, a))
		r = add_hosts(s, in, a->login_hosts, login, err);
	return r;
}

int build_agent_check(const struct sandbox_spec *s, const struct build_input *in,
		      const struct agent *a, const struct tools *t, struct err *err)
{
	if (!in->run_agent)
		return 0;
	if (!s->container.image && !t->found)
		return err_set(err, ENOENT,
			       "%s is not installed: there is no '%s' on PATH; run: %s", a->title,
			       a->program, a->install);
	if (!s->container.image && !t->inside)
		return err_set(err, ENOENT,
			       "'%s' is at '%s', which is not in the sandbox; install it in your "
			       "home or below /usr or /opt, or add that directory to 'mounts'",
			       a->program, t->file);
	if (s->net.tier == POLICY_NONE && a->services[0])
		return err_usage(err,
				 "%s cannot work without a network: network.tier is none (%s); use "
				 "--net allowlist, which reaches its provider and nothing else",
				 a->title, config_origin(in->config, "network.tier"));
	return 0;
}

/* A login of somebody else's is not used: the user said whose may be. */
static int check_identity(const struct sandbox_spec *s, const struct build_input *in,
			  const struct agent *a, struct err *err)
{
	const struct strv *wanted = &in->config->identity;

	for (size_t i = 0; wanted->n && i < s->n_credentials; i++) {
		cleanup_free char *who =
			agent_identity(a, s->credentials[i].provider, in->places->home);
		bool known = !who;

		for (size_t k = 0; !known && k < wanted->n; k++)
			known = fnmatch(wanted->v[k], who, FNM_CASEFOLD) == 0;
		if (known)
			continue;
		(void)err_set(err, EPERM,
			      "the host's login of %s is %s, and identity allows %s%s; log in as "
			      "that, or change the setting (%s)",
			      a->title, who, wanted->v[0], wanted->n > 1 ? " …" : "",
			      config_origin(in->config, "identity"));
		err->exit_code = EXIT_IDENTITY;
		return -EPERM;
	}
	return 0;
}

static int add_row(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
		   struct err *err)
{
	int r = check_identity(s, in, a, err);

	if (r < 0)
		return r;
	for (const struct agent_env *e = a->env; e->name; e++)
		add_env(s, in, a, e);
	for (const struct agent_seed *seed = a->seeds; seed->path; seed++)
		add_seed(s, a, seed);
	if (a->mcp_env.name && spec_env_find(s, ASK_ENV))
		add_env(s, in, a, &a->mcp_env);
	return add_managed(s, in, &a->managed, err);
}

int build_agent(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
		struct err *err)
{
	struct build_input plain = *in;
	int r = add_row(s, in, a, err);

	plain.hooks = NULL;
	for (size_t i = 0; r == 0 && build_agent_at(s, i); i++)
		r = add_row(s, &plain, build_agent_at(s, i), err);
	return r;
}
