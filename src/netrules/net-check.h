#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * net_check() says how a sandbox's gateway would decide about one target, and why, without using
 * the network. A name is looked up only when `resolve` is set and the rules allow it.
 */
struct net_question {
	const char *target; /* HOST, HOST:PORT, or an http or https URL */
	const char *method; /* NULL: GET, where a path is known */
	const char *path;   /* NULL: the URL's */
	bool resolve;	    /* look an allowed name up and judge its addresses */
};

struct net_address {
	char *text;
	bool allow;
	char *why; /* a sentence */
};

struct net_answer {
	bool allow, inspect;
	bool literal; /* the host is an address, of this class: */
	char *class;  /* "a private address" */
	char *host;   /* canonical */
	uint16_t port;
	char *method, *path; /* parts of a request that were judged; NULL: none */
	char *reason;	     /* one word: "rule", "no-rule" … */
	char *why;	     /* a sentence */
	char *remedy;	     /* a command that would allow it; "" where there is none */
	char *note;	     /* something to know besides; "" */
	char *rule, *source; /* of the rule that decided; NULL: none */
	struct net_address *addresses;
	size_t n_addresses;
};

/* A target that is none is a usage error. */
int net_check(const struct net_policy *net, const struct net_question *q, struct net_answer *ret,
	      struct err *err);
void net_answer_done(struct net_answer *a);

/* A host as the event log has it: canonical, or as it was sent if it is none. The caller's. */
char *net_host_text(const char *text);
