#pragma once

/*
 * ROOM: netrules
 *
 * Network rules as people write them: groups, rule files, checks of one target. The decision
 * itself is policy's.
 */

#include "base/err.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * From what people wrote (patterns, groups, the files of `ralph net`) to the rules of a spec. The
 * rules of the files stand behind those of the configuration, user before project before sandbox,
 * wherever they are computed: `ralph run` beside a live sandbox finds the rules it would have made.
 */

/* How the source of every rule from a file begins; no setting's name does. */
#define NET_RULES_FILES "ralph net --"

/* Adds a pattern, or a group, whose hosts the user's clients name; the spec has a workspace. */
int net_rules_add(struct sandbox_spec *s, char *const *environ, bool deny, const char *text,
		  const char *source, struct err *err);
/* Adds the rules of the files; the spec has name, workspace and instance. Those of its loop count
 * while that lives: see record/loop-rules.h. */
int net_rules_add_files(struct sandbox_spec *s, const struct places *p, char *const *environ,
			struct err *err);
/* Reads the files again for a spec that was made before, and the one that holds until the sandbox
 * stops: what came from them is replaced, the rest stays as it was when the sandbox started. The spec is unchanged on an error. */
int net_rules_refresh(struct sandbox_spec *s, const struct places *p, char *const *environ,
		      struct err *err);

/* Is it of the file of a loop? */
bool net_rules_of_loop(const struct net_rule *r);

/* Takes the files' rules of `from` in place of its own: what then differs comes from elsewhere. */
void net_rules_take_files(struct sandbox_spec *s, const struct sandbox_spec *from);

/* *ret is the one spelling for the files, so that a rule is found again: ASCII, lower case. */
int net_rules_canon(const char *text, char **ret, struct err *err);
