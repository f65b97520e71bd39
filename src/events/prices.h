#pragma once

#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Prices of models: US dollars for a million tokens, in millionths. A row applies to every model
 * whose name begins with it, and the longest row counts. The user's own rows (`prices`) come before
 * ralph's. An unknown model costs as much as the most expensive one of its family, so that a budget
 * is never exceeded; the log names the row that was used.
 */
struct price {
	const char *model;
	uint32_t input, output, cache_read, cache_write;
};

struct usage_tokens {
	uint64_t input, output, cache_read, cache_write;
};

/* own: entries that check_price() of config/ accepted; NULL: none. The name of the row lives as
 * long as `own`. */
void price_find(const char *model, const struct strv *own, struct price *ret);
/* Returns the most tokens that one answer of the model can have; an unknown model has the most of its
 * family. */
uint64_t price_output_max(const char *model);
/* Returns millionths of a US dollar, rounded up. */
uint64_t price_of(const struct price *p, const struct usage_tokens *t);
