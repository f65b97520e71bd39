#include "cred/google.h"

#include <string.h>

#include "cred/token.h"

void google_user_done(struct google_user *u)
{
	u->client_id = cred_secret_free(u->client_id);
	u->client_secret = cred_secret_free(u->client_secret);
	u->refresh = cred_secret_free(u->refresh);
	free(u->quota_project);
	u->quota_project = NULL;
}

int google_user_parse(const json_t *j, struct google_user *ret, struct err *err)
{
	static const char *const names[] = {"client_id", "client_secret", "refresh_token"};
	const char *type = json_string_value(json_object_get(j, "type")), *values[3];
	const char *quota = json_string_value(json_object_get(j, "quota_project_id"));

	if (!type)
		return err_set(err, EINVAL, "it does not say of which type it is");
	if (!streq(type, "authorized_user"))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		values[i] = json_string_value(json_object_get(j, names[i]));
		if (!values[i] || !token_is_sane(values[i]))
			return err_set(err, EINVAL, "it has no %s", names[i]);
	}
	ret->client_id = xstrdup(values[0]);
	ret->client_secret = xstrdup(values[1]);
	ret->refresh = xstrdup(values[2]);
	ret->quota_project = quota && token_is_sane(quota) ? xstrdup(quota) : NULL;
	return 0;
}
