#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdint.h>

/*
 * Asking an engine about images, by its own program. Every call blocks until the program has ended;
 * an engine that does not answer is an error that says so in its own words.
 */
struct image_tool {
	const char *engine; /* "docker", "podman" */
	char *program;	    /* its absolute path */
	char *const *environ;
};

/* Found on the PATH of environ, which must outlive it; -ENOENT: it is not installed. */
int image_tool_find(const char *engine, char *const *environ, struct image_tool *ret,
		    struct err *err);
void image_tool_done(struct image_tool *t);

/* What the engine knows of an image. */
struct image_facts {
	char *id;
	uint64_t created; /* seconds of the epoch; 0: not known */
	uint64_t size;
	struct strv names;			/* REPOSITORY:TAG, without localhost/ */
	char *agent, *source, *bases, *builder; /* ralph's labels; NULL: none */
};

void image_facts_done(struct image_facts *f);
#define cleanup_image_facts cleanup_(image_facts_done)

/* Does the engine answer? */
int image_tool_probe(const struct image_tool *t, struct err *err);
/* -ENOENT: there is no such image, and the engine said so. */
int image_tool_inspect(const struct image_tool *t, const char *ref, struct image_facts *ret,
		       struct err *err);
/* Those that ralph built. */
int image_tool_list(const struct image_tool *t, struct image_facts **ret, size_t *ret_n,
		    struct err *err);
void image_facts_free(struct image_facts *f, size_t n);
int image_tool_pull(const struct image_tool *t, const char *ref, struct err *err);
int image_tool_remove(const struct image_tool *t, const char *ref, struct err *err);

/* Seconds of the epoch from a time as engines write it (RFC 3339); 0: it is none. */
uint64_t image_time(const char *text);
/* The last line of a text that holds something, harmless to show; within the text. */
char *image_last_line(char *text);
