#pragma once

#include "base/err.h"

#include <stddef.h>

/* The rows of `ralph doctor`: an engine's findings about this machine. */
enum doctor_state { DOCTOR_OK, DOCTOR_LIMITED, DOCTOR_MISSING, DOCTOR_STATE_N };

struct doctor_row {
	const char *name; /* "namespaces", "cgroups", … */
	enum doctor_state state;
	char *detail; /* what was found */
	char *use;    /* what ralph does with it */
	char *remedy; /* NULL: nothing to do */
};

#define DOCTOR_ROWS_MAX 32 /* further ones are left out */

struct doctor_rows {
	struct doctor_row v[DOCTOR_ROWS_MAX];
	size_t n;
};

/* name is not copied; fmt: the detail. */
void doctor_rows_add(struct doctor_rows *d, const char *name, enum doctor_state state,
		     const char *use, const char *remedy, const char *fmt, ...) printf_like(6, 7);
void doctor_rows_done(struct doctor_rows *d);
