#include "cred/claude-file.h"

#include <string.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cred/token.h"

#define MEMBER "claudeAiOauth"

void claude_login_done(struct claude_login *l)
{
	(void)cred_secret_free(l->access);
	(void)cred_secret_free(l->refresh);
	free(l->scopes);
	free(l->subscription);
	free(l->client_id);
	*l = (struct claude_login){0};
}

static int parse_document(const char *text, size_t len, json_t **ret, json_t **ret_login,
			  struct err *err)
{
	cleanup_json json_t *j = NULL;
	json_t *login;
	struct err torn;

	if (strspn(text, " \t\r\n") >= len)
		return -ENOENT; /* an empty file is no login */
	/* jansson's own words may quote what stands there. */
	if (json_parse(text, len, &j, &torn) < 0 || !json_is_object(j))
		return err_set(err, EINVAL, "it is no whole JSON object");
	login = json_object_get(j, MEMBER);
	if (!login || json_is_null(login))
		return -ENOENT;
	if (!json_is_object(login))
		return err_set(err, EINVAL, "'" MEMBER "' is no object");
	*ret_login = login;
	*ret = take_ptr(j);
	return 0;
}

static int take_token(const json_t *login, const char *key, char **ret, struct err *err)
{
	const char *s = NULL;
	int r = json_opt_str(login, key, &s, err);

	if (r < 0 || !s || !*s)
		return r;
	if (!token_is_sane(s))
		return err_set(err, EINVAL, "'%s' is no token", key);
	*ret = xstrdup(s);
	return 0;
}

static char *join_scopes(const json_t *login)
{
	const json_t *list = json_object_get(login, "scopes"), *s;
	cleanup_buf struct buf b;
	size_t i;

	buf_init(&b, 4 * KiB);
	json_array_foreach (list, i, s) {
		if (json_is_string(s))
			(void)buf_printf(&b, "%s%s", b.len ? " " : "", json_string_value(s));
	}
	return b.len && !b.full ? buf_take(&b) : NULL;
}

static int read_login(const char *text, size_t len, struct claude_login *l, struct err *err)
{
	cleanup_json json_t *j = NULL;
	const json_t *when;
	json_t *login = NULL;
	const char *client = NULL, *subscription = NULL;
	int r = parse_document(text, len, &j, &login, err);

	if (r == 0)
		r = take_token(login, "accessToken", &l->access, err);
	if (r == 0)
		r = take_token(login, "refreshToken", &l->refresh, err);
	if (r == 0)
		r = json_opt_str(login, "clientId", &client, err);
	if (r == 0)
		r = json_opt_str(login, "subscriptionType", &subscription, err);
	if (r < 0)
		return r;
	if (!l->access)
		return err_set(err, EKEYEXPIRED, "the login in it has ended");
	when = json_object_get(login, "expiresAt");
	if (when && !json_is_null(when) && (!json_is_number(when) || json_number_value(when) < 0))
		return err_set(err, EINVAL, "'expiresAt' is no time");
	l->expires_ms = json_is_integer(when) ? (uint64_t)json_integer_value(when)
			: json_is_real(when) && json_real_value(when) < 1e15
				? (uint64_t)json_real_value(when)
				: 0;
	l->scopes = join_scopes(login);
	l->subscription =
		subscription && token_is_sane(subscription) ? xstrdup(subscription) : NULL;
	l->client_id = client && token_is_sane(client) ? xstrdup(client) : NULL;
	return 0;
}

int claude_login_parse(const char *text, size_t len, struct claude_login *ret, struct err *err)
{
	struct claude_login l = {0};
	int r = read_login(text, len, &l, err);

	if (r < 0)
		claude_login_done(&l);
	else
		*ret = l;
	return r;
}

static void set_scopes(json_t *login, const char *scopes)
{
	cleanup_strv struct strv list = {0};
	json_t *a = json_array();

	strv_split(&list, scopes, ' ');
	for (size_t i = 0; i < list.n; i++)
		(void)json_array_append_new(a, json_text(list.v[i]));
	(void)json_object_set_new(login, "scopes", a);
}

int claude_login_update(const char *text, size_t len, const char *posted,
			const struct claude_login *fresh, char **ret, struct err *err)
{
	cleanup_json json_t *j = NULL;
	json_t *login = NULL;
	const char *there = NULL;
	int r = parse_document(text, len, &j, &login, err);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	r = json_opt_str(login, "refreshToken", &there, err);
	if (r < 0)
		return r;
	if (!there || !streq(there, posted))
		return -ESTALE;
	(void)json_object_set_new(login, "accessToken", json_string(fresh->access));
	if (fresh->refresh)
		(void)json_object_set_new(login, "refreshToken", json_string(fresh->refresh));
	(void)json_object_set_new(login, "expiresAt", json_integer((json_int_t)fresh->expires_ms));
	if (fresh->scopes)
		set_scopes(login, fresh->scopes);
	*ret = json_dumps(j, JSON_COMPACT);
	return *ret ? 0 : err_set(err, EINVAL, "it cannot be written as JSON");
}
