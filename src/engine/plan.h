#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "spec/spec.h"
#include "wire/root-proto.h"

#include <stdio.h>

/* The parts that the plans of all engines with a guest share. */

/* The spec's mounts as the guest is told them; strings are the spec's, which outlives the plan. */
int plan_root(const struct sandbox_spec *spec, struct guest_root *root, struct err *err);
int plan_send_root(int line, const struct guest_root *root, const int *fds, size_t n_fds,
		   struct err *err);
/* The guest's program on the host. */
int plan_find_guest(const struct sandbox_spec *spec, const char **ret, struct err *err);
/* No mount of the spec has its place behind a link that the sandbox could have made. */
int plan_check_targets(const struct sandbox_spec *spec, struct err *err);
/* The sandbox's name in places that show all sandboxes of the machine. The caller frees it. */
char *plan_own_name(const struct sandbox_spec *spec);

/* For people, and to be compared: a word as a shell would read it, an option a line, a mount a
 * line. Contents are not shown. */
void plan_put_word(const char *s, FILE *out);
void plan_put_words(const struct strv *words, FILE *out);
void plan_put_root(const struct guest_root *root, FILE *out);
