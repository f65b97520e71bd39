#pragma once

#include "base/strv.h"
#include "http/http1.h"

/*
 * What is asked of every request before anything else happens: that it was meant for this server
 * (Host; a page of another name that resolves to this address is refused), and, where it changes
 * something, that it comes from our own page (Origin, Content-Type, Sec-Fetch-Site). Pure.
 */
struct request_rules {
	struct strv hosts; /* names of --host; loopback names are always there */
	bool tls;	   /* the scheme of our own origin is https */
};

enum request_kind { REQUEST_PAGE, REQUEST_READ, REQUEST_CHANGE };

/* Returns 0, or the status of the refusal: 403, 415, 421. */
unsigned request_check(const struct request_rules *rules, const struct http1_head *h,
		       enum request_kind kind);

/* The halves of a session: 32 hex digits each. */
#define REQUEST_HALF_LEN 32
/* Finds the value of our cookie and of X-Ralph-Key. false: one of them is not there or malformed. */
bool request_halves(const struct http1_head *h, bool tls, char cookie[REQUEST_HALF_LEN + 1],
		    char key[REQUEST_HALF_LEN + 1]);
const char *request_cookie_name(bool tls);
