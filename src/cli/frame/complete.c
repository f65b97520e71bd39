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
		[COMPLETE_TASK] = "task",
		[COMPLETE_LOOP] = "loop",
		[COMPLETE_GROUP] = "none",
		[COMPLETE_ENGINE] = "none",
	};
	static_assert(ARRAY_SIZE(names) == COMPLETE_N, "one name per kind");

	return names[kind];
}

static complete_known_fn *known;

void complete_use(complete_known_fn *fn)
{
	known = fn;
}

const char *const *complete_choices(const char *const *words, enum opt_complete kind)
{
	return words || !known ? words : known(kind);
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

static void put_valued(const struct opt *opts, size_t n, const char **sep, const char *next,
		       FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		if (!opt_takes_value(&opts[i]))
			continue;
		(void)fprintf(out, "%s--%s", *sep, opts[i].name);
		*sep = next;
		if (opts[i].short_name)
			(void)fprintf(out, "%s-%c", *sep, opts[i].short_name);
	}
}

void complete_valued(const struct command *c, const char *sep, FILE *out)
{
	const char *first = "";

	if (c)
		put_valued(c->opts, c->n_opts, &first, sep, out);
	put_valued(global_opts, n_global_opts, &first, sep, out);
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
