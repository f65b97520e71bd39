#pragma once

#include "cred/cred.h"

/*
 * Tokens that the user gave ralph to keep: one per service. A small file, tokens/SERVICE.json in
 * ralph's own configuration, says what there is and where; the token itself lies in the Secret
 * Service (through secret-tool) where there is one, else in that file, which only its owner reads.
 */
struct cred_stored {
	char *path;	     /* of the small file */
	bool secret_service; /* the token lies there, not in the file */
	bool is_key;	     /* an API key, not an OAuth token */
	uint64_t stored_ms, expires_ms;
	char *token;   /* wiped; NULL when it lies in the Secret Service */
	char *warning; /* others may read the file */
};

/* Without asking the Secret Service. -ENOENT: nothing is stored. */
int cred_stored_look(const struct cred_host *h, const char *service, struct cred_stored *ret,
		     struct err *err);
void cred_stored_done(struct cred_stored *s);
/* The path of the small file, and how the Secret Service is asked. */
#define CRED_TOKENS "tokens" /* in ralph's own configuration */
#define SECRET_TOOL_MS 20000 /* the user may have to unlock the keyring */
char *cred_store_path(const struct cred_host *h, const char *service);
void cred_store_lookup_argv(const char *service, struct strv *ret);
int cred_store_lookup(const struct cred_host *h, const char *service, char **ret, struct err *err);
/* The token, from wherever it lies. */
int cred_stored_token(const struct cred_host *h, const char *service, char **ret, struct err *err);
/* Replaces what is there. *ret_secret_service says where it went. */
int cred_store_put(const struct cred_host *h, const char *service, const char *token, bool is_key,
		   uint64_t expires_ms, bool *ret_secret_service, struct err *err);
/* -ENOENT: nothing was stored. */
int cred_store_drop(const struct cred_host *h, const char *service, struct err *err);

/* token-ask.c */

/*
 * Does the provider take this token? The question is a request to the endpoint that the token is
 * for, without a message in it: it costs nothing, and only a token that is taken gets as far as the
 * complaint about the body.
 */
enum token_answer {
	TOKEN_TAKEN,
	TOKEN_REFUSED,
	TOKEN_NOT_CHECKED, /* no answer, or one that says nothing about the token */
};

/* Is this a token of `claude setup-token` or an API key, by its letters? */
bool token_is_setup_token(const char *token);
bool token_is_api_key(const char *token);

/* ca_file may be NULL. *ret_why is a sentence for people; NULL when the token is taken. */
enum token_answer token_ask(const struct cred_host *h, const char *origin, const char *ca_file,
			    const char *token, char **ret_why);
