#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "config/config.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Places one worker and asks what its node offers: it gets no task. What the node says is its word, read
 * as strictly as in a loop. What the placement leaves behind is ended by its `reap`.
 */
#define PLACE_PROBE_MS (10 * 60 * 1000) /* a queue may be long; a person is waiting */

struct place_row {
	const char
		*what; /* "node", "ralph", "engine", "slots", or an agent's name; the offer's own */
	bool ok;
	char *found;
	char *remedy; /* NULL: nothing is to be done */
};

struct place_offer {
	json_t *hello; /* what it says; NULL: nothing */
	bool ok;       /* tasks of this agent can be placed there */
	struct place_row *rows;
	size_t n;
};

/* 0 also where it is of no use: that is a row. An error: there is no such placement. */
int place_probe(const struct config *c, const char *name, const char *workspace,
		char *const *environ, struct place_offer *ret, struct err *err);
void place_offer_done(struct place_offer *o);
json_t *place_offer_to_json(const struct place_offer *o, const char *name);
