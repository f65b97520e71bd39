#pragma once

#include "image/image-tool.h"
#include "image/image.h"

/*
 * The images that others begin with, and how old they may get. When one was last pulled, or could
 * not be, is noted in PLACES/state/images/bases/.
 */
#define IMAGE_BASE_MAX_AGE (7 * 86400)
#define IMAGE_BASE_RETRY 3600 /* after an attempt that failed */

/* Looks alone: -ENOENT when it is not there. *ret_due: it would be pulled. */
int image_base_look(const struct image_request *req, const struct image_tool *t, const char *ref,
		    struct image_facts *ret, bool *ret_due, struct err *err);
/* Gets one that may be used: pulled if it is not there, or due; told of that, and of a failure
 * that does not matter. */
int image_base_get(const struct image_request *req, const struct image_tool *t, const char *ref,
		   struct image_facts *ret, struct err *err);
