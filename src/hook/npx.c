/* npx and its kind: they download a package that is not installed, and run it. */
#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/programs.h"

/* Returns where the operands begin: npx x, npm exec x; 0: the program runs no package. */
static unsigned int first_word(const struct program *p)
{
	static const char *const alone[] = {"npx", "bunx", "pnpx"};
	static const char *const verbs[] = {"exec", "x", "dlx"};
	bool packer = streq(p->name, "npm") || streq(p->name, "pnpm") || streq(p->name, "yarn") ||
		      streq(p->name, "bun");

	for (size_t i = 0; i < ARRAY_SIZE(alone); i++)
		if (streq(p->name, alone[i]))
			return 1;
	for (size_t i = 0; packer && p->argv.n > 2 && i < ARRAY_SIZE(verbs); i++)
		if (streq(p->argv.v[1], verbs[i]))
			return 2;
	return 0;
}

/* Returns the package that an option names, or the first operand; NULL: there is none. */
static const char *package_of(const struct program *p, unsigned int at)
{
	for (; at < p->argv.n; at++) {
		const char *word = p->argv.v[at];

		if (strncmp(word, "--package=", 10) == 0)
			return word + 10;
		if (streq(word, "-p") || streq(word, "--package"))
			return at + 1 < p->argv.n ? p->argv.v[at + 1] : NULL;
		if (streq(word, "-c") || streq(word, "--call"))
			return NULL; /* a command line of its own */
		if (word[0] != '-')
			return word;
	}
	return NULL;
}

void program_package(struct judge *j, const struct program *p)
{
	unsigned int at = j->locked ? first_word(p) : 0;
	const char *package = at ? package_of(p, at) : NULL, *version;

	if (!package || !*package || !value_is_known(package) || !value_is_known(j->cwd))
		return;
	/* "@scope/name@1.2": the first @ is a part of the name. */
	version = strchr(package + 1, '@');
	if (version)
		package = arena_strndup(j->arena, package, (size_t)(version - package));
	if (!j->locked(value_plain(j, j->cwd), value_plain(j, package)))
		judge_add(j, CAT_REMOTE_CODE, SEV_WARN, judge_line(j, &p->argv),
			  "it downloads and runs a package that the lock file does not have");
}
