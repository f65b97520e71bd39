#include <string.h>

#include "spec/fields.h"

static void add(struct strv *out, const char *how, const char *what, const char *name,
		const char *more)
{
	strv_pushf(out, "%s: %s %s%s", how, what, name, more);
}

/* Does the user agree to this item? */
typedef bool counts_fn(const struct sandbox_spec *s, const void *item);

struct list {
	const struct spec_field *f;
	const char *what;
	size_t name_at;
	counts_fn *counts;
	const char *(*more)(const void *item); /* what else to say of one; NULL: nothing */
};

static const char *name_of(const struct list *l, const void *item)
{
	return *(char *const *)((const char *)item + l->name_at);
}

static const void *find(const struct list *l, const struct sandbox_spec *s, const char *name)
{
	for (size_t i = 0; i < *field_count(l->f, s); i++) {
		const void *item = field_item(l->f, s, i);

		if (l->counts(s, item) && streq(name_of(l, item), name))
			return item;
	}
	return NULL;
}

/* The items of s that `old` has not; compared: those that both have and that differ as well. */
static void list_half(const struct list *l, const struct sandbox_spec *s,
		      const struct sandbox_spec *old, const char *how, bool compared,
		      struct strv *out)
{
	for (size_t i = 0; i < *field_count(l->f, s); i++) {
		const void *item = field_item(l->f, s, i);
		const void *other = find(l, old, name_of(l, item));

		if (l->counts(s, item) && (!other || (compared && !item_same(l->f, other, item))))
			add(out, other ? "changed" : how, l->what, name_of(l, item),
			    l->more ? l->more(item) : "");
	}
}

/* Of a variable the record has no value to compare. */
static void list_changes(const struct list *l, const struct sandbox_spec *agreed,
			 const struct sandbox_spec *now, struct strv *out)
{
	list_half(l, now, agreed, "new", l->f->part != 0, out);
	list_half(l, agreed, now, "gone", false, out);
}

static bool variable_counts(const struct sandbox_spec *s, const void *item)
{
	return ((const struct spec_env *)item)->origin == SPEC_USER;
}

/* The home is ralph's own, and the same for every sandbox of a project. */
static bool mount_counts(const struct sandbox_spec *s, const void *item)
{
	const struct spec_mount *m = item;

	return !mount_is_of_tree(m) && !mount_is_home(s, m) &&
	       (m->asked || spec_is_writable(m->kind) || m->kind == SPEC_LOGIN);
}

static const char *mount_more(const void *item)
{
	return spec_is_writable(((const struct spec_mount *)item)->kind) ? ", writable" : "";
}

static bool always_counts(const struct sandbox_spec *s, const void *item)
{
	return true;
}

static bool has_rule(const struct net_policy *net, const struct net_rule *r)
{
	for (size_t i = 0; i < net->n_rules; i++)
		if (net_rule_equal(&net->rules[i], r))
			return true;
	return false;
}

static void rules_half(const struct net_policy *net, const struct net_policy *old, const char *how,
		       struct strv *out)
{
	for (size_t i = 0; i < net->n_rules; i++) {
		const struct net_rule *r = &net->rules[i];

		if (!has_rule(old, r))
			add(out, how, r->deny ? "denied host" : "host", r->pattern, "");
	}
}

static void net_changes(const struct net_policy *agreed, const struct net_policy *now,
			struct strv *out)
{
	if (agreed->tier != now->tier)
		strv_pushf(out, "changed: network tier (%s, now %s)",
			   policy_tier_name(agreed->tier), policy_tier_name(now->tier));
	rules_half(now, agreed, "new", out);
	rules_half(agreed, now, "gone", out);
}

/* The lists and the network have changes in words of their own. */
static void table_changes(const struct spec_table *t, const void *agreed, const void *now,
			  struct strv *out)
{
	for (const struct spec_field *f = t->rows; f < t->rows + t->n_rows; f++) {
		cleanup_free char *d = NULL;

		if (f->kind == FIELD_SECTION)
			table_changes(f->of, field_at(f, agreed), field_at(f, now), out);
		else if (f->part && f->kind != FIELD_LIST && f->kind != FIELD_CUSTOM)
			d = field_difference(f, agreed, now, NULL);
		if (d && f->shown)
			strv_pushf(out, "changed: %s", d);
		else if (d)
			strv_pushf(out, "changed: %s (%s)", d, f->key);
	}
}

static const struct spec_field *row_of(const char *key)
{
	for (size_t i = 0; i < spec_table.n_rows; i++)
		if (streq(spec_table.rows[i].key, key))
			return &spec_table.rows[i];
	return NULL;
}

void spec_changes(const struct sandbox_spec *agreed, const struct sandbox_spec *now,
		  struct strv *out)
{
	const struct list lists[] = {
		{row_of("mounts"), "mount", offsetof(struct spec_mount, target), mount_counts,
		 mount_more},
		{row_of("credentials"), "credential", offsetof(struct spec_credential, name),
		 always_counts, NULL},
		{row_of("env"), "variable", offsetof(struct spec_env, name), variable_counts, NULL},
	};

	table_changes(&spec_table, agreed, now, out);
	net_changes(&agreed->net, &now->net, out);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		list_changes(&lists[i], agreed, now, out);
}
