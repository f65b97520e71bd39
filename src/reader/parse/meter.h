#pragma once

/*
 * ROOM: reader/parse
 *
 * Readers of what clients send to providers and of what these answer. Pure: no socket, no frame.
 */

#include "base/buf.h"
#include "base/json/jscan.h"
#include "http/slice.h"

/*
 * Reads the usage in an answer of a model's provider while the answer passes: Anthropic and
 * Bedrock, OpenAI, Gemini, as one JSON document, as server-sent events, or as frames of AWS. Later
 * numbers replace earlier ones, since providers count up. Nothing is kept but the numbers; a
 * document that cannot be read is left out, and the answer passes all the same.
 */
enum meter_form {
	METER_NONE,
	METER_JSON,
	METER_SSE,
	METER_AWS, /* application/vnd.amazon.eventstream */
};

#define METER_MODEL_MAX 127
#define METER_FRAME_MAX (1 * MiB)	     /* of AWS: a longer one is passed over */
#define METER_TOKENS_MAX ((uint64_t)1 << 40) /* of one answer: what says more is wrong */

/* As documents say it; who includes what in what differs. */
enum meter_count {
	COUNT_INPUT,
	COUNT_CACHED, /* part of INPUT */
	COUNT_TOOL_INPUT,
	COUNT_OUTPUT,
	COUNT_THOUGHTS, /* beside OUTPUT */
	COUNT_CACHE_READ,
	COUNT_CACHE_WRITE,
	COUNT_N,
};

/* One reader of documents: meter-doc.c. */
struct meter_doc {
	struct jscan j;
	uint8_t depth; /* of the values that are read; deeper ones are skipped */
	uint8_t at[6]; /* kinds of the open values */
	uint8_t key;
	bool over;	 /* the text is no JSON */
	uint8_t n_model; /* length of the name being read; METER_MODEL_MAX + 1: bad */
	char model[METER_MODEL_MAX];
};

struct meter {
	enum meter_form form;
	struct meter_doc doc;
	bool seen; /* some number */
	uint64_t counts[COUNT_N];
	char model[METER_MODEL_MAX + 1];

	/* framing */
	uint8_t line;	     /* SSE: how much of "data:" this line has had, or past it */
	bool in_data, blank; /* SSE: this line is data; nothing has come on it yet */
	uint32_t skip, left; /* AWS: bytes of no interest; then of payload */
	struct buf frame;
};

/* By the answer's Content-Type; "" is METER_NONE. */
enum meter_form meter_form(struct slice content_type);
void meter_init(struct meter *m, enum meter_form form);
void meter_done(struct meter *m);
void meter_feed(struct meter *m, const char *p, size_t n);
/* Has a frame of AWS ended with the last byte? */
bool meter_between(const struct meter *m);

struct meter_sum {
	uint64_t input, output, cache_read, cache_write;
};
/* Nothing is counted twice: input without what came from a cache. */
struct meter_sum meter_sum(const struct meter *m);

/* meter-doc.c */
void meter_doc_start(struct meter *m);
void meter_doc_feed(struct meter *m, const char *p, size_t n);
