#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "loop/placed/placed.h"

#define ITERATIONS 5
#define MICRO_USD 1000000
#define MS 60000

static const json_t *rows_of(const json_t *word)
{
	const json_t *rows = json_object_get(word, "records");

	if (!json_is_array(rows))
		abort();
	return rows;
}

static uint64_t number(const json_t *j, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(j, key));

	if (v < 0)
		abort();
	return (uint64_t)v;
}

/* A node's summary: whatever it says, what is kept lies within the bounds, and is harmless text. */
static void check_row(const json_t *row, const struct placed_bounds *b, size_t *counted)
{
	uint64_t time = number(row, "time");
	const char *why = json_string_value(json_object_get(row, "why"));

	if (!json_is_true(json_object_get(row, "waited")))
		++*counted;
	if (time < b->began || time > b->now || number(row, "ms") > MS ||
	    number(row, "micro_usd") > MICRO_USD)
		abort();
	for (; why && *why; why++)
		if (((unsigned char)*why < 0x20 && *why != '\n') || *why == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct placed_bounds b = {.task = "US-1",
				  .iterations = ITERATIONS,
				  .micro_usd = MICRO_USD,
				  .ms = MS,
				  .began = 1000000,
				  .now = 1000060};
	cleanup_json json_t *said = NULL, *word = NULL;
	struct err err = {0};
	const json_t *row;
	size_t i, counted = 0;

	if (size < sizeof(b.clock_ms))
		return 0;
	memcpy(&b.clock_ms, data, sizeof(b.clock_ms));
	if (json_parse((const char *)data + sizeof(b.clock_ms), size - sizeof(b.clock_ms), &said,
		       &err) < 0)
		return 0;
	word = placed_word(said, &b);
	if (!word)
		abort();
	json_array_foreach (rows_of(word), i, row)
		check_row(row, &b, &counted);
	if (counted > ITERATIONS || number(word, "micro_usd") > MICRO_USD)
		abort();
	placed_word_at_least(&word, 3, &b);
	if (json_array_size(rows_of(word)) < 3)
		abort();
	return 0;
}
