#include "cred/google.h"

#include <string.h>

#include "cred/token.h"
#include "cred/vertex.h"

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

int google_adc_read(const struct cred_host *h, const char *path, struct google_user *ret,
		    char **ret_warning, struct err *err)
{
	cleanup_secret_json json_t *j = NULL;
	cleanup_(cred_wipe) struct buf b;
	struct err torn = {0};
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(h, path, &b, ret_warning, err);
	if (r < 0)
		return r;
	/* The parser's message may quote the text. */
	if (b.len == 0 || json_parse(buf_str(&b), b.len, &j, &torn) < 0 || !json_is_object(j))
		return err_set(err, EINVAL,
			       "'%s' is not a whole JSON document; run: gcloud auth "
			       "application-default login",
			       path);
	r = google_user_parse(j, ret, err);
	if (r < 0 && r != -ENOENT)
		return err_hint(err, err_wrap(err, r, "'%s'", path),
				"run: gcloud auth application-default login");
	return r;
}
