#pragma once

#include "record/places.h"
#include "spec/spec.h"

/* Says it when another sandbox, or another command of this one, is at work in the same workspace:
 * two agents there write the same files. */
void same_workspace_tell(const struct places *p, const struct sandbox_spec *spec);
