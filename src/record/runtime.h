#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * The control socket of a live sandbox: PLACES/runtime/NAME/ctl, for its own user only. The link
 * `version` beside it names the ralph that listens.
 */

int runtime_listen(const struct places *p, const char *name, int *ret, struct err *err);
/* *ret is -1 when the sandbox is not live. A directory that others could have made is an error. */
typedef int runtime_connect_fn(const struct places *p, const char *name, int *ret, struct err *err);
runtime_connect_fn runtime_connect;
/* As runtime_connect(); a sandbox that another version of ralph started is an error. Only stopping,
 * removing and WIRE_INSPECT are the same in every version. */
runtime_connect_fn runtime_join;
/* The names that have a directory; those of another user's making are left out. */
int runtime_list(const struct places *p, struct strv *ret, struct err *err);
/* Something is there for a live sandbox of this name, or was left. */
bool runtime_exists(const struct places *p, const char *name);
void runtime_remove(const struct places *p, const char *name);
