#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdint.h>

/*
 * Queries an engine about images, with its own program. Every call blocks until the program has
 * ended. If the engine does not answer, the error holds its own message.
 */
struct image_tool {
	const char *engine; /* "docker", "podman" */
	char *program;	    /* absolute path */
	char *const *environ;
};

/* Finds the program on the PATH of environ, which must outlive it; -ENOENT: not installed. */
int image_tool_find(const char *engine, char *const *environ, struct image_tool *ret,
		    struct err *err);
void image_tool_done(struct image_tool *t);

/* Data of the engine about an image. */
struct image_facts {
	char *id;
	uint64_t created; /* seconds since 1970; 0: unknown */
	uint64_t size;
	struct strv names;			/* REPOSITORY:TAG, without localhost/ */
	char *agent, *source, *bases, *builder; /* ralph's labels; NULL: none */
};

void image_facts_done(struct image_facts *f);
#define cleanup_image_facts cleanup_(image_facts_done)

/* Checks that the engine answers. */
int image_tool_probe(const struct image_tool *t, struct err *err);
/* -ENOENT: the engine answered that there is no such image. */
int image_tool_inspect(const struct image_tool *t, const char *ref, struct image_facts *ret,
		       struct err *err);
/* Lists the images that ralph built. */
int image_tool_list(const struct image_tool *t, struct image_facts **ret, size_t *ret_n,
		    struct err *err);
void image_facts_free(struct image_facts *f, size_t n);
int image_tool_pull(const struct image_tool *t, const char *ref, struct err *err);
int image_tool_remove(const struct image_tool *t, const char *ref, struct err *err);

/* Parses a time of an engine (RFC 3339) to seconds since 1970; 0: invalid. */
uint64_t image_time(const char *text);
/* Returns the last non-empty line, escaped for display; it points into the text. */
char *image_last_line(char *text);
