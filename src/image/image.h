#pragma once

/*
 * ROOM: image
 *
 * Container images: their sources, their names by content, building and removing them. Engines run
 * them.
 */

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * Images for container engines: agent-loop-sandbox-AGENT:vHASH. HASH covers the Dockerfile, its
 * context and its base image, and neither time nor order. So an image of that name is the right
 * one, and it is built only if it is missing.
 *
 * The Dockerfile is <workspace>/.ralph/Dockerfile, with <workspace>/.ralph/image/ as its context,
 * if the project has one and the user trusts exactly this content (see config/trust.h, `ralph
 * trust`). Otherwise it is the one that ralph ships for the agent,
 * PLACES/data/docker/agent-loop/AGENT/Dockerfile. Both are copied first, so that exactly the hashed
 * and trusted content is built.
 *
 * docs/internals/images.md describes how it works.
 */

/* Progress reports. The texts come from the builder or the project: escape them. */
enum image_step_kind {
	IMAGE_WAIT,  /* another ralph is building the same image */
	IMAGE_PULL,  /* text: the image that is pulled */
	IMAGE_BUILD, /* a build starts; text: the image */
	IMAGE_STEP,  /* step `at` of `of`; text: the instruction */
	IMAGE_DONE,  /* the image is ready; text: the image */
	IMAGE_WARN,  /* a warning; the build continues; text: a sentence */
};

struct image_step {
	enum image_step_kind kind;
	unsigned at, of; /* IMAGE_STEP; 0: unknown */
	const char *text;
};

struct image_request {
	const struct places *places;
	const char *engine;    /* "docker" or "podman": owner of the images, and program */
	const char *agent;     /* row of agent/: "claude" …, "command" */
	const char *workspace; /* real path; NULL: ignore project Dockerfiles */
	const char *base;      /* value for ARG BASE of the Dockerfile; NULL: its default */
	/* Environment of the program; its PATH must hold no directory that an agent can write
	 * (host_environ()). */
	char *const *environ;
	bool rebuild; /* pull the base again and build without any cache */
	/* Called for every step; may be NULL. */
	void (*told)(void *arg, const struct image_step *step);
	void *arg;
};

/*
 * Returns the image, built if it is missing: *ret_ref is its name for the engine. It blocks during
 * a build; the error of a failed build names its log file. Of several callers at once, one builds.
 * -EACCES: the project's Dockerfile is not trusted; exit code 2 for everything that the user has to
 * correct.
 *
 * The base is pulled if it is missing, on `rebuild`, and when it was last created or checked more
 * than a week ago. If the pull fails and there is an older base, that one is used, with IMAGE_WARN.
 */
int image_ensure(const struct image_request *req, char **ret_ref, struct err *err);

/* The plan of image_ensure(), for --dry-run, audit and lists: asks the engine, changes nothing. */
struct image_view {
	char *ref;	   /* NULL: a base is missing, so the name is not known yet */
	char *dockerfile;  /* the effective one, on the host */
	struct strv bases; /* base images, in file order */
	bool there;	   /* no build is needed */
	bool stale;	   /* a base would be pulled */
	bool trusted;	   /* false: the user has not trusted the project's Dockerfile */
};

int image_look(const struct image_request *req, struct image_view *ret, struct err *err);
void image_view_done(struct image_view *v);

#define cleanup_image_view cleanup_(image_view_done)
