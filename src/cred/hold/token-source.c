#include "cred/hold/hold.h"

#include <string.h>

#include "base/path.h"
#include "cred/run.h"
#include "cred/token-store.h"

/* Takes the first line of the text, which must be visible ASCII: it goes into a header field. */
static int take_line(const char *text, const char *what, char **ret, struct err *err)
{
	size_t n = strcspn(text, "\r\n");

	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x21 || text[i] > 0x7e)
			return err_set(err, EINVAL,
				       "%s gives something that is no token: it holds a blank or "
				       "another character that a header cannot carry",
				       what);
	if (n == 0)
		return err_set(err, ENOENT, "%s gives nothing", what);
	*ret = xstrndup(text, n);
	return 0;
}

static int from_file(const struct cred *c, const char *path, char **ret, struct err *err)
{
	cleanup_free char *what = xasprintf("'%s'", path);
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(c->host, path, &b, NULL, err);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "'%s' is not there", path);
	return r < 0 ? r : take_line(buf_str(&b), what, ret, err);
}

static int from_command(const struct cred *c, const char *line, char **ret, struct err *err)
{
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)line, NULL};
	cleanup_secret char *out = NULL;
	int code = 0, r = cred_run(c->host, argv, NULL, CRED_COMMAND_MS, &out, &code, err);

	if (r < 0)
		return r;
	if (code != 0)
		return err_set(err, EIO, "the command exits with %d",
			       code); /* it may hold secrets */
	return take_line(out, "the command", ret, err);
}

int cred_source_read(const struct cred *c, char **ret, struct err *err)
{
	const char *at = cred_source_is(c->source, "env"), *value;

	if (at) {
		value = cred_host_env(c->host, at);
		return value ? take_line(value, at, ret, err)
			     : err_set(err, ENOENT, "%s is not set", at);
	}
	at = cred_source_is(c->source, "file");
	if (at)
		return from_file(c, at, ret, err);
	at = cred_source_is(c->source, "store");
	if (at)
		return cred_stored_token(c->host, at, ret, err);
	at = cred_source_is(c->source, "command");
	if (at)
		return from_command(c, at, ret, err);
	return err_set(err, EINVAL, "'%.60s' is no source of a credential", c->source);
}
