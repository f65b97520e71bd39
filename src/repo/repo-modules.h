#pragma once

#include "repo/repo.h"

#include "base/json/json.h"

/*
 * Submodules of a working tree that an agent gets. They are no part of a look for changes, so where
 * each was is noted before the agent starts. Afterwards a loop puts them back with their files, or
 * takes what is held of them (repo-held.h). A submodule with uncommitted files is not noted: it is
 * the user's to judge. NAME is the sandbox.
 */
#define REPO_MODULES_MAX 256
#define REPO_MODULES_DEPTH 8 /* submodules of submodules; deeper ones are left alone */

/* Notes the submodules that are initialised; what is still held of them is given up. */
int repo_modules_note(struct repo *r, const char *name, struct err *err);

/* Each one that was noted and is still there, with its path in the working tree. */
typedef int repo_module_fn(void *arg, struct repo *module, const char *path, json_t *noted,
			   struct err *err);
int repo_modules_each(struct repo *r, repo_module_fn *fn, void *arg, struct err *err);

enum repo_module_flags {
	REPO_MODULE_FILES =
		1 << 0, /* uncommitted files are put back too, without a commit as well */
};

/*
 * Puts the submodule back to what was noted, with its files. *ret_kept, which the caller frees, is a
 * reference in the submodule to what was there, or NULL; *ret_done is false when it was as noted.
 */
int repo_module_put_back(struct repo *module, const char *name, enum repo_module_flags flags,
			 const json_t *noted, char **ret_kept, bool *ret_done, struct err *err);
