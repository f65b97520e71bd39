#pragma once

#include "base/err.h"
#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

/*
 * Makes the home of a sandbox ready for its start: old homes become the project's, real logins are
 * taken out, and the files of the spec are laid in. The caller holds both locks of the record, and
 * the lock of the project's home; alone: no other sandbox has that.
 */
int home_ready(const struct places *p, const struct store_entry *e, const struct sandbox_spec *spec,
	       bool alone, struct err *err);
