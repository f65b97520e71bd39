#pragma once

#include <stdio.h>

struct command;

/* All made from the tables, at most 80 columns wide. */
void help_overview(const struct command *const *cmds, FILE *out);
/* prefix: words before the command's own name ("config "), or "". */
void help_command(const struct command *c, const char *prefix, FILE *out);
/* "usage: ralph exec [options] NAME CMD…", with a newline. */
void help_usage(const struct command *c, const char *prefix, FILE *out);
/* One line per option: command, long, short, type, value name, help; tab-separated. The global
 * options have the command "-"; a command without options has one line with its name alone. */
void help_dump(const struct command *const *cmds, FILE *out);
