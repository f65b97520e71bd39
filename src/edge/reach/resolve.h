#pragma once

#include "flow/gw.h"
#include "policy/addr.h"

/*
 * Names to addresses by getaddrinfo(3), which honours the host's nsswitch and split DNS but
 * blocks: so it runs in other processes. resolver_start() forks the helper before the gateway
 * isolates itself; the helper keeps up to LOOKUP_WORKERS workers, kills one that misses its
 * deadline, and ends with the gateway. A name gets here only after policy allowed it.
 */
struct lookup;
typedef void lookup_fn(struct lookup *l, int error, const struct ip *addrs, size_t n);

struct lookup { /* embedded; zeroed before lookup_start() */
	struct gw *gw;
	uint32_t id; /* 0: not running */
	lookup_fn *fn;
	struct lookup *next;
	const char *name; /* the caller's, until fn is called */
};

int resolver_start(struct gw *gw, struct err *err);
/* Registers the helper's socket; after the event loop is there. */
int resolver_attach(struct gw *gw, struct err *err);

/* fn is called later, never from here; error is 0 or an EAI_ number. -EBUSY: LOOKUPS_MAX. */
int lookup_start(struct gw *gw, struct lookup *l, const char *name, lookup_fn *fn);
/* The answer of a look-up a moment ago (LOOKUP_KEEP_MS), or 0 addresses. The caller judges each
 * address anew: what is kept is what the resolver said, not what policy thought of it. */
size_t lookup_known(struct gw *gw, const char *name, struct ip ret[static ADDRS_MAX]);
/* fn will not be called. */
void lookup_cancel(struct lookup *l);
