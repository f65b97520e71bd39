#pragma once

#include "cli/frame/command.h"
#include "record/places.h"

typedef int for_each_fn(const struct places *p, const char *name, void *arg, struct err *err);

/*
 * Does something to each named sandbox, or to all of them; prints each name when it is done. One
 * that fails does not keep the others from being tried; the first error is the command's.
 */
int for_each_sandbox(struct cli *cli, bool all, int argc, char **argv, for_each_fn *fn, void *arg);
/* The same; `before` gets all names, and its error ends the command before anything is done. */
typedef int for_all_fn(struct cli *cli, const struct places *p, const struct strv *names,
		       void *arg);
int for_each_asked(struct cli *cli, bool all, int argc, char **argv, for_all_fn *before,
		   for_each_fn *fn, void *arg);
