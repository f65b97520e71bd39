#include "cred/token-store.h"

#include <string.h>

#include "base/mem.h"
#include "cred/fetch.h"

#define TOKEN_LEAST 8 /* characters behind the prefix */
#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static bool has_shape(const char *token, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(token, prefix, n) == 0 && strlen(token + n) >= TOKEN_LEAST &&
	       token[n + strspn(token + n, WORD)] == '\0';
}

bool token_is_setup_token(const char *token)
{
	return has_shape(token, "sk-ant-oat01-");
}

bool token_is_api_key(const char *token)
{
	return has_shape(token, "sk-ant-api");
}

static enum token_answer judge(unsigned status, char **ret_why)
{
	if (status == 401) {
		*ret_why = xstrdup("the provider refuses it (status 401)");
		return TOKEN_REFUSED;
	}
	/* The body is at fault, or this token's rights: either way it is known. */
	if (status == 200 || status == 400 || status == 403)
		return TOKEN_TAKEN;
	*ret_why = xasprintf("the provider answers with status %u", status);
	return TOKEN_NOT_CHECKED;
}

enum token_answer token_ask(const struct cred_host *h, const char *origin, const char *ca_file,
			    const char *token, char **ret_why)
{
	cleanup_free char *url = xasprintf("%s/v1/messages", origin);
	cleanup_secret char *body = NULL;
	cleanup_strv struct strv headers = {0};
	const struct fetch f = {.method = "POST",
				.url = url,
				.content_type = "application/json",
				.body = "{}",
				.headers = &headers,
				.ca_file = ca_file};
	unsigned status = 0;
	struct err err = {0};
	int r;

	*ret_why = NULL;
	strv_push(&headers, "anthropic-version: 2023-06-01");
	if (token_is_api_key(token)) {
		strv_pushf(&headers, "x-api-key: %s", token);
	} else {
		strv_push(&headers, "anthropic-beta: oauth-2025-04-20");
		strv_pushf(&headers, "Authorization: Bearer %s", token);
	}
	r = cred_fetch(h, &f, &status, &body, &err);
	explicit_bzero(headers.v[headers.n - 1], strlen(headers.v[headers.n - 1]));
	if (r == 0)
		return judge(status, ret_why);
	*ret_why = xstrdup(err.msg);
	return TOKEN_NOT_CHECKED;
}
