#pragma once

/*
 * ROOM: image
 *
 * Container images: what they are built from, their names by content, building and clearing
 * them. Running one is an engine's.
 */

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * The images that container engines run: agent-loop-sandbox-AGENT:vHASH, where HASH covers the
 * Dockerfile, its context and the image it begins with, and neither time nor order. An image of
 * that name is therefore the right one, and is built only where there is none.
 *
 * The Dockerfile is <workspace>/.ralph/Dockerfile, with <workspace>/.ralph/image/ as its context,
 * where the project has one and the user trusts exactly this content (see trust.h, `ralph trust`);
 * else the one that came with ralph for the agent, PLACES/data/docker/agent-loop/AGENT/Dockerfile.
 * Both are copied first: what was hashed and trusted is what is built.
 *
 * How it works is in docs/internals/images.md.
 */

/* What goes on, for whoever shows it. Texts are the builder's or the project's: escape them. */
enum image_step_kind {
	IMAGE_WAIT,  /* another ralph builds the same image */
	IMAGE_PULL,  /* text: what is pulled */
	IMAGE_BUILD, /* a build begins; text: the image */
	IMAGE_STEP,  /* step `at` of `of` of it; text: the instruction */
	IMAGE_DONE,  /* it is there; text: the image */
	IMAGE_WARN,  /* something to know, and it goes on; text: a sentence */
};

struct image_step {
	enum image_step_kind kind;
	unsigned at, of; /* IMAGE_STEP; 0: not known */
	const char *text;
};

struct image_request {
	const struct places *places;
	const char *engine;    /* "docker" or "podman": whose images, and the program to ask */
	const char *agent;     /* row of agent/: "claude" …, "command" */
	const char *workspace; /* real path; NULL: no project's Dockerfile counts */
	const char *base;      /* what ARG BASE of the Dockerfile is to be; NULL: as it says */
	/* The host's, for the program; its PATH must hold no directory that an agent can write
	 * (host_environ()). */
	char *const *environ;
	bool rebuild; /* pull the base again and build without any cache, whatever is there */
	/* Told of every step; may be NULL. */
	void (*told)(void *arg, const struct image_step *step);
	void *arg;
};

/*
 * The image, built if there is none: *ret_ref is its name, to be given to the engine. Blocks for as
 * long as a build takes; one that fails names the file that has all it said. Of several callers at
 * once one builds. -EACCES: the project's Dockerfile is not trusted; exit code 2 for everything the
 * user has to put right.
 *
 * The base is pulled where there is none, on `rebuild`, and when it was last made or asked for more
 * than a week ago; where that fails and there is one, that one is used, with IMAGE_WARN.
 */
int image_ensure(const struct image_request *req, char **ret_ref, struct err *err);

/* What image_ensure() would do, for --dry-run, audit and lists: asks the engine, changes nothing.
 */
struct image_view {
	char *ref;	   /* NULL: its base is not there, so its name is not known yet */
	char *dockerfile;  /* the one that counts, on the host */
	struct strv bases; /* the images it begins with, in the order of the file */
	bool there;	   /* it need not be built */
	bool stale;	   /* a base would be pulled */
	bool trusted;	   /* false: a project's Dockerfile that the user has not agreed to */
};

int image_look(const struct image_request *req, struct image_view *ret, struct err *err);
void image_view_done(struct image_view *v);

#define cleanup_image_view cleanup_(image_view_done)
