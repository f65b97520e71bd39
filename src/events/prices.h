#pragma once

#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What models cost: US dollars for a million tokens, in millionths. A row holds for every model
 * whose name begins with it, the longest row decides, and the user's own rows (`prices`) come
 * before ralph's. A model nobody knows costs what the dearest of its family does, so that a budget
 * is never larger than it was meant to be; the row that was taken is on record.
 */
struct price {
	const char *model;
	uint32_t input, output, cache_read, cache_write;
};

struct usage_tokens {
	uint64_t input, output, cache_read, cache_write;
};

/* own: entries as check_price() of config/ lets them pass; NULL: none. The name of the row lives
 * as long as `own` does. */
void price_find(const char *model, const struct strv *own, struct price *ret);
/* In millionths of a US dollar, rounded up. */
uint64_t price_of(const struct price *p, const struct usage_tokens *t);
