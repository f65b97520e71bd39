#include "netrules/net-rules.h"

#include <ctype.h>
#include <string.h>

#include "policy/idna.h"
#include "netrules/groups.h"
#include "netrules/rule-files.h"
#include "record/loop-rules.h"

/* A pattern as the user wrote it, in the ASCII form that is decided on. */
static int add_ascii(struct sandbox_spec *s, bool deny, const char *text, const char *source,
		     struct err *err)
{
	cleanup_free char *ascii = NULL;
	int r = idna_to_ascii(text, &ascii, err);

	if (r < 0)
		return err_wrap(err, r, "%s", source);
	(void)net_policy_add(&s->net, deny, ascii, source);
	return 0;
}

static int add_group(struct sandbox_spec *s, char *const *environ, bool deny, const char *group,
		     const char *source, struct err *err)
{
	const struct groups_env env = {.environ = environ, .workspace = s->workspace};
	cleanup_free char *from = xasprintf("%s %s", source, group);
	cleanup_strv struct strv hosts;
	int r;

	strv_init(&hosts);
	r = groups_expand(group, &env, &hosts, err);
	if (r < 0)
		return err_wrap(err, r, "%s", source);
	for (size_t i = 0; r == 0 && i < hosts.n; i++)
		r = add_ascii(s, deny, hosts.v[i], from, err);
	return r;
}

int net_rules_add(struct sandbox_spec *s, char *const *environ, bool deny, const char *text,
		  const char *source, struct err *err)
{
	return text[0] == '@' ? add_group(s, environ, deny, text, source, err)
			      : add_ascii(s, deny, text, source, err);
}

static int add_file(struct sandbox_spec *s, char *const *environ, char *path_, const char *source,
		    struct err *err)
{
	cleanup_(net_policy_clear) struct net_policy rules = {0};
	cleanup_free char *path = path_;
	int r = rules_read(path, &rules, err);

	for (size_t i = 0; r == 0 && i < rules.n_rules; i++) {
		const struct net_rule *rule = &rules.rules[i];
		size_t n = s->net.n_rules;

		r = net_rules_add(s, environ, rule->deny, rule->pattern, source, err);
		for (; rule->until && n < s->net.n_rules; n++)
			s->net.rules[n].until = xstrdup(rule->until);
	}
	return r;
}

int net_rules_add_files(struct sandbox_spec *s, const struct places *p, char *const *environ,
			struct err *err)
{
	int r = add_file(s, environ, rules_user_file(p), NET_RULES_FILES "user", err);

	if (r == 0)
		r = add_file(s, environ, rules_project_file(p, s->instance),
			     NET_RULES_FILES "project", err);
	if (r == 0 && s->loop && loop_rules_count(p, s->loop))
		r = add_file(s, environ, rules_loop_file(p, s->loop), NET_RULES_FILES "loop", err);
	if (r == 0)
		r = add_file(s, environ, rules_sandbox_file(p, s->name), NET_RULES_FILES "sandbox",
			     err);
	return r;
}

bool net_rules_of_loop(const struct net_rule *r)
{
	static const char of_loop[] = NET_RULES_FILES "loop";
	size_t n = sizeof(of_loop) - 1;

	return r->source && strncmp(r->source, of_loop, n) == 0 &&
	       (r->source[n] == '\0' || r->source[n] == ' ');
}

static void copy_rules(struct net_policy *to, const struct net_policy *from, bool of_files)
{
	for (size_t i = 0; i < from->n_rules; i++) {
		const char *source = from->rules[i].source;
		bool of_file =
			source && strncmp(source, NET_RULES_FILES, strlen(NET_RULES_FILES)) == 0;

		if (of_file == of_files)
			net_rule_copy(net_policy_push(to), &from->rules[i]);
	}
}

static void swap_net(struct sandbox_spec *a, struct sandbox_spec *b)
{
	struct net_policy net = a->net;

	a->net = b->net;
	b->net = net;
}

int net_rules_refresh(struct sandbox_spec *s, const struct places *p, char *const *environ,
		      struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *fresh = spec_new();
	int r;

	fresh->name = xstrdup(s->name);
	fresh->workspace = xstrdup(s->workspace);
	fresh->instance = xstrdup(s->instance);
	fresh->loop = s->loop ? xstrdup(s->loop) : NULL;
	fresh->net.tier = s->net.tier;
	copy_rules(&fresh->net, &s->net, false);
	r = net_rules_add_files(fresh, p, environ, err);
	if (r == 0)
		r = add_file(fresh, environ, rules_once_file(p, s->name), NET_RULES_FILES "once",
			     err);
	if (r == 0)
		swap_net(s, fresh);
	return r;
}

void net_rules_take_files(struct sandbox_spec *s, const struct sandbox_spec *from)
{
	cleanup_(spec_freep) struct sandbox_spec *fresh = spec_new();

	fresh->net.tier = s->net.tier;
	copy_rules(&fresh->net, &s->net, false);
	copy_rules(&fresh->net, &from->net, true);
	swap_net(s, fresh);
}

int net_rules_canon(const char *text, char **ret, struct err *err)
{
	int r = idna_to_ascii(text, ret, err);

	for (char *c = r == 0 ? *ret : NULL; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return r;
}
