#include "cred/gemini.h"

#include <string.h>

#include "base/json/json.h"
#include "cred/token.h"

int gemini_login_parse(const json_t *j, struct file_login *ret, struct err *err)
{
	const char *access = json_string_value(json_object_get(j, "access_token"));
	const char *refresh = json_string_value(json_object_get(j, "refresh_token"));
	const json_t *expires = json_object_get(j, "expiry_date");

	if ((!access || !*access) && (!refresh || !*refresh))
		return err_set(err, EINVAL, "it has no token");
	if ((access && *access && !token_is_sane(access)) ||
	    (refresh && *refresh && !token_is_sane(refresh)))
		return err_set(err, EINVAL, "a token in it holds what no token does");
	if (expires && !json_is_null(expires) && json_number_value(expires) <= 0)
		return err_set(err, EINVAL, "its expiry_date is no time");
	ret->access = xstrdup(access ? access : "");
	ret->refresh = refresh && *refresh ? xstrdup(refresh) : NULL;
	ret->expires_ms = expires && json_number_value(expires) < 1e15
				  ? (uint64_t)json_number_value(expires)
				  : 0;
	/* Without an access token there is one to be had. */
	if (!*ret->access)
		ret->expires_ms = 1;
	return 0;
}

void gemini_login_update(json_t *j, const struct oauth_tokens *fresh, uint64_t now_ms)
{
	(void)json_object_set_new(j, "access_token", json_string(fresh->access));
	if (fresh->refresh)
		(void)json_object_set_new(j, "refresh_token", json_string(fresh->refresh));
	if (fresh->id)
		(void)json_object_set_new(j, "id_token", json_string(fresh->id));
	if (fresh->expires_ms)
		(void)json_object_set_new(j, "expiry_date",
					  json_integer((json_int_t)fresh->expires_ms));
}
