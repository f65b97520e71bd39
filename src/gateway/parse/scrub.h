#pragma once

#include "base/text/needles.h"
#include "http/slice.h"

/*
 * Takes secrets out of a stream: each that is found is replaced by as many '*', so that lengths,
 * and with them the framing, stay what they were. The bytes come in any pieces and are changed in
 * place. Only what could be the beginning of a secret waits for the next piece, so nothing is late
 * that need not be, and nothing is copied unless it waits.
 */
struct scrub {
	struct needles *needles; /* counted; NULL: nothing is looked for */
	char *held;		 /* needles_longest() bytes, once something had to wait */
	size_t n_held;
	char *before; /* the bytes that waited until now: see scrub_run() */
	uint32_t count;
};

void scrub_init(struct scrub *s, struct needles *n); /* takes a count of its own */
void scrub_done(struct scrub *s);

/*
 * The next piece; `last`: nothing follows. Returns how many bytes of p may go on. Before them goes
 * *ret_before, which waited since the last piece and stays valid until the next call.
 */
size_t scrub_run(struct scrub *s, char *p, size_t n, bool last, struct slice *ret_before);
/* A text that is whole: a head, a trailer. */
void scrub_text(struct scrub *s, char *p, size_t n);
