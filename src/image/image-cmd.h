#pragma once

#include "base/strv.h"

#include <stdbool.h>

/*
 * Command lines for inspecting and building images. docker and podman take the same ones; `program`
 * is the first word. Pure: golden tests check them.
 */
#define IMAGE_REPOSITORY "agent-loop-sandbox-"
#define IMAGE_LABEL_AGENT "ralph.agent"
#define IMAGE_LABEL_SOURCE "ralph.dockerfile" /* the project's path, or "" for ralph's Dockerfile */
#define IMAGE_LABEL_BASES "ralph.bases"
#define IMAGE_LABEL_USER "ralph.user" /* uid that built it */

struct image_build {
	const char *ref;
	const char *agent;
	const char *source; /* the project; NULL: ralph's Dockerfile */
	const char *base;   /* build argument BASE; NULL: none */
	const struct strv *bases;
	const char *dockerfile, *context; /* paths of the copies */
	unsigned uid;
	bool fresh; /* without the builder's cache */
};

void image_cmd_build(const char *program, const struct image_build *b, struct strv *ret);
void image_cmd_inspect(const char *program, const char *const *refs, size_t n, struct strv *ret);
/* Lists the ids of all images that ralph built. It also shows whether the engine answers. */
void image_cmd_list(const char *program, struct strv *ret);
void image_cmd_pull(const char *program, const char *ref, struct strv *ret);
void image_cmd_remove(const char *program, const char *ref, struct strv *ret);
