#include <assert.h>
#include <string.h>

#include "policy/rule-json.h"
#include "spec/json-fields.h"

/* What spec_to_json() wrote comes back, anything else is an error. */

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
		r = field_take_word(j, "origin", origin_name, SPEC_ORIGIN_N, &origin, err);
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
	int r = field_take_word(j, "kind", kind_name, SPEC_MOUNT_N, &kind, err);

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
	r = field_take_opt(j, "data", &m->data, err);
	if (r == 0 && json_object_get(j, "size"))
		r = json_get_uint(j, "size", &m->size, err);
	if (r == 0 && json_object_get(j, "mode"))
		r = field_take_u32(j, "mode", &m->mode, err);
	return r;
}

static int read_watch(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	const char *dir = NULL;
	unsigned kind = 0;
	int r = field_take_word(j, "kind", watch_name, SPEC_WATCH_N, &kind, err);

	if (r == 0)
		r = json_get_str(j, "dir", &dir, err);
	if (r == 0)
		spec_watch_add(s, (enum spec_watch_kind)kind, dir);
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
		r = field_take_word(j, "way", way_name, SPEC_WAY_N, &way, err);
	if (r < 0)
		return r;
	c = spec_credential_add(s, name, provider);
	c->way = (enum spec_way)way;
	c->private = json_is_true(json_object_get(j, "private"));
	r = field_take_opt(j, "source", &c->source, err);
	if (r == 0)
		r = field_take_opt(j, "origin", &c->origin, err);
	if (r == 0)
		r = field_take_opt(j, "ca_file", &c->ca_file, err);
	if (r == 0)
		r = field_take_opt(j, "endpoint", &c->endpoint, err);
	if (r == 0)
		r = field_take_opt(j, "phantom", &c->phantom, err);
	if (r == 0)
		r = field_take_strv(j, "requests", &c->requests, err);
	if (r == 0)
		r = field_take_strv(j, "options", &c->options, err);
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
	json_t *j;
	int r = json_get_object(obj, "network", &j, err);

	return r < 0 ? r : net_policy_from_json(j, &s->net, err);
}

static int read_quarantine(const json_t *obj, struct sandbox_spec *s, struct err *err)
{
	unsigned q = 0;
	int r = field_take_word(obj, "quarantine", quarantine_name, SPEC_QUARANTINE_N, &q, err);

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

static int read_container(const json_t *obj, struct spec_container *c, struct err *err)
{
	json_t *j = json_object_get(obj, "container");
	int r;

	if (!j)
		return 0;
	r = field_take_str(j, "image", &c->image, err);
	if (r == 0)
		r = field_take_str(j, "line", &c->line, err);
	if (r == 0)
		r = field_take_opt(j, "volume", &c->volume, err);
	if (r == 0)
		r = field_take_opt(j, "volume_dir", &c->volume_dir, err);
	if (r == 0)
		r = field_take_opt(j, "far_listen", &c->remote_listen, err);
	if (r == 0)
		r = field_take_opt(j, "far_dial", &c->remote_dial, err);
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
		r = (fields[i].optional ? field_take_opt : field_take_str)(j, fields[i].key,
									   fields[i].to, err);
	return r;
}

static int read_port(const json_t *j, uint16_t *ret, struct err *err)
{
	uint32_t port = 0;
	int r = json_object_get(j, "port") ? field_take_u32(j, "port", &port, err) : 0;

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
		r = field_take_u32(j, "uid", &s->uid, err);
	if (r == 0)
		r = field_take_u32(j, "gid", &s->gid, err);
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
		r = field_take_strv(j, "prices", &s->prices, err);
	if (r == 0)
		r = limits_from_json(j, &s->limits, err);
	if (r == 0)
		r = read_container(j, &s->container, err);
	if (r == 0)
		r = spec_check(s, err);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}

int spec_credentials_from_json(const json_t *j, struct sandbox_spec *s, struct err *err)
{
	return read_each(j, "credentials", read_credential, s, err);
}
