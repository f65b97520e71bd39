#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

/*
 * The part of a Dockerfile that ralph must know: its base images, on which the name of the built
 * image depends. The builder reads everything else.
 *
 * A Dockerfile that makes the image depend on unchecked input is refused: another frontend (#
 * syntax=), another platform, files copied from images that no FROM names.
 */
#define DOCKERFILE_MAX (64 * KiB)
#define DOCKERFILE_BASES_MAX 16
#define DOCKERFILE_STAGES_MAX 64

struct dockerfile {
	struct strv bases; /* each once, in file order */
	bool takes_base;   /* has an ARG BASE before its first FROM */
};

/* base: value of BASE; NULL: as in the file. Errors begin with the line; exit code 2. */
int dockerfile_read(const char *text, size_t len, const char *base, struct dockerfile *ret,
		    struct err *err);
void dockerfile_done(struct dockerfile *d);
