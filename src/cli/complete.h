#pragma once

#include <stdio.h>

struct command;

/* Scripts for the shells, made from the tables. */
void complete_bash(const struct command *const *cmds, FILE *out);
void complete_zsh(const struct command *const *cmds, FILE *out);
void complete_fish(const struct command *const *cmds, FILE *out);
