#pragma once

#include "base/err.h"
#include "base/strv.h"

/* Lists the host's mount points below `dir`, which a bind of `dir` includes. */
int host_mounts_below(const char *dir, struct strv *ret, struct err *err);
