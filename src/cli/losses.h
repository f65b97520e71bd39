#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

/*
 * What is lost with the record of each of these sandboxes, a sentence each: work in a clone that only
 * the sandbox has, a loop that would go on in it. Conversations are saved before, and the project's
 * home stays.
 */
int losses_find(const struct places *p, const struct strv *names, struct strv *ret,
		struct err *err);
