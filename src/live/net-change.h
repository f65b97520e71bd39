#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * `ralph net allow`, `deny` and `rm`: rules that people keep beside their configuration. A change
 * is checked, written to the scope's file, and given to every live sandbox that the file counts
 * for. One change at a time: what a sandbox got last is what the files say.
 */
/* In the state: each change holds it, so whoever watches for the end of writing to it hears of all. */
#define NET_CHANGE_LOCK "network.lock"

enum net_scope {
	NET_SCOPE_USER,
	NET_SCOPE_PROJECT,
	NET_SCOPE_SANDBOX,
	NET_SCOPE_ONCE, /* a live sandbox, until it stops */
	NET_SCOPE_LOOP, /* a loop with its workers */
	NET_SCOPE_N
};
enum net_verb { NET_ALLOW, NET_DENY, NET_DROP };

struct net_change {
	const struct places *places;
	char *const *environ; /* for groups */
	enum net_verb verb;
	enum net_scope scope;
	const char *sandbox;   /* NET_SCOPE_SANDBOX, NET_SCOPE_ONCE: its name */
	const char *instance;  /* of the current directory; NULL: it is no workspace */
	const char *workspace; /* the same */
	const char *loop;      /* NET_SCOPE_LOOP: as in its sandboxes' specs */
	uint64_t until;	       /* seconds since 1970: it ends by itself; 0: it stays */
	char *const *patterns;
	size_t n_patterns;
};

struct net_changed {
	struct strv patterns;  /* as they were written down */
	struct strv sandboxes; /* live ones, where it holds already */
	struct strv notes;     /* sentences: what does not hold yet, and why */
};

/*
 * A bad pattern is an error before anything is written. A live sandbox that does not take its rules
 * is an error too, after the others were tried; the files keep the change.
 */
int net_change(const struct net_change *c, struct net_changed *ret, struct err *err);
void net_changed_done(struct net_changed *c);

/* Gives a live sandbox the rules of the files, in case it started or they were edited meanwhile. */
int net_catch_up(const struct places *p, char *const *host_env, const char *name, struct err *err);

const char *net_scope_name(enum net_scope s); /* "user" … */
