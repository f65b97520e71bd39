#include <string.h>

#include "spec/fields.h"

static bool same_str(const char *a, const char *b)
{
	return a == b || (a && b && streq(a, b));
}

static bool same_field(const struct spec_field *f, const void *a, const void *b)
{
	if (f->kind == FIELD_STR)
		return same_str(field_str(f, a), field_str(f, b));
	if (f->kind == FIELD_STRV)
		return strv_same(field_at(f, a), field_at(f, b));
	return field_number(f, a) == field_number(f, b);
}

bool item_same(const struct spec_field *list, const void *a, const void *b)
{
	const struct spec_table *t = list->of;

	for (size_t i = 0; i < t->n_rows; i++)
		if (t->rows[i].part == list->part && !same_field(&t->rows[i], a, b))
			return false;
	return true;
}

/* The search begins at `first`: most mounts have the same place in both specs. */
static bool has_mount(const struct spec_field *f, const struct sandbox_spec *s, size_t first,
		      const struct spec_mount *m)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (item_same(f, &s->mounts[(first + i) % s->n_mounts], m))
			return true;
	return false;
}

/* A live sandbox keeps the home that it was started with. */
bool mount_is_home(const struct sandbox_spec *s, const struct spec_mount *m)
{
	return m->kind == SPEC_BIND_RW && streq(m->target, s->home);
}

/* These mounts follow from the content of the workspace, which may have changed since the start. */
bool mount_is_of_tree(const struct spec_mount *m)
{
	return m->of_tree || m->kind == SPEC_PIN || m->kind == SPEC_PROTECT ||
	       m->kind == SPEC_HIDE || m->kind == SPEC_PUT_BACK || m->kind == SPEC_OWN;
}

/*
 * The live sandbox has `more`, which the command does not ask for. Returns the difference where that
 * counts as one, else NULL. Takes `more`.
 */
static char *has_more(struct strv *beyond, char *more)
{
	if (!beyond)
		return more;
	strv_take(beyond, more);
	return NULL;
}

/* The order of mounts does not count, and a live sandbox may have more that is read-only. */
char *mount_difference(const struct spec_field *f, const void *live, const void *want,
		       struct strv *beyond)
{
	const struct sandbox_spec *has = live, *needs = want;

	for (size_t i = 0; i < needs->n_mounts; i++)
		if (!mount_is_of_tree(&needs->mounts[i]) &&
		    !mount_is_home(needs, &needs->mounts[i]) &&
		    !has_mount(f, has, i, &needs->mounts[i]))
			return xasprintf("mount %s", needs->mounts[i].target);
	for (size_t i = 0; i < has->n_mounts; i++) {
		const struct spec_mount *m = &has->mounts[i];
		char *d = NULL;

		if (m->kind != SPEC_BIND_RO && m->kind != SPEC_SYMLINK &&
		    m->kind != SPEC_HOME_LINK && !mount_is_of_tree(m) && !mount_is_home(has, m) &&
		    !has_mount(f, needs, i, m))
			d = has_more(beyond, xasprintf("mount %s", m->target));
		if (d)
			return d;
	}
	return NULL;
}

static bool has_rule(const struct net_policy *net, size_t first, const struct net_rule *rule)
{
	for (size_t i = 0; i < net->n_rules; i++)
		if (net_rule_equal(&net->rules[(first + i) % net->n_rules], rule))
			return true;
	return false;
}

/*
 * The first rule that differs is named; the order of rules never matters. A rule that denies, reads
 * requests or injects a credential changes what the command's own rules mean, so it is no addition.
 */
char *net_difference(const struct spec_field *f, const void *live, const void *want,
		     struct strv *beyond)
{
	const struct net_policy *a = field_at(f, live), *b = field_at(f, want);

	if (a->tier != b->tier)
		return xasprintf("network tier (%s, now %s)", policy_tier_name(a->tier),
				 policy_tier_name(b->tier));
	for (size_t i = 0; i < b->n_rules; i++)
		if (!has_rule(a, i, &b->rules[i]))
			return xasprintf("network rule %s", b->rules[i].pattern);
	for (size_t i = 0; i < a->n_rules; i++) {
		const struct net_rule *r = &a->rules[i];
		bool adds = !r->deny && !net_rule_inspects(r);
		char *d = NULL;

		if (!has_rule(b, i, r))
			d = has_more(adds ? beyond : NULL,
				     xasprintf("network rule %s", r->pattern));
		if (d)
			return d;
	}
	return NULL;
}

static char *list_difference(const struct spec_field *f, const void *live, const void *want)
{
	size_t n_live = *field_count(f, live), n_want = *field_count(f, want);

	for (size_t i = 0; i < n_want; i++) {
		const void *item = field_item(f, want, i);

		if (i >= n_live || !item_same(f, field_item(f, live, i), item))
			return xasprintf("%s %s", spec_parts[f->part],
					 *(char *const *)((const char *)item + f->of->name_at));
	}
	return n_live == n_want ? NULL : xasprintf("%ss", spec_parts[f->part]);
}

static const char *text_of(const struct spec_field *f, const void *item)
{
	const char *s =
		f->kind == FIELD_WORD ? f->words[field_number(f, item)] : field_str(f, item);

	return s ? s : "none";
}

char *field_difference(const struct spec_field *f, const void *live, const void *want,
		       struct strv *beyond)
{
	if (f->difference)
		return f->difference(f, live, want, beyond);
	if (f->kind == FIELD_LIST)
		return list_difference(f, live, want);
	if (same_field(f, live, want))
		return NULL;
	return f->shown ? xasprintf("%s (%s, now %s)", spec_parts[f->part], text_of(f, live),
				    text_of(f, want))
			: xstrdup(spec_parts[f->part]);
}

static char *part_difference(const struct spec_table *t, unsigned int part, const void *live,
			     const void *want, struct strv *beyond)
{
	char *d = NULL;

	for (const struct spec_field *f = t->rows; !d && f < t->rows + t->n_rows; f++) {
		if (f->kind == FIELD_SECTION)
			d = part_difference(f->of, part, field_at(f, live), field_at(f, want),
					    beyond);
		else if (f->part == part)
			d = field_difference(f, live, want, beyond);
	}
	return d;
}

char *spec_difference(const struct sandbox_spec *live, const struct sandbox_spec *want,
		      struct strv *beyond)
{
	char *d = NULL;

	for (unsigned int part = 1; !d && spec_parts[part]; part++)
		d = part_difference(&spec_table, part, live, want, beyond);
	return d;
}
