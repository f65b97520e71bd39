#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

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

/* The submodules among its entries, until fn says true. */
void gitindex_links(const uint8_t *index, size_t len, size_t hash_len,
		    bool (*fn)(const char *path, void *arg), void *arg);

/* The index as a list, in the order of the paths' bytes. `raw` points into the bytes it was read from. */
struct gitindex_entry {
	const uint8_t *raw;
	size_t path, len; /* in `paths` */
};

struct gitindex {
	struct gitindex_entry *v;
	size_t n;
	struct buf paths; /* each ends with NUL */
};

/*
 * -EINVAL: it is no index with SHA-1 that is whole, in order and in one file, or it has an unfinished
 * merge, a sparse directory or a file that is only announced.
 */
int gitindex_read(const uint8_t *index, size_t len, struct gitindex *ret);
void gitindex_done(struct gitindex *g);

static inline const char *gitindex_path(const struct gitindex *g, size_t i)
{
	return g->paths.data + g->v[i].path;
}

uint32_t gitindex_mode(const struct gitindex_entry *e); /* 0100644, 0100755, 0120000 or 0160000 */
uint32_t gitindex_size(const struct gitindex_entry *e);
uint16_t gitindex_flags(const struct gitindex_entry *e);
const uint8_t *gitindex_oid(const struct gitindex_entry *e);
/*
 * Is the file as it was when it was added? `written`: when the index was written. A submodule is,
 * if it is a directory: its settings are not protected, so nobody looks into it.
 */
bool gitindex_is_same(const struct gitindex_entry *e, const struct stat *st,
		      const struct timespec *written);
/* The name of the tree that git would make of the index. -EINVAL: it is too deep or too large. */
int gitindex_tree(const struct gitindex *g, uint8_t ret[GITINDEX_HASH_LEN]);
