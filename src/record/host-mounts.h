#pragma once

#include "base/err.h"
#include "base/strv.h"

/* Where the host has something mounted below `dir`, which a bind of `dir` brings along. */
int host_mounts_below(const char *dir, struct strv *ret, struct err *err);
