#pragma once

#include <stdbool.h>

#include "policy/gitconfig.h"

/*
 * Which words of a setting of git may be programs, as the shell would take them. Pure: nothing is
 * looked up. A word that is no file of a workspace does not matter, so this names rather too many.
 */
enum gitprogram {
	GITPROGRAM_DIR,	  /* a directory with programs: core.hooksPath */
	GITPROGRAM_FILE,  /* a program, or the file that an interpreter runs */
	GITPROGRAM_MAYBE, /* an argument: a program if it is one by its mode */
};

/* word: a path as it stands there, quotes and leading variables taken off. */
typedef void gitprogram_fn(enum gitprogram kind, const char *word, void *arg);

/* Nothing for a setting by which git runs no program. */
void gitprograms_each(const struct gitconfig_entry *e, gitprogram_fn *fn, void *arg);
