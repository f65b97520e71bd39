#pragma once

/*
 * ROOM: cli/show
 *
 * Longer answers on a terminal: the audit, `ralph top`, `ralph why`. Made from a spec or a
 * survey, and from nothing else.
 */

#include "base/json/json.h"
#include "cli/frame/command.h"
#include "cli/settings.h"
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

/* What the plan of the native engine has no words for: variables, network, credentials, the command. */
int audit_print_rest(const struct sandbox_spec *spec, const struct strv *command, FILE *out,
		     struct err *err);

/* The spec as `ralph inspect` has it, with masked values ("masked": true), the sockets that the
 * guest opens ("sockets" of "network"), and below each bound directory what the host has mounted
 * there ("below"). */
int audit_to_json(const struct sandbox_spec *spec, json_t **ret, struct err *err);

#define AUDIT_WIDTH_ELSEWHERE 100 /* columns when there is no terminal to ask */

/*
 * audit-start.c, before a start. A command that gets a terminal is an interactive start: unless the
 * user has agreed to the same before, the audit is shown on stderr and, unless the user said --yes,
 * has to be confirmed; where nobody can be asked it is refused. The setting `audit` says how much is
 * shown. Any other start goes ahead. *ret_consent is what to record of it: WIRE_EXEC_CONSENT, or 0
 * (unattended). -ECANCELED: the user said no.
 */
int audit_before_start(struct cli *cli, const struct settings *s, const struct sandbox_spec *spec,
		       bool tty, uint32_t *ret_consent);
/* After the start: what was shown and agreed to is what the next start is compared with. */
void audit_agreed(const struct places *p, const struct sandbox_spec *spec, bool tty,
		  uint32_t consent);

/*
 * audit-brief.c: the audit in at most AUDIT_BRIEF_LINES lines, each cut at the width: what is
 * usual in a line each, what is unusual, what changed.
 */
#define AUDIT_BRIEF_LINES 11 /* and the question */
void audit_print_brief(const struct sandbox_spec *spec, const struct strv *changes, FILE *out,
		       unsigned width, bool color);

/* audit-mounts.c */

/* The section of the screen. */
int audit_print_mounts(const struct sandbox_spec *spec, FILE *out, unsigned width, bool color,
		       struct err *err);

/* audit-cred.c: the section of the screen */
void audit_print_credentials(const struct sandbox_spec *spec, FILE *out, bool color);
const char *audit_way_words(enum spec_way w);
char *audit_expiry_text(uint64_t expires_ms);

/* audit-place.c: where tasks run at a placement, how each credential is used there; nothing, or NULL, where they do
 * not. */
void audit_print_place(const struct config *c, const struct sandbox_spec *spec, FILE *out,
		       bool color);
json_t *audit_place_json(const struct config *c, const struct sandbox_spec *spec);

/* audit-net.c: the section of the screen, and the sockets for JSON */
int audit_print_net(const struct sandbox_spec *spec, FILE *out, bool color, struct err *err);
int audit_sockets_json(const struct sandbox_spec *spec, json_t **ret, struct err *err);
