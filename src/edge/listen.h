#pragma once

#include "flow/gw.h"

struct listener {
	struct gw *gw;
	struct ev_io io;
	struct gw_listener row;
	union sockaddr_any at; /* AF_UNSPEC: any address, each connection knows its own */
};

/* A connection to it, which may be over before this returns. Takes fd; dialled: see edge_accept(). */
void listener_serve(const struct listener *l, int fd, const union sockaddr_any *dialled);
/* Takes the connection of GW_MEET; -EPROTO: the frame is malformed. */
int listener_meet(struct gw *gw, struct wire_msg *m);
int listeners_start(struct gw *gw, struct err *err);
/* Below the maximum again: accept. */
void listeners_resume(struct gw *gw);
void listeners_pause(struct gw *gw);
