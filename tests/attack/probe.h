#pragma once

#include <stdint.h>

/*
 * What an attacker inside a sandbox tries, as system calls. `probe NAME ARG…` runs one attack and
 * exits with 0 when every wall held, with 1 when something got out (a line for each on stdout), and
 * with 2 when the attack could not be tried at all.
 *
 * Nothing here breaks a host on which the wall is missing: a call that would do harm is given
 * arguments that make it fail for another reason than a wall's.
 */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct attack {
	const char *name;
	int (*run)(int argc, char **argv);
};

extern const struct attack file_attacks[], fd_attacks[], process_attacks[], call_attacks[],
	net_attacks[], ipc_attacks[];

/* Says what got out; counts one. */
int out(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The attack itself is at fault; does not return. */
_Noreturn void broken(const char *what);

/* A number of the command line. */
uint64_t number(const char *text);
