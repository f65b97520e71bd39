#pragma once

/*
 * ROOM: cli/show
 *
 * Longer answers on a terminal: the audit, `ralph top`, `ralph why`. Made from a spec or a
 * survey, and from nothing else.
 */

#include "base/json/json.h"
#include "cli/frame/command.h"
#include "spec/spec.h"

#include <stdio.h>

/*
 * The audit: what a sandbox will have, made from its spec and nothing else, so that what is shown
 * is what is run. The user's values, and others that are secret by name or shape, are masked in
 * both forms (base/text/mask.h).
 */

/* Does this value look like a secret? What the sandbox itself sets is judged by its shape alone,
 * and a phantom is no secret. */
bool audit_is_secret(const struct spec_env *e);

/* For people. width: columns to wrap at; text of others is escaped. */
int audit_print(const struct sandbox_spec *spec, FILE *out, unsigned width, bool color,
		struct err *err);

/* The spec as `ralph inspect` has it, with masked values ("masked": true), the sockets that the
 * guest opens ("sockets" of "network"), and below each bound directory what the host has mounted
 * there ("below"). */
int audit_to_json(const struct sandbox_spec *spec, json_t **ret, struct err *err);

/*
 * Before a start. A command that gets a terminal is an interactive start: the screen is shown on
 * stderr and, unless the user said --yes, has to be confirmed; where nobody can be asked it is
 * refused. Any other start goes ahead. *ret_consent is what to record of it: WIRE_EXEC_CONFIRMED,
 * WIRE_EXEC_ASSUMED or 0 (unattended). -ECANCELED: the user said no.
 */
int audit_before_start(struct cli *cli, const struct sandbox_spec *spec, bool tty,
		       uint32_t *ret_consent);

/* audit-mounts.c */

/* The section of the screen. */
int audit_print_mounts(const struct sandbox_spec *spec, FILE *out, unsigned width, bool color,
		       struct err *err);

/* audit-cred.c: the section of the screen */
void audit_print_credentials(const struct sandbox_spec *spec, FILE *out, bool color);

/* audit-net.c: the section of the screen, and the sockets for JSON */
int audit_print_net(const struct sandbox_spec *spec, FILE *out, bool color, struct err *err);
int audit_sockets_json(const struct sandbox_spec *spec, json_t **ret, struct err *err);
