#pragma once

/*
 * ROOM: live
 *
 * The command line's side of a live sandbox: starting, joining, ending, copying. The process beside
 * the sandbox is in supervisor.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "live/prestart.h"
#include "record/connect.h"
#include "record/places.h"
#include "spec/spec.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* A command line's side of a live sandbox. */

enum live_flags {
	LIVE_KEEP = 1 << 0,   /* the sandbox stays up without commands */
	LIVE_REMOVE = 1 << 1, /* the sandbox is removed when it ends */
	LIVE_WIDER = 1 << 9,  /* may join a live sandbox with more hosts and mounts, and is told */
			      /* With LIVE_KEEP, for the record: the bits of WIRE_EXEC_CONSENT. */
};

/*
 * The sandbox that is about to be asked for has this name: its supervisor can load while the spec
 * is made. *conn is the connection to one that was begun before, which is told, or -1; it is closed
 * where there seems to be a live sandbox. Closing it ends what was begun.
 */
void live_prestart(int *conn, const struct places *p, const char *name);

/*
 * Connects to the sandbox of this spec, starting it when it is not live. One that is live with
 * other settings is an error that names the first difference. The connection's first frame may be
 * sent at once. -EAGAIN: it ended or was removed just now; try again. prestarted is taken where
 * a new supervisor is needed.
 */
int live_start(const struct places *p, const struct sandbox_spec *spec, enum live_flags flags,
	       int *prestarted, int *ret, struct err *err);

/* Waits until a sandbox that live_start() started or found is up. */
int live_wait_up(int conn, const char *name, struct err *err);
/*
 * Starts a sandbox and waits until it is up; tries again if it ended in between. The sandbox stays
 * up at least as long as the connection.
 */
int live_start_up(const struct places *p, const struct sandbox_spec *spec, enum live_flags flags,
		  int *ret, struct err *err);

/* The sandbox stays up without this connection from now on; consent: of enum live_flags. */
int live_keep(int conn, const char *name, uint32_t consent, struct err *err);

/* Ends everything in NAME (commands get grace_ms) and waits for it; 0 when it was not live. */
int live_stop(const struct places *p, const char *name, uint32_t grace_ms, struct err *err);
/* Removes NAME; a live one only with force. usage: what it used is kept; a loop keeps its log. */
int live_remove(const struct places *p, const char *name, bool force, bool usage, struct err *err);

/* Ports of a live sandbox on the host's loopback. *ret: {"ports": [{"host", "inside"}]}, NULL when
 * it is not live. */
int live_ports(const struct places *p, const char *name, enum wire_ports_verb verb, uint16_t host,
	       uint16_t inside, json_t **ret, struct err *err);

/* Asks one question that WIRE_INFO answers; *ret is NULL when the sandbox is not live. */
int live_ask(const struct places *p, const char *name, enum wire_type type, const struct buf *body,
	     json_t **ret, struct err *err);

/*
 * Adds an event of the host to NAME's log, through its supervisor where it is live, else under its
 * record's locks. Takes details (NULL: none), at most 64 KiB of JSON; the record says that it is
 * the host's. type: [a-z][a-z0-9-]*, at most 40.
 */
int live_event(const struct places *p, const char *name, const char *type, json_t *details,
	       struct err *err);

/* Asks the supervisor for its state; *ret is NULL when the sandbox is not live. */
int live_inspect(const struct places *p, const char *name, json_t **ret, struct err *err);

/*
 * Gives a live sandbox all its network rules anew. *ret is NULL when it is not live, else an
 * object: "after_restart", what will be reached without a proxy only after the next start
 * (["name:5432", "port 22"]); "ended", whether its gateway has ended; "tier".
 */
int live_net(const struct places *p, const char *name, const struct net_policy *net, json_t **ret,
	     struct err *err);
