#pragma once

#include "base/err.h"

/*
 * The guest as its own launcher, in two runs of the same program:
 *
 *	guest launch LINE     in the host's namespaces. Clones a process that is alone in new ones,
 *	                      tells its parent who that is (WIRE_BORN), and ends.
 *	guest inside LINE     that process, after it has become root of its namespaces, given up all
 *	                      capabilities there but those it needs, and executed the program again
 *	                      from a read-only mount of its own. It goes on in guest-main.c.
 *
 * The new process is a child of whoever started the launcher (CLONE_PARENT), so it dies with the
 * supervisor, and nothing stands between the two. No other program is ever executed before
 * confine(): a rule that lets this file alone make user namespaces gives nobody else anything.
 */
#define LAUNCHER_INSIDE "inside"

/* The first run; `line` is open at that number and crosses the exec. */
int launcher_run(int line, struct err *err);
/* The second run, at its start. */
int launcher_arrive(struct err *err);
