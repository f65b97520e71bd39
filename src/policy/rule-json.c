#include "policy/rule-json.h"

#include <string.h>

static json_t *field_to_json(const void *at, enum net_rule_kind kind)
{
	const struct strv *list = at;
	const char *text;

	switch (kind) {
	case NET_RULE_VERDICT:
		return json_string(*(const bool *)at ? "deny" : "allow");
	case NET_RULE_TEXT:
	case NET_RULE_NAME:
		text = *(char *const *)at;
		return text ? json_text(text) : NULL;
	case NET_RULE_LIST:
		return list->n ? json_strv(list) : NULL;
	}
	return NULL;
}

static json_t *rule_to_json(const struct net_rule *r)
{
	json_t *j = json_object();

	for (const struct net_rule_field *f = net_rule_fields; f->name; f++) {
		json_t *value = field_to_json(net_rule_at(r, f), f->kind);

		if (value)
			(void)json_object_set_new(j, f->name, value);
	}
	return j;
}

json_t *net_policy_to_json(const struct net_policy *p)
{
	json_t *rules = json_array();

	for (size_t i = 0; i < p->n_rules; i++)
		(void)json_array_append_new(rules, rule_to_json(&p->rules[i]));
	return json_pack("{ss so}", "tier", policy_tier_name(p->tier), "rules", rules);
}

static int unknown(const char *key, const char *value, struct err *err)
{
	return err_set(err, EINVAL, "'%s' has the unknown value '%s'", key, value);
}

static int field_from_json(const json_t *j, const struct net_rule_field *f, void *at,
			   struct err *err)
{
	const char *text = NULL;
	int r;

	if (f->kind == NET_RULE_LIST)
		return json_opt_strv(j, f->name, at, err);
	r = f->required ? json_get_str(j, f->name, &text, err)
			: json_opt_str(j, f->name, &text, err);
	if (r < 0 || !text)
		return r;
	if (f->kind != NET_RULE_VERDICT) {
		*(char **)at = xstrdup(text);
		return 0;
	}
	*(bool *)at = streq(text, "deny");
	return *(bool *)at || streq(text, "allow") ? 0 : unknown(f->name, text, err);
}

static int rule_from_json(const json_t *j, struct net_rule *ret, struct err *err)
{
	int r = 0;

	for (const struct net_rule_field *f = net_rule_fields; r == 0 && f->name; f++)
		r = field_from_json(j, f, net_rule_at(ret, f), err);
	return r;
}

static int rules_from_json(const json_t *a, struct net_policy *p, struct err *err)
{
	json_t *item;
	size_t i;

	json_array_foreach (a, i, item) {
		int r = rule_from_json(item, net_policy_push(p), err);

		if (r < 0)
			return err_wrap(err, r, "rules[%zu]", i);
	}
	return 0;
}

int net_policy_from_json(const json_t *j, struct net_policy *p, struct err *err)
{
	const char *tier = NULL;
	json_t *rules = NULL;
	int r = json_get_str(j, "tier", &tier, err);

	if (r == 0 && !policy_tier_parse(tier, &p->tier))
		r = unknown("tier", tier, err);
	if (r == 0)
		r = json_get_array(j, "rules", &rules, err);
	return r < 0 ? r : rules_from_json(rules, p, err);
}
