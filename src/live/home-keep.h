#pragma once

#include "base/err.h"
#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

/*
 * Copies the conversations of a worker's own home, if the record has one, to the project's home.
 * The sandbox has stopped. If the copy fails, the home stays.
 */
int home_keep(const struct places *p, const char *record, const struct sandbox_spec *spec,
	      struct err *err);
/* The same for a record that is about to be removed: a home that cannot be copied is moved to
 * homes/old, and the user is told. -errno: not even that, and the record should stay. */
int home_keep_last(const struct places *p, const char *record, const struct sandbox_spec *spec,
		   struct err *err);
/* Makes the home of a worker empty again, for a new loop. */
int home_empty(const struct places *p, const char *name, struct err *err);
/* Moves a home to homes/old/NAME, or NAME.2 and so on; *ret is the path there. */
int home_put_old(const struct places *p, const char *home, const char *name, char **ret,
		 struct err *err);
