#pragma once

#include "base/json/json.h"
#include "cred/cred.h"
#include "cred/oauth.h"

struct cred; /* cred/hold/hold.h */

/*
 * The login that Google's programs keep: a refresh token, and the client (id and "secret") that it
 * was given to. The files of gcloud have both. The Gemini CLI's files have the token alone: the
 * client is a constant of its program and is read from there.
 */
struct google_user {
	char *client_id, *client_secret, *refresh; /* wiped */
	char *quota_project;			   /* NULL: none */
};

#define GOOGLE_TOKEN_URL "https://oauth2.googleapis.com/token"

void google_user_done(struct google_user *u);
/* A file of type "authorized_user". -ENOENT: of another type, which only gcloud can use. */
int google_user_parse(const json_t *j, struct google_user *ret, struct err *err);
/* Renews once; -EKEYREJECTED: the login has ended. */
int google_renew(struct cred *c, const struct google_user *u, struct oauth_tokens *ret,
		 struct err *err);
