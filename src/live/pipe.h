#pragma once

#include "base/err.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * Way `pipe`: puts the logins of a sandbox that starts or lives, held by conn, into its home. Each
 * goes through a descriptor into a file of a temporary file system inside, is read from there once,
 * put where the agent looks for it, and the temporary file is overwritten and removed. It is in no
 * argument and no variable. -EAGAIN: the sandbox ended meanwhile.
 */
int pipe_credentials(const struct places *p, const struct sandbox_spec *spec, int conn,
		     struct err *err);
