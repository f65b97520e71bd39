#pragma once

#include "base/err.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * The rules of a loop with its workers count while the process of that loop lives: it holds a lock
 * that the kernel takes away with it, however it ends. The file stays for `ralph resume`, until the
 * work is done or another loop is started in its place.
 */

/* Its path; see netrules/rule-files.h. */
char *loop_rules_file(const struct places *p, const char *loop);
/* For the loop itself, before it makes a sandbox. anew: forgets the rules of an earlier loop. */
int loop_rules_hold(const struct places *p, const char *loop, bool anew, int *ret_held,
		    struct err *err);
/* Ends what loop_rules_hold() began; over: the loop will not be resumed. */
void loop_rules_release(const struct places *p, const char *loop, bool over, int *held);
/* Does such a loop live? A look that fails counts as no. */
bool loop_rules_count(const struct places *p, const char *loop);
