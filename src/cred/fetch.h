#pragma once

#include "cred/cred.h"

#include <jansson.h>

/*
 * One HTTPS request by libexec/ralph/fetch, a process of its own that knows nothing but this
 * request: renewals read bytes from the network, and the program that holds credentials does not.
 * TLS is verified, no redirect is followed, and everything has a limit. The host's proxy variables
 * hold.
 */
#define FETCH_MS 30000
#define FETCH_BODY_MAX (256 * KiB) /* either way */

struct fetch {
	const char *method, *url;
	const char *content_type;   /* of the body */
	const char *body;	    /* NULL: none */
	const struct strv *headers; /* "Name: value"; may be NULL */
	const char *ca_file;	    /* NULL: the system's trust */
	/* Called every tick_ms while the answer is awaited, to keep a lock fresh; may be NULL. */
	void (*tick)(void *arg);
	void *arg;
	int tick_ms;
};

/* How fetch is called: where the request goes is in its arguments, all else on its stdin. */
void cred_fetch_argv(const struct cred_host *h, const char *url, const char *ca_file,
		     struct strv *ret);
/* 0 with the status and the body, which is to be wiped; else err says what did not work. */
int cred_fetch(const struct cred_host *h, const struct fetch *f, unsigned *ret_status,
	       char **ret_body, struct err *err);
