#pragma once

#include "base/text/needles.h"
#include "base/strv.h"

#include <stddef.h>

/* Secrets in what an agent commits: by their value, in the forms it mostly takes, and by shape. */
enum repo_secret {
	REPO_SECRET_NONE,
	REPO_SECRET_UNSURE, /* has the shape, but may well be an example */
	REPO_SECRET_KEY,    /* a vendor's key, or a private key */
	REPO_SECRET_VALUE,  /* one that the host knows */
};

/*
 * The worst in the text that does not stand in `old` already. *ret_line: where, from 1. known: the
 * values, NULL: none.
 */
enum repo_secret repo_secret_find(const struct needles *known, const char *p, size_t n,
				  const char *old, size_t old_n, size_t *ret_line);
