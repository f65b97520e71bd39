#include "cred/file-login.h"

#include <string.h>

#include "base/json/json.h"

void file_login_done(struct file_login *l)
{
	l->access = cred_secret_free(l->access);
	l->refresh = cred_secret_free(l->refresh);
	l->account = cred_secret_free(l->account);
}

int file_login_read(const struct cred_host *h, const char *path, const struct file_login_kind *kind,
		    struct file_login *ret, char **ret_warning, struct err *err)
{
	cleanup_secret_json json_t *j = NULL;
	cleanup_(cred_wipe) struct buf b;
	struct err torn = {0};
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(h, path, &b, ret_warning, err);
	if (r == -ENOENT)
		return r;
	if (r < 0)
		return err_hint(err, r, "make it yours (chmod 600), or run: %s", kind->login);
	if (strspn(buf_str(&b), " \t\r\n") == b.len)
		return -ENOENT; /* an empty file is no login */
	/* The parser's message may quote the text. */
	if (json_parse(buf_str(&b), b.len, &j, &torn) < 0 || !json_is_object(j))
		return err_set(err, EINVAL, "'%s' is not a whole JSON document; run: %s", path,
			       kind->login);
	r = kind->parse(j, ret, err);
	if (r < 0 && r != -ENOENT)
		return err_hint(err, err_wrap(err, r, "'%s'", path), "run: %s", kind->login);
	return r;
}
