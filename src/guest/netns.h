#pragma once

#include "wire/guest-proto.h"

/*
 * The sandbox's network: a namespace with nothing but loopback in it, made by this process, which
 * is then a member of it. Depends on nothing that is told.
 */
int netns_enter(unsigned *ret_loopback, struct err *err);
/* Opens the listeners into fds[], in the order of the setup; they are the caller's, also after an
 * error. */
int netns_open(const struct guest_setup *s, unsigned loopback, int fds[GUEST_LISTENERS_MAX],
	       struct err *err);
