#pragma once

#include "base/err.h"

struct loop;

/*
 * The line of a placed loop to the loop at home (wire/fleet.h), which the worker passes on: what its
 * sandboxes log and what its agents ask goes home, and rules and answers of people come back. Without
 * such a line these do nothing.
 */
int home_line_open(struct loop *l, struct err *err);
/* A sandbox ends: what is left of its log goes home. */
void home_line_look(struct loop *l);
void home_line_close(struct loop *l); /* waits until all of it has gone */
