#pragma once

#include "guest/guest.h"

#include <poll.h>

/*
 * Terminals of the sandbox's own devpts. In a sandbox with a kernel of its own there are two for a
 * command: the outer half's, whose other end the user has, in raw mode, and the inner half's, which
 * is the command's. The minder copies between them.
 */

int terminal_open(const struct guest *g, uint32_t rows, uint32_t cols, int *ret_master,
		  int *ret_slave, struct err *err);
/* 0 or -errno. */
int terminal_resize(int fd, uint32_t rows, uint32_t cols);
/* Bytes go through as they are: the inner terminal does what terminals do. */
int terminal_make_raw(int fd, struct err *err);

/* The copying, for the minder's own poll(): it never waits for the user or for the command. */
enum { TERMINAL_OUTSIDE, TERMINAL_INSIDE };
struct terminal_carry {
	bool on, ended[2];
	int fds[2];
	char bytes[2][8 * 1024]; /* read from each side, and not yet written to the other */
	size_t at[2], n[2];
};

/* Takes `inside`; `outside` stays the caller's. 0 or -errno. */
int terminal_carry_begin(struct terminal_carry *c, int outside, int inside);
void terminal_carry_poll(const struct terminal_carry *c, struct pollfd p[2]);
/* false: the user is gone. */
bool terminal_carry_copy(struct terminal_carry *c);
/* When the command has ended: what it has written last. */
void terminal_carry_end(struct terminal_carry *c);
