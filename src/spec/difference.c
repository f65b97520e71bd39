#include "spec/spec.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && streq(a, b));
}

static bool same_mount(const struct spec_mount *a, const struct spec_mount *b)
{
	return a->kind == b->kind && same(a->source, b->source) && streq(a->target, b->target) &&
	       same(a->data, b->data) && a->size == b->size && a->mode == b->mode;
}

static bool has_mount(const struct sandbox_spec *s, const struct spec_mount *m)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (same_mount(&s->mounts[i], m))
			return true;
	return false;
}

/* They follow from what is in the workspace by now, which may have changed since the start. */
static bool is_of_tree(const struct spec_mount *m)
{
	return m->of_tree || m->kind == SPEC_PIN || m->kind == SPEC_PROTECT ||
	       m->kind == SPEC_HIDE || m->kind == SPEC_PUT_BACK || m->kind == SPEC_OWN;
}

static char *mount_difference(const struct sandbox_spec *live, const struct sandbox_spec *want)
{
	for (size_t i = 0; i < want->n_mounts; i++)
		if (!is_of_tree(&want->mounts[i]) && !has_mount(live, &want->mounts[i]))
			return xasprintf("mount %s", want->mounts[i].target);
	for (size_t i = 0; i < live->n_mounts; i++) {
		const struct spec_mount *m = &live->mounts[i];

		if (m->kind != SPEC_BIND_RO && m->kind != SPEC_SYMLINK &&
		    m->kind != SPEC_HOME_LINK && !is_of_tree(m) && !has_mount(want, m))
			return xasprintf("mount %s", m->target);
	}
	return NULL;
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

static char *net_difference(const struct net_policy *a, const struct net_policy *b)
{
	if (a->tier != b->tier)
		return xasprintf("network tier (%s, now %s)", policy_tier_name(a->tier),
				 policy_tier_name(b->tier));
	for (size_t i = 0; i < b->n_rules; i++)
		if (i >= a->n_rules || !net_rule_equal(&a->rules[i], &b->rules[i]))
			return xasprintf("network rule %s", b->rules[i].pattern);
	return a->n_rules == b->n_rules ? NULL : xstrdup("network rules");
}

/* When it expires is what was seen of it, not what it is. */
static bool same_credential(const struct spec_credential *a, const struct spec_credential *b)
{
	return streq(a->name, b->name) && streq(a->provider, b->provider) && a->way == b->way &&
	       same(a->source, b->source) && same(a->origin, b->origin) &&
	       same(a->ca_file, b->ca_file) && same(a->endpoint, b->endpoint) &&
	       same(a->phantom, b->phantom) && a->private == b->private &&
	       same_strv(&a->requests, &b->requests) && same_strv(&a->options, &b->options);
}

static char *credential_difference(const struct sandbox_spec *live, const struct sandbox_spec *want)
{
	for (size_t i = 0; i < want->n_credentials; i++)
		if (i >= live->n_credentials ||
		    !same_credential(&live->credentials[i], &want->credentials[i]))
			return xasprintf("credential %s", want->credentials[i].name);
	return live->n_credentials == want->n_credentials ? NULL : xstrdup("credentials");
}

static bool same_limits(const struct spec_limits *a, const struct spec_limits *b)
{
	return a->memory == b->memory && a->pids == b->pids && a->cpu == b->cpu &&
	       a->tmp == b->tmp && a->open_files == b->open_files;
}

char *spec_difference(const struct sandbox_spec *live, const struct sandbox_spec *want)
{
	char *d = NULL;

	if (!streq(live->engine, want->engine))
		return xasprintf("engine (%s, now %s)", live->engine, want->engine);
	if (!streq(live->workspace, want->workspace))
		return xasprintf("workspace (%s, now %s)", live->workspace, want->workspace);
	if (live->uid != want->uid || live->gid != want->gid || !streq(live->home, want->home))
		return xstrdup("user");
	if (!same(live->template, want->template))
		return xstrdup("image");
	if (live->quarantine != want->quarantine)
		return xstrdup("quarantine");
	if (!same(live->container.image, want->container.image))
		return xasprintf("image (%s, now %s)", live->container.image,
				 want->container.image);
	d = mount_difference(live, want);
	if (!d)
		d = net_difference(&live->net, &want->net);
	if (!d)
		d = credential_difference(live, want);
	if (!d && !same_limits(&live->limits, &want->limits))
		d = xstrdup("limits");
	if (!d && (live->budget.micro_usd != want->budget.micro_usd ||
		   live->budget.tokens != want->budget.tokens ||
		   !same_strv(&live->prices, &want->prices)))
		d = xstrdup("budget");
	return d;
}
