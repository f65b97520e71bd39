#pragma once

#include "base/buf.h"
#include "base/ev.h"
#include "web/frames.h"
#include "web/web-request.h"
#include "web/web-serve.h"

/*
 * DOC: Theory of operation
 *
 * One connection of a browser.
 *
 *	HEAD ──► HAND ──► DESK ──► WRITE ──► HEAD …        a request of the API
 *	   └──► WRITE                                       a file of the page, a refusal
 *	            DESK ──► STREAM                         until one side ends it
 *
 *	HEAD    a request arrives, its body too; WEB_HEAD_MS from the end of the one before
 *	HAND    the hand judges the session, or acts; WEB_ASK_MS
 *	DESK    desk reads; WEB_ASK_MS
 *	WRITE   the answer goes out; WEB_WRITE_MS from the last byte that was taken
 *	STREAM  answers of desk go out, one at a time; a comment each WEB_BEAT_MS
 *
 * conn_go() alone changes the state. While a request is worked on nothing more is read; requests
 * that were sent behind it wait in the kernel.
 */
enum web_conn_state { WEB_HEAD, WEB_HAND, WEB_DESKED, WEB_WRITE, WEB_STREAMS, WEB_CONN_N };

struct web_conn {
	struct web *web;
	struct web_conn *next;
	struct ev_io io;
	struct ev_timer limit;
	struct ev_defer free;
	enum web_conn_state state;
	struct buf in, out;
	size_t sent;	    /* bytes of out */
	uint32_t id;	    /* of the question that is open; 0: none */
	char session[16];   /* id of the session, once the hand has said it; "": none */
	struct route route; /* of the request */
	char *path, *body;  /* what desk is asked */
	size_t n_body;
	size_t taken; /* bytes of in that the request has */
	bool close, closed;
	bool pending; /* HEAD: bytes of the next request are in `in` already */
	bool owes;    /* STREAM: desk waits to hear that its last answer was taken */
	struct http1_head head;
};

void conn_open(struct web *w, int fd);
void conn_close(struct web_conn *c);
/* The answer to the question of this connection. */
void conn_answer(struct web_conn *c, const struct web_answer *a);
/* Makes room: closes the oldest connection that has no session. false: there is none. */
bool conn_evict(struct web *w);
