#pragma once

#include "guest/guest.h"

/*
 * DOC: Theory of operation
 *
 * The outer half of a guest whose commands run on a kernel of their own. It has made the namespaces,
 * the network, the listeners and the tree as ever, and starts the program that has that kernel; the
 * inner half (inner.h) is pid 1 in there.
 *
 *	supervisor == frames == outer half == frames == inner half
 *
 * The supervisor cannot tell it from any other guest. What it does not pass on as it is:
 *
 *	descriptors	are judged here. Files become pipes, since the other kernel would write them
 *			from their beginning. None comes out again.
 *	terminals	are of this devpts: the user has one end, the inner half copies the other,
 *			which is raw. A new size is told it (WIRE_WINCH).
 *	logins		lie in files of this namespace, which the tree shows.
 *	WIRE_DIAL	is answered here, in the network that both are in.
 *
 * The inner half is not trusted: it may be whatever broke out of its kernel into the program. The
 * supervisor takes frames of any guest for hostile; here nothing is believed but the end of a
 * command that was begun.
 */

/* Starts the program and waits until the inner half is up. Its end is ours afterwards. */
int outer_begin(struct guest *g, const struct guest_root *root, int *ret_inner, struct err *err);
/* Relays until one of the two is gone. */
void outer_serve(const struct guest *g, int inner);
