#pragma once

#include "cred/cred.h"

/*
 * Tokens for hosts that are no providers of models: GitHub, npm, and whatever the user names. They
 * have no endpoint of their own: rules of the network that name them put them on requests.
 */

/* A credential that the user says where to find: one string, used as the row says. What can be seen
 * without asking for the value (a variable that is not set, no file) is an error. */
int cred_from_source(const struct cred_host *h, const struct cred_provider *row, const char *name,
		     const char *source, struct cred_ref *ret, struct err *err);

/*
 * The token for a registry in an npmrc: "//HOST[:PORT][/PATH]/:_authToken=TOKEN", with ${NAME} from
 * the host's environment. NULL: none for this host. host NULL: any.
 */
char *npmrc_token(const struct cred_host *h, const char *text, const char *host, uint16_t port);
/* $NPM_CONFIG_USERCONFIG, else ~/.npmrc */
char *npmrc_path(const struct cred_host *h);

/* Is this one of git's own requests? Servers want a password for it, not a bearer token. */
bool bearer_is_git(const char *target);
