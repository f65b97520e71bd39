#pragma once

#include "engine/engine.h"
#include "spec/spec.h"

#include <stdbool.h>

/* Is it a sandbox without a guest, or none at all? engine_notes() has more
 * about it. */

/* Commands are run by a program of the host. */
bool no_guest(const struct sandbox_spec *s);
/* True when the engine that this choice leads to has no guest: its agent sees the whole workspace
 * as it is, and nothing there is hidden from it. */
bool no_guest_choice(const char *engine, bool direct);
/* There is no sandbox. */
bool no_guest_without_wall(const struct sandbox_spec *s);
