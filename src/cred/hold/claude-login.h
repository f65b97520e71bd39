#pragma once

#include "cred/hold/hold.h"

/* The login in Claude Code's file: read, and renewed the way Claude Code itself does it. */
struct cred_needs; /* cred-broker.h */
void claude_login_needs(const struct cred *c, const char *path, struct cred_needs *n);
int claude_login_load(struct cred *c, const char *path, struct err *err);
int claude_login_renew(struct cred *c, const char *path, struct err *err);
void claude_login_forget(struct cred *c); /* frees c->own */
