#pragma once

#include "base/buf.h"
#include "http/slice.h"

/*
 * A compressed answer becomes a plain one, which can be searched. At most DECODED_TURN bytes are
 * made at a time, whatever they were made from, and the rest waits: a little of zeros would
 * otherwise become a lot of memory.
 */
struct decode;

/* gzip, x-gzip, deflate (with zlib's head, or without as some send it); NULL: another one. */
struct decode *decode_new(struct slice coding);
void decode_free(struct decode *d);
/*
 * From now on DECODED_TURN bytes are given at a time, and not what was made of each piece. How much
 * is made of a piece depends on how well it was compressed, and so on whether two texts in it are
 * alike: the secret, and a guess of it.
 */
void decode_fill(struct decode *d);
/* More of the compressed bytes; what was given before must be used up. */
int decode_feed(struct decode *d, const char *p, size_t n);
/* The next plain bytes: how many, 0: more must be fed, or -EPROTO. They may be changed, and are
 * valid until the next call. */
ssize_t decode_next(struct decode *d, char **ret);
/* What was made and not given yet, at the end: how many bytes. */
size_t decode_rest(struct decode *d, char **ret);
bool decode_over(const struct decode *d); /* the stream ended where it should */
