#pragma once

#include "cred/file-login.h"
#include "cred/google.h"

/* The login of the Gemini CLI, shared by the halves of its row. */
int gemini_login_parse(const json_t *j, struct file_login *ret, struct err *err);
void gemini_login_update(json_t *j, const struct oauth_tokens *fresh, uint64_t now_ms);

/*
 * The client that the Gemini CLI's logins are given to, as it stands in the installed package: a
 * constant of that program, no secret of the user's. -ENOENT: no package, or not found in it.
 */
int gemini_client(const struct cred_host *h, struct google_user *ret, struct err *err);
/* The directories in which it may stand. */
int gemini_places(const struct cred_host *h, struct strv *ret, struct err *err);
/* The same from the program's text. */
bool gemini_client_find(const char *text, size_t n, struct google_user *ret);
