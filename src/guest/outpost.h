#pragma once

#include "base/ev.h"
#include "wire/remote.h"

/*
 * ralph's own program in the container beside a sandbox on another machine; wire/remote.h has the
 * picture. It holds no file, no key but the gateway's token, and runs no command.
 */

/* `outpost attach ID [tty]`, started by the engine's exec: this process's 0, 1 and 2 are the
 * command's. With tty they are a terminal, and what is typed and shown is copied. */
int attach_main(uint32_t id, bool tty);
/*
 * Opens the socket on which `attach` finds `serve`. Its name is abstract, so only this container's
 * network namespace has it.
 */
int attach_socket(bool listening);

/* The sandbox's connections on their way to the gateway. */
struct relay;
struct relay *relay_new(struct ev *ev);
/* Takes the gateway's address from WIRE_REMOTE_GATE and tries it once. The error is for the user. */
int relay_gate(struct relay *r, const struct wire_msg *m, struct err *err);
/* Adds the next listener of the guest; takes fd. */
int relay_listen(struct relay *r, int fd);
