#pragma once

#include "flow/gw.h"

/*
 * Stand-in addresses: each allowed name that was asked for gets one of 198.18.0.0/15 (and one of
 * an IPv6 prefix with the same number), and a connection to it is a connection to that name.
 * Names of rules with a port from 1024 up have theirs before the sandbox starts, because a
 * listener is bound to it; they are pinned. Others come from a bounded table: when it is full, the
 * name that was neither looked up nor connected to for longest goes, unless a connection holds it.
 *
 * A program may still hold the address of a name that went. Until all other addresses of its half of
 * the range had their turn that address stands for nobody, and a connection to it is refused. After
 * that it is second-hand: it carries only what names its server itself, TLS and HTTP, so that a program
 * with the old answer is refused there too and never reaches another host than the one it asked for.
 * A gateway that was started after another one had ended has a share of the other half. When no share
 * is left, all of its addresses but the pinned ones are second-hand.
 */
struct name;

struct names *names_new(const struct gw_config *c, struct err *err);
struct names *names_free(struct names *n);

/* The name's entry, made if there is none; NULL when connections hold all names of the table. */
struct name *names_get(struct names *n, const char *host);
/* The entry a dialled address stands for, or NULL. */
struct name *names_find(struct names *n, const union sockaddr_any *addr);
/* Binds host to this very address for good. */
int names_pin(struct names *n, const char *host, const char *addr);

const char *name_host(const struct name *nm);
void name_v4(const struct names *n, const struct name *nm, struct in_addr *ret);
/* false: there is no IPv6 range. */
bool name_v6(const struct names *n, const struct name *nm, struct in6_addr *ret);
/* Has the address stood for another name before? */
bool name_is_second_hand(const struct name *nm);
/* A connection lives: the entry stays. */
void name_hold(struct names *n, struct name *nm);
void name_release(struct names *n, struct name *nm);
