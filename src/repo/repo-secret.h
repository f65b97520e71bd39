#pragma once

#include "base/text/needles.h"
#include "base/strv.h"

#include <stddef.h>

/* Finds secrets in an agent's commits: known values in their usual encodings, and secrets by
 * shape. */
enum repo_secret {
	REPO_SECRET_NONE,
	REPO_SECRET_UNSURE, /* has the shape of a secret, but may be an example */
	REPO_SECRET_KEY,    /* a vendor's key, or a private key */
	REPO_SECRET_VALUE,  /* a value that the host knows */
};

/*
 * Returns the worst secret in the text that `old` does not contain. *ret_line is its line, from 1.
 * known holds the values; NULL: none.
 */
enum repo_secret repo_secret_find(const struct needles *known, const char *p, size_t n,
				  const char *old, size_t old_n, size_t *ret_line);
