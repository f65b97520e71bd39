#pragma once

#include "base/err.h"

#include <stdint.h>

/* A new terminal of that size: its master, or -errno; both ends are the caller's. */
int pty_open(uint32_t rows, uint32_t cols, int *ret_slave, struct err *err);
/* before_exec of struct run: the terminal at descriptor 0 becomes that of the new session. */
int pty_take(void *arg);
