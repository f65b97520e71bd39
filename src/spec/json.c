#include "spec/spec.h"

#include <assert.h>
#include <string.h>
#include <sys/resource.h>

/* Writing. Absent strings are left out; jansson keeps the order of insertion. */

static void put_str(json_t *obj, const char *key, const char *value)
{
	if (value)
		(void)json_object_set_new(obj, key, json_text(value));
}

static void put_uint(json_t *obj, const char *key, uint64_t value)
{
	(void)json_object_set_new(obj, key, json_integer((json_int_t)value));
}

static void put_strv(json_t *obj, const char *key, const struct strv *s)
{
	json_t *a;

	if (s->n == 0)
		return;
	a = json_array();
	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, json_text(s->v[i]));
	(void)json_object_set_new(obj, key, a);
}

static json_t *env_to_json(const struct spec_env *e)
{
	static const char *const names[] = {"set", "passed", "user"};
	json_t *j = json_object();

	put_str(j, "name", e->name);
	put_str(j, "value", e->value);
	put_str(j, "origin", names[e->origin]);
	put_str(j, "source", e->source);
	put_str(j, "credential", e->credential);
	return j;
}

static json_t *mount_to_json(const struct spec_mount *m)
{
	json_t *j = json_object();

	put_str(j, "kind", spec_mount_kind_name(m->kind));
	put_str(j, "source", m->source);
	put_str(j, "target", m->target);
	put_str(j, "data", m->data);
	put_str(j, "reason", m->reason);
	if (m->size)
		put_uint(j, "size", m->size);
	if (m->mode)
		put_uint(j, "mode", m->mode);
	if (m->of_tree)
		(void)json_object_set_new(j, "of_tree", json_true());
	return j;
}

static json_t *watches_to_json(const struct sandbox_spec *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n_watches; i++) {
		json_t *j = json_object();

		put_str(j, "kind", spec_watch_name(s->watches[i].kind));
		put_str(j, "dir", s->watches[i].dir);
		(void)json_array_append_new(a, j);
	}
	return a;
}

static json_t *rule_to_json(const struct spec_net_rule *r)
{
	json_t *j = json_object();

	put_str(j, "verdict", r->deny ? "deny" : "allow");
	put_str(j, "pattern", r->pattern);
	put_str(j, "source", r->source);
	put_strv(j, "methods", &r->methods);
	put_strv(j, "paths", &r->paths);
	put_strv(j, "git", &r->git);
	put_str(j, "credential", r->credential);
	return j;
}

static json_t *net_to_json(const struct spec_net *n)
{
	json_t *j = json_object(), *rules = json_array();

	put_str(j, "tier", spec_tier_name(n->tier));
	for (size_t i = 0; i < n->n_rules; i++)
		(void)json_array_append_new(rules, rule_to_json(&n->rules[i]));
	(void)json_object_set_new(j, "rules", rules);
	return j;
}

static json_t *credential_to_json(const struct spec_credential *c)
{
	json_t *j = json_object();

	put_str(j, "name", c->name);
	put_str(j, "provider", c->provider);
	put_str(j, "way", spec_way_name(c->way));
	put_str(j, "source", c->source);
	put_str(j, "origin", c->origin);
	put_str(j, "ca_file", c->ca_file);
	put_str(j, "endpoint", c->endpoint);
	put_str(j, "phantom", c->phantom);
	if (c->private)
		(void)json_object_set_new(j, "private", json_true());
	put_strv(j, "requests", &c->requests);
	put_strv(j, "options", &c->options);
	if (c->expires_ms)
		put_uint(j, "expires_ms", c->expires_ms);
	return j;
}

static json_t *credentials_to_json(const struct sandbox_spec *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n_credentials; i++)
		(void)json_array_append_new(a, credential_to_json(&s->credentials[i]));
	return a;
}

static json_t *budget_to_json(const struct spec_budget *b)
{
	json_t *j = json_object();

	put_uint(j, "micro_usd", b->micro_usd);
	put_uint(j, "tokens", b->tokens);
	return j;
}

static const struct {
	const char *name;
	int resource;
} rlimit_names[] = {
	{"core", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
	{"data", RLIMIT_DATA}, {"as", RLIMIT_AS},	  {"fsize", RLIMIT_FSIZE},
};

static json_t *rlimits_to_json(const struct spec_limits *l)
{
	json_t *j = json_object();

	for (size_t i = 0; i < l->n_rlimits; i++)
		for (size_t k = 0; k < ARRAY_SIZE(rlimit_names); k++)
			if (rlimit_names[k].resource == l->rlimits[i].resource)
				put_uint(j, rlimit_names[k].name, l->rlimits[i].value);
	return j;
}

static int read_rlimits(const json_t *obj, struct spec_limits *l, struct err *err)
{
	json_t *j, *value;
	const char *key;
	int r = json_get_object(obj, "rlimits", &j, err);

	if (r < 0)
		return r;
	json_object_foreach (j, key, value) {
		size_t k = 0;

		while (k < ARRAY_SIZE(rlimit_names) && !streq(rlimit_names[k].name, key))
			k++;
		if (k == ARRAY_SIZE(rlimit_names) || !json_is_integer(value) ||
		    json_integer_value(value) < 0 || l->n_rlimits == SPEC_RLIMITS_MAX)
			return err_set(err, EINVAL, "rlimits: '%s' is not known here", key);
		l->rlimits[l->n_rlimits++] = (struct spec_rlimit){
			.resource = rlimit_names[k].resource,
			.value = (uint64_t)json_integer_value(value),
		};
	}
	return 0;
}

static const char *cgroup_name(unsigned i)
{
	static const char *const names[] = {"none", "v1", "v2", "scope"};
	static_assert(ARRAY_SIZE(names) == SPEC_CGROUP_N, "one name per kind");

	return names[i];
}

static json_t *cgroups_to_json(const struct spec_limits *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_cgroups; i++) {
		json_t *j = json_object();

		put_str(j, "dir", l->cgroups[i].dir);
		put_uint(j, "controllers", l->cgroups[i].controllers);
		(void)json_array_append_new(a, j);
	}
	return a;
}

static json_t *limits_to_json(const struct spec_limits *l)
{
	json_t *j = json_object();

	put_uint(j, "memory", l->memory);
	put_uint(j, "pids", l->pids);
	put_uint(j, "cpu", l->cpu);
	put_uint(j, "tmp", l->tmp);
	put_uint(j, "open_files", l->open_files);
	put_uint(j, "timeout_ms", l->timeout_ms);
	put_str(j, "method", l->method);
	put_uint(j, "controllers", l->controllers);
	put_str(j, "cgroup", cgroup_name(l->cgroup));
	(void)json_object_set_new(j, "cgroups", cgroups_to_json(l));
	(void)json_object_set_new(j, "rlimits", rlimits_to_json(l));
	return j;
}

static json_t *container_to_json(const struct spec_container *c)
{
	json_t *j = json_object();

	put_str(j, "image", c->image);
	put_str(j, "line", c->line);
	put_str(j, "volume", c->volume);
	put_str(j, "volume_dir", c->volume_dir);
	(void)json_object_set_new(j, "as_root", json_boolean(c->as_root));
	put_str(j, "far_listen", c->far_listen);
	put_str(j, "far_dial", c->far_dial);
	return j;
}

json_t *spec_to_json(const struct sandbox_spec *s)
{
	json_t *j = json_object(), *env = json_array(), *mounts = json_array();

	put_str(j, "name", s->name);
	put_str(j, "engine", s->engine);
	put_str(j, "agent", s->agent);
	put_str(j, "workspace", s->workspace);
	put_str(j, "branch", s->branch);
	put_str(j, "clone", s->clone);
	put_str(j, "instance", s->instance);
	put_str(j, "home", s->home);
	put_str(j, "hostname", s->hostname);
	put_str(j, "template", s->template);
	put_str(j, "inbox", s->inbox);
	if (s->inbox_every_ms)
		put_uint(j, "inbox_every_ms", s->inbox_every_ms);
	put_uint(j, "uid", s->uid);
	put_uint(j, "gid", s->gid);
	if (s->port)
		put_uint(j, "port", s->port);
	for (size_t i = 0; i < s->n_env; i++)
		(void)json_array_append_new(env, env_to_json(&s->env[i]));
	(void)json_object_set_new(j, "env", env);
	for (size_t i = 0; i < s->n_mounts; i++)
		(void)json_array_append_new(mounts, mount_to_json(&s->mounts[i]));
	(void)json_object_set_new(j, "mounts", mounts);
	(void)json_object_set_new(j, "watches", watches_to_json(s));
	put_str(j, "quarantine", spec_quarantine_name(s->quarantine));
	(void)json_object_set_new(j, "network", net_to_json(&s->net));
	(void)json_object_set_new(j, "credentials", credentials_to_json(s));
	(void)json_object_set_new(j, "budget", budget_to_json(&s->budget));
	put_strv(j, "prices", &s->prices);
	(void)json_object_set_new(j, "limits", limits_to_json(&s->limits));
	if (s->container.image)
		(void)json_object_set_new(j, "container", container_to_json(&s->container));
	return j;
}

/* Reading. Strict: what spec_to_json() wrote comes back, anything else is an error. */

static int take_str(const json_t *obj, const char *key, char **ret, struct err *err)
{
	const char *s = NULL;
	int r = json_get_str(obj, key, &s, err);

	if (r == 0)
		*ret = xstrdup(s);
	return r;
}

static int take_opt(const json_t *obj, const char *key, char **ret, struct err *err)
{
	const char *s = NULL;
	int r = json_opt_str(obj, key, &s, err);

	if (r == 0 && s)
		*ret = xstrdup(s);
	return r;
}

static int take_u32(const json_t *obj, const char *key, uint32_t *ret, struct err *err)
{
	uint64_t v = 0;
	int r = json_get_uint(obj, key, &v, err);

	if (r == 0 && v > UINT32_MAX)
		r = err_set(err, ERANGE, "'%s' is too large", key);
	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

static int take_strv(const json_t *obj, const char *key, struct strv *out, struct err *err)
{
	json_t *a = json_object_get(obj, key), *item;
	size_t i;

	if (!a)
		return 0;
	if (!json_is_array(a))
		return err_set(err, EINVAL, "'%s' is not an array", key);
	json_array_foreach (a, i, item) {
		if (!json_is_string(item))
			return err_set(err, EINVAL, "'%s' has an item that is no string", key);
		strv_push(out, json_string_value(item));
	}
	return 0;
}

static int take_word(const json_t *obj, const char *key, const char *(*name_of)(unsigned),
		     unsigned n, unsigned *ret, struct err *err)
{
	const char *s = NULL;
	int r = json_get_str(obj, key, &s, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++) {
		if (streq(s, name_of(i))) {
			*ret = i;
			return 0;
		}
	}
	return err_set(err, EINVAL, "'%s' has the unknown value '%s'", key, s);
}

static const char *kind_name(unsigned i)
{
	return spec_mount_kind_name((enum spec_mount_kind)i);
}

static const char *watch_name(unsigned i)
{
	return spec_watch_name((enum spec_watch_kind)i);
}

static const char *quarantine_name(unsigned i)
{
	return spec_quarantine_name((enum spec_quarantine)i);
}

static const char *tier_name(unsigned i)
{
	return spec_tier_name((enum spec_tier)i);
}

static const char *way_name(unsigned i)
{
	return spec_way_name((enum spec_way)i);
}

static const char *origin_name(unsigned i)
{
	static const char *const names[] = {"set", "passed", "user"};

	return names[i];
}

static int read_env(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	const char *name = NULL, *value = NULL, *source = NULL, *credential = NULL;
	unsigned origin = 0;
	int r = json_get_str(j, "name", &name, err);

	if (r == 0)
		r = json_get_str(j, "value", &value, err);
	if (r == 0)
		r = json_opt_str(j, "source", &source, err);
	if (r == 0)
		r = json_opt_str(j, "credential", &credential, err);
	if (r == 0)
		r = take_word(j, "origin", origin_name, SPEC_ORIGIN_N, &origin, err);
	if (r == 0 && credential)
		spec_env_phantom(s, name, value, credential);
	else if (r == 0)
		spec_env_set(s, name, value, (enum spec_origin)origin, source);
	return r;
}

static int read_mount(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	const char *source = NULL, *target = NULL, *reason = NULL;
	struct spec_mount *m;
	unsigned kind = 0;
	int r = take_word(j, "kind", kind_name, SPEC_MOUNT_N, &kind, err);

	if (r == 0)
		r = json_get_str(j, "target", &target, err);
	if (r == 0)
		r = json_get_str(j, "reason", &reason, err);
	if (r == 0)
		r = json_opt_str(j, "source", &source, err);
	if (r < 0)
		return r;
	m = spec_mount_add(s, (enum spec_mount_kind)kind, source, target, reason);
	m->of_tree = json_is_true(json_object_get(j, "of_tree"));
	r = take_opt(j, "data", &m->data, err);
	if (r == 0 && json_object_get(j, "size"))
		r = json_get_uint(j, "size", &m->size, err);
	if (r == 0 && json_object_get(j, "mode"))
		r = take_u32(j, "mode", &m->mode, err);
	return r;
}

static int read_watch(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	const char *dir = NULL;
	unsigned kind = 0;
	int r = take_word(j, "kind", watch_name, SPEC_WATCH_N, &kind, err);

	if (r == 0)
		r = json_get_str(j, "dir", &dir, err);
	if (r == 0)
		spec_watch_add(s, (enum spec_watch_kind)kind, dir);
	return r;
}

static int read_rule(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	const char *pattern = NULL, *verdict = NULL, *source = NULL;
	struct spec_net_rule *rule;
	int r = json_get_str(j, "pattern", &pattern, err);

	if (r == 0)
		r = json_get_str(j, "verdict", &verdict, err);
	if (r == 0 && !streq(verdict, "allow") && !streq(verdict, "deny"))
		r = err_set(err, EINVAL, "'verdict' has the unknown value '%s'", verdict);
	if (r == 0)
		r = json_opt_str(j, "source", &source, err);
	if (r < 0)
		return r;
	rule = spec_net_add(s, streq(verdict, "deny"), pattern, source);
	r = take_strv(j, "methods", &rule->methods, err);
	if (r == 0)
		r = take_strv(j, "paths", &rule->paths, err);
	if (r == 0)
		r = take_strv(j, "git", &rule->git, err);
	if (r == 0)
		r = take_opt(j, "credential", &rule->credential, err);
	return r;
}

static int read_credential(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	const char *name = NULL, *provider = NULL;
	struct spec_credential *c;
	unsigned way = 0;
	int r = json_get_str(j, "name", &name, err);

	if (r == 0)
		r = json_get_str(j, "provider", &provider, err);
	if (r == 0)
		r = take_word(j, "way", way_name, SPEC_WAY_N, &way, err);
	if (r < 0)
		return r;
	c = spec_credential_add(s, name, provider);
	c->way = (enum spec_way)way;
	c->private = json_is_true(json_object_get(j, "private"));
	r = take_opt(j, "source", &c->source, err);
	if (r == 0)
		r = take_opt(j, "origin", &c->origin, err);
	if (r == 0)
		r = take_opt(j, "ca_file", &c->ca_file, err);
	if (r == 0)
		r = take_opt(j, "endpoint", &c->endpoint, err);
	if (r == 0)
		r = take_opt(j, "phantom", &c->phantom, err);
	if (r == 0)
		r = take_strv(j, "requests", &c->requests, err);
	if (r == 0)
		r = take_strv(j, "options", &c->options, err);
	if (r == 0 && json_object_get(j, "expires_ms"))
		r = json_get_uint(j, "expires_ms", &c->expires_ms, err);
	return r;
}

typedef int read_fn(const json_t *j, struct sandbox_spec *s, struct err *err);

static int read_each(const json_t *obj, const char *key, read_fn *fn, struct sandbox_spec *s,
		     struct err *err)
{
	json_t *a, *item;
	size_t i;
	int r = json_get_array(obj, key, &a, err);

	if (r < 0)
		return r;
	json_array_foreach (a, i, item) {
		r = fn(item, s, err);
		if (r < 0)
			return err_wrap(err, r, "%s[%zu]", key, i);
	}
	return 0;
}

static int read_net(const json_t *obj, struct sandbox_spec *s, struct err *err)
{
	unsigned tier = 0;
	json_t *j;
	int r = json_get_object(obj, "network", &j, err);

	if (r == 0)
		r = take_word(j, "tier", tier_name, SPEC_NET_N, &tier, err);
	s->net.tier = (enum spec_tier)tier;
	return r < 0 ? r : read_each(j, "rules", read_rule, s, err);
}

static int read_quarantine(const json_t *obj, struct sandbox_spec *s, struct err *err)
{
	unsigned q = 0;
	int r = take_word(obj, "quarantine", quarantine_name, SPEC_QUARANTINE_N, &q, err);

	s->quarantine = (enum spec_quarantine)q;
	return r;
}

static int read_budget(const json_t *obj, struct spec_budget *b, struct err *err)
{
	json_t *j;
	int r = json_get_object(obj, "budget", &j, err);

	if (r == 0)
		r = json_get_uint(j, "micro_usd", &b->micro_usd, err);
	return r < 0 ? r : json_get_uint(j, "tokens", &b->tokens, err);
}

static int read_cgroups(const json_t *obj, struct spec_limits *l, struct err *err)
{
	json_t *a, *item;
	unsigned kind = 0;
	size_t i;
	int r = take_word(obj, "cgroup", cgroup_name, SPEC_CGROUP_N, &kind, err);

	if (r == 0)
		r = json_get_array(obj, "cgroups", &a, err);
	if (r < 0)
		return r;
	l->cgroup = (enum spec_cgroup_kind)kind;
	if (json_array_size(a) > SPEC_CGROUPS_MAX)
		return err_set(err, E2BIG, "'cgroups' has more than %d entries", SPEC_CGROUPS_MAX);
	json_array_foreach (a, i, item) {
		struct spec_cgroup *c = &l->cgroups[i];

		r = take_str(item, "dir", &c->dir, err);
		l->n_cgroups += c->dir ? 1 : 0;
		if (r == 0)
			r = take_u32(item, "controllers", &c->controllers, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_limits(const json_t *obj, struct spec_limits *l, struct err *err)
{
	struct {
		const char *key;
		uint64_t *to;
	} fields[] = {
		{"memory", &l->memory},
		{"pids", &l->pids},
		{"cpu", &l->cpu},
		{"tmp", &l->tmp},
		{"open_files", &l->open_files},
		{"timeout_ms", &l->timeout_ms},
	};
	json_t *j;
	int r = json_get_object(obj, "limits", &j, err);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fields); i++)
		r = json_get_uint(j, fields[i].key, fields[i].to, err);
	if (r == 0)
		r = take_u32(j, "controllers", &l->controllers, err);
	if (r == 0)
		r = read_rlimits(j, l, err);
	if (r == 0)
		r = read_cgroups(j, l, err);
	return r < 0 ? r : take_opt(j, "method", &l->method, err);
}

static int read_container(const json_t *obj, struct spec_container *c, struct err *err)
{
	json_t *j = json_object_get(obj, "container");
	int r;

	if (!j)
		return 0;
	r = take_str(j, "image", &c->image, err);
	if (r == 0)
		r = take_str(j, "line", &c->line, err);
	if (r == 0)
		r = take_opt(j, "volume", &c->volume, err);
	if (r == 0)
		r = take_opt(j, "volume_dir", &c->volume_dir, err);
	if (r == 0)
		r = take_opt(j, "far_listen", &c->far_listen, err);
	if (r == 0)
		r = take_opt(j, "far_dial", &c->far_dial, err);
	c->as_root = json_is_true(json_object_get(j, "as_root"));
	return r;
}

static int read_names(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	struct {
		const char *key;
		char **to;
		bool optional;
	} fields[] = {
		{"name", &s->name, false},	  {"engine", &s->engine, false},
		{"agent", &s->agent, false},	  {"workspace", &s->workspace, false},
		{"branch", &s->branch, true},	  {"clone", &s->clone, true},
		{"inbox", &s->inbox, true},	  {"instance", &s->instance, true},
		{"home", &s->home, false},	  {"hostname", &s->hostname, false},
		{"template", &s->template, true},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fields); i++)
		r = (fields[i].optional ? take_opt : take_str)(j, fields[i].key, fields[i].to, err);
	return r;
}

static int read_port(const json_t *j, uint16_t *ret, struct err *err)
{
	uint32_t port = 0;
	int r = json_object_get(j, "port") ? take_u32(j, "port", &port, err) : 0;

	if (r == 0 && port > UINT16_MAX)
		r = err_set(err, EINVAL, "port: %u is none", port);
	*ret = r == 0 ? (uint16_t)port : 0;
	return r;
}

int spec_from_json(const json_t *j, struct sandbox_spec **ret, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	int r = read_names(j, s, err);

	if (r == 0)
		r = take_u32(j, "uid", &s->uid, err);
	if (r == 0)
		r = take_u32(j, "gid", &s->gid, err);
	if (r == 0)
		r = json_object_get(j, "inbox_every_ms")
			    ? json_get_uint(j, "inbox_every_ms", &s->inbox_every_ms, err)
			    : 0;
	if (r == 0)
		r = read_port(j, &s->port, err);
	if (r == 0)
		r = read_each(j, "env", read_env, s, err);
	if (r == 0)
		r = read_each(j, "mounts", read_mount, s, err);
	if (r == 0)
		r = read_each(j, "watches", read_watch, s, err);
	if (r == 0)
		r = read_quarantine(j, s, err);
	if (r == 0)
		r = read_net(j, s, err);
	if (r == 0)
		r = read_each(j, "credentials", read_credential, s, err);
	if (r == 0)
		r = read_budget(j, &s->budget, err);
	if (r == 0)
		r = take_strv(j, "prices", &s->prices, err);
	if (r == 0)
		r = read_limits(j, &s->limits, err);
	if (r == 0)
		r = read_container(j, &s->container, err);
	if (r == 0)
		r = spec_check(s, err);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}

json_t *spec_credentials_to_json(const struct sandbox_spec *s)
{
	return json_pack("{so}", "credentials", credentials_to_json(s));
}

int spec_credentials_from_json(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	return read_each(j, "credentials", read_credential, s, err);
}
