#pragma once

#include "cred/hold/hold.h"

/* The other half of every row. */
#define PROVIDER(x, holder) extern const struct cred_holder cred_##holder##_holder;
#include "config/providers.def"
