#include "spec/spec.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && streq(a, b));
}

static char *env_difference(const struct sandbox_spec *a, const struct sandbox_spec *b)
{
	for (size_t i = 0; i < b->n_env; i++) {
		const struct spec_env *e = spec_env_find(a, b->env[i].name);

		if (!e || !streq(e->value, b->env[i].value))
			return xasprintf("variable %s", b->env[i].name);
	}
	return a->n_env == b->n_env ? NULL : xstrdup("environment");
}

static char *mount_difference(const struct sandbox_spec *a, const struct sandbox_spec *b)
{
	for (size_t i = 0; i < b->n_mounts; i++) {
		const struct spec_mount *m = i < a->n_mounts ? &a->mounts[i] : NULL,
					*n = &b->mounts[i];

		if (!m || m->kind != n->kind || !same(m->source, n->source) ||
		    !streq(m->target, n->target) || !same(m->data, n->data) || m->size != n->size ||
		    m->mode != n->mode)
			return xasprintf("mount %s", n->target);
	}
	return a->n_mounts == b->n_mounts ? NULL : xstrdup("mounts");
}

static bool same_strv(const struct strv *a, const struct strv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!streq(a->v[i], b->v[i]))
			return false;
	return true;
}

static bool same_rule(const struct spec_net_rule *a, const struct spec_net_rule *b)
{
	return a->deny == b->deny && streq(a->pattern, b->pattern) &&
	       same(a->credential, b->credential) && same_strv(&a->methods, &b->methods) &&
	       same_strv(&a->paths, &b->paths) && same_strv(&a->git, &b->git);
}

static char *net_difference(const struct spec_net *a, const struct spec_net *b)
{
	if (a->tier != b->tier)
		return xasprintf("network tier (%s, now %s)", spec_tier_name(a->tier),
				 spec_tier_name(b->tier));
	for (size_t i = 0; i < b->n_rules; i++)
		if (i >= a->n_rules || !same_rule(&a->rules[i], &b->rules[i]))
			return xasprintf("network rule %s", b->rules[i].pattern);
	return a->n_rules == b->n_rules ? NULL : xstrdup("network rules");
}

static char *limit_difference(const struct spec_limits *a, const struct spec_limits *b)
{
	bool equal = a->memory == b->memory && a->pids == b->pids && a->cpu == b->cpu &&
		     a->tmp == b->tmp && a->open_files == b->open_files;

	/* A time limit belongs to a command, not to the sandbox it runs in. */
	return equal ? NULL : xstrdup("limits");
}

char *spec_difference(const struct sandbox_spec *a, const struct sandbox_spec *b)
{
	char *d = NULL;

	if (!streq(a->engine, b->engine))
		return xasprintf("engine (%s, now %s)", a->engine, b->engine);
	if (!streq(a->workspace, b->workspace))
		return xasprintf("workspace (%s, now %s)", a->workspace, b->workspace);
	if (a->uid != b->uid || a->gid != b->gid || !streq(a->home, b->home))
		return xstrdup("user");
	d = mount_difference(a, b);
	if (!d)
		d = env_difference(a, b);
	if (!d)
		d = net_difference(&a->net, &b->net);
	if (!d)
		d = limit_difference(&a->limits, &b->limits);
	return d;
}
