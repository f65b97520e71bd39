#pragma once

#include "cred/cred.h"

/* Every row there is. */
#define PROVIDER(x, holder) extern const struct cred_provider cred_##x;
#include "config/providers.def"
