#pragma once

#include "spec/spec.h"

/* Is it the sandbox of a loop, which moves its own branch and no other reference of the user's? Its
 * agents have a home of their own. */
static inline bool spec_is_loops(const struct sandbox_spec *s)
{
	return s->home_of == SPEC_HOME_WORKER;
}
