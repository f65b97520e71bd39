#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

#include <stdbool.h>

/* What imports left in the user's repository, under refs/ralph/NAME/: docs/internals/private-git.md. */

/* Runs libexec/ralph/repo with these arguments (NULL at the end); its errors go to our stderr. */
int git_repo_ask(const struct places *p, const char *const *args, json_t **ret, struct err *err);

/* The names of what is held of NAME, "heads/main"; none where the sandbox has no repository. */
void git_repo_held(const struct places *p, const char *name, struct strv *ret);
/* For JSON: "held": those names; "not_imported": true. Neither where there is nothing to say. */
void git_repo_put(const struct places *p, const char *name, json_t *j);
/* The private git directory has references that no import has seen. */
bool git_repo_is_behind(const struct store_entry *e, const struct sandbox_spec *spec);
/* The sandbox is gone: what imports noted about it goes too; what is held stays. */
void git_repo_forget(const struct places *p, const struct sandbox_spec *spec);
