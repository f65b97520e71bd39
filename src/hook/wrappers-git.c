/* git, tar and rsync: programs whose options can run other programs. */
#include "hook/programs.h"

#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/rules.h"

/* git -c alias.x='!…', git config alias.x '!…', git bisect run …, git -C DIR … */
void program_git(struct judge *j, struct program *p)
{
	struct fields bare = {.taint = p->argv.taint};
	unsigned int i = 1;

	fields_add(j, &bare, "git");
	for (; i < p->argv.n && p->argv.v[i][0] == '-'; i++) {
		const char *s = p->argv.v[i];

		if (streq(s, "-c") && i + 1 < p->argv.n) {
			const char *eq = strchr(p->argv.v[i + 1], '=');

			if (eq && eq[1] == '!')
				program_script(j, p, values_one(j, eq + 2));
			else if (eq && strchr(eq, ' '))
				program_script(j, p, values_one(j, eq + 1));
		}
		if (streq(s, "-c") || streq(s, "-C") || streq(s, "--git-dir") ||
		    streq(s, "--work-tree") || streq(s, "--namespace") || streq(s, "--exec-path"))
			i++;
	}
	for (; i < p->argv.n; i++)
		fields_add(j, &bare, p->argv.v[i]);
	if (bare.n > 3 && streq(bare.v[1], "bisect") && streq(bare.v[2], "run")) {
		struct program run = {.argv = bare, .in = p->in};

		program_run(j, &run, 3);
	}
	if (bare.n > 3 && streq(bare.v[1], "submodule") && streq(bare.v[2], "foreach"))
		program_script(j, p, values_one(j, bare.v[bare.n - 1]));
	if (bare.n > 2 && streq(bare.v[1], "rebase"))
		for (unsigned int k = 2; k + 1 < bare.n; k++)
			if (streq(bare.v[k], "-x") || streq(bare.v[k], "--exec"))
				program_script(j, p, values_one(j, bare.v[k + 1]));
	if (bare.n > 2 && streq(bare.v[1], "config") && bare.v[bare.n - 1][0] == '!')
		program_script(j, p, values_one(j, bare.v[bare.n - 1] + 1));
	rules_program(j, "git", &bare, p->in);
}

/* tar --checkpoint-action=exec=…, --to-command=…, -I …; rsync -e … */
void program_packer(struct judge *j, struct program *p)
{
	static const char *const marks[] = {
		"--checkpoint-action=exec=", "--to-command=", "--use-compress-program=", "--rsh=",
		"--new-volume-script=",	     "--info-script="};

	for (unsigned int i = 1; i < p->argv.n; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(marks); k++)
			if (strncmp(p->argv.v[i], marks[k], strlen(marks[k])) == 0)
				program_script(j, p,
					       values_one(j, p->argv.v[i] + strlen(marks[k])));
		if ((streq(p->argv.v[i], "-I") || streq(p->argv.v[i], "-e")) && i + 1 < p->argv.n &&
		    strchr(p->argv.v[i + 1], ' '))
			program_script(j, p, values_one(j, p->argv.v[i + 1]));
	}
	rules_program(j, p->name, &p->argv, p->in);
}
