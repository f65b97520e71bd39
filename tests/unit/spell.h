#pragma once

#include "base/buf.h"

/*
 * Ways in which a server can spell a secret that it shows. Each appends p as it spells it, so that a
 * text can be spelled twice.
 */
struct spelling {
	const char *name;
	void (*put)(struct buf *out, const char *p, size_t n);
};

extern const struct spelling spellings[];
extern const size_t n_spellings;

/* Spelled by `inner` and then by `outer`; the caller's. */
struct buf spell_twice(const struct spelling *outer, const struct spelling *inner, const char *p,
		       size_t n);
