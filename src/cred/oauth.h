#pragma once

#include "cred/cred.h"

#include <jansson.h>

/* The answer of an OAuth 2.0 server to a renewal. These functions only parse. */
struct oauth_tokens {
	char *access, *refresh, *id; /* wiped; refresh and id are NULL where none came */
	uint64_t expires_ms;	     /* 0: not said */
};

void oauth_tokens_done(struct oauth_tokens *t);
/* err never has a part of the text. */
int oauth_answer_parse(const char *text, uint64_t now_ms, struct oauth_tokens *ret,
		       struct err *err);
/* Will no further attempt with this refresh token work? */
bool oauth_is_final(unsigned status, const char *text);

/* NAME=VALUE&…, escaped as a form. */
void oauth_form_add(struct buf *b, const char *name, const char *value);

/* Drops a document after wiping every string in it. */
void json_forget(json_t *j);
static inline void json_forgetp(json_t **j)
{
	json_forget(*j);
	*j = NULL;
}

#define cleanup_secret_json cleanup_(json_forgetp)
