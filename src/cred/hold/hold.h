#pragma once

/*
 * ROOM: cred/hold
 *
 * Values of credentials, signatures and renewals, for libexec/ralph/cred alone. No other room
 * may include it, and no byte from a network is read in it.
 */

#include "base/json/json.h"
#include "cred/cred.h"

/*
 * The credential helper's side of a row: from a reference to the header fields of one request.
 * Values live in struct cred (wiped) and in struct cred_header, nowhere else.
 */
struct cred_request {
	const char *method, *host, *target; /* target: path and query as they will be sent */
	uint16_t port;
	const char *content_type; /* "" for none */
	const char *body_sha256;  /* hex; "" when the gateway has not computed it yet */
	bool rejected;		  /* the server said 401 to the last answer */
};

struct cred_header {
	uint32_t keep_ms;    /* how long the gateway may use it again without asking */
	struct strv set;     /* "Authorization: Bearer …" */
	struct strv drop;    /* names of fields of the client's that must go */
	struct strv secrets; /* values that must never come back in a response */
};

/* One held credential. The holder fills in the members from `value` on. */
struct cred {
	const struct cred_holder *holder;
	const struct cred_host *host;
	char *provider; /* the name of its row */
	char *name, *source, *origin;
	char *endpoint;	      /* NULL: rules use it, and no provider's answers are counted */
	struct strv requests; /* what may be asked at the endpoint: see struct gw_route */
	bool inside;	      /* way env: for variables of commands, and for no request */
	char *ca_file; /* trust for origin and for the places it is renewed at; NULL: the system's
			*/
	struct strv options;
	char *value;	     /* the secret, if it is one string; wiped */
	uint64_t expires_ms; /* 0: never, or not known */
	bool renewable;	     /* renew() may be called */
	uint64_t loaded_ms;  /* now_ms() of the last look at the source that took effort */
	uint64_t retry_ms;   /* no further attempt to renew before this now_ms() */
	/* After a server's refusal: no further look for a newer value before this now_ms(), which
	 * is again_wait after the last one. */
	uint64_t again_ms, again_wait;
	void *own; /* whatever else the holder keeps; its done() frees it */
	void (*tell)(void *arg, json_t *event); /* for the event log: takes it; never a secret */
	void *tell_arg;
};

struct cred_needs; /* cred-broker.h */

struct cred_holder {
	/* Adds the files and programs that the functions below need. NULL: those of its source, see
	 * cred_needs_source(). */
	void (*needs)(const struct cred *c, struct cred_needs *n);
	/*
	 * Makes the value current. Called before every answer: a holder keeps what it has while its
	 * source says the same, and looks again after a while where looking is dear. `again`: what
	 * we gave was refused, so a copy that was kept does not do.
	 */
	int (*load)(struct cred *c, bool again, struct err *err);
	/*
	 * Renews it; NULL where that is not ours to do. Single flight over all sandboxes.
	 * -EKEYREJECTED: it can never be renewed again, err says what to run; any other failure
	 * passes, and what we have is used as long as it lasts.
	 */
	int (*renew)(struct cred *c, struct err *err);
	/* The fields of one request. -ENODATA: ask again with the body's digest. */
	int (*header)(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		      struct err *err);
	/* Way env: the variables of a command, NAME=VALUE, of what load() made current. NULL: there
	 * is no such way. */
	int (*variables)(struct cred *c, struct strv *ret, struct err *err);
	void (*done)(struct cred *c); /* NULL: there is nothing in `own` */
};

/* The table of holders.c, by the name of the row. */
const struct cred_holder *cred_holder_find(const char *provider);

/* From the reference's parts, copied; host and tell must outlive it. */
struct cred *cred_new(const struct cred_host *host, const char *provider, const char *name,
		      const char *source, const char *origin, struct err *err);
struct cred *cred_free(struct cred *c);
const char *cred_option(const struct cred *c, const char *name); /* NULL: not given */
void cred_set_value(struct cred *c, const char *value);		 /* wipes the old one */
bool cred_expires_within(const struct cred *c, uint64_t ms);

/*
 * Makes the header fields for one request: loads the credential, renews it when it is about to
 * expire or was rejected, and asks the holder. -ENODATA as above; any other error is for the client
 * and the log.
 *
 * A server can refuse each request, and a sandbox can send as many as it likes. So a refusal has a
 * newer value looked for, by the user's command or a renewal, once in CRED_AGAIN_MS; while refusals
 * go on, the wait doubles up to CRED_AGAIN_MAX_MS. A refused value is not given again: the error
 * lets the sandbox see the server's 401.
 */
int cred_answer(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		struct err *err);

/* Returns the credential as environment variables of a command; the caller wipes ret. */
int cred_variables(struct cred *c, struct strv *ret, struct err *err);
void cred_wipe_strv(struct strv *v);

void cred_header_init(struct cred_header *h);
void cred_header_done(struct cred_header *h); /* wipes */
/* "Name: Bearer value", with the value among the secrets; every usual field of a key is dropped. */
void cred_header_set(struct cred_header *h, const char *field, const char *scheme,
		     const char *value);

/*
 * A value by its source, for rows of one string: "env:NAME", "file:PATH" (its first line),
 * "store:SERVICE", "command:LINE" (run by the shell with the user's environment, its first line).
 */
int cred_source_read(const struct cred *c, char **ret, struct err *err);

#define CRED_RENEW_AHEAD_MS (300 * 1000) /* before it expires */
#define CRED_RETRY_MS (5 * 1000)	 /* after a renewal that failed */
#define CRED_AGAIN_MS (60 * 1000)	 /* between two looks because of a refusal */
#define CRED_AGAIN_MAX_MS (3600 * 1000)
#define CRED_KEEP_MS (30 * 1000)    /* of a bearer token, by the gateway */
#define CRED_COMMAND_MS (45 * 1000) /* for a program that gives a credential */
