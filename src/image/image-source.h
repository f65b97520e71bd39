#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * What an image is built from: a Dockerfile and its context, of the project or of ralph itself.
 *
 * A project's is content of the project, and building it runs programs of its choice with a
 * network: the user has to have agreed to exactly this content. The record is kept as those of
 * project files are (config/trust.h), in a directory of its own.
 */
struct image_source {
	char *dockerfile;    /* its path on the host */
	char *project;	     /* real path of the project it is of; NULL: it came with ralph */
	char *context;	     /* path of its context on the host; NULL: an empty one */
	struct buf text;     /* of the Dockerfile */
	struct buf manifest; /* Dockerfile and context, see image-manifest.h */
	bool trusted;	     /* true for ralph's own */
	bool changed;	     /* the user agreed to another content of it */
	/* image_source_copy(): a directory of ours that holds both, until image_source_done() */
	char *copy;
	int copy_lock;
};

#define IMAGE_SOURCE_INIT                                                                          \
	{                                                                                          \
		.copy_lock = -1                                                                    \
	}
#define cleanup_image_source cleanup_(image_source_done)

/* Of the project; -ENOENT, without a message, where it has none. */
int image_source_project(const struct places *p, const char *workspace, struct image_source *ret,
			 struct err *err);
/* The one that counts: the project's, else that of the agent. workspace may be NULL. */
int image_source_find(const struct places *p, const char *agent, const char *workspace,
		      struct image_source *ret, struct err *err);
void image_source_done(struct image_source *s);

/* Copies what was found to copy/Dockerfile and copy/context/. What the copy holds is described and
 * judged anew: it, and nothing else, is built. */
int image_source_copy(const struct places *p, struct image_source *s, struct err *err);

/* Where records of trust are; the caller frees it. */
char *image_trust_dir(const struct places *p);
/* The user agrees to what was found. */
int image_source_trust(const struct places *p, const struct image_source *s, struct err *err);

/* PLACES/state/images, made if it is not there; and a file or directory in it. */
int image_state_dir(const struct places *p, char **ret, struct err *err);
