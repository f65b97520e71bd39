#pragma once

#include "image/image-tool.h"
#include "image/image.h"

/*
 * Base images, and their maximum age. The time of the last pull, or failed pull, is noted in
 * PLACES/state/images/bases/.
 */
#define IMAGE_BASE_MAX_AGE (7 * 86400)
#define IMAGE_BASE_RETRY 3600 /* after a failed attempt */

/* Only looks: -ENOENT when the image is missing. *ret_due: image_base_get() would pull it. */
int image_base_look(const struct image_request *req, const struct image_tool *t, const char *ref,
		    struct image_facts *ret, bool *ret_due, struct err *err);
/* Returns a usable base image: pulls it if it is missing or due. Pulls, and failures that can be
 * ignored, are reported to req. */
int image_base_get(const struct image_request *req, const struct image_tool *t, const char *ref,
		   struct image_facts *ret, struct err *err);
