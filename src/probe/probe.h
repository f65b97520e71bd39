#pragma once

/*
 * ROOM: probe
 *
 * The self-test's attacks from inside, and what must work there. It knows no spec: the rows it
 * is given say what is to be tried.
 */

#include "base/mem.h"

#include <stdint.h>

/*
 * The attacks that a program inside a sandbox can try, as system calls, and the things that must
 * work there. `probe NAME ARG…` runs one attack and exits with 0 when every wall held, with 1 when
 * something got out (a line for each on stdout), and with 2 when the attack could not be tried at
 * all. `probe suite` runs many, see suite.c.
 *
 * Nothing here breaks a host on which the wall is missing: a call that would do harm is given
 * arguments that make it fail for another reason than a wall's, and a call that succeeds is undone.
 */
#define PROBE_HELD 0
#define PROBE_OUT 1
#define PROBE_BROKEN 2
#define PROBE_ABSENT 3 /* of a thing that must work: not installed */

struct attack {
	const char *name;
	int (*run)(int argc, char **argv);
};

extern const struct attack file_attacks[], fd_attacks[], process_attacks[], call_attacks[],
	net_attacks[], ipc_attacks[], host_attacks[], mount_attacks[], proxy_attacks[], works[];

/* NULL when there is none of that name. */
const struct attack *attack_find(const char *name);

/* Says what got out; counts one. */
int out(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The attack itself is at fault; does not return. */
void broken(const char *what) __attribute__((noreturn));

/* A number of the command line. */
uint64_t number(const char *text);

/* The whole file, or nothing; the buffer is made here. */
struct buf;
void slurp(const char *path, struct buf *b, size_t max);

/* files.c: everything that makes an entry in a directory or changes a file; counts what worked. */
int unwritable_one(const char *path);

/* suite.c: reads rows from stdin, runs each in a process of its own, prints what came of it. */
int suite(void);
