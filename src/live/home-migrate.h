#pragma once

#include "base/err.h"
#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

/*
 * Up to 0.2 each sandbox had a home of its own, sandboxes/NAME/home. The newest one of a project
 * becomes the project's home, if there is none yet. From the others the conversations are moved
 * that it lacks, and the rest goes to homes/old/NAME. A link to the project's home takes the place
 * of each. Every step is one rename: a process that is killed, or a full disk, loses nothing, and
 * the next call goes on.
 *
 * The caller holds the lock of the project's home alone. own: the record that the caller has
 * locked; may be NULL. -EBUSY: the project has no home yet, and a sandbox of it is running with one
 * of its own.
 */
int home_migrate(const struct places *p, const struct store_entry *own,
		 const struct sandbox_spec *spec, struct err *err);
