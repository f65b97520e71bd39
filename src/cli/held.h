#pragma once

#include "cli/frame/command.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * What `ralph diff` and `ralph apply` are about: a sandbox, or what is left in the repository of one
 * that was removed.
 */
struct held {
	struct places places;
	char *root; /* of the repository; NULL: the sandbox works in a clone */
};

/* NAME of a sandbox; without one, of what the repository here holds under that name. */
int held_open(struct cli *cli, const char *name, struct held *ret);
void held_done(struct held *h);

#define cleanup_held cleanup_(held_done)
