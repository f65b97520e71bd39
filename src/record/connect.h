#pragma once

#include "base/err.h"
#include "record/places.h"

/* The short way to a live sandbox, with nothing to load: the whole of what `ralph exec` needs. */

/* Connects to NAME; *ret is -1 when it is not live. An unknown name is an error. */
int live_connect(const struct places *p, const char *name, int *ret, struct err *err);
