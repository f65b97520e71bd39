#pragma once

#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The hosts that a sandbox was refused, for one line at the end of a command. Code inside can ask for
 * any number of names, so only the last REFUSED_MAX are known by name. All zero is an empty list.
 */
#define REFUSED_MAX 32
#define REFUSED_HOST_SIZE 256 /* a longer one is cut */

struct refused {
	uint64_t now;  /* number of the last refusal */
	uint64_t lost; /* number of the last refusal of a host that made room for another */
	struct {
		char host[REFUSED_HOST_SIZE];
		uint64_t at; /* number of its last refusal */
	} v[REFUSED_MAX];
	size_t n;
};

void refused_add(struct refused *r, const char *host);
/* The hosts whose last refusal came after number `mark`; true: there were others. */
bool refused_since(const struct refused *r, uint64_t mark, struct strv *ret);
