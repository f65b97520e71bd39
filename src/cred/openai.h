#pragma once

#include "cred/file-login.h"

/* ~/.codex/auth.json, shared by the halves of the OpenAI rows. */
char *codex_auth_path(const struct cred_host *h); /* in $CODEX_HOME, else ~/.codex */

/* An API key in it. -ENOENT: it has none. err without the file's name and content. */
int codex_key_parse(const json_t *j, struct file_login *ret, struct err *err);
/* A ChatGPT login in it: its account as well. */
int codex_login_parse(const json_t *j, struct file_login *ret, struct err *err);
void codex_login_update(json_t *j, const struct oauth_tokens *fresh, uint64_t now_ms);

extern const struct file_login_kind codex_key_kind; /* to be read, never renewed */
