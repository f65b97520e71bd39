#pragma once

#include "base/buf.h"
#include "wire/wire.h"

/*
 * The frames between web, desk and hand, in the codec of wire/wire.h. A request carries an id of its
 * sender's, which the answer repeats.
 *
 *	web → hand    WEB_ASK (LOGIN, CHECK, ACT, SESSIONS, VIEW, LOGOUT) ← WEB_ANSWER
 *	web → desk    WEB_ASK (GET, STREAM, MORE, END)                ← WEB_ANSWER
 *	hand → desk   WEB_ASK (RESOLVE)                               ← WEB_ANSWER
 *	desk → hand   WEB_ASK (ALIVE)                                 ← WEB_ANSWER
 *	hand → web    WEB_DESK, with the socket of a new desk; WEB_REVOKED, str session
 *	web-tls → web WEB_CONN, with a connection whose bytes came by TLS
 *
 * A stream gets one answer at a time: desk sends the next one after MORE, which web sends when the
 * browser has taken the last. So nobody keeps a queue for a browser that does not read.
 */
enum web_frame {
	WEB_ASK = WIRE_WEB_FIRST,
	WEB_ANSWER,
	WEB_DESK,
	WEB_REVOKED,
	WEB_CONN,
};

enum web_kind {
	WEB_LOGIN,    /* key: of the link */
	WEB_CHECK,    /* → {"session", "level"} */
	WEB_ACT,      /* body: the request's */
	WEB_SESSIONS, /* → the list */
	WEB_VIEW,     /* path: of the API → what a command says */
	WEB_LOGOUT,
	WEB_GET,     /* path: of the API, with its query */
	WEB_STREAM,  /* body: {"topics": {…}} */
	WEB_MORE,    /* the last answer of this id was taken */
	WEB_END,     /* nobody reads this id any more */
	WEB_RESOLVE, /* path: VERB/ID → {"seen", "args"} */
	WEB_ALIVE,   /* path: the name of a sandbox → what its supervisor says; 404: not live */
	WEB_KIND_N,
};

struct web_ask {
	enum web_kind kind;
	const char *cookie, *key; /* both halves of a session; "" where none is needed */
	const char *path;
	const char *body;
	size_t n_body;
};

struct web_answer {
	uint32_t status;    /* of HTTP */
	const char *cookie; /* LOGIN: the new one; "" otherwise */
	const char *body;   /* JSON */
	size_t n_body;
};

/* 0, or -errno of wire_send(). */
int web_send_ask(int sock, uint32_t id, const struct web_ask *a);
int web_send_answer(int sock, uint32_t id, const struct web_answer *a);
/* The strings are the message's. 0 or -EPROTO. */
int web_get_ask(const struct wire_msg *m, struct web_ask *ret);
int web_get_answer(const struct wire_msg *m, struct web_answer *ret);
