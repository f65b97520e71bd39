#pragma once

#include "gateway/gw.h"

struct listener {
	struct gw *gw;
	struct ev_io io;
	struct gw_listener row;
	union sockaddr_any at; /* AF_UNSPEC: any address, each connection knows its own */
};

int listeners_start(struct gw *gw, struct err *err);
/* Below the maximum again: accept. */
void listeners_resume(struct gw *gw);
void listeners_pause(struct gw *gw);
