#pragma once

/*
 * ROOM: guest
 *
 * pid 1 of a sandbox and its parts, linked statically. It runs inside, so nothing secret ever
 * enters it.
 */

#include "guest/domain.h"
#include "wire/guest-proto.h"
#include "wire/root-proto.h"

/* The state of pid 1 after the set-up; minders and payloads get their copy by fork. */
struct guest {
	int sock;	   /* to the supervisor */
	int proc_fd;	   /* /proc, seen to be procfs before anything ran here */
	int pts_fd;	   /* /dev/pts, likewise; -1 when there is none */
	unsigned uid, gid; /* of commands, in the inner half */
	bool within; /* the inner half: descriptors were judged outside, terminals come as bytes */
	struct guest_setup setup;
	int logins[GUEST_LOGINS_MAX]; /* the files of setup.logins: see login.h */
	struct domain_base domain;
};

/* Sends WIRE_ERROR; a peer that is gone shows at the next receive. */
void guest_send_error(int sock, uint32_t id, int eno, const struct err *err);
/* A frame whose body is one number. */
void guest_send_u32(int sock, enum wire_type type, uint32_t id, uint32_t value, const int *fds,
		    size_t n_fds);

/* Serves frames until the supervisor is gone. */
void serve(const struct guest *g);
