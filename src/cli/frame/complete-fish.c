#include "cli/frame/complete.h"

#include "cli/frame/command.h"

static void fish_text(const char *s, FILE *out)
{
	complete_quoted(s, "\\", "\\'", out);
}

static const char *fish_kind(enum opt_complete kind)
{
	static const char *const kinds[] = {
		[COMPLETE_NONE] = "",
		[COMPLETE_SANDBOX] = " -a '(__ralph_sandboxes)'",
		[COMPLETE_PROFILE] = " -a '(__ralph_profiles)'",
		[COMPLETE_FILE] = " -F",
		[COMPLETE_DIR] = " -a '(__fish_complete_directories)'",
		[COMPLETE_COMMAND] = " -a '(__fish_complete_command)'",
		[COMPLETE_SUBCOMMAND] = " -a '(__ralph_commands)'",
		[COMPLETE_TASK] = " -a '(__ralph_tasks)'",
		[COMPLETE_LOOP] = " -a '(__ralph_loops; __fish_complete_directories)'",
		[COMPLETE_GROUP] = "",
		[COMPLETE_ENGINE] = "",
	};

	return kinds[kind];
}

static void fish_option(const char *condition, const struct opt *o, FILE *out)
{
	const char *const *words = complete_choices(o->choices, o->complete);

	(void)fprintf(out, "complete -c ralph -n '%s' -l %s", condition, o->name);
	if (o->short_name)
		(void)fprintf(out, " -s %c", o->short_name);
	if (opt_takes_value(o) && words) {
		(void)fputs(" -x -a '", out);
		complete_words(words, out);
		(void)fputc('\'', out);
	} else if (opt_takes_value(o)) {
		(void)fprintf(out, " %s%s", o->complete == COMPLETE_FILE ? "-r" : "-x",
			      fish_kind(o->complete));
	}
	(void)fputs(" -d '", out);
	fish_text(o->help, out);
	(void)fputs("'\n", out);
}

static void fish_options(const char *condition, const struct opt *opts, size_t n, unsigned have,
			 FILE *out)
{
	for (size_t i = 0; i < n; i++)
		if (complete_offers(&opts[i], have))
			fish_option(condition, &opts[i], out);
}

static void fish_names(const char *condition, const struct command *const *cmds, FILE *out)
{
	for (; *cmds; cmds++) {
		if ((*cmds)->flags & CMD_HIDDEN)
			continue;
		(void)fprintf(out, "complete -c ralph -n '%s' -a %s -d '", condition,
			      (*cmds)->name);
		fish_text((*cmds)->summary, out);
		(void)fputs("'\n", out);
	}
}

/* `__ralph_at posix "config show" "config list"`: the command by each of its names. Behind an alias
 * of a command whose options can end stands another program's command line. */
static char *condition_of(const struct command *c, const char *prefix)
{
	char *s = xasprintf("__ralph_at %s \"%s%s\"", c->flags & CMD_POSIX ? "posix" : "mixed",
			    prefix, c->name);

	for (const char *const *a = c->ends ? NULL : c->aliases; a && *a; a++) {
		cleanup_free char *before = s;

		s = xasprintf("%s \"%s%s\"", before, prefix, *a);
	}
	return s;
}

static void fish_command(const struct command *c, const char *prefix, FILE *out)
{
	cleanup_free char *at = condition_of(c, prefix);
	cleanup_free char *below = xasprintf("%s%s ", prefix, c->name);
	const char *const *words = complete_choices(c->words, c->complete);

	if (c->flags & CMD_HIDDEN)
		return;
	fish_options(at, c->opts, c->n_opts, ~0U, out);
	fish_options(at, global_opts, n_global_opts, c->flags, out);
	if (c->subs) {
		fish_names(at, c->subs, out);
		for (const struct command *const *p = c->subs; *p; p++)
			fish_command(*p, below, out);
	}
	if (words) {
		(void)fprintf(out, "complete -c ralph -n '%s' -a '", at);
		complete_words(words, out);
		(void)fputs("'\n", out);
	}
	if (c->complete != COMPLETE_NONE && c->complete != COMPLETE_GROUP)
		(void)fprintf(out, "complete -c ralph -n '%s'%s\n", at, fish_kind(c->complete));
	if (c->flags & CMD_PASSTHROUGH)
		(void)fprintf(out,
			      "complete -c ralph -n '__ralph_payload%s' -a "
			      "'(__fish_complete_command)' -F\n",
			      at + sizeof("__ralph_at") - 1);
}

/* The cases of __ralph_other: which words of a command end its options. */
static void fish_ends(const struct command *const *cmds, FILE *out)
{
	for (; *cmds; cmds++) {
		if (!(*cmds)->ends)
			continue;
		(void)fprintf(out, "        case %s\n            set ends ", (*cmds)->name);
		complete_words((*cmds)->words, out);
		(void)fputs("\n            set valued ", out);
		complete_valued(*cmds, " ", out);
		(void)fputc('\n', out);
		if (!(*cmds)->aliases)
			continue;
		(void)fputs("        case ", out);
		complete_words((*cmds)->aliases, out);
		(void)fputs("\n            return 0\n", out);
	}
}

static const char fish_other_head[] =
	"# Succeeds behind the operand that ends the options, or an alias that is one itself.\n"
	"function __ralph_other\n"
	"    set -l ends\n"
	"    set -l valued\n"
	"    switch \"$argv[1]\"\n";

static const char fish_other_tail[] = "    end\n"
				      "    set -l before\n"
				      "    for w in $argv[2..-1]\n"
				      "        contains -- $w $ends\n"
				      "        and not contains -- \"$before\" $valued\n"
				      "        and return 0\n"
				      "        set before $w\n"
				      "    end\n"
				      "    return 1\n"
				      "end\n"
				      "\n";

/* The words after which a subcommand follows. */
static void fish_parents(const struct command *const *cmds, FILE *out)
{
	for (; *cmds; cmds++)
		if ((*cmds)->subs)
			(void)fprintf(out, " %s", (*cmds)->name);
}

static const char fish_tail[] =
	"                and set skip 1\n"
	"            case '*'\n"
	"                set -a path $w\n"
	"                contains -- \"$path\" $parents\n"
	"                or break\n"
	"        end\n"
	"    end\n"
	"    echo \"$path\"\n"
	"    set -q words[(math $n + 1)]\n"
	"    and string join \\n -- $words[(math $n + 1)..-1]\n"
	"end\n"
	"\n"
	"# Succeeds when what follows is the payload's: behind --, or behind an operand.\n"
	"function __ralph_ended\n"
	"    contains -- -- $argv[2..-1]\n"
	"    and return 0\n"
	"    test \"$argv[1]\" = posix\n"
	"    and string match -q -r -- '^[^-]' $argv[2..-1]\n"
	"end\n"
	"\n"
	"function __ralph_at\n"
	"    set -l words (__ralph_words)\n"
	"    contains -- \"$words[1]\" $argv[2..-1]\n"
	"    and not __ralph_ended $argv[1] $words[2..-1]\n"
	"    and not __ralph_other $words\n"
	"end\n"
	"\n"
	"function __ralph_payload\n"
	"    set -l words (__ralph_words)\n"
	"    contains -- \"$words[1]\" $argv[2..-1]\n"
	"    and __ralph_ended $argv[1] $words[2..-1]\n"
	"    and not __ralph_other $words\n"
	"end\n"
	"\n"
	"function __ralph_sandboxes\n"
	"    command ralph ls --quiet 2>/dev/null | string match -r '^[a-z0-9-]+$'\n"
	"end\n"
	"\n"
	"function __ralph_tasks\n"
	"    command ralph task ls --quiet 2>/dev/null | string match -r '^[a-zA-Z0-9._#-]+$'\n"
	"end\n"
	"\n"
	"function __ralph_loops\n"
	"    command ralph status --quiet 2>/dev/null | string match -r '^[a-zA-Z0-9._/+-]+$'\n"
	"end\n"
	"\n"
	"function __ralph_profiles\n"
	"    command ralph profile ls --quiet 2>/dev/null | string match -r '^[a-zA-Z0-9._-]+$'\n"
	"end\n"
	"\n";

void complete_fish(const struct command *const *cmds, FILE *out)
{
	(void)fputs("# fish completion for ralph, made by 'ralph completion fish'\n"
		    "\n"
		    "# The command (\"config show\") on the first line, then the words behind it.\n"
		    "function __ralph_words\n"
		    "    set -l words (commandline -opc)\n"
		    "    set -l parents",
		    out);
	fish_parents(cmds, out);
	(void)fputs("\n    set -l path\n"
		    "    set -l skip 0\n"
		    "    set -l n 1\n"
		    "    for w in $words[2..-1]\n"
		    "        set n (math $n + 1)\n"
		    "        if test $skip = 1\n"
		    "            set skip 0\n"
		    "            continue\n"
		    "        end\n"
		    "        switch $w\n"
		    "            case '-*'\n"
		    "                contains -- $w ",
		    out);
	complete_valued(NULL, " ", out);
	(void)fputc('\n', out);
	(void)fputs(fish_tail, out);
	(void)fputs(fish_other_head, out);
	fish_ends(cmds, out);
	(void)fputs(fish_other_tail, out);
	(void)fputs("function __ralph_commands\n    printf '%s\\n' ", out);
	complete_names(cmds, out);
	(void)fputs("\nend\n\ncomplete -c ralph -f\n"
		    "complete -c ralph -n '__ralph_other (__ralph_words)' -F\n",
		    out);
	fish_options("__ralph_at mixed \"\"", global_opts, n_global_opts, ~0U, out);
	fish_names("__ralph_at mixed \"\"", cmds, out);
	for (; *cmds; cmds++)
		fish_command(*cmds, "", out);
}
