#pragma once

#include "base/strv.h"
#include "spec/spec.h"

/*
 * The user's environment for programs of the host that work for a sandbox. A PATH often begins
 * with directories of the workspace, and the sandbox may have written the programs in them. These
 * directories, and relative ones, are left out.
 */

/* Return the remaining PATH: for a sandbox, or when only its writable directories are known. */
char *host_path(const struct sandbox_spec *spec, const char *path);
char *host_path_outside(const char *const *dirs, size_t n, const char *path);
/* *ret is the whole environment, with that PATH. */
void host_environ(const struct sandbox_spec *spec, char *const *from, struct strv *ret);
/* Writes that environment to a sealed memory file, each entry ended by a NUL. */
#define HOST_ENVIRON_MAX (4 * MiB)
int host_environ_memfd(const struct sandbox_spec *spec, char *const *from);
