#pragma once

#include "cred/cred.h"

/* Shared by the two halves of the Anthropic rows: what is probed and what is held. */

/* The command that prints the key: apiKeyHelper of the user's own Claude settings. -ENOENT: none.
 */
int anthropic_key_helper(const struct cred_host *h, const char *settings, char **ret,
			 struct err *err);
