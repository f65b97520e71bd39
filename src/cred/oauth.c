#include "cred/oauth.h"

#include <string.h>

#include "base/json/json.h"
#include "cred/token.h"

#define EXPIRES_MAX_S (400ULL * 86400)
#define DEPTH_MAX 32

static void forget(json_t *j, int depth)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_string(j))
		explicit_bzero((char *)json_string_value(j), json_string_length(j));
	if (depth == 0)
		return;
	json_object_foreach (j, key, v)
		forget(v, depth - 1);
	json_array_foreach (j, i, v)
		forget(v, depth - 1);
}

void json_forget(json_t *j)
{
	forget(j, DEPTH_MAX);
	json_decref(j);
}

void oauth_tokens_done(struct oauth_tokens *t)
{
	t->access = cred_secret_free(t->access);
	t->refresh = cred_secret_free(t->refresh);
	t->id = cred_secret_free(t->id);
}

int oauth_answer_parse(const char *text, uint64_t now_ms, struct oauth_tokens *ret, struct err *err)
{
	cleanup_secret_json json_t *j = NULL;
	const char *access = NULL, *refresh = NULL, *id = NULL;
	struct err torn = {0};
	uint64_t seconds = 0;

	if (json_parse(text, strlen(text), &j, &torn) < 0)
		return err_set(err, EPROTO, "the answer is no JSON");
	if (json_get_str(j, "access_token", &access, &torn) < 0 ||
	    json_opt_str(j, "refresh_token", &refresh, &torn) < 0 ||
	    json_opt_str(j, "id_token", &id, &torn) < 0 ||
	    (json_object_get(j, "expires_in") &&
	     json_get_uint(j, "expires_in", &seconds, &torn) < 0) ||
	    seconds > EXPIRES_MAX_S || !token_is_sane(access) ||
	    (refresh && *refresh && !token_is_sane(refresh)))
		return err_set(err, EPROTO, "the answer makes no sense");
	ret->access = xstrdup(access);
	ret->refresh = refresh && *refresh ? xstrdup(refresh) : NULL;
	ret->id = id && *id ? xstrdup(id) : NULL;
	ret->expires_ms = seconds ? now_ms + seconds * 1000 : jwt_expires_ms(access);
	return 0;
}

bool oauth_is_final(unsigned status, const char *text)
{
	cleanup_json json_t *j = NULL;
	const json_t *e;
	const char *what;
	struct err ignored = {0};

	if ((status != 400 && status != 401) || json_parse(text, strlen(text), &j, &ignored) < 0)
		return false;
	e = json_object_get(j, "error");
	what = json_string_value(e);
	if (!what)
		what = json_string_value(json_object_get(e, "code"));
	/* OpenAI's are called refresh_token_expired, …_reused, …_invalidated. */
	return what && (streq(what, "invalid_grant") || strncmp(what, "refresh_token_", 14) == 0);
}

void oauth_form_add(struct buf *b, const char *name, const char *value)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

	(void)buf_printf(b, "%s%s=", b->len ? "&" : "", name);
	for (; *value; value++) {
		if (strchr(plain, *value))
			(void)buf_putc(b, *value);
		else
			(void)buf_printf(b, "%%%02X", (unsigned char)*value);
	}
}
