#pragma once

#include "guest/guest.h"

/*
 * Runs GUEST_PROGRAM, a runsc, with the tree and one end of the line; it starts the inner half. *ret_log
 * is what it says. Called by the root of a user namespace that has no power over our mounts and our
 * network; the program keeps only capabilities of that one.
 */
int gvisor_start(const struct guest_root *root, int line, int *ret_log, struct err *err);
