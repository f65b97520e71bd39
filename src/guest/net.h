#pragma once

#include "wire/guest.h"

/*
 * The sandbox's network: a namespace with nothing but loopback in it, made by this process, which
 * is then a member of it. Opens the listeners into fds[], in the order of the setup; they are the
 * caller's, also after an error. A hostname comes with a uts namespace of its own, because the
 * one bwrap made may belong to an outer user namespace. So does a mount namespace, unless the
 * mounts are our own.
 */
int net_enter(const struct guest_setup *s, bool own_mounts, int fds[GUEST_LISTENERS_MAX],
	      struct err *err);
