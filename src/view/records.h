#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"

/*
 * Finds the latest record of this iteration of a workspace's loop. The caller frees it. -ENOENT:
 * there is no loop, or the iteration has not ended.
 */
int records_find(const struct places *p, const char *workspace, uint64_t iteration, json_t **ret,
		 struct err *err);
