#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Landlock: a process gives up files that its user could still open. What is not allowed below is
 * forbidden once landlock_enforce() has been called, for it and for its children: also running
 * programs, which nothing here allows. Where a path lies is decided when it is opened, by the
 * kernel, so links lead nowhere.
 */
enum landlock_access {
	LANDLOCK_READ,
	LANDLOCK_WRITE, /* and read, make, move, remove; no devices */
};

struct landlock {
	int abi; /* 0: the kernel has none, and the calls below do nothing */
	int fd;
};

/* 0 or -errno. Abstract sockets and signals to others are given up too, as far as the kernel can.
 */
int landlock_begin(struct landlock *l);
/* 0 also where there is nothing at that path. */
int landlock_allow(struct landlock *l, const char *path, enum landlock_access access);
/* Releases l in any case. */
int landlock_enforce(struct landlock *l);
