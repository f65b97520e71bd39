#pragma once

#include <stdbool.h>
#include <stdio.h>

struct command;

/* All made from the tables, at most 80 columns wide. */

/* Every command by group; with `full`, the global options as well. */
void help_overview(const struct command *const *cmds, bool full, FILE *out);
/* prefix: words before the command's own name ("config "), or "". */
void help_command(const struct command *c, const char *prefix, FILE *out);
/* "usage: ralph exec [options] NAME CMD...", with a newline. */
void help_usage(const struct command *c, const char *prefix, FILE *out);
/*
 * Tab-separated, for tests and tools: command, long, short, type, value name, help. "-" stands for
 * what is not there and, as a command, for the global options. Each command opens with a line of
 * its own, of the type "command", with its operands and summary. Hidden rows are left out.
 */
void help_dump(const struct command *const *cmds, FILE *out);
