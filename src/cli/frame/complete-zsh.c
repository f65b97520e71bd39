#include "cli/frame/complete.h"

#include <string.h>

#include "cli/frame/command.h"

#define ZSH_QUOTE "'\\''"

static void zsh_text(const char *s, FILE *out)
{
	complete_quoted(s, "[]:\\", ZSH_QUOTE, out);
}

static const char *zsh_action(enum opt_complete kind)
{
	static const char *const actions[] = {
		[COMPLETE_NONE] = " ",
		[COMPLETE_SANDBOX] = "_ralph_sandboxes",
		[COMPLETE_PROFILE] = "_ralph_profiles",
		[COMPLETE_FILE] = "_files",
		[COMPLETE_DIR] = "_files -/",
		[COMPLETE_COMMAND] = "_command_names -e",
		[COMPLETE_SUBCOMMAND] = "_ralph_commands",
		[COMPLETE_TASK] = "_ralph_tasks",
		[COMPLETE_LOOP] = "_ralph_loops",
		[COMPLETE_GROUP] = " ",
		[COMPLETE_ENGINE] = " ",
	};

	return actions[kind];
}

static void zsh_value(const char *message, const char *const *words, enum opt_complete kind,
		      FILE *out)
{
	words = complete_choices(words, kind);
	(void)fputc(':', out);
	zsh_text(message, out);
	(void)fputc(':', out);
	if (words && kind != COMPLETE_NONE && kind != COMPLETE_GROUP && kind != COMPLETE_ENGINE) {
		(void)fputs("{ compadd -- ", out);
		complete_words(words, out);
		(void)fprintf(out, "; %s }", zsh_action(kind));
	} else if (words) {
		(void)fputc('(', out);
		complete_words(words, out);
		(void)fputc(')', out);
	} else {
		(void)fputs(zsh_action(kind), out);
	}
}

/* Writes one line of _arguments: '(-n --name)'{-n+,--name=}'[help]:NAME:action' */
static void zsh_option(const struct opt *o, FILE *out)
{
	bool value = opt_takes_value(o);

	(void)fputs("\t\t", out);
	if (o->type == OPT_STRV)
		(void)fputs("'*'", out);
	else if (o->short_name)
		(void)fprintf(out, "'(-%c --%s)'", o->short_name, o->name);
	if (o->short_name)
		(void)fprintf(out, "{-%c%s,--%s%s}", o->short_name, value ? "+" : "", o->name,
			      value ? "=" : "");
	else
		(void)fprintf(out, "--%s%s", o->name, value ? "=" : "");
	(void)fputs("'[", out);
	zsh_text(o->help, out);
	(void)fputc(']', out);
	if (value)
		zsh_value(o->arg ? o->arg : "VALUE", o->choices, o->complete, out);
	(void)fputs("' \\\n", out);
}

static bool is_hidden_by(const struct opt *global, const struct command *c)
{
	for (size_t i = 0; c && i < c->n_opts; i++) {
		const struct opt *o = &c->opts[i];

		if (streq(o->name, global->name) ||
		    (o->short_name && o->short_name == global->short_name))
			return true;
	}
	return false;
}

static void zsh_options(const struct command *c, FILE *out)
{
	for (size_t i = 0; c && i < c->n_opts; i++)
		if (complete_offers(&c->opts[i], ~0U))
			zsh_option(&c->opts[i], out);
	for (size_t i = 0; i < n_global_opts; i++)
		if (complete_offers(&global_opts[i], c ? c->flags : ~0U) &&
		    !is_hidden_by(&global_opts[i], c))
			zsh_option(&global_opts[i], out);
}

/* A function that picks one of the commands and goes on in its function. */
static void zsh_chooser(const char *fn, const struct command *c, const struct command *const *cmds,
			FILE *out)
{
	(void)fprintf(out, "\n%s_commands() {\n\tlocal -a list=(\n", fn);
	for (const struct command *const *p = cmds; *p; p++) {
		if ((*p)->flags & CMD_HIDDEN)
			continue;
		(void)fprintf(out, "\t\t'%s:", (*p)->name);
		zsh_text((*p)->summary, out);
		(void)fputs("'\n", out);
	}
	(void)fprintf(out,
		      "\t)\n\t_describe -t commands command list\n}\n"
		      "\n%s() {\n"
		      "\tlocal curcontext=\"$curcontext\" state line\n"
		      "\tlocal -A opt_args\n"
		      "\t_arguments -C -s -S \\\n",
		      fn);
	zsh_options(c, out);
	(void)fprintf(out,
		      "\t\t'1:command:%s_commands' \\\n"
		      "\t\t'*:: :->rest' && return\n"
		      "\t[[ $state == rest ]] || return 1\n"
		      "\tcase $words[1] in\n",
		      fn);
	for (; *cmds; cmds++) {
		(void)fprintf(out, "\t%s", (*cmds)->name);
		for (const char *const *a = (*cmds)->aliases; a && *a; a++)
			(void)fprintf(out, " | %s", *a);
		(void)fprintf(out, ") %s_%s ;;\n", fn, (*cmds)->name);
	}
	(void)fputs("\tesac\n}\n", out);
}

/* The words after "--", or after the first operand, are another program's command line. */
static void zsh_payload(FILE *out)
{
	(void)fputs("\tlocal -i at=${words[(i)--]}\n"
		    "\tif (( at < CURRENT )); then\n"
		    "\t\tshift at words\n"
		    "\t\t(( CURRENT -= at ))\n"
		    "\t\t_normal\n"
		    "\t\treturn\n"
		    "\tfi\n",
		    out);
}

/* The words behind the operand that ends the options are another program's, which nothing is known
 * of but that it may take files. An alias is such an operand itself. */
static void zsh_other(const struct command *c, FILE *out)
{
	(void)fputs("\tlocal -i i\n"
		    "\tfor (( i = 1; i < CURRENT; i++ )); do\n"
		    "\t\t[[ $words[i] != -- ]] || break\n"
		    "\t\tif [[ $words[i] == (",
		    out);
	for (const char *const *w = c->words; *w; w++)
		(void)fprintf(out, "%s%s", w == c->words ? "" : "|", *w);
	(void)fputs(") && $words[i-1] != (", out);
	complete_valued(c, "|", out);
	(void)fputs(") ]]; then\n"
		    "\t\t\t_files\n"
		    "\t\t\treturn\n"
		    "\t\tfi\n"
		    "\tdone\n",
		    out);
}

static void zsh_leaf(const char *fn, const struct command *c, FILE *out)
{
	bool posix = c->flags & CMD_POSIX;

	(void)fprintf(out, "\n%s() {\n", fn);
	if (c->ends)
		zsh_other(c, out);
	if ((c->flags & CMD_PASSTHROUGH) && !posix)
		zsh_payload(out);
	(void)fputs("\t_arguments -s -S \\\n", out);
	zsh_options(c, out);
	if (c->operands || c->words) {
		(void)fprintf(out, "\t\t'%s", posix ? "1" : "*");
		zsh_value(c->operands ? c->operands : "operand", c->words, c->complete, out);
		(void)fputs("' \\\n", out);
	}
	if (posix)
		(void)fputs("\t\t'*::: :_normal' \\\n", out);
	(void)fputs("\t\t&& return\n}\n", out);
}

static void zsh_functions(const char *fn, const struct command *c,
			  const struct command *const *cmds, FILE *out)
{
	for (const struct command *const *p = cmds; *p; p++) {
		cleanup_free char *name = xasprintf("%s_%s", fn, (*p)->name);

		if ((*p)->subs)
			zsh_functions(name, *p, (*p)->subs, out);
		else
			zsh_leaf(name, *p, out);
	}
	zsh_chooser(fn, c, cmds, out);
}

void complete_zsh(const struct command *const *cmds, FILE *out)
{
	(void)fputs("#compdef ralph\n"
		    "# zsh completion for ralph, made by 'ralph completion zsh'\n"
		    "\n"
		    "_ralph_sandboxes() {\n"
		    "\tlocal -a names=(${(f)\"$(command ralph ls --quiet 2>/dev/null)\"})\n"
		    "\tnames=(${names:#*[^a-z0-9-]*})\n"
		    "\tcompadd -a names\n"
		    "}\n"
		    "\n"
		    "_ralph_profiles() {\n"
		    "\tlocal -a names=(${(f)\"$(command ralph profile ls --quiet 2>/dev/null)\"})\n"
		    "\tnames=(${names:#*[^a-zA-Z0-9._-]*})\n"
		    "\tcompadd -a names\n"
		    "}\n"
		    "\n"
		    "_ralph_tasks() {\n"
		    "\tlocal -a names=(${(f)\"$(command ralph task ls --quiet 2>/dev/null)\"})\n"
		    "\tnames=(${names:#*[^a-zA-Z0-9._#-]*})\n"
		    "\tcompadd -a names\n"
		    "}\n"
		    "\n"
		    "_ralph_loops() {\n"
		    "\tlocal -a names=(${(f)\"$(command ralph status --quiet 2>/dev/null)\"})\n"
		    "\tnames=(${names:#*[^a-zA-Z0-9._/+-]*})\n"
		    "\tcompadd -a names\n"
		    "\t_files -/\n"
		    "}\n",
		    out);
	zsh_functions("_ralph", NULL, cmds, out);
	(void)fputs("\nif [[ $funcstack[1] == _ralph ]]; then\n"
		    "\t_ralph \"$@\"\n"
		    "else\n"
		    "\tcompdef _ralph ralph\n"
		    "fi\n",
		    out);
}
