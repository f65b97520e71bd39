#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * The control socket of a live sandbox: PLACES/runtime/NAME/ctl, only for its own user. The link
 * `version` next to it names the version of the listening ralph. RUNTIME_RULES has network rules
 * that hold until the sandbox stops; a start finds none.
 */
#define RUNTIME_RULES "network.rules"

int runtime_listen(const struct places *p, const char *name, int *ret, struct err *err);
/* ret is -1 when the sandbox is not live. A directory that another user could have made is an
 * error. */
typedef int runtime_connect_fn(const struct places *p, const char *name, int *ret, struct err *err);
runtime_connect_fn runtime_connect;
/* Like runtime_connect(), but a sandbox of another version is an error. Only stopping, removing
 * and WIRE_INSPECT are the same in every version. */
runtime_connect_fn runtime_join;
/* Lists the names that have a directory; directories of other users are left out. */
int runtime_list(const struct places *p, struct strv *ret, struct err *err);
/* True when a live sandbox of this name exists, or its remains. */
bool runtime_exists(const struct places *p, const char *name);
void runtime_remove(const struct places *p, const char *name);
