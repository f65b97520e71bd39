#pragma once

#include "base/strv.h"
#include "record/places.h"

struct cli;

/*
 * Asks about what a sandbox left and is in quarantine now: kept things go back where they were. Only
 * where a person can answer; before: the ids of what was there already. Each file is named once: the
 * warnings of the run are printed first, without those that a question is about.
 */
void quarantine_ask(struct cli *cli, const struct places *p, const char *sandbox,
		    const struct strv *before, const struct strv *warnings);
/* Prints why it is there and what is in it. */
int quarantine_show(struct cli *cli, const struct places *p, const char *id);
/* Puts it back where it was, and writes that to the log of its sandbox. */
int quarantine_take_back(struct cli *cli, const struct places *p, const char *id);
