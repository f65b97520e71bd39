#pragma once

#include "agent/agent.h"
#include "base/err.h"
#include "base/json/json.h"
#include "config/config.h"
#include "record/places.h"
#include "spec/spec.h"

#include <stdbool.h>

/*
 * The checks before an agent is left alone: credentials, clock, disk, a sandbox that answers, a
 * gateway that refuses what no rule allows and not what one does. All checks run, so that all
 * problems are reported at once. Nothing is sent anywhere: names are answered by the gateway
 * itself, and credentials are looked at where they lie.
 */
struct preflight_input {
	const struct places *places;
	const struct config *config;
	const struct agent *agent; /* its credentials are checked; NULL: none are needed */
	const struct sandbox_spec *spec;
	char *const *environ;
	bool place; /* also a node of the placement that the settings name: one worker is placed */
	bool tried; /* another sandbox with these settings was, just now: this one is not started */
};

struct preflight_row {
	const char *what;
	bool ok;
	bool credential; /* about one: with a terminal at hand the user may log in inside */
	char *found;	 /* a sentence: the finding, or the problem */
	char *remedy;	 /* NULL if nothing is to be done */
};

#define PREFLIGHT_ROWS_MAX 32

struct preflight {
	struct preflight_row rows[PREFLIGHT_ROWS_MAX];
	size_t n;
	bool ok;
};

/*
 * Starts the sandbox for as long as this takes, unless it is live; a sandbox without a record
 * leaves none. Problems are in *ret and are no error.
 */
void preflight_run(const struct preflight_input *in, struct preflight *ret);
void preflight_done(struct preflight *p);
json_t *preflight_to_json(const struct preflight *p);
