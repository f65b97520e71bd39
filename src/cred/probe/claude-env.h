#pragma once

#include "base/json/json.h"
#include "cred/cred.h"

/*
 * The variables that Claude Code would see on the host: its environment, then "env" of the project's
 * settings.local.json and settings.json, of the user's own settings.json, and of the machine's
 * managed settings. By these it chooses Bedrock, Vertex or Foundry.
 *
 * A repository or an agent may have written the project's files. Of these only the switch to
 * Bedrock, the region and the names of models count: no address, and no choice among the user's
 * logins.
 */
struct claude_env {
	const struct cred_host *host;
	json_t *local, *project, *own, *managed; /* NULL: there is none */
};

/* Settings that cannot be read are an error: which account is used must not depend on it. */
int claude_env_load(const struct cred_host *h, struct claude_env *ret, struct err *err);
void claude_env_done(struct claude_env *e);
/* NULL: not set, or empty. The string belongs to e or to the host's environment. */
const char *claude_env_get(const struct claude_env *e, const char *name);
/* The same as the project's files have it, whatever its name. */
const char *claude_env_of_project(const struct claude_env *e, const char *name);
/* The models the user chose, as options "model=…": ids of one provider are not those of another. */
void claude_env_models(const struct claude_env *e, struct strv *options);
/* "1", "true", "yes", "on", in any case. */
bool claude_env_on(const struct claude_env *e, const char *name);

/* Returns the directory of Claude Code's files: $CLAUDE_CONFIG_DIR, else ~/.claude. */
char *claude_dir(const struct cred_host *h);
