#pragma once

struct command;

/* The whole life of a program that runs these commands; the result is its exit code. */
int program_main(const struct command *const *cmds, int argc, char **argv);
/* No standard descriptor is left to be taken by the next file that is opened. */
int program_fill_standard_fds(void);
