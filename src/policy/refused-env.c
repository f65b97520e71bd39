#include "policy/refused-env.h"

#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#include "base/text/mask.h"

/* These tokens carry the user's identity as well as the right to push. A rule can allow pushing. */
static const char *const names[] = {"GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN",
				    "GITHUB_ENTERPRISE_TOKEN"};

#define EXPRESSION_CHARS "|()^$\\"
#define INTERVALS_MAX 2	    /* of at most 99 each */
#define NODES_MAX (1 << 18) /* of the compiled expression: repeats multiply its size */

static bool is_expression(const char *pattern)
{
	return strpbrk(pattern, EXPRESSION_CHARS) != NULL;
}

/* Is it an expression without its outer parentheses too? */
static bool is_expression_inside(const char *pattern)
{
	size_t n = strlen(pattern);
	cleanup_free char *inside = NULL;

	if (n < 2 || pattern[0] != '(' || pattern[n - 1] != ')')
		return is_expression(pattern);
	inside = xstrndup(pattern + 1, n - 2);
	return is_expression(inside);
}

/* The largest number of an interval, 1 for none; 0: it is too large. */
static size_t interval_most(const char *p)
{
	size_t most = 1;

	for (; *p && *p != '}'; p += strcspn(p, ",}"), p += *p == ',') {
		size_t digits = strspn(p, "0123456789"), v = 0;

		if (digits > 2)
			return 0;
		for (size_t i = 0; i < digits; i++)
			v = v * 10 + (size_t)(p[i] - '0');
		most = v > most ? v : most;
	}
	return most;
}

/* The last character of the bracket expression that begins at p. */
static const char *bracket_end(const char *p)
{
	p += p[1] == '^';
	p += p[1] == ']';
	return p + 1 + strcspn(p + 1, "]") - (strchr(p + 1, ']') == NULL);
}

/*
 * regcomp() and regexec() have no bounds of their own. regcomp() copies the part before an interval
 * as often as the interval says, and the part before a '+' once. Of one character that is one node
 * more; of a group it doubles all that was copied before. A repeat of a repeat means nothing that
 * one repeat does not, and the time that it takes doubles with each.
 */
static bool is_bounded(const char *pattern)
{
	size_t intervals = 0, nodes = 2 * strlen(pattern);
	char before = '\0'; /* a literal character is 'a' */

	for (const char *p = pattern; *p; p++) {
		bool repeats = strchr("+*?{", *p) != NULL;

		if (*p == '\\' && isdigit((unsigned char)p[1]))
			return false; /* a back reference */
		if (repeats && before == '*')
			return false;
		if (*p == '+' && before == ')')
			nodes *= 2;
		if (*p == '{') {
			nodes *= interval_most(p + 1);
			intervals++;
		}
		if (nodes == 0 || nodes > NODES_MAX || intervals > INTERVALS_MAX)
			return false;
		before = repeats ? '*' : *p == ')' ? ')' : 'a';
		if (*p == '{')
			p += strcspn(p, "}") - (strchr(p, '}') == NULL);
		else if (*p == '[')
			p = bracket_end(p);
		else if (*p == '\\' && p[1])
			p++;
	}
	return true;
}

static bool compile(const char *pattern, regex_t *ret)
{
	return is_bounded(pattern) &&
	       regcomp(ret, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
}

const char *refused_env_wrong(const char *text)
{
	regex_t re;

	if (strlen(text) > REFUSED_ENV_PATTERN_MAX)
		return "is too long; a pattern has at most 4095 characters";
	if (!is_expression(text))
		return NULL;
	if (!compile(text, &re))
		return "is no valid extended regular expression, which a pattern with one of "
		       "|()^$\\ must be; back references, long repeats and repeats of "
		       "repeats are not taken";
	regfree(&re);
	return NULL;
}

static bool matches_expression(const char *pattern, const char *text)
{
	bool matches;
	regex_t re;

	/* Patterns were checked when they were read: one that fails now refuses everything. */
	if (!compile(pattern, &re))
		return true;
	matches = regexec(&re, text, 0, NULL, 0) != REG_NOMATCH;
	regfree(&re);
	return matches;
}

static bool matches_glob(const char *pattern, const char *text)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
	return strcasestr(text, pattern) != NULL;
}

/* A glob such as A* would match every name as an expression: it is a glob only. */
static bool is_expression_for_names(const char *pattern)
{
	return is_expression_inside(pattern) ||
	       (is_expression(pattern) && !matches_expression(pattern, ""));
}

static bool matches_name(const char *pattern, const char *name)
{
	return matches_glob(pattern, name) ||
	       (is_expression_for_names(pattern) && matches_expression(pattern, name));
}

static bool matches_value(const char *pattern, const char *value)
{
	return matches_glob(pattern, value) ||
	       (is_expression_inside(pattern) && matches_expression(pattern, value));
}

static int refused(struct err *err, const char *name, const char *source, const char *why)
{
	int r = err_set(err, EPERM,
			"%s: %s must not go into a sandbox: %s; take it out of the setting. A "
			"credential reaches its own host without being inside: ralph-agents(7)",
			source, name, why);

	err->exit_code = EXIT_REFUSED;
	return r;
}

int refused_env_check(const char *name, const char *value, const struct strv *patterns,
		      const char *source, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return refused(err, name, source, "this name is always refused");
	for (size_t i = 0; i < patterns->n; i++) {
		const char *p = patterns->v[i];

		if (matches_name(p, name) || (value && matches_value(p, value))) {
			cleanup_free char *why = xasprintf("it matches '%.60s' of env.refuse", p);

			return refused(err, name, source, why);
		}
	}
	if (value && mask_is_key(value))
		return refused(err, name, source, "its value looks like a key or token");
	return 0;
}
