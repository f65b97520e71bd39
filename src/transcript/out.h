#pragma once

#include "base/buf.h"
#include "base/json/jpick.h"
#include "transcript/text-filter.h"

/*
 * The output of every writer. What the writer itself says goes to a descriptor as it is; each text
 * of a conversation goes through the filter first (tr_text(), tr_clean()), and is escaped after it.
 */
struct tr_out {
	int fd;
	int error; /* -errno of the first failed write; no more is written after it */
	struct buf b;
	struct tr_filter filter;
	uint64_t written;
};

void tr_out_init(struct tr_out *o, int fd, const struct known *known);
int tr_out_done(struct tr_out *o); /* writes the rest; 0 or the first error */

void tr_put(struct tr_out *o, const char *p, size_t n);
void tr_puts(struct tr_out *o, const char *s);
void tr_printf(struct tr_out *o, const char *fmt, ...) printf_like(2, 3);
/* A short text without its secrets, for a title or a field; the caller frees it. */
char *tr_clean(struct tr_out *o, const char *s);
