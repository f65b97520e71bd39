#pragma once

#include "hook/judge.h"

/*
 * The allow file of the user, $XDG_CONFIG_HOME/ralph/hook-allow, with lines of the form
 *	CATEGORY PATTERN
 * PATTERN is the whole text of a finding, in which * stands for any text. # begins a comment line.
 */
#define ALLOW_FILE "hook-allow"
#define ALLOW_MAX (64 * 1024)

struct allow {
	char *text;
	char *path;   /* for messages */
	char *notice; /* the reason why the file is ignored; NULL: none */
};

/* Reads the file, unless others can write it or it is in the project. */
void allow_load(struct allow *ret, const char *config, const char *project);
void allow_done(struct allow *a);
bool allow_has(const struct allow *a, enum category c, const char *text);
