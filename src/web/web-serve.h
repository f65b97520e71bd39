#pragma once

#include "base/buf.h"
#include "base/ev.h"
#include "web/web-request.h"
#include "web/web-route.h"
#include "web/web.h"

/*
 * The process that faces browsers. It has the listener, two sockets to hand and desk, and the files
 * of the page in memory; no path, no program and no new socket is in its reach.
 */
struct web {
	struct ev *ev;
	struct ev_io listener, hand, desk;
	struct ev_timer again; /* after accept(2) has failed */
	struct request_rules rules;
	struct buf files[ROUTE_FILES];
	struct web_conn *conns;
	size_t n_conns;
	uint32_t last_id;
};

/* Begins to serve; the descriptors are those of web.h. */
int web_start(struct web *w, struct err *err);
