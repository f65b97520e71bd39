#pragma once

#include "events/usage.h"

/*
 * What sandboxes that were removed had used: STATE/usage.jsonl, a line for each sandbox with its sums
 * by day, credential and model.
 */
#define USAGE_KEPT_FILE "usage.jsonl"

/* Keeps the sums of the log below `record`, before that goes. A log without usage adds nothing. */
int usage_keep(const char *state, const char *sandbox, int record, struct err *err);

/* Called for each sum; the texts are freed afterwards. */
typedef void usage_kept_fn(void *arg, const char *sandbox, const struct usage_event *e);
/* Passes them all on, oldest removal first. A file that is not there has none. */
int usage_kept_each(const char *state, usage_kept_fn *fn, void *arg, struct err *err);
