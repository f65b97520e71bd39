#pragma once

#include "base/strv.h"
#include "spec/spec.h"

/*
 * The user's environment for programs of the host that work for a sandbox. A PATH often begins
 * with directories of the workspace, and what is in there the sandbox may have put there: such
 * directories, and relative ones, are left out.
 */

/* What is left of a PATH: for a sandbox, and where only the directories are known. */
char *host_path(const struct sandbox_spec *spec, const char *path);
char *host_path_outside(const char *const *dirs, size_t n, const char *path);
/* All of it, with that PATH. */
void host_environ(const struct sandbox_spec *spec, char *const *from, struct strv *ret);
/* The same in a sealed memory file, each entry ended by a NUL; and back. */
#define HOST_ENVIRON_MAX (4 * MiB)
int host_environ_memfd(const struct sandbox_spec *spec, char *const *from);
int host_environ_read(int fd, struct strv *ret);
