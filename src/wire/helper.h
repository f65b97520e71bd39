#pragma once

#include "wire/wire.h"

/*
 * The life of a helper program: the supervisor has its other end at descriptor 3, sends frames, and
 * closes it when the sandbox ends. Nothing else is read.
 */
#define HELPER_FD 3

struct helper_frame {
	int type;
	int (*on)(void *arg, struct wire_msg *m, struct err *err);
};

/*
 * Keeps secrets in memory from becoming a file or being read by another process of this user. err:
 * the helper must not go on.
 */
int helper_protect(struct err *err);
/* Gives one frame to its row. */
int helper_frame(const struct helper_frame *rows, size_t n, void *arg, struct wire_msg *m,
		 struct err *err);
/* Gives each frame to its row until the supervisor is gone; an unknown frame ends it. The exit code
 * is returned, and a failure is said on stderr. */
int helper_serve(const char *name, const struct helper_frame *rows, size_t n, void *arg);
