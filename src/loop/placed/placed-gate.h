#pragma once

#include "loop/loop.h"
#include "wire/fleet.h"

/*
 * DOC: Theory of operation
 *
 * Connections that home makes for its placed workers. One edge and one gateway serve all of them, the programs that
 * serve a sandbox of this machine, confined as there: the edge judges names and addresses by home's rules and
 * dials, the gateway adds keys that are used at home. This process opens no connection. It hands the edge one
 * end of a socket pair for each tunnel (GW_MEET), so nothing listens anywhere, and copies bytes.
 *
 *	stream ── tunnel ── socket pair ── edge ── CONNECT ─► server            FLEET_OPEN_HOST
 *	                                     └─ gateway ── key ─► provider      FLEET_OPEN_ROUTE
 *
 * The edge is started with the first tunnel; gateway, reader and credential helper with the first connection that the
 * edge hands on. When one of them ends, all end, and with them the tunnels; the next tunnel starts them again, but
 * after GATE_QUICK_MAX quick ends there are no tunnels any more.
 */
#define GATE_QUICK_MAX 8

struct placed_gate;

/* A connection to the edge, non-blocking: for CONNECT, or to the endpoints. */
int placed_gate_meet(struct loop *l, enum fleet_open_kind kind, int *ret, struct err *err);
void placed_gate_free(struct loop *l);
/* The phantom that home's gateway takes for this credential; NULL: there is none. */
const char *placed_gate_phantom(struct loop *l, const char *credential);
/* Starts one of ralph's programs with a line to it on HELPER_FD. */
int placed_program(const struct loop *l, const char *name, struct child *ret, int *ret_sock,
		   struct err *err);
