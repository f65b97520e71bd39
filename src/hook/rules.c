#include "hook/rules.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/paths.h"
#include "hook/shell/mark-match.h"

struct rule {
	const char *names, *when;
	enum category category;
	enum severity severity;
	const char *why;
};

/* clang-format off */
#define R(names, when, category, severity, why) {names, when, CAT_##category, SEV_##severity, why},
static const struct rule rules[] = {
#include "hook/rules.def"
};
#undef R
/* clang-format on */

/* The arguments of a program, parsed once for all rules. */
struct args {
	struct judge *j;
	const struct fields *argv;
	const struct values *in;
	const char **operands;
	unsigned int n_operands, *classes; /* of argv */
};

static void look_at(struct judge *j, const struct fields *argv, const struct values *in,
		    struct args *a)
{
	bool over = false;

	*a = (struct args){.j = j, .argv = argv, .in = in};
	a->operands = arena_alloc(j->arena, argv->n * sizeof(*a->operands));
	a->classes = arena_alloc(j->arena, argv->n * sizeof(*a->classes));
	for (unsigned int i = 1; i < argv->n; i++) {
		const char *s = argv->v[i];

		a->classes[i] = path_argument(j, s);
		if (!over && streq(s, "--"))
			over = true;
		else if (over || s[0] != '-' || !s[1])
			a->operands[a->n_operands++] = s;
	}
}

/* Compares a word of the table with a field; a completely unknown field matches nothing. */
static bool word_is(const char *word, size_t n, const char *field)
{
	char text[256];

	if (n >= sizeof(text) || value_is_any(field) || strlen(field) > sizeof(text))
		return false;
	memcpy(text, word, n);
	text[n] = '\0';
	if (strpbrk(text, "*?")) {
		for (char *p = text; *p; p++)
			*p = *p == '*' ? MARK_ANY : *p == '?' ? MARK_ONE : *p;
		return pattern_may_be(text, field);
	}
	return pattern_may_be(field, text);
}

static bool is_cluster(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 1; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != MARK_ANY)
			return false;
	return n <= 10;
}

static bool has_option(const struct args *a, const char *opt, size_t n)
{
	for (unsigned int i = 1; i < a->argv->n; i++) {
		const char *s = a->argv->v[i];

		if (s[0] != '-' || streq(s, "--"))
			continue;
		if (n == 2 && s[1] != '-' &&
		    (s[1] == opt[1] || (is_cluster(s) && strchr(s, opt[1]))))
			return true;
		if (strncmp(s, opt, n) == 0 && (!s[n] || s[n] == '='))
			return true;
	}
	return false;
}

enum which { ALL_ARGUMENTS, LAST_OPERAND, ALL_BUT_LAST };

static bool has_class(const struct args *a, unsigned int class, enum which which)
{
	const char *last = a->n_operands ? a->operands[a->n_operands - 1] : NULL;

	for (unsigned int i = 1; i < a->argv->n; i++)
		if ((a->classes[i] & class) &&
		    (which == ALL_ARGUMENTS || (a->argv->v[i] == last) == (which == LAST_OPERAND)))
			return true;
	return false;
}

/* Compares without case; _ in the part matches any white space. */
static bool begins(const char *text, const char *part, size_t n)
{
	for (; n; part++, n--) {
		if (*part == '_' && isspace((unsigned char)*text))
			text += strspn(text, " \t\n\r");
		else if (tolower((unsigned char)*text) == tolower((unsigned char)*part) && *text)
			text++;
		else
			return false;
	}
	return true;
}

static bool contains(const char *text, const char *part, size_t n)
{
	for (; *text; text++)
		if (begins(text, part, n))
			return true;
	return false;
}

static bool some_contains(const struct args *a, const char *part, size_t n, bool last_only)
{
	for (unsigned int i = last_only && a->argv->n > 1 ? a->argv->n - 1 : 1; i < a->argv->n; i++)
		if (contains(a->argv->v[i], part, n))
			return true;
	/* The program's stdin counts like its arguments. */
	for (unsigned int i = 0; !last_only && a->in && i < a->in->n; i++)
		if (contains(a->in->v[i], part, n))
			return true;
	return false;
}

/* Tests one alternative of a term. */
static bool holds_one(const struct args *a, const char *t, size_t n)
{
	if (n > 1 && t[0] == '-')
		return has_option(a, t, n);
	if (n > 1 && t[0] == '@')
		return has_class(a, path_class_named(t + 1, n - 1), ALL_ARGUMENTS);
	if (n > 2 && t[0] == '$' && t[1] == '~')
		return some_contains(a, t + 2, n - 2, true);
	if (n > 1 && t[0] == '$')
		return has_class(a, path_class_named(t + 1, n - 1), LAST_OPERAND);
	if (n > 1 && t[0] == '^')
		return has_class(a, path_class_named(t + 1, n - 1), ALL_BUT_LAST);
	if (n > 1 && t[0] == '~')
		return some_contains(a, t + 1, n - 1, false);
	if (n > 1 && t[0] == '=')
		return word_is(t + 1, n - 1, a->argv->v[a->argv->n - 1]);
	if (n > 2 && t[0] == '.' && t[1] == '.')
		return a->n_operands > 1 && word_is(t + 2, n - 2, a->operands[1]);
	if (n > 1 && t[0] == '.')
		return a->n_operands > 0 && word_is(t + 1, n - 1, a->operands[0]);
	for (unsigned int i = 0; i < a->n_operands; i++)
		if (word_is(t, n, a->operands[i]))
			return true;
	return false;
}

static bool holds(const struct args *a, const char *t, size_t n)
{
	bool not = n && t[0] == '!', any = false;
	char kind;

	t += not ;
	n -= not ;
	kind = n ? t[0] : 0;
	while (n && !any) {
		size_t one = 0;

		while (one < n && t[one] != '|')
			one++;
		/* ~a|b: all alternatives have the kind of the first one. */
		if (kind == '~' && t[0] != '~')
			any = some_contains(a, t, one, false);
		else
			any = holds_one(a, t, one);
		t += one;
		n -= one;
		if (n) {
			t++;
			n--;
		}
	}
	return any != not ;
}

static bool all_hold(const struct args *a, const char *when)
{
	while (*when) {
		size_t n = strcspn(when, " ");

		if (n && !holds(a, when, n))
			return false;
		when += n;
		when += *when == ' ';
	}
	return true;
}

static bool is_named(const char *names, const char *name)
{
	bool found = false;

	while (*names) {
		size_t n = strcspn(names, " ");

		if (names[0] == '!') {
			if (strlen(name) == n - 1 && memcmp(names + 1, name, n - 1) == 0)
				return false;
		} else if (!found) {
			found = (n == 1 && *names == '*') || word_is(names, n, name);
		}
		names += n;
		names += *names == ' ';
	}
	return found;
}

static bool in_list(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (streq(*list, name))
			return true;
	return false;
}

static const char *const net_programs[] = {
	"curl", "wget",	    "nc",   "ncat",   "netcat",	       "socat", "ssh", "telnet",
	"dig",	"nslookup", "host", "ping",   "http",	       "https", "xh",  "openssl",
	"mail", "mailx",    "ftp",  "aria2c", "mosquitto_pub", NULL};

/* A secret in the arguments or on stdin leaves the machine with this program. */
static void check_flow(struct judge *j, const char *name, const struct fields *argv,
		       const struct values *in)
{
	unsigned int taint = argv->taint | (in ? in->taint : 0);

	if ((taint & TAINT_SECRET) && in_list(net_programs, name))
		judge_add(j, CAT_EXFILTRATION, SEV_BLOCK, judge_line(j, argv),
			  "it sends secrets away");
	else if (in && (in->taint & TAINT_SHELL) && in_list(net_programs, name))
		judge_add(j, CAT_NETWORK, SEV_BLOCK, judge_line(j, argv), "it gives a shell away");
	else if (in && in->n &&
		 (streq(name, "nc") || streq(name, "ncat") || streq(name, "netcat")) && j->in_pipe)
		judge_add(j, CAT_EXFILTRATION, SEV_WARN, judge_line(j, argv), "it sends data away");
}

void rules_program(struct judge *j, const char *name, const struct fields *argv,
		   const struct values *in)
{
	struct args a;

	look_at(j, argv, in, &a);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (is_named(rules[i].names, name) && all_hold(&a, rules[i].when))
			judge_add(j, rules[i].category, rules[i].severity, judge_line(j, argv),
				  rules[i].why);
	check_flow(j, name, argv, in);
}

bool rules_any_program(struct judge *j, const struct fields *argv)
{
	struct args a;

	look_at(j, argv, NULL, &a);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].severity == SEV_BLOCK && strpbrk(rules[i].when, "@") &&
		    rules[i].names[0] != '*' && all_hold(&a, rules[i].when)) {
			judge_add(j, rules[i].category, SEV_BLOCK, judge_line(j, argv),
				  rules[i].why);
			return true;
		}
	return false;
}

void rules_names(struct judge *j, struct fields *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		for (const char *p = rules[i].names; *p;) {
			size_t n = strcspn(p, " ");
			char *name = arena_strndup(j->arena, p, n);
			bool there = name[0] == '!' || strchr(name, '*');

			for (unsigned int k = 0; !there && k < to->n; k++)
				there = streq(to->v[k], name);
			if (!there)
				fields_add(j, to, name);
			p += n;
			p += *p == ' ';
		}
	}
}
