#pragma once

#include "cred/hold/hold.h"

/* The login in Claude Code's file: read, and renewed the way Claude Code itself does it. */
int claude_login_load(struct cred *c, const char *path, struct err *err);
int claude_login_renew(struct cred *c, const char *path, struct err *err);
void claude_login_forget(struct cred *c); /* frees c->own */
