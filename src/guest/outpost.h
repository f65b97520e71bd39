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
/* Where `attach` finds `serve`: an abstract name, so of this container's network alone. */
int attach_socket(bool listening);

/* The sandbox's connections on their way to the gateway. */
struct relay;
struct relay *relay_new(struct ev *ev);
/* Where the gateway is, from WIRE_FAR_GATE; tries it once. The error is for the user. */
int relay_gate(struct relay *r, const struct wire_msg *m, struct err *err);
/* The next listener of the guest; taken. */
int relay_listen(struct relay *r, int fd);
