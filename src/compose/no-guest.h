#pragma once

#include "base/strv.h"
#include "spec/spec.h"

#include <stdbool.h>

/* What is to be known of a sandbox without a guest, or of none at all; for the audit. */

/* Commands are run by a program of the host. */
bool no_guest(const struct sandbox_spec *s);
/* The same of the engine that would be chosen: its agent sees the whole workspace as it is, and
 * nothing there is hidden from it. */
bool no_guest_choice(const char *engine, bool direct);
/* There is no sandbox. */
bool no_guest_without_wall(const struct sandbox_spec *s);

/* Sentences, one line each, that hold for this spec. */
struct no_guest_notes {
	struct strv mounts, network, credentials;
};

void no_guest_notes(const struct sandbox_spec *s, struct no_guest_notes *ret);
void no_guest_notes_done(struct no_guest_notes *n);
