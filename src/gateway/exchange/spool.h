#pragma once

#include "base/buf.h"

#include <stdint.h>

/*
 * A request's body that is kept: to be signed before it is sent, or to be sent again. Small ones
 * lie in memory, larger ones in a file of memory that only this process has; all of them together
 * share one limit, so that no number of connections can take more.
 */
struct spool {
	size_t *total; /* of all spools; NULL: not in use */
	size_t max;
	size_t len;
	struct buf small;
	int fd; /* -1: all of it is in small */
};

#define SPOOL_HEX 65 /* a SHA-256 in hexadecimal, and NUL */

void spool_init(struct spool *s, size_t max, size_t *total);
void spool_done(struct spool *s);
/* -ENOBUFS: it would be too long, or all of them together. */
int spool_put(struct spool *s, const void *p, size_t n);
/* n bytes from `at` on, or fewer at the end; -errno. */
ssize_t spool_get(const struct spool *s, size_t at, void *p, size_t n);
int spool_sha256(const struct spool *s, char ret[static SPOOL_HEX]);
