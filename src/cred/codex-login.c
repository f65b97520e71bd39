#include "cred/openai.h"

#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "cred/token.h"

int codex_key_parse(const json_t *j, struct file_login *ret, struct err *err)
{
	const char *mode = json_string_value(json_object_get(j, "auth_mode"));
	const char *key = json_string_value(json_object_get(j, "OPENAI_API_KEY"));

	/* A ChatGPT login may keep a key beside it, which it then does not use. */
	if (!key || !*key || (mode && !streq(mode, "apikey")))
		return -ENOENT;
	if (!mode && json_is_object(json_object_get(j, "tokens")))
		return -ENOENT;
	if (!token_is_sane(key))
		return err_set(err, EINVAL, "its key holds what no key does");
	ret->access = xstrdup(key);
	return 0;
}

int codex_login_parse(const json_t *j, struct file_login *ret, struct err *err)
{
	const char *mode = json_string_value(json_object_get(j, "auth_mode"));
	const json_t *tokens = json_object_get(j, "tokens");
	const char *access, *refresh, *account;

	if (!json_is_object(tokens) || (mode && !streq(mode, "chatgpt")))
		return -ENOENT;
	access = json_string_value(json_object_get(tokens, "access_token"));
	refresh = json_string_value(json_object_get(tokens, "refresh_token"));
	account = json_string_value(json_object_get(tokens, "account_id"));
	if (!access || !token_is_sane(access))
		return err_set(err, EINVAL, "it has no access token");
	if ((refresh && *refresh && !token_is_sane(refresh)) ||
	    (account && *account && !token_is_sane(account)))
		return err_set(err, EINVAL, "a token in it holds what no token does");
	ret->access = xstrdup(access);
	ret->refresh = refresh && *refresh ? xstrdup(refresh) : NULL;
	ret->account = account && *account ? xstrdup(account) : NULL;
	ret->expires_ms = jwt_expires_ms(access);
	return 0;
}

void codex_login_update(json_t *j, const struct oauth_tokens *fresh, uint64_t now_ms)
{
	json_t *tokens = json_object_get(j, "tokens");
	time_t now = (time_t)(now_ms / 1000);
	char when[40] = "";
	struct tm tm;

	(void)json_object_set_new(tokens, "access_token", json_string(fresh->access));
	if (fresh->refresh)
		(void)json_object_set_new(tokens, "refresh_token", json_string(fresh->refresh));
	if (fresh->id)
		(void)json_object_set_new(tokens, "id_token", json_string(fresh->id));
	if (gmtime_r(&now, &tm) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm))
		(void)json_object_set_new(j, "last_refresh", json_string(when));
}

const struct file_login_kind codex_key_kind = {.login = "codex login", .parse = codex_key_parse};
