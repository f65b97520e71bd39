#pragma once

#include "engine/engine.h"
#include "record/places.h"

/*
 * Sandboxes that an engine still has, that ralph made (agent-loop-…), but that have no record any
 * more and whose workspace is gone.
 */
struct orphan {
	const char *engine;
	char *name, *workspace;
};

struct orphans {
	struct orphan *v;
	size_t n;
};

/* Checks every usable engine; an engine that gives no list is reported to `failed`, if set. */
void orphans_find(const struct places *p, struct orphans *ret,
		  void (*failed)(const char *engine, const char *why));
int orphan_remove(const struct orphan *o, struct err *err);
void orphans_done(struct orphans *o);
