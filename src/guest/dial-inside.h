#pragma once

#include "wire/wire.h"

/*
 * WIRE_DIAL: a connection to a server inside, made here because a socket belongs to the network it
 * was made in, and handed out with WIRE_DIALLED. Never blocks: it may still be connecting.
 */
void dial_inside(int sock, const struct wire_msg *msg);
