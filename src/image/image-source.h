#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * The source of an image: a Dockerfile and its context, from the project or from ralph itself.
 *
 * A project's Dockerfile is content of the project, and its build runs arbitrary programs with
 * network access. So the user must have trusted exactly this content. The trust record is kept like
 * those of project files (config/trust.h), in a separate directory.
 */
struct image_source {
	char *dockerfile;    /* path on the host */
	char *project;	     /* real path of its project; NULL: shipped with ralph */
	char *context;	     /* path of the context on the host; NULL: an empty one */
	struct buf text;     /* of the Dockerfile */
	struct buf manifest; /* Dockerfile and context, see image-manifest.h */
	bool trusted;	     /* true for ralph's own */
	bool changed;	     /* the user trusted an earlier content */
	/* image_source_copy(): a private directory with both, until image_source_done() */
	char *copy;
	int copy_lock;
};

#define IMAGE_SOURCE_INIT                                                                          \
	{                                                                                          \
		.copy_lock = -1                                                                    \
	}
#define cleanup_image_source cleanup_(image_source_done)

/* Finds the project's Dockerfile; -ENOENT without a message if there is none. */
int image_source_project(const struct places *p, const char *workspace, struct image_source *ret,
			 struct err *err);
/* Finds the effective Dockerfile: the project's, else the agent's. workspace may be NULL. */
int image_source_find(const struct places *p, const char *agent, const char *workspace,
		      struct image_source *ret, struct err *err);
void image_source_done(struct image_source *s);

/* Copies the source to copy/Dockerfile and copy/context/, and describes and checks the copy
 * again. Only the copy is built. */
int image_source_copy(const struct places *p, struct image_source *s, struct err *err);

/* Returns the directory of trust records; the caller frees it. */
char *image_trust_dir(const struct places *p);
/* Records that the user trusts this content. */
int image_source_trust(const struct places *p, const struct image_source *s, struct err *err);

/* Returns PLACES/state/images, created if missing; and a file or directory in it. */
int image_state_dir(const struct places *p, char **ret, struct err *err);
