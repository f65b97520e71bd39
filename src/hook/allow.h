#pragma once

#include "hook/judge.h"

/*
 * What a user has allowed: $XDG_CONFIG_HOME/ralph/hook-allow, a line each:
 *	CATEGORY PATTERN
 * PATTERN is the whole text of a finding, in which * stands for any text. # begins a comment line.
 */
#define ALLOW_FILE "hook-allow"
#define ALLOW_MAX (64 * 1024)

struct allow {
	char *text;
	char *path;   /* for messages */
	char *notice; /* why the file is not used; NULL */
};

/* Reads it, unless it is not this user's alone, or lies in the project. */
void allow_load(struct allow *ret, const char *config, const char *project);
void allow_done(struct allow *a);
bool allow_has(const struct allow *a, enum category c, const char *text);
