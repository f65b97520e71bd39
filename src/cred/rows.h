#pragma once

#include "cred/cred.h"

/* Every row there is: provider.c lists them in order of precedence. */
extern const struct cred_provider cred_anthropic_key;
extern const struct cred_provider cred_anthropic_oauth;
