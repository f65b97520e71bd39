#pragma once

#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>

/* `ralph doctor` lists what this machine offers and what ralph does with it. */
enum doctor_state { DOCTOR_OK, DOCTOR_LIMITED, DOCTOR_MISSING, DOCTOR_STATE_N };

struct doctor_row {
	const char *name; /* "user namespaces", "bwrap", … */
	enum doctor_state state;
	char *detail; /* a description of the finding */
	char *use;    /* ralph's use of it */
	char *remedy; /* NULL: nothing to do */
};

#define DOCTOR_ROWS_MAX 16

struct doctor {
	struct doctor_row rows[DOCTOR_ROWS_MAX];
	size_t n;
	bool native; /* the native engine is usable */
};

/* Tries everything; some seconds at most. */
int doctor_examine(struct doctor *ret, struct err *err);
void doctor_done(struct doctor *d);
const char *doctor_state_name(enum doctor_state s); /* "ok", "limited", "missing" */
json_t *doctor_to_json(const struct doctor *d);
