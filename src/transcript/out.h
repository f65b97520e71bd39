#pragma once

#include "base/buf.h"
#include "base/json/jpick.h"
#include "base/strv.h"

/*
 * The output of every writer: bytes are buffered, secrets are removed by shape or by known value,
 * and the rest goes to a descriptor. Values are matched as written; a writer that escapes text
 * (JSON, HTML) must not change the characters of keys.
 */
struct tr_out {
	int fd;
	int error; /* -errno of the first failed write; no more is written after it */
	struct buf b;
	const struct strv *values; /* known secrets; NULL: none */
	bool in_key;		   /* between BEGIN and END of a private key */
	uint64_t scrubbed, written;
};

void tr_out_init(struct tr_out *o, int fd, const struct strv *values);
int tr_out_done(struct tr_out *o); /* writes the rest; 0 or the first error */

void tr_put(struct tr_out *o, const char *p, size_t n);
void tr_puts(struct tr_out *o, const char *s);
void tr_printf(struct tr_out *o, const char *fmt, ...) printf_like(2, 3);
