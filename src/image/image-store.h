#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "image/image-tool.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * The existing images, and which of them are still useful: the latest one for each Dockerfile and
 * agent. PLACES/state/images/used/ notes each use.
 */

/* Notes the use; a failure only loses a reason to keep the image. */
void image_store_used(const struct places *p, const char *engine, const char *agent,
		      const char *project, const char *ref);

struct image_row {
	const char *engine;
	char *ref;     /* REPOSITORY:TAG */
	char *agent;   /* NULL: unknown */
	char *project; /* project of the Dockerfile; NULL: ralph's own */
	char *bases;
	char *id;
	uint64_t created, size;
	bool ours; /* this user built it */
	char *why; /* why it may be removed; NULL: it is in use */
};

struct image_rows {
	struct image_row *v;
	size_t n;
};

/* Appends the images of one engine; ret starts zeroed. */
int image_store_list(const struct places *p, const struct image_tool *t, struct image_rows *ret,
		     struct err *err);
void image_rows_done(struct image_rows *rows);
#define cleanup_image_rows cleanup_(image_rows_done)

/* Removes the image, unless a container uses it: -EBUSY. */
int image_store_remove(const struct image_tool *t, const char *ref, struct err *err);
