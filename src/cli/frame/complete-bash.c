#include "cli/frame/complete.h"

#include "cli/frame/command.h"

/* Patterns for a case: "run:--name|run:-n". */
static void bash_patterns(const char *cmd, const struct opt *o, FILE *out)
{
	(void)fprintf(out, "%s:--%s", cmd, o->name);
	if (o->short_name)
		(void)fprintf(out, "|%s:-%c", cmd, o->short_name);
}

static void bash_values(const char *cmd, const struct opt *opts, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct opt *o = &opts[i];
		const char *const *words = complete_choices(o->choices, o->complete);

		(void)fputs("\t", out);
		bash_patterns(cmd, o, out);
		if (!opt_takes_value(o)) {
			(void)fputs(") return 1 ;;\n", out);
		} else if (words) {
			(void)fputs(") kind=words words='", out);
			complete_words(words, out);
			(void)fputs("' ;;\n", out);
		} else {
			(void)fprintf(out, ") kind=%s ;;\n", complete_kind_name(o->complete));
		}
	}
}

static void bash_options(const struct opt *opts, size_t n, unsigned have, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		if (complete_offers(&opts[i], have))
			(void)fprintf(out, " --%s", opts[i].name);
}

static void bash_names(const struct command *c, const char *prefix, FILE *out)
{
	(void)fprintf(out, "\t'%s%s'", prefix, c->name);
	for (const char *const *a = c->aliases; a && *a; a++)
		(void)fprintf(out, " | '%s%s'", prefix, *a);
	(void)fprintf(out, ")\n\t\tcmd='%s%s'\n", prefix, c->name);
}

/* Writes one arm of the case statement: the options and words of one command. */
static void bash_command(const struct command *c, const char *prefix, FILE *out)
{
	const char *const *words = complete_choices(c->words, c->complete);

	bash_names(c, prefix, out);
	if (c->ends) {
		(void)fprintf(out, "\t\t[[ $1 == '%s%s' ]] || ended=other\n\t\tends=' ", prefix,
			      c->name);
		complete_words(c->words, out);
		(void)fputs(" '\n", out);
	}
	(void)fputs("\t\topts='", out);
	bash_options(c->opts, c->n_opts, ~0U, out);
	bash_options(global_opts, n_global_opts, c->flags, out);
	(void)fputs("'\n", out);
	if (c->subs) {
		(void)fputs("\t\tsubs='", out);
		complete_names(c->subs, out);
		(void)fputs("'\n", out);
	}
	if (words) {
		(void)fputs("\t\toperand=words operand_words='", out);
		complete_words(words, out);
		(void)fputs("'\n", out);
	}
	if (c->complete != COMPLETE_NONE)
		(void)fprintf(out, "\t\toperand=%s\n", complete_kind_name(c->complete));
	if (c->flags & CMD_POSIX)
		(void)fputs("\t\tposix=1\n", out);
	if (c->flags & CMD_PASSTHROUGH)
		(void)fputs("\t\tpayload=1\n", out);
	(void)fputs("\t\t;;\n", out);
}

static void bash_arms(const struct command *const *cmds, const char *prefix, bool values, FILE *out)
{
	for (; *cmds; cmds++) {
		const struct command *c = *cmds;
		cleanup_free char *name = xasprintf("%s%s", prefix, c->name);
		cleanup_free char *quoted = xasprintf("'%s'", name);
		cleanup_free char *below = xasprintf("%s ", name);

		if (c->flags & CMD_HIDDEN)
			continue;
		if (values)
			bash_values(quoted, c->opts, c->n_opts, out);
		else
			bash_command(c, prefix, out);
		if (c->subs)
			bash_arms(c->subs, below, values, out);
	}
}

static const char bash_head[] =
	"# bash completion for ralph, made by 'ralph completion bash'\n"
	"# shellcheck disable=SC2086 # the lists are split on purpose\n"
	"\n"
	"# What the value of option $2 of command $1 is; fails when it takes none.\n"
	"_ralph_value() {\n"
	"\tcase $1:$2 in\n";

static const char bash_middle[] =
	"\t*) return 1 ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# What command $1 offers.\n"
	"_ralph_command() {\n"
	"\topts='' subs='' operand='' operand_words='' posix='' payload='' ends=''\n"
	"\tcase $1 in\n";

/* Words are compared here instead of by `compgen -W`, which would expand what it is given. */
static const char bash_tail[] =
	"\tesac\n"
	"}\n"
	"\n"
	"_ralph_offer() {\n"
	"\tlocal word\n"
	"\tfor word; do\n"
	"\t\t[[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$word\")\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_ralph_kind() {\n"
	"\tlocal word\n"
	"\t_ralph_offer $2\n"
	"\tcase $1 in\n"
	"\tsandbox)\n"
	"\t\twhile IFS= read -r word; do\n"
	"\t\t\t[[ $word == *[!a-z0-9-]* ]] || _ralph_offer \"$word\"\n"
	"\t\tdone < <(command ralph ls --quiet 2>/dev/null) ;;\n"
	"\tprofile)\n"
	"\t\twhile IFS= read -r word; do\n"
	"\t\t\t[[ $word == *[!a-zA-Z0-9._-]* ]] || _ralph_offer \"$word\"\n"
	"\t\tdone < <(command ralph profile ls --quiet 2>/dev/null) ;;\n"
	"\ttask)\n"
	"\t\twhile IFS= read -r word; do\n"
	"\t\t\t[[ $word == *[!a-zA-Z0-9._#-]* ]] || _ralph_offer \"$word\"\n"
	"\t\tdone < <(command ralph task ls --quiet 2>/dev/null) ;;\n"
	"\tloop)\n"
	"\t\twhile IFS= read -r word; do\n"
	"\t\t\t[[ $word == *[!a-zA-Z0-9._/+-]* ]] || _ralph_offer \"$word\"\n"
	"\t\tdone < <(command ralph status --quiet 2>/dev/null)\n"
	"\t\t_ralph_kind dir ;;\n"
	"\tfile | dir | command)\n"
	"\t\tlocal how=(-f)\n"
	"\t\t[[ $1 == dir ]] && how=(-d)\n"
	"\t\t[[ $1 == command ]] && how=(-c -f)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\twhile IFS= read -r word; do\n"
	"\t\t\tCOMPREPLY+=(\"$word\")\n"
	"\t\tdone < <(compgen \"${how[@]}\" -- \"$cur\") ;;\n"
	"\tsubcommand) _ralph_command '' && _ralph_offer $subs ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_ralph_reply() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} cmd='' kind words operands=0 ended='' i word\n"
	"\tlocal opts subs operand operand_words posix payload ends IFS=$' \\t\\n'\n"
	"\tCOMPREPLY=()\n"
	"\t_ralph_command ''\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $ended ]]; then\n"
	"\t\t\t((operands++))\n"
	"\t\telif [[ $word == -- ]]; then\n"
	"\t\t\tended=1\n"
	"\t\telif [[ $word == -?* ]]; then\n"
	"\t\t\tkind='' words=''\n"
	"\t\t\t_ralph_value \"$cmd\" \"$word\" || continue\n"
	"\t\t\t((i++))\n"
	"\t\t\t# bash splits --opt=value into three words\n"
	"\t\t\tif [[ ${COMP_WORDS[i]} == '=' ]]; then\n"
	"\t\t\t\tif ((i == COMP_CWORD)); then cur=''; else ((i++)); fi\n"
	"\t\t\tfi\n"
	"\t\t\tif ((i >= COMP_CWORD)); then\n"
	"\t\t\t\t_ralph_kind \"$kind\" \"$words\"\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\telif [[ $subs ]]; then\n"
	"\t\t\tcmd=${cmd:+$cmd }$word\n"
	"\t\t\t_ralph_command \"$cmd\"\n"
	"\t\telse\n"
	"\t\t\t((operands++))\n"
	"\t\t\tended=$posix\n"
	"\t\t\t[[ $ends != *\" $word \"* ]] || ended=other\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ ! $ended && $cur == -* ]]; then\n"
	"\t\t_ralph_offer $opts\n"
	"\telif [[ $subs ]]; then\n"
	"\t\t_ralph_offer $subs\n"
	"\telif [[ $ended == other ]]; then\n"
	"\t\t_ralph_kind file\n"
	"\telif [[ $payload && $ended && ( ! $posix || $operands -gt 0 ) ]]; then\n"
	"\t\t_ralph_kind command\n"
	"\telse\n"
	"\t\t_ralph_kind \"$operand\" \"$operand_words\"\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# bash ends a word at '@' where COMP_WORDBREAKS has it, and replaces what stands behind "
	"it.\n"
	"_ralph() {\n"
	"\tlocal n=$COMP_CWORD at=''\n"
	"\tif [[ ${COMP_WORDS[n]} == '=@' ]]; then\n"
	"\t\tCOMP_WORDS[n]='=' COMP_WORDS[n+1]=@ COMP_CWORD=$((n + 1)) at=@\n"
	"\telif [[ $n -gt 1 && ${COMP_WORDS[n-1]} == '=@' ]]; then\n"
	"\t\tCOMP_WORDS[n-1]='=' COMP_WORDS[n]=@${COMP_WORDS[n]} at=@\n"
	"\telif [[ $n -gt 1 && ${COMP_WORDS[n-1]} == @ ]]; then\n"
	"\t\tCOMP_WORDS[n-1]=@${COMP_WORDS[n]} COMP_CWORD=$((n - 1)) at=@\n"
	"\telif [[ ${COMP_WORDS[n]} == @ && $COMP_WORDBREAKS == *@* ]]; then\n"
	"\t\tat=@\n"
	"\tfi\n"
	"\t_ralph_reply\n"
	"\t[[ ! $at ]] || COMPREPLY=(\"${COMPREPLY[@]#@}\")\n"
	"}\n"
	"\n"
	"complete -F _ralph ralph\n";

void complete_bash(const struct command *const *cmds, FILE *out)
{
	(void)fputs(bash_head, out);
	bash_arms(cmds, "", true, out);
	bash_values("*", global_opts, n_global_opts, out);
	(void)fputs(bash_middle, out);
	(void)fputs("\t'')\n\t\topts='", out);
	bash_options(global_opts, n_global_opts, ~0U, out);
	(void)fputs("' subs='", out);
	complete_names(cmds, out);
	(void)fputs("'\n\t\t;;\n", out);
	bash_arms(cmds, "", false, out);
	(void)fputs(bash_tail, out);
}
