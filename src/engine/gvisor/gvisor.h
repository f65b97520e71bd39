#pragma once

#include "engine/native/native.h"

/*
 * gVisor inside the native engine's walls. Shared by its halves: what it would do, and what is here
 * to do it with.
 */

/* The user's choice (RALPH_RUNSC), else the first of PATH that lies outside of the workspace. An error
 * names the remedy. */
int gvisor_find(const char *workspace, char **ret, struct err *err);
int gvisor_ask(struct sandbox_spec *spec, struct err *err);
int gvisor_probe(struct err *err);
int gvisor_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err);
