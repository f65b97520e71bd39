#pragma once

#include "base/buf.h"

/* The usual alphabet, with its padding. */
void base64_put(struct buf *b, const void *p, size_t n);
/* Padding may be there or not. -EINVAL: something else, -ENOBUFS. */
int base64_get(struct buf *b, const char *text, size_t n);
/* The alphabet for URLs. */
int base64url_get(struct buf *b, const char *text, size_t n);
