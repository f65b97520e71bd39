#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * git's index as bytes: does it list this path with exactly this content? The agent may have
 * written the index, but not with the hash of a file that it could not read.
 */
#define GITINDEX_HASH_LEN 20 /* SHA-1; repositories with SHA-256 track nothing here */

bool gitindex_lists(const uint8_t *index, size_t len, const char *path,
		    const uint8_t hash[GITINDEX_HASH_LEN]);
/* What git calls a file of this content. */
void gitindex_hash(const void *content, size_t len, uint8_t ret[GITINDEX_HASH_LEN]);

/*
 * Does it list a file that is as young as the index itself, which was written at this second? git
 * compares the content of those. hash_len: of the repository's hashes. One that cannot be read does,
 * and one that is split, which lists the rest elsewhere.
 */
bool gitindex_lists_young(const uint8_t *index, size_t len, size_t hash_len, int64_t second);
