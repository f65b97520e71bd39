#pragma once

#include "record/asks.h"
#include "spec/spec.h"

/* All of it an agent's. */
struct ask_words {
	const char *what, *why;
	const struct strv *choices;
};

/*
 * NULL when a person may be asked for this: *ret is the thing in its one spelling, the caller's. Else why
 * not, for the agent. A host by the rules of the spec, a file by its workspace.
 */
const char *ask_judge(const struct sandbox_spec *s, enum ask_kind kind, const struct ask_words *a,
		      char **ret);
