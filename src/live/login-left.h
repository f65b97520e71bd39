#pragma once

#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

/*
 * Real logins of the host that a home, or its volume, still holds before a start: ralph 0.2
 * and older put logins of way pipe there, and a program that was given one may have kept it.
 * They are found by value. A login file is removed; in any other file the value is overwritten. The
 * user is told of each. A home that no sandbox with way pipe ever had is searched where agents keep
 * their logins, any other as a whole: KEY.piped beside the project's home says so, until a search
 * as a whole finds nothing left while no other sandbox has the home (alone). An error: one was
 * found and cannot be removed.
 */
int login_left_clean(const struct places *p, const struct store_entry *e, int home,
		     const struct sandbox_spec *spec, bool alone, struct err *err);
