#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "engine/doctor-rows.h"

#include <stdbool.h>

/* `ralph doctor` lists what this machine offers and what ralph does with it. */
struct doctor {
	struct doctor_rows rows;
	bool native; /* the native engine is usable */
};

/* Tries everything; some seconds at most. */
int doctor_examine(struct doctor *ret, struct err *err);
void doctor_done(struct doctor *d);
const char *doctor_state_name(enum doctor_state s); /* "ok", "limited", "missing" */
json_t *doctor_to_json(const struct doctor *d);
