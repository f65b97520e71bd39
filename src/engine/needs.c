/* Fail closed: what a spec needs, and its engine does not have, is an error that names it. */
#include "engine/ops.h"

static const char *mount_of(const struct sandbox_spec *s, unsigned kinds)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (kinds & 1u << s->mounts[i].kind)
			return s->mounts[i].target;
	return NULL;
}

static const char *read_only_path(const struct sandbox_spec *s)
{
	return mount_of(s, 1u << SPEC_PROTECT | 1u << SPEC_RO);
}

static const char *hidden_path(const struct sandbox_spec *s)
{
	return mount_of(s, 1u << SPEC_HIDE | 1u << SPEC_MASK);
}

static const char *counted_limit(const struct sandbox_spec *s)
{
	const struct spec_limits *l = &s->limits;

	return l->pids	       ? "limits.pids"
	       : l->open_files ? "limits.open_files"
	       : l->tmp	       ? "limits.tmp"
			       : NULL;
}

static const char *net_tier(const struct sandbox_spec *s)
{
	return s->net.tier == POLICY_FULL ? NULL : policy_tier_name(s->net.tier);
}

static const char *clone_of(const struct sandbox_spec *s)
{
	return s->clone ? s->workspace : NULL;
}

static const struct {
	enum engine_caps cap;
	const char *(*needed)(const struct sandbox_spec *s); /* by this; NULL: by nothing */
	const char *before, *behind;
} needs[] = {
	{ENGINE_READ_ONLY, read_only_path, "keep", " read-only"},
	{ENGINE_HIDE, hidden_path, "hide", ""},
	{ENGINE_LIMITS, counted_limit, "enforce", ""},
	{ENGINE_NET, net_tier, "enforce the network tier", ""},
	{ENGINE_CLONE, clone_of, "work in a clone of", ""},
};

int needs_check(const struct engine_ops *ops, const struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		const char *what = ops->caps & needs[i].cap ? NULL : needs[i].needed(spec);

		if (what)
			return err_usage(err, "engine %s cannot %s '%s'%s; use another engine",
					 ops->name, needs[i].before, what, needs[i].behind);
	}
	return 0;
}
