#pragma once

#include "flow/gw.h"
#include "flow/stream.h"
#include "flow/super.h"
#include "policy/policy.h"

struct exchange;
struct h2;
struct h2_up;
struct refusal;

/*
 * DOC: Theory of operation
 *
 * A connection from the sandbox and, at times, one to a server. conn_go() is the only writer of
 * its state; the program's table gives each state its deadline and the function that runs when
 * one of the two sockets has something. A state that waits for an answer (look-up, dial, leaf,
 * credential) is left by that answer's callback.
 *
 *	edge
 *	proxy port   first → socks → …                      SOCKS5
 *	             first → head → …                       CONNECT
 *	             first → pass                           HTTP
 *	transparent  decided at once by the dialled address
 *	opaque       … → lookup → dial (→ via) → tunnel     ClientHello is checked in the tunnel
 *	inspected    … → hello → pass                       the gateway has it from there
 *	an address   … → hello → opaque or inspected        where it needs a name: named.c
 *
 *	gateway
 *	inspected    leaf → accept → head → …               TLS ends here
 *	HTTP/2       … accept (→ offer → accept) → h2        each stream is a conn of its own, from head on
 *	a request    head (→ credential) → dial (→ secure) → exchange → head
 *	             with a credential also: see gateway/exchange/inject.h
 *	an ask       head → asks                            what the agent asks a person for
 *
 *	refused      … → closing, or a reset
 *
 * Policy sees a host once as struct host; the dial uses those bytes. A conn is freed in its
 * deferred callback, after conn_end() made it dead.
 */
enum conn_state {
	CONN_FIRST,
	CONN_SOCKS,
	CONN_HEAD,
	CONN_HELLO,
	CONN_PASS,
	CONN_LEAF,
	CONN_ACCEPT,
	CONN_OFFER,
	CONN_H2,
	CONN_CREDENTIAL,
	CONN_BUDGET,
	CONN_BODY,
	CONN_ASKS,
	CONN_LOOKUP,
	CONN_DIAL,
	CONN_VIA,
	CONN_SECURE,
	CONN_TUNNEL,
	CONN_EXCHANGE,
	CONN_CLOSING,
	CONN_DEAD,
	CONN_N,
};

/* The protocol in which success and refusal are told. SPEAKS_DIAL: the gateway has asked for a
 * connection to a server, and there is no client. */
enum conn_speaks {
	SPEAKS_RESET,
	SPEAKS_CONNECT,
	SPEAKS_SOCKS,
	SPEAKS_HTTP,
	SPEAKS_TLS,
	SPEAKS_DIAL,
};

struct conn {
	struct gw *gw;
	struct conn *prev, *next;
	enum conn_state state;
	const char *why; /* it came to this state: for a debugger */
	enum conn_speaks speaks;
	struct ev_timer timer; /* of the state; may be early: `due` is what counts */
	uint64_t due;	       /* ms; 0: never */
	struct ev_timer again; /* more to do without an event: fairness */
	struct ev_defer gone;
	enum gw_listen_kind listen_kind; /* of the listener that it came by, */
	uint16_t listen_port, row;	 /* its port, and its place in the edge's list */
	struct stream client, up;
	struct buf in, out;	    /* read from, and to be written to, the client */
	size_t scanned, line_start; /* of the head that is being read */

	/* The target, once known. */
	bool has_target;
	bool fixed; /* the target holds for every request: CONNECT, SOCKS, transparent */
	enum gw_verb verb;
	struct host host;
	uint16_t port;
	struct verdict verdict;
	char rule[96]; /* text of the rule that decided */

	/* The gateway's. */
	bool terminated;	   /* the client's TLS ends here */
	bool up_tls;		   /* the connection is, or will be, TLS */
	bool retried;		   /* a pooled one was dead: this is the second attempt */
	bool pooled;		   /* from the pool: may have been closed meanwhile */
	bool up_idle;		   /* see exchange_finish() */
	const char *up_credential; /* sent over it (see inject_name()), or NULL */
	struct host up_host;
	uint16_t up_port;
	struct ask ask;
	struct exchange *x;
	struct h2 *h2;	     /* the client's connection of HTTP/2; its streams are others */
	struct h2_up *waits; /* for a server that may speak HTTP/2 */
	bool up_done, down_done, probed; /* upgraded: the ends passed on; both sides are watched */

	uint32_t flow;
	bool is_open;	/* the event of its opening is on record, and its end is not */
	uint64_t since; /* ms */
	uint64_t up_bytes, down_bytes;
};

typedef void step_fn(struct conn *c);

enum conn_want {
	CLIENT_IN = 1 << 0,
	UP_IN = 1 << 1,
	DYNAMIC = 1 << 2, /* the step says what it waits for */
};

struct conn_row {
	enum conn_want want;
	uint32_t limit_ms;
	uint32_t (*limit)(const struct conn *c); /* NULL: limit_ms */
	step_fn *step;
	step_fn *late;	     /* the deadline; NULL: the connection just ends */
	unsigned int status; /* of refuse_late(), and its reason */
	const char *reason;
};

/* The acts that edge and gateway each have their own way of. */
struct program {
	const struct conn_row *rows; /* CONN_N of them */
	size_t conn_size;	     /* of what a struct conn is the beginning */
	step_fn *end;		     /* gives back what the connection holds */
	step_fn *freed;		     /* its memory */
	void (*refuse)(struct conn *c, const struct refusal *no);
	void (*describe)(const struct conn *c, struct gw_event *e);
	/* Frames of the supervisor: before GW_START, and after it. */
	int (*set_up)(struct gw *gw, struct wire_msg *m, struct err *err);
	void (*frame)(struct gw *gw, struct wire_msg *m);
	void (*new_policy)(struct gw *gw); /* other rules hold from now on */
	void (*room)(struct gw *gw);	   /* a connection has ended */
};

/* Takes fd, -1 for none. The caller brings it into its first state. */
struct conn *conn_new(struct gw *gw, int fd);
void conn_go(struct conn *c, enum conn_state next, const char *why);
/* Interest of both sides; dynamic states call it after each step. */
void conn_want(struct conn *c, bool client_in, bool client_out, bool up_in, bool up_out);
/* The event function of c->up. */
ev_io_fn *conn_up_fn(void);
/* Comes back to the state's step after the other connections had their turn. */
void conn_again(struct conn *c);
/* The deadline of the state starts anew. */
void conn_touch(struct conn *c);
/* Closes both sides and frees it after this batch. */
void conn_end(struct conn *c, const char *why);
/* The same with a reset towards the sandbox. */
void conn_reset(struct conn *c, const char *why);
/* Sends what is in c->out, then closes. */
void conn_finish(struct conn *c, const char *why);
/* All of them, when the process ends. */
void conns_end(struct gw *gw);

/* Rows of both tables: a state that is left by an answer, and the last two. */
void conn_on_wait(struct conn *c);
void conn_on_closing(struct conn *c);
void conn_on_closing_late(struct conn *c);
uint32_t conn_head_limit(const struct conn *c);

/* More of the client into c->in, at most IN_MAX: as stream_read(); -ENOBUFS when it is full. */
ssize_t conn_fill(struct conn *c);

/* Notes the rule behind c's verdict, for the log. */
void conn_set_rule(struct conn *c, const struct policy_rule *rule);
/* Ends every connection whose target the policy no longer allows, unless `own` says that it is a
 * permission of its own. */
void conns_recheck(struct gw *gw, bool (*own)(const struct conn *c));

/* named.c: the client's bytes name a server, however c's target was reached. */
enum named {
	NAMED_SAME,    /* c's target is that server, or an address that a rule allows */
	NAMED_ANEW,    /* the server is c's target from now on */
	NAMED_REFUSED, /* c is over */
};
/* late: c's target can no longer become another. */
enum named conn_named(struct conn *c, const struct host *server, bool late);
/* Does c wait for a name, because its target is an address that could evade rules by name? */
bool conn_is_nameless(const struct conn *c);
