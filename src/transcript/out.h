#pragma once

#include "base/buf.h"
#include "base/json/jpick.h"
#include "base/strv.h"

/*
 * The way out of every writer: bytes are gathered, what looks like a secret or is one of the given
 * values is taken out, and the rest goes to a descriptor. Values are matched as they are written;
 * whoever escapes text (JSON, HTML) leaves the characters of keys alone.
 */
struct tr_out {
	int fd;
	int error; /* -errno of the first write that failed; then nothing more is written */
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
