#pragma once

#include "wire/root-proto.h"
#include "wire/wire.h"

/*
 * A sandbox in a container on another machine, or in a virtual one, whose engine sees the same
 * files. No descriptor crosses that border, so a second container beside the sandbox's, the
 * outpost, holds on its side what would have crossed: it meets the guest, keeps the guest's
 * listeners, and takes the streams of commands from runs of `outpost attach`, which the engine's
 * own program connects with ours.
 *
 *	supervisor ── frames ── remote line (a fork) ── bytes ── ENGINE start -ai ── outpost
 *	         └ ENGINE exec ── stdio ── outpost attach ── descriptors ──┘     └ frames ── guest
 *	gateway ◄── a port of this machine, a token ── outpost ── accepts on the guest's listeners
 *
 * Neither side of it can make the sandbox wider: what the guest is told comes from the supervisor,
 * frame by frame, and what leaves is decided by the gateway, as everywhere.
 */

/*
 * A directory of both containers, which is neither's: programs of ours, and the guest's line. It is
 * named as if the host had it there, so that rows of the root's list can name it.
 */
#define REMOTE_PLACE "/.far"
#define REMOTE_DIR GUEST_CONTAINER_HOST REMOTE_PLACE
#define REMOTE_GUEST REMOTE_DIR "/guest"
#define REMOTE_OUTPOST REMOTE_DIR "/outpost"
#define REMOTE_LINE REMOTE_DIR "/line"

/* The steps of an outpost's start. */
enum remote_step { REMOTE_WAITS, REMOTE_MET, REMOTE_STEP_N };

/*
 * Frames over a byte stream. In place of descriptors, which stay behind, WIRE_SPAWN with
 * WIRE_EXEC_PROGRAM has the program's content in *program.
 */
#define REMOTE_PROGRAM_MAX (16 * MiB)
int remote_send(int fd, enum wire_type type, uint32_t id, const struct buf *body,
		const struct buf *program);
/* Blocks until all of it is there: 1, 0 at end of stream, -EPROTO. m and program are made anew. */
int remote_recv(int fd, struct wire_msg *m, struct buf *program);

/*
 * The first bytes of a connection that the outpost passes on. The token is the sandbox's, made at
 * each start; it is known to the supervisor, the gateway and the outpost alone.
 */
#define REMOTE_TOKEN_LEN 64 /* hex digits */

struct remote_hello {
	char token[REMOTE_TOKEN_LEN];
	uint16_t row; /* the guest's listener, in the order of its set-up */
	bool v6;
	uint8_t addr[16]; /* the address dialled inside; the first 4 bytes for IPv4 */
	uint16_t port;
};

#define REMOTE_HELLO_LEN (8 + REMOTE_TOKEN_LEN + 2 + 1 + 16 + 2)
void remote_hello_put(uint8_t *out, const struct remote_hello *h);
/* Could these first n bytes become one? */
bool remote_hello_may(const uint8_t *in, size_t n);
/* -EPROTO: these REMOTE_HELLO_LEN bytes are none. The token is the caller's to compare. */
int remote_hello_get(const uint8_t *in, struct remote_hello *ret);
