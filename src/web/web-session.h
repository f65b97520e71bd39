#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "web/level.h"
#include "web/web-request.h"
#include "web/web.h"

#include <stdint.h>

/*
 * The sessions of the hand. A link carries a key of 128 bits, works once and for ten minutes. It
 * becomes a session of two halves: a cookie, which the browser keeps from scripts and sends to every
 * port of this host, and a key, which scripts of our own origin keep and send themselves. Each is
 * worth nothing without the other. Only hashes are kept. Everything ends with the server.
 */
#define SESSIONS_MAX 16
#define LINKS_MAX 8
#define LINK_MS ((uint64_t)10 * 60 * 1000)
#define SESSION_IDLE_MS ((uint64_t)24 * 3600 * 1000)
#define SESSION_LIFE_MS ((uint64_t)7 * 24 * 3600 * 1000)
#define SESSION_ID_LEN 8
#define SESSION_HASH_LEN 32
#define NONCES_MAX 64 /* of one session: acts that were done */
#define NONCE_MAX 40

struct session {
	char id[SESSION_ID_LEN + 1]; /* "": this place is free */
	uint8_t cookie[SESSION_HASH_LEN], key[SESSION_HASH_LEN];
	enum web_level level;
	uint64_t since_ms, seen_ms;	     /* of the caller's clock */
	int64_t since_s;		     /* for people */
	uint64_t acts_ms[WEB_ACTS_A_MINUTE]; /* when the last acts were, a ring */
	size_t next_act;
	char nonces[NONCES_MAX][NONCE_MAX + 1];
	size_t next_nonce;
};

struct session_link {
	uint8_t key[SESSION_HASH_LEN];
	enum web_level level;
	uint64_t until_ms; /* 0: free */
};

struct sessions {
	struct session v[SESSIONS_MAX];
	struct session_link links[LINKS_MAX];
	uint64_t logins_ms[WEB_LOGINS_A_MINUTE]; /* when the last tries were, a ring */
	size_t next_login;
	enum web_level most; /* --read-only: LEVEL_LOOK */
};

/* Makes a link; the oldest goes where there is no room. Fills the key. */
int sessions_link(struct sessions *s, enum web_level level, uint64_t now,
		  char key[REQUEST_HALF_LEN + 1]);
/* Takes the link and makes a session: 200, 403 (no such link), 429. The oldest session goes where
 * there is no room. */
unsigned sessions_login(struct sessions *s, const char *link, uint64_t now,
			char cookie[REQUEST_HALF_LEN + 1], char key[REQUEST_HALF_LEN + 1],
			const struct session **ret);
/* NULL: both halves are not of one session that is still valid. Counts as use. */
struct session *sessions_check(struct sessions *s, const char *cookie, const char *key,
			       uint64_t now);
/* False: the session has had its acts of this minute. */
bool session_may_act(struct session *s, uint64_t now);
/* False: this nonce was used before. */
bool session_new_nonce(struct session *s, const char *nonce);
bool sessions_end(struct sessions *s, const char *id);
/* Fills the ids of all valid sessions, "" for a free place, and returns when the first of them ends by
 * itself; 0: there is none. */
uint64_t sessions_valid(const struct sessions *s, uint64_t now, char ids[][SESSION_ID_LEN + 1]);
/* "own" is the session that asks; NULL: none. */
json_t *sessions_json(const struct sessions *s, const struct session *own, uint64_t now);
