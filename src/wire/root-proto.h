#pragma once

#include "base/err.h"
#include "wire/wire.h"

#include <stdint.h>

/*
 * The file system of a sandbox, as told to a guest that builds it itself: the body of WIRE_ROOT.
 * Its descriptors are files of cgroups, which it enters by writing "0".
 *
 * Started as `guest GUEST_LAUNCH LINE`, the guest makes namespaces of its own (user, pid, ipc, uts,
 * mount), says WIRE_BORN and is root in there; see guest/launcher.h. It goes through the list in
 * order, moves into what came of it, lets go of the host, and is then the user and group named
 * here, in a user namespace that can have no other below it.
 */
#define GUEST_LAUNCH "launch"
/*
 * The guest may also be the entrypoint of a container, started as `guest GUEST_CONTAINER_LINE` by an
 * unprivileged user. It then meets its supervisor at that socket and makes all those namespaces
 * itself, except the pid namespace, which is the container's. The engine mounts the host's paths of
 * the list below GUEST_CONTAINER_HOST, each at its own path; all else is the container's own: its image,
 * its /proc and its devices. The finished root has nothing of GUEST_CONTAINER.
 */
#define GUEST_CONTAINER "/.ralph"
#define GUEST_CONTAINER_HOST GUEST_CONTAINER "/host"
#define GUEST_CONTAINER_NEW_ROOT GUEST_CONTAINER "/new"
#define GUEST_CONTAINER_PROGRAM GUEST_CONTAINER "/guest"
#define GUEST_CONTAINER_LINE GUEST_CONTAINER "/line"
#define GUEST_MOUNTS_MAX 8192

/*
 * What the commands run in. Where it is not the host's kernel, the guest becomes the outer half of
 * two: its own root has devices, a /proc and the list below GUEST_TREE, without those two; it starts
 * `program`, which runs the inner half as `guest GUEST_WITHIN LINE` on a kernel of its own. Frames go
 * through the outer half (guest/kernel/outer.h). The inner one is told the user and the rows that it shall
 * try to move, and then its set-up, in the same frames.
 */
enum guest_inside {
	GUEST_INSIDE_NONE,
	GUEST_INSIDE_GVISOR,
	GUEST_INSIDE_VM,
	GUEST_INSIDE_N,
};
#define GUEST_WITHIN "within"
#define GUEST_TREE "/tree"
#define GUEST_PROGRAM "/program" /* read-only; its own files are in GUEST_PRIVATE */
#define GUEST_PRIVATE "/private"
#define GUEST_APART GUEST_PRIVATE "/apart" /* see guest/kernel/apart.h */

enum guest_mount_kind {
	GUEST_BIND_RO, /* the host's `source` at target, with all that is mounted below it */
	GUEST_BIND_RW,
	GUEST_TMPFS, /* of that size (0: the kernel's own limit) and mode */
	GUEST_PROC,  /* of this pid namespace */
	GUEST_DEVICES, /* null, zero, full, random, urandom, tty and terminals of its own; source "kvm": that too */
	GUEST_SYMLINK,	/* with the text `source` */
	GUEST_FILE,	/* with the content `source` */
	GUEST_COPY,	/* of the host's file `source`, as it is now */
	GUEST_DIR,	/* with that mode */
	GUEST_MASK,	/* a file is covered by one that nobody can open */
	GUEST_MASK_DIR, /* a directory is covered by an empty one */
	/*
	 * The next rows concern files that an agent may have written and another process may be
	 * changing now: no link is followed, and nothing is made.
	 */
	GUEST_PIN,	  /* target is bound on itself, so that it stays there */
	GUEST_PROTECT,	  /* the same, read-only */
	GUEST_HIDE,	  /* a file, if it is there, is covered by one that nobody can open */
	GUEST_REMOUNT_RO, /* target is read-only from then on */
	/* The container's image, read-only; later rows replace parts of it. */
	GUEST_IMAGE,
	GUEST_MOUNT_N,
};

struct guest_mount {
	enum guest_mount_kind kind;
	const char *source; /* "" where there is none */
	const char *target;
	uint32_t mode;
	uint64_t size;
};

struct guest_root {
	const char *hostname;
	uint32_t uid, gid;
	enum guest_inside inside;
	const char *program; /* of the host, "" where `inside` needs none */
	struct guest_mount *mounts;
	size_t n_mounts;
};

void guest_root_put(struct buf *b, const struct guest_root *root);
/* The array belongs to *ret until guest_root_done(), the strings to the message. */
int guest_root_get(const struct wire_msg *m, struct guest_root *ret, struct err *err);
void guest_root_done(struct guest_root *root);

#define cleanup_guest_root cleanup_(guest_root_done)
