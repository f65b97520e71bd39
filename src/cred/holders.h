#pragma once

#include "cred/hold.h"

/* The other half of every row: holders.c says which provider is whose. */
extern const struct cred_holder cred_anthropic_key_holder;
extern const struct cred_holder cred_anthropic_oauth_holder;
