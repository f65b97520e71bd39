#pragma once

struct command;

/* The whole life of a program that runs these commands; the result is its exit code. */
int program_main(const struct command *const *cmds, int argc, char **argv);
