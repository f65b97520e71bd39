#pragma once

#include "engine/engine.h"
#include "record/places.h"

/*
 * Sandboxes that an engine keeps by itself, that were made by ralph (agent-loop-…), have no record
 * here any more, and whose workspace is gone.
 */
struct orphan {
	const char *engine;
	char *name, *workspace;
};

struct orphans {
	struct orphan *v;
	size_t n;
};

/* Looks at every engine that is usable; one that gives no list is told to `failed`, if any. */
void orphans_find(const struct places *p, struct orphans *ret,
		  void (*failed)(const char *engine, const char *why));
int orphan_remove(const struct orphan *o, struct err *err);
void orphans_done(struct orphans *o);
