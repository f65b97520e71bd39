#pragma once

#include "cred/cred.h"

/*
 * ~/.claude/.credentials.json, Claude Code's own file. Only its member "claudeAiOauth" is ours to
 * read; everything else in it is kept as it is when the file is written.
 */
struct claude_login {
	char *access, *refresh; /* wiped; refresh is NULL where there is none */
	char *scopes;		/* separated by blanks; NULL: not said */
	char *subscription;	/* "max" …; NULL: not said */
	char *client_id;	/* NULL: Claude Code's usual one */
	uint64_t expires_ms;
};

/* 0; -ENOENT: it is whole and nobody is logged in; -EKEYEXPIRED: Claude Code has emptied it; else
 * err says what is wrong with it, without the file's name and without any of its content. */
int claude_login_parse(const char *text, size_t len, struct claude_login *ret, struct err *err);
void claude_login_done(struct claude_login *l);

/*
 * The text with what a renewal gave put in place of the login that has the refresh token `posted`;
 * -ESTALE when the login is another one by now. A NULL refresh or scopes stays as it was.
 */
int claude_login_update(const char *text, size_t len, const char *posted,
			const struct claude_login *fresh, char **ret, struct err *err);
