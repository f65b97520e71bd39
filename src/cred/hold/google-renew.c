#include "cred/google.h"

#include "cred/file-login.h"
#include "cred/hold/hold.h"

#define FORM_MAX (64 * KiB)

int google_renew(struct cred *c, const struct google_user *u, struct oauth_tokens *ret,
		 struct err *err)
{
	cleanup_(cred_wipe) struct buf form;

	buf_init(&form, FORM_MAX);
	oauth_form_add(&form, "client_id", u->client_id);
	oauth_form_add(&form, "client_secret", u->client_secret);
	oauth_form_add(&form, "refresh_token", u->refresh);
	oauth_form_add(&form, "grant_type", "refresh_token");
	return file_login_post(c, GOOGLE_TOKEN_URL, "application/x-www-form-urlencoded",
			       buf_str(&form), ret, err);
}
