#pragma once

#include "vm/mux.h"

/*
 * The program of a virtual machine, at both of its ends:
 *
 *	vm line WAY PIDS MEMORY QEMU …   in the native sandbox around it, a command like any other: starts
 *	                    QEMU, with a machine that was kept if WAY is one (else "-")
 *	                    Its stdin is a wire socket.
 *	/init               in the machine, its first process
 *
 *	supervisor ── frames ── a fork of the engine ── frames ── vm line ── bytes ── QEMU
 *	         ┌── guest ── frames, descriptors ── /init ── bytes ── /dev/vport0p1 ──┘
 *
 * The guest in the machine is the one of every native sandbox: it makes namespaces of its own, and
 * its listeners are handed to /init, which has each connection made again outside, to the same
 * address: there the gateway listens. The machine has no network device.
 */

/* The tree that the machine sees, in the sandbox around it and in the machine; its name for 9p. */
#define VM_TREE "/t"
#define VM_TAG "root"
/* A kept machine waits to be woken with this: the time, randomness, limits. */
#define VM_RANDOM 32
#define VM_DATAGRAM_MAX 4096
#define VM_GUEST "/guest"
#define VM_MODULES "/m"

struct vm_wake {
	uint64_t seconds;
	uint32_t nanoseconds;
	const char *random;    /* VM_RANDOM bytes */
	uint64_t pids, memory; /* 0: no limit */
};

void vm_wake_put(struct buf *b, const struct vm_wake *w);
int vm_wake_get(const struct wire_msg *m, struct vm_wake *ret);

/* An address as frames have it: a struct sockaddr_in or _in6, in a sockaddr_storage. */
int vm_address_get(struct wire_reader *r, void *ret_sockaddr, unsigned *ret_len);
void vm_address_put(struct buf *b, const void *sockaddr);

int vm_line(int argc, char **argv);
int vm_init(void);
