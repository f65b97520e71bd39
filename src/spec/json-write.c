#include <string.h>

#include "policy/rule-json.h"
#include "spec/json-fields.h"

/* jansson keeps the order of insertion. */

static json_t *env_to_json(const struct spec_env *e)
{
	static const char *const names[] = {"set", "passed", "user"};
	json_t *j = json_object();

	field_put_str(j, "name", e->name);
	field_put_str(j, "value", e->value);
	field_put_str(j, "origin", names[e->origin]);
	field_put_str(j, "source", e->source);
	field_put_str(j, "credential", e->credential);
	return j;
}

static json_t *mount_to_json(const struct spec_mount *m)
{
	json_t *j = json_object();

	field_put_str(j, "kind", spec_mount_kind_name(m->kind));
	field_put_str(j, "source", m->source);
	field_put_str(j, "target", m->target);
	field_put_str(j, "data", m->data);
	field_put_str(j, "reason", m->reason);
	if (m->size)
		field_put_uint(j, "size", m->size);
	if (m->mode)
		field_put_uint(j, "mode", m->mode);
	if (m->of_tree)
		(void)json_object_set_new(j, "of_tree", json_true());
	return j;
}

static json_t *watches_to_json(const struct sandbox_spec *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n_watches; i++) {
		json_t *j = json_object();

		field_put_str(j, "kind", spec_watch_name(s->watches[i].kind));
		field_put_str(j, "dir", s->watches[i].dir);
		(void)json_array_append_new(a, j);
	}
	return a;
}

static json_t *credential_to_json(const struct spec_credential *c)
{
	json_t *j = json_object();

	field_put_str(j, "name", c->name);
	field_put_str(j, "provider", c->provider);
	field_put_str(j, "way", spec_way_name(c->way));
	field_put_str(j, "source", c->source);
	field_put_str(j, "origin", c->origin);
	field_put_str(j, "ca_file", c->ca_file);
	field_put_str(j, "endpoint", c->endpoint);
	field_put_str(j, "phantom", c->phantom);
	if (c->private)
		(void)json_object_set_new(j, "private", json_true());
	field_put_strv(j, "requests", &c->requests);
	field_put_strv(j, "options", &c->options);
	if (c->expires_ms)
		field_put_uint(j, "expires_ms", c->expires_ms);
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

	field_put_uint(j, "micro_usd", b->micro_usd);
	field_put_uint(j, "tokens", b->tokens);
	return j;
}

static json_t *container_to_json(const struct spec_container *c)
{
	json_t *j = json_object();

	field_put_str(j, "image", c->image);
	field_put_str(j, "line", c->line);
	field_put_str(j, "volume", c->volume);
	field_put_str(j, "volume_dir", c->volume_dir);
	(void)json_object_set_new(j, "as_root", json_boolean(c->as_root));
	field_put_str(j, "far_listen", c->remote_listen);
	field_put_str(j, "far_dial", c->remote_dial);
	return j;
}

json_t *spec_to_json(const struct sandbox_spec *s)
{
	json_t *j = json_object(), *env = json_array(), *mounts = json_array();

	field_put_str(j, "name", s->name);
	field_put_str(j, "engine", s->engine);
	field_put_str(j, "agent", s->agent);
	field_put_str(j, "workspace", s->workspace);
	field_put_str(j, "branch", s->branch);
	field_put_str(j, "clone", s->clone);
	field_put_str(j, "instance", s->instance);
	field_put_str(j, "home", s->home);
	field_put_str(j, "hostname", s->hostname);
	field_put_str(j, "template", s->template);
	field_put_str(j, "inbox", s->inbox);
	if (s->inbox_every_ms)
		field_put_uint(j, "inbox_every_ms", s->inbox_every_ms);
	field_put_uint(j, "uid", s->uid);
	field_put_uint(j, "gid", s->gid);
	if (s->port)
		field_put_uint(j, "port", s->port);
	for (size_t i = 0; i < s->n_env; i++)
		(void)json_array_append_new(env, env_to_json(&s->env[i]));
	(void)json_object_set_new(j, "env", env);
	for (size_t i = 0; i < s->n_mounts; i++)
		(void)json_array_append_new(mounts, mount_to_json(&s->mounts[i]));
	(void)json_object_set_new(j, "mounts", mounts);
	(void)json_object_set_new(j, "watches", watches_to_json(s));
	field_put_str(j, "quarantine", spec_quarantine_name(s->quarantine));
	(void)json_object_set_new(j, "network", net_policy_to_json(&s->net));
	(void)json_object_set_new(j, "credentials", credentials_to_json(s));
	(void)json_object_set_new(j, "budget", budget_to_json(&s->budget));
	field_put_strv(j, "prices", &s->prices);
	(void)json_object_set_new(j, "limits", limits_to_json(&s->limits));
	if (s->container.image)
		(void)json_object_set_new(j, "container", container_to_json(&s->container));
	return j;
}

json_t *spec_credentials_to_json(const struct sandbox_spec *s)
{
	return json_pack("{so}", "credentials", credentials_to_json(s));
}
