#pragma once

#include "wire/wire.h"

#include <string.h>

/* Fields of the gateway's frames that both of its sides read or write. */

/* An optional string: u32 0, or u32 1 and the string. */
static inline void put_opt(struct buf *b, const char *s)
{
	wire_put_u32(b, s ? 1 : 0);
	if (s)
		wire_put_str(b, s);
}

/* A string of the message itself, at most max bytes. */
static inline const char *get_text(struct wire_reader *r, size_t max)
{
	const char *s = wire_get_str(r);

	if (s && strlen(s) <= max)
		return s;
	r->bad = true;
	return "";
}

static inline uint32_t get_below(struct wire_reader *r, uint32_t n)
{
	uint32_t v = wire_get_u32(r);

	if (v >= n) {
		r->bad = true;
		return 0;
	}
	return v;
}
