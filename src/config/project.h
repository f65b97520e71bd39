#pragma once

#include "config/file.h"

/*
 * Whether a project file that the user has not trusted asks for more than base, the user's own
 * settings, allows: 0, or the error that says where and what to do. `project` is that file alone
 * over the defaults. The rule of each key is in the table (enum key_project). memory_share is what
 * a base of limits.memory 0 stands for.
 */
int config_project_widens(const struct config *base, const struct config *project,
			  const struct config_file *file, uint64_t memory_share, struct err *err);
/* The error for a key that no project file may have, trusted or not (PROJECT_NEVER). */
int config_project_never(const struct config_file *file, struct err *err);
/* All of them, in the order of the keys; see config_widenings(). */
void config_project_widenings(const struct config *base, const struct config *project,
			      const struct config_file *file, uint64_t memory_share,
			      struct config_widening **ret, size_t *ret_n);
