#pragma once

#include "agent/agent.h"
#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

/*
 * An agent without a sandbox. Only ralph's blocklist is left, which the agent asks before each
 * tool. The blocklist is not a wall. Nothing is started when it cannot be wired, is switched off,
 * or does not answer.
 *
 * *ret: the agent's arguments that wire it, to stand before the user's own (rest).
 */
int no_sandbox_wire(const struct places *p, const struct agent *a, const char *workspace,
		    const struct strv *rest, struct strv *ret, struct err *err);

/* The warning that ralph prints each time an agent starts without a sandbox. */
extern const char direct_warning[];
