#pragma once

#include "guest/guest.h"

/*
 * The inner half: pid 1 on a kernel of its own. Told who the user is and what must not move, it tries
 * just that and says WIRE_UP; from then on it is a guest as any other. See outer.h.
 */
int inner_bring_up(struct guest *g, struct wire_msg *root, struct err *err);
/*
 * For a command: in a user namespace of its own below that of pid 1 and the minders, which it can look
 * at no more than natively, it becomes the user and gives up everything else.
 */
int inner_become_user(const struct guest *g, struct err *err);
