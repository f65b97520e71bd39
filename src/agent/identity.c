#include "agent/identity.h"

#include <fcntl.h>
#include <string.h>

#include "base/text/base64.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/path.h"

#define FILE_MAX (16 * MiB) /* .claude.json holds every project of the user's */
#define CLAIMS_MAX (16 * KiB)

static json_t *read_json(const char *home, const char *rel)
{
	cleanup_free char *path = path_join(home, rel);
	cleanup_buf struct buf b;
	json_t *j = NULL;
	struct err ignored;

	buf_init(&b, FILE_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0)
		return NULL;
	return j;
}

/* "a.b.c" of an object. */
static const char *string_at(const json_t *j, const char *keys)
{
	cleanup_strv struct strv parts = {0};

	strv_split(&parts, keys, '.');
	for (size_t i = 0; i < parts.n; i++)
		j = json_object_get(j, parts.v[i]);
	return json_string_value(j);
}

/* The claim "email" of a JWT, whose signature is none of ours to check: nothing is allowed because
 * of it. */
static char *email_of_token(const char *token)
{
	const char *from = strchr(token, '.'), *to = from ? strchr(from + 1, '.') : NULL;
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	struct err ignored;
	const char *email;

	buf_init(&b, CLAIMS_MAX);
	if (!to || base64url_get(&b, from + 1, (size_t)(to - from) - 1) < 0 ||
	    json_parse(buf_str(&b), b.len, &j, &ignored) < 0)
		return NULL;
	email = json_string_value(json_object_get(j, "email"));
	return email ? xstrdup(email) : NULL;
}

char *agent_identity(const struct agent *a, const char *provider, const char *home)
{
	for (const struct agent_identity *i = a->identity; i->path; i++) {
		cleanup_json json_t *j = NULL;
		const char *s;

		if (!streq(i->provider, provider))
			continue;
		j = read_json(home, i->path);
		s = j ? string_at(j, i->keys) : NULL;
		if (s && *s)
			return i->token ? email_of_token(s) : xstrdup(s);
	}
	return NULL;
}
