#pragma once

struct command;

/* All commands in the order of the help listing; NULL-terminated. */
extern const struct command *const commands[];

extern const struct command cmd_completion;
extern const struct command cmd_help;
extern const struct command cmd_version;
