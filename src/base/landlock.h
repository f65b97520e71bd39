#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * Landlock: a process gives up files that its user could still open. Files that no rule allows are
 * forbidden once the ruleset is entered, for the process and for its children. The kernel resolves
 * a path when it is opened, so links lead nowhere.
 *
 * The kernel's interface up to ABI 9, whatever the headers at hand know of it.
 */
enum landlock_rights {
	LANDLOCK_EXECUTE = 1 << 0,
	LANDLOCK_WRITE_FILE = 1 << 1,
	LANDLOCK_READ_FILE = 1 << 2,
	LANDLOCK_READ_DIR = 1 << 3,
	LANDLOCK_REMOVE_DIR = 1 << 4,
	LANDLOCK_MAKE_CHAR = 1 << 6,
	LANDLOCK_MAKE_DIR = 1 << 7,
	LANDLOCK_MAKE_BLOCK = 1 << 11,
	LANDLOCK_ABI_1 = (1 << 13) - 1,
	LANDLOCK_REFER = 1 << 13,	 /* ABI 2 */
	LANDLOCK_TRUNCATE = 1 << 14,	 /* ABI 3 */
	LANDLOCK_IOCTL_DEV = 1 << 15,	 /* ABI 5 */
	LANDLOCK_RESOLVE_UNIX = 1 << 16, /* ABI 9 (Linux 7.1) */

	LANDLOCK_READ = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
	/* write, and read, make, move, remove; no devices, and no execution */
	LANDLOCK_WRITE =
		(LANDLOCK_ABI_1 & ~(LANDLOCK_EXECUTE | LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK)) |
		LANDLOCK_REFER | LANDLOCK_TRUNCATE,
};

/* Rights that are given up beside files, as far as the kernel can. */
enum landlock_more {
	LANDLOCK_NO_ABSTRACT_SOCKETS = 1 << 0, /* ABI 6 */
	LANDLOCK_NO_SIGNALS = 1 << 1,	       /* to others; ABI 6 */
	LANDLOCK_NO_TCP_LISTENING = 1 << 2,    /* ABI 4 */
};

struct landlock {
	int abi; /* 0: no Landlock, and the calls below do nothing */
	int fd;
};

/* Of this kernel; 0 where it has none. */
int landlock_abi(void);

/* abi: landlock_abi(), or 0 to go without. more: of enum landlock_more. 0 or -errno. */
int landlock_begin(struct landlock *l, int abi, unsigned more);
/* Rights that a file cannot have, or this kernel does not know, are left out. -EBADFD: fd has no
 * place in a tree (a memory file). */
int landlock_allow_fd(const struct landlock *l, int fd, uint64_t rights);
/* 0 also where there is nothing at that path. */
int landlock_allow(const struct landlock *l, const char *path, uint64_t rights);
/* For a process that has no_new_privs already. Releases nothing. */
int landlock_enter(const struct landlock *l);
/* Sets no_new_privs and enters; releases l in any case. */
int landlock_enforce(struct landlock *l);
/*
 * Connections to unix sockets by path end at sockets that this process and its children made after
 * this, and at no other. All of them together: a domain that one of them enters later changes nothing
 * about it. Nothing else is given up. For a process that has no_new_privs already; below ABI 9 it does
 * nothing. 0 or -errno.
 */
#define LANDLOCK_ABI_OWN_SOCKETS 9
int landlock_own_sockets(int abi);
void landlock_end(struct landlock *l);
#define cleanup_landlock cleanup_(landlock_end)
