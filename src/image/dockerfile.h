#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

/*
 * What ralph has to know of a Dockerfile: the images it begins with, whose content the name of the
 * built image depends on. Everything else is the builder's to read.
 *
 * What would make an image depend on something that is not looked at is refused: another program
 * that reads the file (# syntax=), another platform, stages copied from images that no FROM names.
 */
#define DOCKERFILE_MAX (64 * KiB)
#define DOCKERFILE_BASES_MAX 16
#define DOCKERFILE_STAGES_MAX 64

struct dockerfile {
	struct strv bases; /* each once, in the order of the file */
	bool takes_base;   /* it has an ARG BASE in front of its first FROM */
};

/* base: what BASE is to be; NULL: as the file says. Errors begin with the line; exit code 2. */
int dockerfile_read(const char *text, size_t len, const char *base, struct dockerfile *ret,
		    struct err *err);
void dockerfile_done(struct dockerfile *d);
