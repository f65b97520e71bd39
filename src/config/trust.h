#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which project files the user trusts to widen: for each project, by its real path, the SHA-256 of
 * the one content that was shown and agreed to. Records lie in the user's state, out of every
 * sandbox's reach: DIR/KEY.json, where KEY is the hash of the path.
 */
#define TRUST_HASH_LEN 64

struct trust {
	char *project;
	char sha256[TRUST_HASH_LEN + 1];
	uint64_t since; /* seconds of the epoch */
};

void trust_hash(const void *p, size_t n, char ret[TRUST_HASH_LEN + 1]);

/* Reads the record of this project; -ENOENT: there is none. */
int trust_get(const char *dir, const char *project, struct trust *ret, struct err *err);
void trust_done(struct trust *t);
/* Records exactly this content in the place of any other of the project. */
int trust_set(const char *dir, const char *project, const void *p, size_t n, struct err *err);
/* -ENOENT: it was not trusted. */
int trust_revoke(const char *dir, const char *project, struct err *err);
/* Lists all records, sorted by path. A record that cannot be read is left out. */
int trust_list(const char *dir, struct trust **ret, size_t *ret_n, struct err *err);
void trust_list_free(struct trust *t, size_t n);
