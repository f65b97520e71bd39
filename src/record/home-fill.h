#pragma once

#include "base/err.h"
#include "spec/spec.h"

/*
 * Creates the links and files of the spec in a home. The agent may have put anything in their
 * place: links are not followed, and existing entries are replaced except directories. A seed
 * (SPEC_HOME_SEED) is only created if nothing exists; of one that is JSON, missing keys are added.
 * Other sandboxes may be at work in the same home.
 */
int home_fill(int home, const struct sandbox_spec *spec, struct err *err);
