#pragma once

#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

/*
 * Real logins of the host that a stopped sandbox's home, or its volume, still holds: ralph 0.2
 * and older put logins of way pipe there, and a program that was given one may have kept it.
 * They are found by value. A login file is removed; in any other file the value is overwritten. The
 * user is told of each. A sandbox that never had way pipe is searched where agents keep their
 * logins, any other as a whole. An error: one was found and cannot be removed.
 */
int login_left_clean(const struct places *p, const struct store_entry *e,
		     const struct sandbox_spec *spec, struct err *err);
