#pragma once

#include "cli/frame/complete.h"

/* The words of engines and of groups of hosts, for completion. */
complete_known_fn complete_known;
