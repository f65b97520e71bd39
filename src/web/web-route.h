#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The paths of the server. A path that is in no row is refused, and so is one whose parts do not
 * have the form that the row says: names of sandboxes, keys that desk gave out, numbers. No part is
 * ever a path of the file system. Pure; web and desk both use it.
 */
enum route_id {
	ROUTE_NONE,
	ROUTE_PAGE, /* a file of the page: file says which */
	ROUTE_LOGIN,
	ROUTE_LOGOUT,
	ROUTE_ACT,
	ROUTE_STREAM,
	ROUTE_SESSIONS,
	/* from here on answered by desk */
	ROUTE_OVERVIEW,
	ROUTE_LOOP,   /* key */
	ROUTE_LOG,    /* key, number, at, before, n */
	ROUTE_CHECKS, /* key, number: what verified an iteration */
	ROUTE_NET,    /* name */
	ROUTE_EVENTS, /* name, at: after this number */
	ROUTE_VERIFY, /* name */
	ROUTE_USAGE,
	ROUTE_QUARANTINE,
	ROUTE_HELD, /* key: one of the quarantine */
	ROUTE_ASKS,
	ROUTE_ASK, /* key: its id */
	ROUTE_ID_N,
};

#define ROUTE_WORD_MAX 63
#define ROUTE_KEY_LEN 16
#define ROUTE_TAIL UINT64_MAX /* at: from the end */

struct route {
	enum route_id id;
	unsigned file;		       /* ROUTE_PAGE */
	char word[ROUTE_WORD_MAX + 1]; /* a name or a key */
	uint64_t number;
	uint64_t at, before, n; /* of the query; before: 0: none */
};

/* A file of the page, in the order of `file`. */
struct route_file {
	const char *path, *name, *type;
};
#define ROUTE_FILES 4
extern const struct route_file route_files[ROUTE_FILES];

/* Returns 0, 404, or 405 where the path is there for another method. */
int route_find(bool post, const char *path, size_t n, struct route *ret);
/* The same for a topic of a stream: "overview", "events/NAME", "log/KEY/N". */
bool route_topic(const char *topic, struct route *ret);
