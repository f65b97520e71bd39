#include "cli/frame/complete.h"

#include <assert.h>
#include <string.h>

#include "cli/frame/command.h"

const char *complete_kind_name(enum opt_complete kind)
{
	static const char *const names[] = {
		[COMPLETE_NONE] = "none",
		[COMPLETE_SANDBOX] = "sandbox",
		[COMPLETE_PROFILE] = "profile",
		[COMPLETE_FILE] = "file",
		[COMPLETE_DIR] = "dir",
		[COMPLETE_COMMAND] = "command",
		[COMPLETE_SUBCOMMAND] = "subcommand",
	};
	static_assert(ARRAY_SIZE(names) == COMPLETE_N, "one name per kind");

	return names[kind];
}

bool complete_offers(const struct opt *o, unsigned have)
{
	return !(o->flags & OPT_HIDDEN) && (o->needs & have) == o->needs;
}

void complete_words(const char *const *words, FILE *out)
{
	for (const char *const *w = words; w && *w; w++)
		(void)fprintf(out, "%s%s", w == words ? "" : " ", *w);
}

void complete_names(const struct command *const *cmds, FILE *out)
{
	const char *sep = "";

	for (; *cmds; cmds++) {
		if ((*cmds)->flags & CMD_HIDDEN)
			continue;
		(void)fprintf(out, "%s%s", sep, (*cmds)->name);
		sep = " ";
	}
}

void complete_quoted(const char *s, const char *special, const char *quote, FILE *out)
{
	for (; *s; s++) {
		if (*s == '\'')
			(void)fputs(quote, out);
		else
			(void)fprintf(out, "%s%c", strchr(special, *s) ? "\\" : "", *s);
	}
}
