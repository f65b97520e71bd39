/* Builtins that change the meaning of names for later commands. */
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/paths.h"
#include "hook/programs.h"
#include "hook/rules.h"

static void set_from_field(struct judge *j, const char *field)
{
	const char *eq = strchr(field, '=');
	struct values v;

	if (!eq)
		return;
	v = values_one(j, eq + 1);
	judge_set(j, &j->vars, arena_strndup(j->arena, field, (size_t)(eq - field)), v);
	rules_assignment(j, arena_strndup(j->arena, field, (size_t)(eq - field)), &v);
}

/* export declare local readonly typeset */
static void declare(struct judge *j, struct program *p)
{
	bool shown = p->argv.n == 1 || (p->argv.n == 2 && streq(p->argv.v[1], "-p"));

	for (unsigned int i = 1; i < p->argv.n; i++)
		set_from_field(j, p->argv.v[i]);
	if (shown && !streq(p->name, "local")) {
		p->out = values_any(j, TAINT_SECRET);
		judge_add(j, CAT_CREDENTIALS, SEV_WARN, judge_line(j, &p->argv),
			  "it shows the whole environment, with what is secret in it");
	}
}

static void alias(struct judge *j, struct program *p)
{
	for (unsigned int i = 1; i < p->argv.n; i++) {
		const char *eq = strchr(p->argv.v[i], '=');

		if (eq)
			judge_set(
				j, &j->aliases,
				arena_strndup(j->arena, p->argv.v[i], (size_t)(eq - p->argv.v[i])),
				values_one(j, eq + 1));
	}
}

/* hash -p /bin/rm x */
static void hash(struct judge *j, struct program *p)
{
	if (p->argv.n == 4 && streq(p->argv.v[1], "-p"))
		judge_set(j, &j->aliases, p->argv.v[3], values_one(j, p->argv.v[2]));
}

static void set(struct judge *j, struct program *p)
{
	for (unsigned int i = 1; i < p->argv.n; i++) {
		if (!streq(p->argv.v[i], "--"))
			continue;
		j->args = (struct fields){.taint = p->argv.taint};
		fields_add(j, &j->args, "bash");
		for (i++; i < p->argv.n; i++)
			fields_add(j, &j->args, p->argv.v[i]);
	}
	if (p->argv.n == 1)
		p->out = values_any(j, TAINT_SECRET);
	rules_program(j, "set", &p->argv, p->in);
}

static void unset(struct judge *j, struct program *p)
{
	for (unsigned int i = 1; i < p->argv.n; i++) {
		if (streq(p->argv.v[i], "HISTFILE"))
			judge_add(j, CAT_TRACES, SEV_BLOCK, judge_line(j, &p->argv),
				  "it switches the history off");
		judge_set(j, &j->vars, p->argv.v[i], values_one(j, ""));
	}
}

static void cd(struct judge *j, struct program *p)
{
	const char *to = NULL;

	for (unsigned int i = 1; i < p->argv.n; i++)
		if (p->argv.v[i][0] != '-')
			to = p->argv.v[i];
	if (p->argv.n > 1 && !to) /* cd - is not followed */
		return;
	j->cwd = to ? path_normal(j, to) : j->home;
	p->out = values_one(j, j->cwd);
}

/* read a b: the last name gets the rest of the line, so only its value is followed. */
static void read_names(struct judge *j, struct program *p)
{
	const char *name = "REPLY";
	struct values v = p->in ? *p->in : values_any(j, 0), to = {.taint = v.taint};

	for (unsigned int i = 1; i < p->argv.n; i++)
		if (p->argv.v[i][0] != '-') {
			name = p->argv.v[i];
			if (i + 1 < p->argv.n)
				judge_set(j, &j->vars, name, values_any(j, v.taint));
		}
	for (unsigned int i = 0; i < v.n; i++)
		values_add(j, &to, arena_strndup(j->arena, v.v[i], strcspn(v.v[i], "\n")));
	judge_set(j, &j->vars, name, to.n ? to : values_one(j, ""));
}

/* trap 'COMMAND' SIGNAL */
static void trap(struct judge *j, struct program *p)
{
	unsigned int at = p->argv.n > 1 && streq(p->argv.v[1], "--") ? 2 : 1;

	if (p->argv.n > at + 1)
		program_script(j, p, values_one(j, p->argv.v[at]));
}

/* bind, complete and the like take an argument that is a command, or names one. */
static void bind(struct judge *j, struct program *p)
{
	for (unsigned int i = 1; i < p->argv.n; i++) {
		const char *colon = strchr(p->argv.v[i], ':');

		if (colon)
			program_script(j, p, values_one(j, colon + 1));
	}
}

static const struct {
	const char *name;
	program_fn *fn;
} builtins[] = {
	{"export", declare},
	{"declare", declare},
	{"typeset", declare},
	{"local", declare},
	{"readonly", declare},
	{"alias", alias},
	{"hash", hash},
	{"set", set},
	{"unset", unset},
	{"cd", cd},
	{"pushd", cd},
	{"chdir", cd},
	{"read", read_names},
	{"mapfile", read_names},
	{"readarray", read_names},
	{"trap", trap},
	{"bind", bind},
};

bool program_builtin(struct judge *j, struct program *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++)
		if (streq(p->name, builtins[i].name)) {
			builtins[i].fn(j, p);
			return true;
		}
	return false;
}
