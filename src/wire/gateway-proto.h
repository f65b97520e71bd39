#pragma once

#include "policy/rule.h"
#include "wire/wire.h"

struct policy;

/*
 * The protocol between supervisor, edge and gateway, between supervisor and the helpers for certificates
 * and credentials, and between gateway and credential helper.
 *
 * The supervisor starts `edge` with its end of a wire_pair() on descriptor 3 and sends
 * GW_CONFIG, GW_LINES, then GW_LISTEN as often as it takes (32 descriptors fit one frame), then
 * GW_START. The edge isolates itself, answers GW_HEALTH with id 0, and only then accepts. `gateway`
 * is started likewise, without listeners, when the edge has handed over its first connection.
 * GW_POLICY may follow at any time and holds from the next decision on; tunnels whose target it no
 * longer allows are closed. End of stream on descriptor 3 ends either, and so does the other's end.
 *
 * GW_CRED hands the gateway its end of a line to the credential helper, before GW_START where the
 * sandbox has credentials, and again when the helper has ended. The other end is the helper's
 * (CRED_LINE): frames with values go over this line and nowhere else. The supervisor has no code to
 * read one. A gateway that has ended is started again with the next connection; the helper stays,
 * and gets the other end of the new one's line.
 *
 * Questions carry an id that their answer repeats. The gateway's peer is trusted, the gateway is
 * not: it reads hostile bytes, so the supervisor treats every field of its frames as hostile.
 */
enum gw_type {
	/* supervisor → edge, gateway */
	GW_CONFIG = WIRE_GW_FIRST, /* struct gw_config */
	GW_LISTEN,		   /* rows of struct gw_listener; fds: one per row, in order */
	GW_START,		   /* (empty): all listeners are there */
	GW_POLICY,		   /* rules, compiled: replace those before */
	GW_LEAF_IS, /* bytes certificate chain (PEM), bytes key (PEM); empty: refused */
	GW_CRED,    /* (empty); fd: the line to the credential helper, in place of the last one */
	GW_SPEND_IS, /* to the reader: u32 errno, str why: 0 it may be sent, EDQUOT the budget is used
		      * up, EAGAIN the rest of it is reserved */

	/* (empty); fds: the lines between edge and gateway, see wire/edge-proto.h */
	GW_LINES,
	/* (empty); fd: the line to the reader, in place of the last one, see wire/reader-proto.h */
	GW_READER,

	GW_ASK_IS, /* to the reader: u32 status of HTTP, str JSON */

	/* edge, gateway → supervisor */
	GW_EVENT,    /* struct gw_event */
	GW_LEAF,     /* str host */
	GW_PROVIDER, /* u32 status: a provider begins or ceases to be unavailable, see gw_is_down() */

	/* reader → supervisor */
	GW_USAGE, /* struct gw_usage */
	GW_ASK,	  /* struct gw_ask → GW_ASK_IS with the same id */
	GW_SPEND, /* struct gw_spend → GW_SPEND_IS: a request that uses tokens is to be sent, with a
		   * budget */

	/* gateway ↔ reader, over their own line, and supervisor → reader: see wire/reader-proto.h */
	READER_REQUEST,
	READER_ASK,
	READER_IS,
	READER_ANSWER,
	READER_SETUP,

	/* gateway ↔ credential helper, over their own line */
	GW_HEADER,    /* struct gw_header_ask → GW_HEADER_IS with the same id */
	GW_HEADER_IS, /* struct gw_header */

	/* edge ↔ gateway, over their own lines: see wire/edge-proto.h */
	EDGE_CONN,
	EDGE_BACK,
	EDGE_DIAL,
	EDGE_DIAL_IS,

	/* either way: the supervisor asks with an empty body, edge and gateway answer */
	GW_HEALTH, /* struct gw_health */

	/* supervisor ↔ CA helper (libexec/ralph/ca, socket on descriptor 3) */
	CA_MAKE, /* str name of the sandbox, bytes certificates of the host (PEM) → CA_IS */
	CA_IS,	 /* bytes those and its own (PEM), bytes the same as a keystore of Java */
	CA_LEAF, /* str host → GW_LEAF_IS with the same id */

	/* supervisor ↔ credential helper (libexec/ralph/cred, socket on descriptor 3) */
	/* bytes: JSON with the spec's credentials and the host's places; fd: the user's
	 * environment, entries ended by NUL */
	CRED_SETUP,
	CRED_RULES,  /* rules, compiled: what it judges questions by, in place of the last */
	CRED_BUDGET, /* str: why providers' requests are refused; "": they are not. With a budget
		       * only, and then before CRED_LINE */
	CRED_LINE,   /* (empty); fd: its end of the line to the gateway, in place of the last */
	/* Ways env and pipe. The body of a WIRE_SPAWN → CRED_SPAWN_IS, same id: that body with the
	 * variables of all such credentials, in a memory file that the supervisor passes on unread;
	 * and where it has WIRE_EXEC_LOGIN, one with the logins. */
	CRED_SPAWN,
	CRED_SPAWN_IS, /* u32 errno, str message, u32 length; fds: the files, without an error */
	/* The same for an engine without a guest, by a process of its own for that command. */
	CRED_VARS,    /* str credential → CRED_VARS_IS, same id */
	CRED_VARS_IS, /* u32 errno, str message, strv NAME=VALUE */
	CRED_USED,    /* helper → supervisor: struct cred_use */
	CRED_EVENT,   /* helper → supervisor: bytes JSON, for the event log; never a secret */

	/* loop → edge: u32 place of a row in the list of listeners; fd: a connection, as one that this
	 * row's listener has accepted. The row has no descriptor. */
	GW_MEET,
};

#define GW_LISTENERS_MAX 256
#define GW_ROUTES_MAX 64
#define GW_NAME_MAX 255	   /* a host */
#define GW_TEXT_MAX 1024   /* path, reason: longer ones are cut */
#define GW_SECRET_MAX 4096 /* a token */
#define GW_HEADER_FIELDS_MAX 16

/*
 * A reverse endpoint: /_ralph/<provider>/… goes to url with that credential, for requests that
 * carry its phantom: in the field where clients put their keys, or, for clients that send none, as
 * the next segment of the path. It is a permission of its own: no rule of the policy is needed for
 * it, and none is widened by it.
 *
 * provider "": no endpoint, only the phantom of a credential that rules use, to be known where it
 * does not belong, and its own trust, for requests of such rules to url's host.
 *
 * requests: rows as policy/request-row.h reads them; the first that fits decides. The host and port of
 * a row's own URL are the credential's own as much as url's are.
 */
struct gw_route {
	char *provider, *url;
	char *credential;     /* NULL: known, but there is none */
	char *phantom;	      /* NULL: none */
	char *ca_file;	      /* trust for this upstream alone; NULL: as for every other */
	bool private;	      /* may lie on a private address: the user named it */
	struct strv requests; /* rows; empty: nothing may be asked */
};

struct gw_config {
	char *sandbox;
	char *http_proxy; /* of the host's environment; NULL: none */
	char *https_proxy;
	char *no_proxy;
	char *ca_file; /* trust for upstream TLS; NULL with ca_dir NULL: the system's */
	char *ca_dir;
	char *standin4;	   /* "198.18.0.0/15" */
	char *standin6;	   /* GW_STANDIN6; NULL: no AAAA answers */
	char *outpost;	   /* token of GW_LISTEN_OUTPOST; NULL: nobody has it */
	bool budget;	   /* GW_SPEND comes before each request of a provider that uses tokens */
	struct strv tools; /* of providers, that requests may use; GW_TOOLS_ALL: any */
	uint32_t before;   /* gateways that this sandbox has had: see edge/reach/names.h */
	/* Milliseconds; 0: the gateway's own default. */
	uint32_t head_ms, dial_ms, lookup_ms;
	uint32_t keepalive_ms; /* of silence before a tunnel is probed; 0: never */
	struct gw_route *routes;
	size_t n_routes;
	struct net_policy policy; /* written; read as `rules` */
	struct policy *rules;
};

#define GW_TOOLS_ALL "all"

#define GW_STANDIN4 "198.18.0.0/15"
#define GW_STANDIN6 "fd00:7261:6c70::/96"

enum gw_listen_kind {
	GW_LISTEN_PROXY, /* HTTP proxy, CONNECT, SOCKS5, /_ralph/ */
	GW_LISTEN_DNS_UDP,
	GW_LISTEN_DNS_TCP,
	GW_LISTEN_PORT,	   /* transparent: the dialled address says which name */
	GW_LISTEN_STANDIN, /* transparent, bound to the stand-in address of `host` alone */
	GW_LISTEN_SERVICE, /* a port of the host's own loopback */
	/* On the host itself, where any program may connect: /_ralph/ endpoints for requests with a
	 * phantom, and the same refusal for everything else. */
	GW_LISTEN_ENDPOINTS,
	/* On the host itself, for a sandbox on another machine: who proves to be its outpost passes
	 * on connections of the rows that have no descriptor here (wire/remote.h). */
	GW_LISTEN_OUTPOST,
	/* At home, for the gateway of a sandbox on a node, which has no network: CONNECT alone. It has no
	 * descriptor: connections come by GW_MEET. */
	GW_LISTEN_NODE,
	GW_LISTEN_N,
};

struct gw_listener {
	enum gw_listen_kind kind;
	char addr[46]; /* "127.0.0.1", "::" (v6 only) … */
	uint16_t port;
	bool optional;		    /* IPv6: left out where the kernel has none */
	char host[GW_NAME_MAX + 1]; /* STANDIN: the name it stands for, canonical */
};

/* The kind of request, as the log shows it. */
enum gw_verb {
	GW_VERB_CONNECT,
	GW_VERB_HTTP,
	GW_VERB_SOCKS,
	GW_VERB_TLS, /* transparent, port 443 */
	GW_VERB_TCP, /* transparent, another port */
	GW_VERB_DNS,
	GW_VERB_N,
};

enum gw_verdict { GW_ALLOW, GW_DENY, GW_ERROR, GW_VERDICT_N };

/*
 * One decision. A tunnel gives two events with the same flow: GW_OPEN when it was decided and
 * GW_END with its bytes and time; everything else is one GW_END. When decisions come faster than
 * the supervisor should have to write, those that differ in nothing but time are one event whose
 * count says how many. Strings are printable ASCII: other bytes come as \xHH.
 */
enum gw_phase { GW_OPEN, GW_END, GW_PHASE_N };

struct gw_event {
	uint64_t time_ms; /* CLOCK_REALTIME */
	enum gw_verb verb;
	enum gw_verdict verdict;
	enum gw_phase phase;
	uint32_t flow, count, port, status, ms; /* status: of the HTTP answer; 0: none */
	uint64_t up, down;
	const char *host, *method, *path, *rule, *reason; /* "" where there is none */
};

#define GW_DIGEST_MAX 64 /* hex SHA-256 */

struct gw_header_ask {
	const char *credential, *host, *method, *target; /* target: as it will be sent */
	uint32_t port;
	const char *content_type; /* "" where there is none */
	const char *body_sha256;  /* of the whole body, for providers that sign; "" otherwise */
	/* The upstream has answered 401 to what we were given: is there another one by now? */
	bool rejected;
};

/*
 * The answer: fields to set ("Name: value") and names to drop, or an error. For keep_ms the gateway
 * may use it again for the same credential, host and port without asking: 0 for what holds for one
 * request alone, a signature; a little for a bearer token, which would cost a question per request.
 * ENEEDBODY asks for the same question with the body's digest.
 */
#define ENEEDBODY ENODATA

struct gw_header {
	uint32_t
		error; /* errno; EDQUOT: over the budget (402); EPERM: not for this request (403) */
	uint32_t keep_ms;
	struct strv set, drop;
	struct strv secrets; /* values that must never come back in a response */
	char *message;	     /* NULL, or for the client and the log: why there is an error */
};

/* A header was given for a request: by this rule, or for an endpoint (rule ""). */
struct cred_use {
	const char *credential, *host, *method, *rule;
	uint32_t port;
};

/* Something that the agent asks a person for, or about. Every text is the agent's. */
enum gw_ask_verb {
	GW_ASK_PUT,	/* kind, what, why, choices */
	GW_ASK_GET,	/* what: the id; wait_s: for an answer */
	GW_ASK_REFUSED, /* since: what was refused after this number */
	GW_ASK_N,
};

struct gw_ask {
	enum gw_ask_verb verb;
	const char *kind, *what, *why;
	struct strv choices;
	uint32_t wait_s;
	uint64_t since;
};
#define GW_ASK_WAIT_MAX_S 30
#define GW_ASK_BODY_MAX 8192
#define GW_ASK_TEXT_MAX 4096
#define GW_ASK_CHOICES_MAX 16
#define GW_ASK_ID_MAX 32

/* A request that is to be sent, with the most that it can use. That much is reserved once the answer
 * says so, until GW_USAGE names the question. An answer may take as long as other requests do. */
struct gw_spend {
	const char *credential, *model; /* model "": not known */
	uint64_t input, output; /* tokens; output 0: the request has no limit, the model's counts */
	uint64_t answers;	/* of output tokens each */
};
#define GW_TOKENS_MAX ((uint64_t)1 << 40)

/* What a request costs in the end. */
enum gw_cost {
	GW_COST_USED,	  /* the usage of its answer */
	GW_COST_RESERVED, /* what was reserved: its answer is cut, or does not say */
	GW_COST_NONE,	  /* nothing: it was not sent, or the provider has refused it */
	GW_COST_N,
};

/* The usage of one answer of a provider, as the provider reports it. */
struct gw_usage {
	const char *credential, *model;
	uint32_t reservation; /* the id of the GW_SPEND before it; 0: there was none */
	enum gw_cost cost;
	uint32_t status;
	uint64_t input, output, cache_read, cache_write; /* tokens */
	const char *limits; /* rate-limit fields, "name: value\n" each, printable; "" for none */
};
#define GW_LIMITS_MAX 4096
/* True for the status of a provider that is not available: its own 429 and 5xx, and the gateway's
 * 502 and 504 for a provider that cannot be reached. */
static inline bool gw_is_down(uint32_t status)
{
	return status == 429 || status >= 500;
}

struct gw_health {
	uint32_t connections, tunnels, idle_upstreams, lookups;
	uint64_t accepted, denied, bytes_up, bytes_down;
};

const char *gw_verb_name(enum gw_verb v);
const char *gw_verdict_name(enum gw_verdict v);
const char *gw_listen_kind_name(enum gw_listen_kind k);

struct gw_config *gw_config_new(void);
struct gw_config *gw_config_free(struct gw_config *c);
struct gw_route *gw_route_add(struct gw_config *c, const char *provider, const char *url,
			      const char *credential);

void gw_header_init(struct gw_header *h);
void gw_header_done(struct gw_header *h); /* wipes */

static inline void gw_config_freep(struct gw_config **c)
{
	(void)gw_config_free(*c);
}

/* Writing a body; the buffer was made with WIRE_BODY_MAX. */
void gw_put_config(struct buf *b, const struct gw_config *c);
void gw_put_policy(struct buf *b, const struct net_policy *p);
/* The same, compiled: what reads it needs no code for what people write. Rules that cannot be compiled fill
 * the buffer, so that the frame is not sent. */
void gw_put_rules(struct buf *b, const struct net_policy *p);
void gw_put_listeners(struct buf *b, const struct gw_listener *l, size_t n);
void gw_put_event(struct buf *b, const struct gw_event *e);
void gw_put_header_ask(struct buf *b, const struct gw_header_ask *a);
void gw_put_header(struct buf *b, const struct gw_header *h);
void gw_put_use(struct buf *b, const struct cred_use *u);
void gw_put_ask(struct buf *b, const struct gw_ask *a);
void gw_put_spend(struct buf *b, const struct gw_spend *s);
void gw_put_usage(struct buf *b, const struct gw_usage *u);
void gw_put_health(struct buf *b, const struct gw_health *h);

/* Reading a whole body: 0 or -EPROTO. Strings of events and asks point into the message. */
int gw_get_config(const struct wire_msg *m, struct gw_config **ret);
int gw_get_policy(const struct wire_msg *m, struct net_policy *ret);
int gw_get_rules(const struct wire_msg *m, struct policy **ret);
void gw_get_rule(struct wire_reader *r, struct net_rule *rule); /* for the two */
int gw_get_listeners(const struct wire_msg *m, struct gw_listener **ret, size_t *ret_n);
int gw_get_event(const struct wire_msg *m, struct gw_event *ret);
int gw_get_header_ask(const struct wire_msg *m, struct gw_header_ask *ret);
int gw_get_header(const struct wire_msg *m, struct gw_header *ret); /* gw_header_done() frees */
int gw_get_use(const struct wire_msg *m, struct cred_use *ret);
int gw_get_ask(const struct wire_msg *m, struct gw_ask *ret); /* strv_done() its choices */
int gw_get_spend(const struct wire_msg *m, struct gw_spend *ret);
int gw_get_usage(const struct wire_msg *m, struct gw_usage *ret);
int gw_get_health(const struct wire_msg *m, struct gw_health *ret);

/* Sends all of the rows with their descriptors, in as many frames as that takes; fds NULL: of a
 * sandbox elsewhere, whose sockets stay there. */
int gw_send_listeners(int sock, const struct gw_listener *l, const int *fds, size_t n);
