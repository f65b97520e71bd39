/*
 * ${…}: the value of a variable, and its operators. If an operator has unknown input, or is not
 * implemented here, the result is unknown.
 */
#include "hook/shell/expand.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "hook/shell/marks.h"

/* Returns the field with this index of an array or the arguments. */
static const char *field_at(struct judge *j, const char *value, unsigned int at)
{
	struct fields f = {0};

	expand_fields(j, value, &f);
	return at < f.n ? f.v[at] : "";
}

static struct values arguments(struct judge *j)
{
	static const char border[] = {MARK_SPLIT, 0};
	struct values v = values_one(j, "");
	char *all;

	if (!j->args.v && !j->args.n)
		return j->depth ? values_any(j, 0) : v;
	all = "";
	for (unsigned int i = 1; i < j->args.n; i++)
		all = arena_printf(j->arena, "%s%s%c%s", all, i > 1 ? border : "", MARK_EMPTY,
				   j->args.v[i]);
	v.v[0] = all;
	v.taint = j->args.taint;
	return v;
}

/* True for variables that shells set themselves. */
static bool is_changing(const char *name)
{
	static const char *const names[] = {
		"RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS",
		"REPLY",  "OPTARG",  "BASHPID", "#",	  "?",
		"-",	  "$",	     "!",	"PPID",	  "UID",
		"EUID",	  "HOSTNAME"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return true;
	return false;
}

static struct values special(struct judge *j, const char *name, bool *found)
{
	uint64_t n;

	*found = true;
	if (streq(name, "@") || streq(name, "*"))
		return arguments(j);
	if (streq(name, "_"))
		return values_one(j, j->last_arg ? j->last_arg : "");
	if (streq(name, "0"))
		return values_one(j, j->args.n ? j->args.v[0] : "bash");
	if (isdigit((unsigned char)*name) && parse_uint(name, 1, 999, &n) == 0) {
		if (!j->args.n)
			return values_any(j, 0);
		return values_one(j, n < j->args.n ? j->args.v[n] : "");
	}
	if (streq(name, "HOME"))
		return values_one(j, j->home);
	if (streq(name, "PWD"))
		return values_one(j, j->cwd);
	if (streq(name, "IFS"))
		return values_one(j, " \t\n");
	if (streq(name, "BASH"))
		return values_one(j, "/bin/bash");
	if (is_changing(name))
		return values_any(j, 0);
	*found = false;
	return (struct values){0};
}

/* Returns n == 0 if the variable is not set. */
static struct values lookup(struct judge *j, const char *name)
{
	struct judge_name *var = judge_find(j->vars, name);
	const char *inherited;
	struct values v;
	bool found;

	if (var)
		return var->values;
	v = special(j, name, &found);
	if (found)
		return v;
	inherited = j->getenv ? j->getenv(name) : NULL;
	if (inherited)
		return values_one(j, inherited);
	if (!j->sourced)
		return (struct values){0};
	v = values_one(j, "");
	values_add(j, &v, arena_printf(j->arena, "%c", MARK_ANY));
	return v;
}

static struct values indexed(struct judge *j, const struct shell_part *p, struct values v)
{
	struct values to = {.taint = v.taint};
	uint64_t at;

	if (p->index && (streq(p->index, "@") || streq(p->index, "*")))
		return v;
	if (!p->index) {
		/* An array without an index is its first element in bash, and all of them in
		 * zsh. */
		for (unsigned int i = 0; i < v.n && *p->text != '@' && *p->text != '*'; i++)
			if (strchr(v.v[i], MARK_SPLIT))
				values_add(j, &v, field_at(j, v.v[i], 0));
		return v;
	}
	if (parse_uint(p->index, 0, FIELDS_MAX, &at) < 0) {
		(void)expand_value(j, p->index_word); /* a substitution in the index still runs */
		return values_any(j, v.taint);
	}
	for (unsigned int i = 0; i < v.n; i++)
		values_add(j, &to, field_at(j, v.v[i], (unsigned int)at));
	return to;
}

/* ${x:from:count} */
static const char *part_of(struct judge *j, const char *s, const char *from, const char *count)
{
	uint64_t at, n, len = strlen(s);
	bool back = false;

	while (*from == ' ')
		from++;
	if (*from == '-' || (*from == '(' && from[1] == '-')) {
		back = true;
		from += *from == '(' ? 2 : 1;
		from = arena_strndup(j->arena, from, strcspn(from, ")"));
	}
	n = len;
	if (!value_is_known(s) || parse_uint(from, 0, UINT32_MAX, &at) < 0 ||
	    (count && parse_uint(count, 0, UINT32_MAX, &n) < 0))
		return arena_printf(j->arena, "%c", MARK_ANY);
	if (back)
		at = at > len ? 0 : len - at;
	if (at > len)
		at = len;
	if (n > len - at)
		n = len - at;
	return arena_strndup(j->arena, s + at, n);
}

/* ${x/what/with}, without globs. */
static const char *replaced(struct judge *j, const char *s, const char *what, const char *with,
			    bool all)
{
	char *to = "";

	if (!value_is_known(s) || !value_is_known(what) || strpbrk(what, "*?[\\"))
		return arena_printf(j->arena, "%c", MARK_ANY);
	if (!*what)
		return s;
	for (const char *at; (at = strstr(s, what)); s = at + strlen(what)) {
		to = arena_printf(j->arena, "%s%.*s%s", to, (int)(at - s), s, with);
		if (!all) {
			s = at + strlen(what);
			break;
		}
	}
	return arena_printf(j->arena, "%s%s", to, s);
}

/* ${x#p} and ${x%p}: p is a plain text, or has one * at its open end. */
static const char *stripped(struct judge *j, const char *s, const char *pattern, char op,
			    bool longest)
{
	size_t n = strlen(s), m = strlen(pattern);
	const char *text = pattern, *at, *found = NULL;
	bool star = m && pattern[op == '#' ? 0 : m - 1] == '*';

	if (star) {
		text = arena_strndup(j->arena, op == '#' ? pattern + 1 : pattern, m - 1);
		m--;
	}
	if (!value_is_known(s) || strpbrk(text, "*?[\\") || !value_is_known(text))
		return arena_printf(j->arena, "%c", MARK_ANY);
	if (!star && op == '#')
		return m <= n && memcmp(s, text, m) == 0 ? s + m : s;
	if (!star)
		return m <= n && memcmp(s + n - m, text, m) == 0 ? arena_strndup(j->arena, s, n - m)
								 : s;
	for (at = s; (at = strstr(at, text)) && *at; at++) {
		bool last = op == '#' ? longest : !longest;

		found = at;
		if (!last)
			break;
	}
	if (!found)
		return s;
	return op == '#' ? found + m : arena_strndup(j->arena, s, (size_t)(found - s));
}

static const char *cased(struct judge *j, const char *s, char op, bool all)
{
	char *to = arena_strndup(j->arena, s, strlen(s));

	for (size_t i = 0; to[i] && (all || i == 0); i++)
		to[i] = (char)(op == '^' ? toupper((unsigned char)to[i])
					 : tolower((unsigned char)to[i]));
	return to;
}

/* ${x:-y} and the like: y is another possible value, because x may be set elsewhere. */
static struct values defaulted(struct judge *j, const struct shell_part *p, struct values v,
			       char op)
{
	struct values other = p->arg ? expand_value(j, p->arg) : values_one(j, "");
	bool set = v.n && (v.n > 1 || *v.v[0] || p->op[0] != ':');

	if (op == '+') {
		if (!set)
			values_add(j, &other, "");
		return other;
	}
	if (op == '=' && !set)
		judge_set(j, &j->vars, p->text, other);
	if (!set)
		return op == '?' ? values_one(j, "") : other;
	for (unsigned int i = 0; op != '?' && i < other.n; i++)
		values_add(j, &v, other.v[i]);
	v.taint |= other.taint;
	return v;
}

static const char *operated(struct judge *j, const struct shell_part *p, const char *s,
			    const char *arg, const char *arg2)
{
	bool twice = p->op[1] == p->op[0];

	switch (p->op[0]) {
	case ':':
		return part_of(j, s, arg, p->arg2 ? arg2 : NULL);
	case '/':
		return replaced(j, s, arg, arg2, twice);
	case '#':
	case '%':
		return stripped(j, s, arg, p->op[0], twice);
	case '^':
	case ',':
		return cased(j, s, p->op[0], twice);
	default:
		return arena_printf(j->arena, "%c", MARK_ANY);
	}
}

static struct values indirect(struct judge *j, struct values v)
{
	struct values to = {.taint = v.taint};

	for (unsigned int i = 0; i < v.n; i++) {
		struct values one = value_is_known(v.v[i]) ? lookup(j, v.v[i]) : values_any(j, 0);

		for (unsigned int k = 0; k < one.n; k++)
			values_add(j, &to, one.v[k]);
	}
	return to;
}

struct values expand_param(struct judge *j, const struct shell_part *p)
{
	struct values v = indexed(j, p, lookup(j, p->text)), to = {0}, arg, arg2;
	char last = p->op[0] ? p->op[strlen(p->op) - 1] : 0;

	if (p->op[0] == '!')
		v = indirect(j, v);
	else if (p->op[0] == 'l')
		return values_any(j, 0);
	else if (last && strchr("-=+?", last))
		return defaulted(j, p, v, last);
	if (!v.n)
		v = values_one(j, "");
	if (!p->op[0] || p->op[0] == '!')
		return v;
	arg = p->arg ? expand_value(j, p->arg) : values_one(j, "");
	arg2 = p->arg2 ? expand_value(j, p->arg2) : values_one(j, "");
	to.taint = v.taint | arg.taint | arg2.taint;
	for (unsigned int i = 0; i < v.n; i++)
		values_add(j, &to, operated(j, p, v.v[i], arg.v[0], arg2.v[0]));
	return to;
}
