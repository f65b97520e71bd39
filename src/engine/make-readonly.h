#pragma once

#include "base/err.h"
#include "spec/spec.h"

#include <sys/types.h>

/*
 * Covers a path in the sandbox whose first process this is: read-only, hidden, or as it is
 * (SPEC_PIN), by what is at `from` inside; NULL: by what is at the path itself. For engines whose
 * guest has made the mounts, `below` its own root ("": in it): their user namespace is this user's. init 0: the sandbox is not up.
 */
int mount_again(pid_t init, const char *below, const char *from, const char *path,
		enum spec_mount_kind kind, struct err *err);
