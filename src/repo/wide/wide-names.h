#pragma once

#include "git/libgit.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;

/*
 * Names of 32 bytes (SHA-256) for libgit2 1.5, which has room for 20. In this process an object goes by
 * the beginning of its name, and in the trees, commits and tags that libgit2 reads all names are cut
 * in the same way. The whole names are kept beside: two that begin alike are an error, and nothing is
 * ever asked for by the beginning of its name alone.
 */
#define WIDE_LEN 32
#define WIDE_HEX 64

struct wide_names;

struct wide_names *wide_names_new(void);
void wide_names_free(struct wide_names *n);
/* -EEXIST: another name begins alike. -ENOBUFS: too many are known. */
int wide_names_add(struct wide_names *n, const unsigned char full[WIDE_LEN], git_oid *ret);
/* libgit2 named an object itself, by SHA-1: this is what it really is called. */
int wide_names_alias(struct wide_names *n, const git_oid *oid, const unsigned char full[WIDE_LEN]);
/* NULL: nobody has said it. */
const unsigned char *wide_names_find(const struct wide_names *n, const git_oid *oid);

/* 64 digits; false: they are none. ret has room for WIDE_LEN. */
bool wide_from_hex(const char *hex, unsigned char *ret);
void wide_to_hex(const unsigned char full[WIDE_LEN], char ret[WIDE_HEX + 1]);

/* The content of an object as libgit2 is to see it, and the reverse for one that it made. -EBADMSG:
 * it is not as git makes them; the reverse, -ENOENT: it names an object that nobody has said. */
int wide_narrow(struct wide_names *n, git_object_t type, const char *bytes, size_t len,
		struct buf *out);
int wide_widen(const struct wide_names *n, git_object_t type, const char *bytes, size_t len,
	       struct buf *out);
