#pragma once

#include "gateway/gw.h"

/*
 * Stand-in addresses: each allowed name that was asked for gets one of 198.18.0.0/15 (and one of
 * an IPv6 prefix with the same number), and a connection to it is a connection to that name.
 * Names of rules with a port from 1024 up have theirs before the sandbox starts, because a
 * listener is bound to it; they are pinned. Others come from a bounded table: when it is full the
 * one that was unused longest goes, unless a connection holds it or it was used just now. Its
 * address is not given out again before all others had their turn.
 */
struct name;

struct names *names_new(const struct gw_config *c, struct err *err);
struct names *names_free(struct names *n);

/* The name's entry, made if there is none; NULL when the table is full of names in use. */
struct name *names_get(struct names *n, const char *host, uint64_t now);
/* The entry a dialled address stands for, or NULL. */
struct name *names_find(struct names *n, const union sockaddr_any *addr);
/* Binds host to this very address for good. */
int names_pin(struct names *n, const char *host, const char *addr);

const char *name_host(const struct name *nm);
void name_v4(const struct names *n, const struct name *nm, struct in_addr *ret);
/* false: there is no IPv6 range. */
bool name_v6(const struct names *n, const struct name *nm, struct in6_addr *ret);
/* A connection lives: the entry stays. */
void name_hold(struct name *nm);
void name_release(struct name *nm, uint64_t now);
