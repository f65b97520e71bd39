#pragma once

#include "spec/spec.h"

#include <stdbool.h>

/* Beside the private git directory: what is mounted where submodules have none of their own. */
#define GITLINKS_DIR ".modules"
#define GITLINKS_ABSENT "absent-" /* its directory was not there, and goes again */

/* True ends the look. */
typedef bool gitlink_fn(const char *path, void *arg);

/*
 * The submodules that the index of this git directory lists, of a split one in all its parts.
 * common: where the settings are. An index that git could not read either has none.
 */
int gitlinks_each(const char *dir, const char *common, gitlink_fn *fn, void *arg);

/* Is it the cover of such a place? */
bool gitlinks_is_cover(const struct spec_mount *m);
/* Before anything is mounted: makes places that are not there. No link is followed. */
int gitlinks_make(const struct sandbox_spec *s);
/* At the end: removes directories that were made to have something mounted on them. */
void gitlinks_unmount(const struct sandbox_spec *s);
