#include "cli/show/why.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "cli/net-common.h"
#include "netrules/net-check.h"
#include "netrules/rule-files.h"

#define FROM_FILES "ralph net --" /* the source of a rule from a rules file begins so */
#define RULES_FILE_MAX (1 * MiB)

/* "FILE:LINE" of a rule that `ralph net` keeps. */
static char *line_of(char *path_, const char *pattern)
{
	cleanup_free char *path = path_;
	cleanup_buf struct buf b;
	unsigned line = 1;

	buf_init(&b, RULES_FILE_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0)
		return xstrdup(path);
	for (const char *p = buf_str(&b); *p; line++) {
		size_t n = strcspn(p, "\n"), skip = strcspn(p, " \n");

		if (skip < n && n - skip - 1 == strlen(pattern) &&
		    strncmp(p + skip + 1, pattern, n - skip - 1) == 0)
			return xasprintf("%s:%u", path, line);
		p += n + (p[n] == '\n');
	}
	return xstrdup(path);
}

static void of_file(const struct why_input *in, const struct sandbox_spec *spec,
		    const struct net_answer *a, struct why *w)
{
	const char *scope = a->source + strlen(FROM_FILES);
	const struct places *p = &in->settings->places;

	w->setting = xstrdup(a->source);
	if (streq(scope, "user"))
		w->origin = line_of(rules_user_file(p), a->rule);
	else if (streq(scope, "project"))
		w->origin = line_of(rules_project_file(p, spec->instance), a->rule);
	else
		w->origin = line_of(rules_sandbox_file(p, spec->name), a->rule);
	if (a->allow)
		return;
	free(w->remedy);
	w->remedy = streq(scope, "sandbox")
			    ? xasprintf("ralph net rm --sandbox %s %s", spec->name, a->rule)
			    : xasprintf("ralph net rm --%s %s", scope, a->rule);
}

static size_t in_list(const struct strv *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcasecmp(list->v[i], text) == 0)
			return i;
	return SIZE_MAX;
}

static size_t in_rules(const struct config *c, const char *host)
{
	for (size_t i = 0; i < c->network.n_rules; i++)
		if (strcasecmp(c->network.rules[i].pattern, host) == 0)
			return i;
	return SIZE_MAX;
}

/*
 * Finds the setting behind a rule: an entry of a list, or the group that the rule's source names.
 */
static void of_config(const struct config *c, const struct net_answer *a, struct why *w)
{
	const char *group = strchr(a->source, '@'), *text = group ? group : a->rule;
	cleanup_free char *key = xstrndup(a->source, strcspn(a->source, " "));

	if (streq(key, "network.allow"))
		why_setting(w, c, key, in_list(&c->network.allow, text));
	else if (streq(key, "network.deny"))
		why_setting(w, c, key, in_list(&c->network.deny, text));
	else if (streq(key, "network.rules"))
		why_setting(w, c, key, in_rules(c, text));
	else
		w->setting = xstrdup(a->source);
}

static bool is_command(const char *remedy)
{
	return strncmp(remedy, "ralph ", 6) == 0;
}

static void set_remedy(const struct why_input *in, const struct net_answer *a, struct why *w)
{
	if (!a->remedy || !a->remedy[0] || a->allow)
		return;
	if (streq(a->reason, "tier-none"))
		w->remedy = xstrdup("ralph run --net allowlist");
	else if (is_command(a->remedy) && in->sandbox)
		w->remedy = xasprintf("%s --sandbox %s", a->remedy, in->sandbox);
	else
		w->remedy = xstrdup(a->remedy);
}

int why_host(const struct why_input *in, const char *target, struct why *ret)
{
	const struct net_question q = {.target = target};
	cleanup_(net_answer_done) struct net_answer a = {0};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	const char *state = NULL;
	int r = net_effective(in->cli, in->sandbox, &spec, &state);

	if (r == 0)
		r = net_check(&spec->net, &q, &a, &in->cli->err);
	if (r < 0)
		return r;
	ret->about = xasprintf(strchr(a.host, ':') ? "[%s]:%u" : "%s:%u", a.host, a.port);
	ret->refused = !a.allow;
	ret->why = xstrdup(a.why);
	ret->rule = a.rule ? xstrdup(a.rule) : NULL;
	set_remedy(in, &a, ret);
	if (a.rule && a.source && strncmp(a.source, FROM_FILES, strlen(FROM_FILES)) == 0)
		of_file(in, spec, &a, ret);
	else if (a.rule && a.source)
		of_config(in->settings->config, &a, ret);
	else
		why_setting(ret, in->settings->config, "network.tier", SIZE_MAX);
	return 0;
}
