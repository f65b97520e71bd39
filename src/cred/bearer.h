#pragma once

#include "cred/cred.h"

/*
 * Tokens for hosts that are no providers of models: GitHub, npm, and whatever the user names. They
 * have no endpoint of their own: rules of the network that name them put them on requests.
 *
 * The credential called `name`, which a rule or the user's settings ask for: from `source` when one
 * is given ("env:NAME", "file:PATH", "command:LINE", "store:SERVICE"), else as the service of that
 * name has it. CRED_MISSING: there is no such service, or the host has none; err says what to do.
 */
enum cred_probe cred_named(const struct cred_host *h, const char *name, const char *source,
			   struct cred_ref *ret, struct err *err);

/*
 * The token for a registry in an npmrc: "//HOST[:PORT][/PATH]/:_authToken=TOKEN", with ${NAME} from
 * the host's environment. NULL: none for this host. host NULL: any.
 */
char *npmrc_token(const struct cred_host *h, const char *text, const char *host, uint16_t port);

/* Would this request, with a token of GitHub's or npm's, make or list tokens, keys, hooks or
 * secrets? */
bool bearer_is_minting(const char *provider, const char *target);

/* Is this one of git's own requests? Servers want a password for it, not a bearer token. */
bool bearer_is_git(const char *target);
