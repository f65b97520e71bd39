#pragma once

/*
 * ROOM: reader
 *
 * What requests to providers ask for, what their answers have used, and what agents ask of people, read in a program of its own:
 * libexec/ralph/reader. It is given bodies and heads without credentials, and has no file and no socket
 * but its two lines (wire/reader-proto.h).
 */

#include "wire/reader-proto.h"

#include <jansson.h>

/* A body, piece by piece; false: the rest of it cannot be had, or `feed` has seen enough. */
typedef bool reader_feed_fn(void *arg, const char *p, size_t n);
bool reader_each(const struct reader_body *b, reader_feed_fn *feed, void *arg);

#define READER_MODEL_MAX 127
/* The model that a path names, "" for none: /model/NAME/…, /models/NAME:method. */
void reader_model(const char *path, char *ret, size_t size);

/*
 * Judges a request. true: it may be sent once *ret_spend is reserved; ret_spend->credential NULL:
 * nothing has to be. false: it is refused for *ret_why, which is the caller's. model: room for the name in
 * *ret_spend.
 */
bool reader_judge(const struct reader_setup *setup, const struct reader_request *q,
		  char model[static READER_MODEL_MAX + 1], struct gw_spend *ret_spend,
		  char **ret_why);

/*
 * Reads a request for asks. 0, or the status of a refusal, whose reason is put into why. *ret_doc has the
 * texts, for json_decref(); strv_done() the choices.
 */
unsigned int reader_ask(const struct reader_ask *q, json_t **ret_doc, struct gw_ask *ret,
			struct buf *why);

/* What is to be reported of an answer; texts are in the two buffers. false: nothing. */
bool reader_measure(const struct reader_answer *a, char model[static READER_MODEL_MAX + 1],
		    struct buf *limits, struct gw_usage *ret);
