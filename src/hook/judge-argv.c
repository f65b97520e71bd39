#include "hook/judge.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/shell/mark-match.h"
#include "hook/programs.h"
#include "hook/rules.h"

#define FUNCTION_DEPTH 8

static void call_function(struct judge *j, struct judge_name *f, struct program *p)
{
	struct fields args = j->args;

	if (f->active) {
		if (j->in_pipe || j->in_background)
			judge_add(j, CAT_RESOURCES, SEV_BLOCK, judge_line(j, &p->argv),
				  "a function starts itself again and again");
		return;
	}
	f->active = true;
	j->args = p->argv;
	p->out = judge_list(j, f->body, p->in);
	j->args = args;
	f->active = false;
}

/* Judges the text of the alias, followed by the remaining words. */
static void call_alias(struct judge *j, struct judge_name *a, struct program *p)
{
	const char *rest = program_joined(j, p, 1);

	if (a->active)
		return;
	a->active = true;
	for (unsigned int i = 0; i < a->values.n; i++)
		program_script(
			j, p, values_one(j, arena_printf(j->arena, "%s %s", a->values.v[i], rest)));
	a->active = false;
}

void program_run(struct judge *j, struct program *p, unsigned int from)
{
	struct fields rest = {.taint = p->argv.taint};

	for (unsigned int i = from; i < p->argv.n; i++)
		fields_add(j, &rest, p->argv.v[i]);
	if (rest.n)
		p->out = judge_argv(j, &rest, p->in);
}

const char *program_joined(struct judge *j, const struct program *p, unsigned int from)
{
	const char *line = "";

	for (unsigned int i = from; i < p->argv.n; i++)
		line = arena_printf(j->arena, "%s%s%s", line, i > from ? " " : "",
				    value_plain(j, p->argv.v[i]));
	return line;
}

static void judge_program(struct judge *j, struct program *p)
{
	if (!program_builtin(j, p) && !program_shell(j, p) && !program_wrapper(j, p)) {
		(void)program_code(j, p);
		rules_program(j, p->name, &p->argv, p->in);
	}
	if (!p->out.n)
		program_output(j, p);
}

/* A partly known name is judged as every program that it may be. */
static void judge_guesses(struct judge *j, struct program *p, const char *pattern)
{
	const struct fields *names = program_names(j);

	for (unsigned int i = 0; i < names->n; i++) {
		struct program guess = *p;

		if (!pattern_may_be(pattern, names->v[i]))
			continue;
		if (++j->steps > JUDGE_STEPS)
			arena_give_up(j->arena, "it does too much to be judged");
		guess.name = names->v[i];
		judge_program(j, &guess);
	}
}

static void judge_unknown(struct judge *j, struct program *p)
{
	const char *line = judge_line(j, &p->argv);

	if (p->argv.taint & (TAINT_NET | TAINT_CODED)) {
		judge_add(j, CAT_REMOTE_CODE, SEV_BLOCK, line,
			  "the program's name is downloaded or decoded");
		return;
	}
	/* The program is refused if these arguments would be refused for any program. */
	if (!rules_any_program(j, &p->argv))
		judge_add(j, CAT_REMOTE_CODE, SEV_WARN, line,
			  "the program's name is only known when it runs");
}

struct values judge_argv(struct judge *j, const struct fields *argv, const struct values *in)
{
	struct program p = {.argv = *argv, .in = in};
	struct judge_name *named, *file;
	const char *base;

	if (++j->steps > JUDGE_STEPS)
		arena_give_up(j->arena, "it does too much to be judged");
	base = path_base(argv->v[0]);
	p.name = base;
	file = judge_find(j->files, argv->v[0]);
	if (!file && strncmp(argv->v[0], "./", 2) == 0)
		file = judge_find(j->files, argv->v[0] + 2);
	if ((named = judge_find(j->functions, argv->v[0])) && named->body) {
		call_function(j, named, &p);
	} else if ((named = judge_find(j->aliases, base))) {
		call_alias(j, named, &p);
	} else if (file) {
		program_script(j, &p, file->values);
	} else if (value_is_known(base)) {
		if (strchr(argv->v[0], '/'))
			program_on_disk(j, argv->v[0], argv, true);
		program_package(j, &p);
		judge_program(j, &p);
	} else if (!*base || strspn(base, (const char[]){MARK_ANY, MARK_STAR, 0}) == strlen(base)) {
		judge_unknown(j, &p);
	} else {
		judge_guesses(j, &p, base);
	}
	return p.out.n ? p.out : values_any(j, p.out.taint);
}
