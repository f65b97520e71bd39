/* Programs that take a script: as an argument, in a file, on stdin. */
#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/programs.h"

static const char *const shells[] = {"sh",   "bash",  "dash", "zsh",  "ksh",   "ash",  "fish",
				     "mksh", "rbash", "csh",  "tcsh", "ksh93", "pwsh", NULL};

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (streq(name, *list))
			return true;
	return false;
}

void program_script(struct judge *j, struct program *p, struct values script)
{
	const char *line = judge_line(j, &p->argv);
	bool known = true;

	for (unsigned int i = 0; i < script.n; i++)
		known = known && !strchr(script.v[i], MARK_ANY);
	judge_values(j, &script);
	if (known)
		return;
	if (script.taint & TAINT_NET)
		judge_add(j, CAT_REMOTE_CODE, SEV_BLOCK, line, "it runs what was downloaded");
	else if (script.taint & TAINT_CODED)
		judge_add(j, CAT_REMOTE_CODE, SEV_BLOCK, line,
			  "it runs what was decoded, so that nobody could read it");
	else if (script.taint & TAINT_MADE)
		judge_add(j, CAT_REMOTE_CODE, SEV_WARN, line,
			  "what it runs is only known when it runs");
}

/* Judges a script file: written by this same command, a substitution, stdin, or a file on the
 * disk. */
static void run_file(struct judge *j, struct program *p, const char *path)
{
	const char *whole = path;
	struct judge_name *file;

	if (strncmp(path, "./", 2) == 0)
		path += 2;
	file = judge_find(j->files, path);
	if (file)
		program_script(j, p, file->values);
	else if ((streq(path, "/dev/stdin") || streq(path, "-") ||
		  strncmp(path, "/proc/self/fd/0", 15) == 0 || streq(path, "/dev/fd/0")) &&
		 p->in)
		program_script(j, p, *p->in);
	else
		program_on_disk(j, whole, &j->args, false);
}

/* -c, also in a cluster: -lc, -euxc */
static bool has_c(const char *opt)
{
	return opt[0] == '-' && opt[1] != '-' && strchr(opt, 'c');
}

enum shell_reads { READS_FILE, READS_TEXT, READS_STDIN };

/* Judges the first operand, which is a script or the first argument of one. */
static void shell_operand(struct judge *j, struct program *p, unsigned int at,
			  enum shell_reads reads)
{
	struct values text = values_one(j, p->argv.v[at]);
	struct fields args = j->args;

	text.taint = p->argv.taint;
	/* The following fields are $0 and the arguments. */
	j->args = (struct fields){.taint = p->argv.taint};
	for (unsigned int k = at + (reads == READS_TEXT); k < p->argv.n; k++)
		fields_add(j, &j->args, p->argv.v[k]);
	if (!j->args.n)
		fields_add(j, &j->args, "bash");
	if (reads == READS_TEXT)
		program_script(j, p, text);
	else if (reads == READS_FILE)
		run_file(j, p, p->argv.v[at]);
	else if (p->in)
		program_script(j, p, *p->in);
	j->args = args;
}

static void shell(struct judge *j, struct program *p)
{
	enum shell_reads reads = READS_FILE;

	for (unsigned int i = 1; i < p->argv.n; i++) {
		const char *s = p->argv.v[i];

		if (has_c(s) || streq(s, "--command") || strcasecmp(s, "-command") == 0) {
			reads = READS_TEXT;
		} else if (streq(s, "-o") || streq(s, "+o") || streq(s, "-O") || streq(s, "+O") ||
			   streq(s, "--rcfile") || streq(s, "--init-file")) {
			if (s[1] == '-' && i + 1 < p->argv.n)
				run_file(j, p, p->argv.v[i + 1]);
			i++;
		} else if ((s[0] == '-' || s[0] == '+') && s[1]) {
			/* The operands after -s are arguments. */
			if (reads == READS_FILE && s[0] == '-' && s[1] != '-' && strchr(s, 's'))
				reads = READS_STDIN;
		} else {
			shell_operand(j, p, i, reads);
			return;
		}
	}
	if (p->in)
		program_script(j, p, *p->in);
	p->out = values_any(j, TAINT_SHELL);
}

static void eval(struct judge *j, struct program *p)
{
	struct values text = values_one(j, program_joined(j, p, 1));

	text.taint = p->argv.taint;
	if (p->argv.n > 1)
		program_script(j, p, text);
}

static void source(struct judge *j, struct program *p)
{
	j->sourced = true;
	for (unsigned int i = 1; i < p->argv.n && i < 3; i++)
		run_file(j, p, p->argv.v[i]);
}

bool program_is_shell(const char *name)
{
	return is_one_of(name, shells);
}

bool program_shell(struct judge *j, struct program *p)
{
	if (program_is_shell(p->name))
		shell(j, p);
	else if (streq(p->name, "eval"))
		eval(j, p);
	else if (streq(p->name, "source") || streq(p->name, "."))
		source(j, p);
	else
		return false;
	return true;
}
