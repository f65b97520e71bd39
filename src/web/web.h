#pragma once

/*
 * ROOM: web
 *
 * `ralph web`: a page for a browser, served by three processes. `web` has the connections and no
 * file, `desk` reads and can write nothing, the hand (`ralph web` itself) has the sessions and runs
 * commands of a fixed table. Text of agents passes through as JSON strings and is never HTML.
 * docs/internals/web.md has the whole.
 */

#include "base/mem.h"

/* Limits of one server. */
#define WEB_CONNS_MAX 32	 /* connections at once */
#define WEB_SESSION_CONNS_MAX 8	 /* of one session */
#define WEB_BODY_MAX (64 * KiB)	 /* of a request */
#define WEB_ANSWER_MAX (2 * MiB) /* of an answer: a frame's body */
#define WEB_FILE_MAX (64 * KiB)	 /* of one file of the page */
#define WEB_HEAD_MS 10000	 /* for a request to arrive, or between two of them */
#define WEB_ASK_MS 150000	 /* for an answer of hand or desk; an act takes less */
#define WEB_WRITE_MS 30000	 /* without a byte taken by the browser */
#define WEB_BEAT_MS 15000	 /* between signs of life on a stream */
#define WEB_ACTS_A_MINUTE 30
#define WEB_LOGINS_A_MINUTE 5
#define WEB_PORT 8400

/* The descriptors that web and desk are started with. */
#define WEB_HAND_FD 3	/* frames, to the hand */
#define WEB_OTHER_FD 4	/* frames between web and desk */
#define WEB_LISTEN_FD 5 /* web: the listener, or frames of web-tls; web-tls: the listener */
