#pragma once

#include "agent/agent.h"
#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

/*
 * An agent without a sandbox. What is left then is ralph's blocklist, which the agent asks before
 * each tool: no wall, but all there is, so nothing is started where it cannot be wired, is switched
 * off, or does not answer.
 *
 * *ret: the agent's arguments that wire it, to stand before the user's own (rest).
 */
int no_sandbox_wire(const struct places *p, const struct agent *a, const char *workspace,
		    const struct strv *rest, struct strv *ret, struct err *err);

/* What the user is told each time. */
extern const char direct_warning[];
