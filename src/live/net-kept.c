#include "live/net-kept.h"

#include <string.h>

#include "base/parse.h"
#include "netrules/net-rules.h"
#include "netrules/rule-files.h"

static bool is_kept(const struct net_rule *r)
{
	return r->source && strncmp(r->source, NET_RULES_FILES, strlen(NET_RULES_FILES)) == 0;
}

static bool is_of_this_machine(const char *pattern)
{
	static const char name[] = "localhost";
	size_t n = sizeof(name) - 1;

	return strncmp(pattern, name, n) == 0 && (pattern[n] == '\0' || pattern[n] == ':');
}

int net_kept_list(struct sandbox_spec *s, const struct places *p, char *const *environ,
		  json_t **ret, uint64_t *ret_until, struct err *err)
{
	int r = net_rules_refresh(s, p, environ, err);
	uint64_t until;

	*ret_until = 0;
	*ret = r < 0 ? NULL : json_array();
	for (size_t i = 0; r == 0 && i < s->net.n_rules; i++) {
		const struct net_rule *rule = &s->net.rules[i];
		cleanup_free char *text =
			xasprintf("%s %s", rule->deny ? "deny" : "allow", rule->pattern);

		if (!is_kept(rule) || is_of_this_machine(rule->pattern))
			continue;
		(void)json_array_append_new(*ret, json_text(text));
		if (rule->until && parse_uint(rule->until, 1, INT64_MAX, &until) == 0 &&
		    (!*ret_until || until < *ret_until))
			*ret_until = until;
	}
	return r;
}

static int add(struct net_policy *to, const char *text, struct err *err)
{
	cleanup_free char *canon = NULL;
	bool deny = strncmp(text, "deny ", 5) == 0;
	int r;

	if ((!deny && strncmp(text, "allow ", 6) != 0) || to->n_rules == RULES_MAX)
		return err_set(err, EPROTO, "rules from home cannot be understood");
	r = net_rules_canon(text + (deny ? 5 : 6), &canon, err);
	if (r == 0)
		(void)net_policy_add(to, deny, canon, NULL);
	return r;
}

int net_kept_replace(const struct places *p, const json_t *rules, struct err *err)
{
	cleanup_(net_policy_clear) struct net_policy all = {0};
	cleanup_free char *path = rules_user_file(p);
	const json_t *rule;
	size_t i;
	int r = 0;

	json_array_foreach (rules, i, rule)
		if (r == 0)
			r = add(&all, json_string_value(rule) ? json_string_value(rule) : "", err);
	return r < 0 ? r : rules_write(path, &all, err);
}
