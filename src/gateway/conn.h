#pragma once

#include "gateway/gw.h"
#include "gateway/reach/resolve.h"
#include "gateway/stream.h"
#include "gateway/super.h"
#include "gateway/tunnel.h"
#include "policy/policy.h"

struct dial;
struct exchange;
struct listener;
struct name;

/*
 * DOC: Theory of operation
 *
 * A connection from the sandbox and, at times, one to a server. conn_go() is the only writer of
 * its state; the table in conn.c gives each state its deadline and the function that runs when
 * one of the two sockets has something. A state that waits for an answer (look-up, dial, leaf,
 * credential) is left by that answer's callback.
 *
 *	proxy port   first → socks → …                      SOCKS5
 *	             first → head → …                       HTTP
 *	transparent  decided at once by the dialled address
 *	opaque       … → lookup → dial (→ via) → tunnel     ClientHello is checked in the tunnel
 *	inspected    … → hello → leaf → accept → head → …   TLS ends here
 *	an address   … → hello → opaque or inspected        where it needs a name: named.c
 *	a request    head (→ credential) → lookup → dial (→ via) (→ secure) → exchange → head
 *	             with a credential also: see inject.h
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
	CONN_LEAF,
	CONN_ACCEPT,
	CONN_CREDENTIAL,
	CONN_BUDGET,
	CONN_BODY,
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

/* The protocol in which the sandbox is told of success and refusal. */
enum conn_speaks { SPEAKS_RESET, SPEAKS_CONNECT, SPEAKS_SOCKS, SPEAKS_HTTP, SPEAKS_TLS };

struct conn {
	struct gw *gw;
	struct conn *prev, *next;
	enum conn_state state;
	enum conn_speaks speaks;
	struct ev_timer timer; /* of the state; may be early: `due` is what counts */
	uint64_t due;	       /* ms; 0: never */
	struct ev_timer again; /* more to do without an event: fairness */
	struct ev_defer gone;
	const struct listener *listener;
	union sockaddr_any dialled; /* inside; AF_UNSPEC: the client's socket knows */
	struct stream client, up;
	struct buf in, out;	    /* read from, and to be written to, the client */
	struct buf via_in;	    /* read from the host's proxy; what is behind its answer */
	size_t scanned, line_start; /* of the head that is being read */
	uint8_t socks_step;

	/* The target, once known. */
	bool has_target;
	bool fixed;	 /* the target holds for every request: CONNECT, SOCKS, transparent */
	bool terminated; /* the client's TLS ends here */
	enum gw_verb verb;
	struct host host;
	uint16_t port;
	struct verdict verdict;
	char rule[96]; /* text of the rule that decided */
	struct name *name;

	/* The server's side. */
	bool up_tls;		   /* the connection is, or will be, TLS */
	bool via;		   /* through the host's proxy */
	bool retried;		   /* a pooled one was dead: this is the second attempt */
	bool pooled;		   /* from the pool: may have been closed meanwhile */
	bool up_idle;		   /* see exchange_finish() */
	const char *up_credential; /* sent over it (see inject_name()), or NULL */
	struct host up_host;
	uint16_t up_port;
	struct lookup lookup;
	struct dial *dial;
	struct ask ask;

	struct exchange *x;
	struct tunnel tunnel;

	uint32_t flow;
	uint64_t since; /* ms */
	uint64_t up_bytes, down_bytes;
};

/* Takes fd; the connection may be over before this returns. dialled: the address inside; AF_UNSPEC
 * where the socket itself knows it. */
void conn_new(struct gw *gw, const struct listener *l, int fd, const union sockaddr_any *dialled);
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

/* More of the client into c->in, at most IN_MAX: as stream_read(); -ENOBUFS when it is full. */
ssize_t conn_fill(struct conn *c);

/* Notes the rule behind c's verdict, for the log. */
void conn_set_rule(struct conn *c, const struct policy_rule *rule);
/* Ends every tunnel and exchange whose target the policy no longer allows. */
void conns_recheck(struct gw *gw);

/* proxy.c: the steps up to a decided target. */
void conn_on_first(struct conn *c);
void conn_on_socks(struct conn *c);
/* A transparent connection: the target comes from the address that was dialled. */
void conn_start_transparent(struct conn *c);
/* Target is set: decides, then goes on to the tunnel or to inspection. */
void conn_decide_fixed(struct conn *c);

/* Tells the client that its CONNECT or SOCKS request is granted. */
void conn_say_yes(struct conn *c);

/* inspect.c: what the first bytes behind a decided target are, and the end of TLS. */
void conn_on_hello(struct conn *c);
void conn_on_accept(struct conn *c);

/* named.c: the client's bytes name a server, however c's target was reached. */
enum named {
	NAMED_SAME,    /* c's target is that server, or an address that a rule allows */
	NAMED_ANEW,    /* the server is c's target from now on, in CONN_HELLO if c was a tunnel */
	NAMED_REFUSED, /* c is over */
};
struct hello;
enum named conn_named(struct conn *c, const struct host *server);
enum named conn_named_by_hello(struct conn *c, const struct hello *h);
/* Does c wait for a name, because its target is an address that could evade rules by name? */
bool conn_is_nameless(const struct conn *c);

/* http-judge.c */
void conn_on_head(struct conn *c);
/* upstream.c */
void conn_open_upstream(struct conn *c);
void conn_on_via(struct conn *c);
void conn_on_secure(struct conn *c);
/* Called when the server's side stands. */
void conn_upstream_ready(struct conn *c);
/* The server's side is given to the pool if it may be used again, else closed. */
void conn_drop_upstream(struct conn *c);
/* exchange.c */
void conn_on_exchange(struct conn *c);
void conn_start_exchange(struct conn *c);
/* tunnel.c */
/* check: the client's first bytes are judged before any of them passes. */
void conn_start_tunnel(struct conn *c, bool check);
void conn_on_tunnel(struct conn *c);
/* The tunnel is silent, or what must come first did not. */
void conn_tunnel_late(struct conn *c);
/* Gives back what the tunnel holds and records its end. */
void tunnel_end(struct conn *c);
