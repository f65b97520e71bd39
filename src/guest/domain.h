#pragma once

#include "wire/guest-proto.h"

/*
 * Landlock: the files a command may reach, as a second wall behind the mounts. A domain is a
 * ruleset of the kernel (a descriptor) until a process enters it, for good and with all its
 * descendants.
 */
struct domain_base {
	int abi;     /* of the kernel, 0 when Landlock is not to be used */
	int ruleset; /* the setup's rules; -1 without Landlock */
	int *paths;  /* one O_PATH descriptor per rule, to build larger rulesets */
	const struct guest_setup *setup;
};

/* Opens every path of the setup and builds the ruleset all plain commands share. */
int domain_init(struct domain_base *base, const struct guest_setup *setup, struct err *err);

/*
 * For pid 1, once it has no_new_privs, and so for all commands: a unix socket that something outside
 * made in a tree which the sandbox shares is not connected to. Sockets of one's own work between
 * commands. Below ABI 9 the kernel cannot hold that, and this does nothing.
 */
int domain_own_sockets(const struct domain_base *base, struct err *err);

/*
 * The ruleset for a command with these descriptors: *ret is one to close, or -1 when the shared
 * one serves. Judges the descriptors too: -EISDIR for a directory, and an error for what could
 * be opened again with more than it gives.
 */
int domain_for(const struct domain_base *base, const int *fds, size_t n, int *ret, struct err *err);

/* Puts the calling process into the domain; ruleset -1: the shared one. */
int domain_enter(const struct domain_base *base, int ruleset, struct err *err);
