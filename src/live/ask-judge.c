/* What an agent can ask a person for, whoever brings the question. */
#include "live/ask-judge.h"

#include <string.h>

#include "base/json/json.h"
#include "netrules/net-check.h"

#define CONTROL_MAX 0x20 /* below it no byte is text, but for a newline and a tab */

static bool is_text(const char *s, size_t max)
{
	size_t n = strlen(s);
	json_t *j = n && n <= max ? json_string(s) : NULL;

	json_decref(j);
	return j != NULL;
}

static bool is_line(const char *s, size_t max)
{
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < CONTROL_MAX || *p == 0x7f)
			return false;
	return is_text(s, max);
}

/* Only what lacks a rule: a rule that denies, addresses, names of this machine and of metadata services
 * have the last word. *ret is the canonical "host:port". */
static const char *judge_host(const struct sandbox_spec *s, const char *what, char **ret)
{
	const struct net_question q = {.target = what};
	struct net_answer a = {0};
	struct err ignored = {0};
	const char *why = NULL;

	if (strpbrk(what, "/*@ ") || net_check(&s->net, &q, &a, &ignored) < 0)
		return "not askable: name a host, or host:port, without a wildcard";
	if (a.allow)
		why = "a rule allows it already; try again";
	else if (a.literal || !streq(a.reason, "no-rule"))
		why = "not askable: a person can change this on the command line alone";
	else
		*ret = xasprintf("%s:%u", a.host, a.port);
	net_answer_done(&a);
	return why;
}

/* Its path below the workspace. Nothing becomes writable: the person changes the file, or does not. */
static const char *judge_file(const struct sandbox_spec *s, const char *what, char **ret)
{
	const char *base = s->workspace;
	size_t n = strlen(base);

	if (strncmp(what, base, n) == 0 && what[n] == '/')
		what += n + 1;
	if (what[0] == '/' || strstr(what, ".."))
		return "not askable: it is no file of the workspace";
	*ret = xstrdup(what);
	return NULL;
}

const char *ask_judge(const struct sandbox_spec *s, enum ask_kind kind, const struct ask_words *a,
		      char **ret)
{
	if (kind == ASK_KIND_N)
		return "not askable: kind is host, file or decide";
	if (!is_text(a->why, ASK_WHY_MAX))
		return kind == ASK_DECIDE ? "a question has 1 to 1024 bytes of text"
					  : "say why you need it, in 1 to 1024 bytes of text";
	if (kind != ASK_DECIDE && !is_line(a->what, ASK_WHAT_MAX))
		return "name what you ask for, in 1 to 255 bytes";
	if (a->choices->n > ASK_CHOICES_MAX)
		return "there are too many choices";
	for (size_t i = 0; i < a->choices->n; i++)
		if (!is_line(a->choices->v[i], ASK_WHAT_MAX))
			return "a choice has 1 to 255 bytes of text";
	if (kind == ASK_HOST)
		return judge_host(s, a->what, ret);
	if (kind == ASK_FILE)
		return judge_file(s, a->what, ret);
	*ret = xstrdup("");
	return NULL;
}
