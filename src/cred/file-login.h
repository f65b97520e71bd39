#pragma once

#include "base/json/json.h"
#include "cred/cred.h"
#include "cred/oauth.h"

struct cred;	   /* cred/hold/hold.h */
struct cred_needs; /* cred/hold/cred-broker.h */

/*
 * A login that another program keeps in a JSON file of its own and that ralph renews in its stead:
 * Codex and Gemini. The file stays theirs: what we do not know in it is kept, a renewal is posted
 * once over all sandboxes (a lock on the file's directory), the file is read again before, and what
 * came is saved only where the file still holds the refresh token that was posted. Neither program
 * locks; between that last look and the rename one of theirs can be lost, as between two of them.
 */
struct file_login {
	char *access, *refresh, *account; /* wiped; refresh and account may be NULL */
	uint64_t expires_ms;		  /* 0: not known */
};

struct file_login_kind {
	const char *login; /* the command that logs in: "codex login" */
	/* -ENOENT: the file is whole and has no login of this kind. err does not name the file. */
	int (*parse)(const json_t *j, struct file_login *ret, struct err *err);
	/* Writes the fresh tokens into the document. */
	void (*update)(json_t *j, const struct oauth_tokens *fresh, uint64_t now_ms);
	/* Sends one request to the server; -EKEYREJECTED: the login has ended. */
	int (*post)(struct cred *c, const struct file_login *old, struct oauth_tokens *ret,
		    struct err *err);
};

void file_login_done(struct file_login *l);
/* For probes. -ENOENT: no file, or no such login in it. err names the file and what to run. */
int file_login_read(const struct cred_host *h, const char *path, const struct file_login_kind *kind,
		    struct file_login *ret, char **ret_warning, struct err *err);

/* Adds the files and programs that the functions below need; url: where a renewal is posted. */
void file_login_needs(const struct cred *c, const char *url, struct cred_needs *n);
/* For holders whose source is "file:PATH". The account is given back for the header, or NULL. */
int file_login_load(struct cred *c, const struct file_login_kind *kind, char **ret_account,
		    struct err *err);
int file_login_renew(struct cred *c, const struct file_login_kind *kind, struct err *err);

/*
 * Sends one POST to a token server and reads the answer: the common part of all post(). `url` may
 * be overruled by the credential's option token_url.
 */
int file_login_post(struct cred *c, const char *url, const char *content_type, const char *body,
		    struct oauth_tokens *ret, struct err *err);
