#pragma once

#include "cli/frame/opt.h"

#include <stdbool.h>
#include <stdio.h>

struct command;

/*
 * Completion scripts, made from the tables.
 *
 * A script finds the command as the parser does: leading options are skipped with their values, the
 * first other word is the command, the next one its subcommand where it has such. The only programs
 * it runs are ralph's own lists (`ralph ls --quiet` and the like); what these print is data to it,
 * never expanded, and dropped unless it is made of the characters that such a name may have.
 *
 * Where an operand can end the options (struct command: ends), one of the command's words does here;
 * files are offered behind it.
 */
void complete_bash(const struct command *const *cmds, FILE *out);
void complete_zsh(const struct command *const *cmds, FILE *out);
void complete_fish(const struct command *const *cmds, FILE *out);

/* Who knows the words of a kind when a script is made: engines, groups. Returns NULL for other
 * kinds. Without complete_use() such words are not offered. */
typedef const char *const *complete_known_fn(enum opt_complete kind);
void complete_use(complete_known_fn *fn);

/* Functions that the writers for bash, zsh and fish share. */
const char *complete_kind_name(enum opt_complete kind);
/* Returns the words that are known when the script is made; NULL: none. */
const char *const *complete_choices(const char *const *words, enum opt_complete kind);
bool complete_offers(const struct opt *o, unsigned have); /* not hidden, fits the command */
void complete_words(const char *const *words, FILE *out); /* with blanks between */
void complete_names(const struct command *const *cmds, FILE *out);
/* Writes the options of the command and of all commands that take a value, `sep` between them. */
void complete_valued(const struct command *c, const char *sep, FILE *out);
/* Writes s for single quotes: `quote` for a single quote, a backslash before each of `special`. */
void complete_quoted(const char *s, const char *special, const char *quote, FILE *out);
