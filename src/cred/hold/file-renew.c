#include "cred/file-login.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "cred/fetch.h"
#include "cred/hold/cred-broker.h"

#define LOCK_MS (FETCH_MS + 10000) /* the holder waits for one answer */

static void adopt(struct cred *c, const struct file_login *l)
{
	cred_set_value(c, l->access);
	c->expires_ms = l->expires_ms;
	c->renewable = l->refresh != NULL;
}

void file_login_needs(const struct cred *c, const char *url, struct cred_needs *n)
{
	const char *path = cred_source_is(c->source, "file");

	strv_push(&n->files, path);
	strv_take(&n->files, path_dir(path)); /* it is locked */
	strv_push(&n->saved, path);
	cred_needs_fetch(n, c, url);
}

int file_login_load(struct cred *c, const struct file_login_kind *kind, char **ret_account,
		    struct err *err)
{
	cleanup_(file_login_done) struct file_login l = {0};
	const char *path = cred_source_is(c->source, "file");
	int r = file_login_read(c->host, path, kind, &l, NULL, err);

	/* A torn file is one that somebody is writing without a rename: what we have holds. */
	if (r == -EINVAL && c->value && !cred_expires_within(c, 0))
		return 0;
	if (r == -ENOENT)
		return err_set(err, ENOENT, "'%s' holds no login any more; run: %s", path,
			       kind->login);
	if (r < 0)
		return r;
	adopt(c, &l);
	if (ret_account) {
		(void)cred_secret_free(*ret_account);
		*ret_account = take_ptr(l.account);
	}
	return 0;
}

int file_login_post(struct cred *c, const char *url, const char *content_type, const char *body,
		    struct oauth_tokens *ret, struct err *err)
{
	const char *own = cred_option(c, "token_url");
	cleanup_secret char *answer = NULL;
	struct fetch f = {
		.method = "POST",
		.url = own ? own : url,
		.content_type = content_type,
		.body = body,
		/* The user's own authority speaks for the user's own address alone. */
		.ca_file = own ? c->ca_file : NULL,
	};
	unsigned status = 0;
	int r = cred_fetch(c->host, &f, &status, &answer, err);

	if (r < 0)
		return r;
	if (oauth_is_final(status, answer))
		return err_set(err, EKEYREJECTED, "it has ended (invalid_grant)");
	if (status != 200)
		return err_set(err, EAGAIN, "the server answers with status %u", status);
	return oauth_answer_parse(answer, cred_host_now(c->host), ret, err);
}

/* -ESTALE: the file holds another login by now. */
static int save(struct cred *c, const struct file_login_kind *kind, const char *path,
		const char *posted, const struct oauth_tokens *fresh, struct err *err)
{
	cleanup_(file_login_done) struct file_login now = {0};
	cleanup_secret_json json_t *j = NULL;
	cleanup_secret char *text = NULL;
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(c->host, path, &b, NULL, err);
	if (r == 0)
		r = json_parse(buf_str(&b), b.len, &j, err);
	if (r < 0)
		return r;
	if (kind->parse(j, &now, err) < 0 || !now.refresh || !streq(now.refresh, posted))
		return -ESTALE;
	kind->update(j, fresh, cred_host_now(c->host));
	text = json_dumps(j, JSON_INDENT(2));
	return text ? cred_save(c->host, path, text, err)
		    : err_set(err, ENOMEM, "cannot write '%s'", path);
}

static void take_fresh(struct cred *c, const struct oauth_tokens *t)
{
	cred_set_value(c, t->access);
	c->expires_ms = t->expires_ms;
}

static int ended(const struct file_login_kind *kind, const char *path, struct err *err)
{
	return err_set(err, EKEYREJECTED, "the login of '%s' has ended (invalid_grant); run: %s",
		       path, kind->login);
}

/* Renews with the lock held: no other program of ralph posts meanwhile. */
static int renew_locked(struct cred *c, const struct file_login_kind *kind, const char *path,
			struct err *err)
{
	cleanup_(file_login_done) struct file_login now = {0}, other = {0};
	cleanup_(oauth_tokens_done) struct oauth_tokens fresh = {0};
	int r = file_login_read(c->host, path, kind, &now, NULL, err);

	if (r < 0)
		return r == -ENOENT ? ended(kind, path, err) : r;
	if (!c->value || !streq(now.access, c->value)) {
		adopt(c, &now); /* somebody was faster */
		return 0;
	}
	if (!now.refresh)
		return err_set(err, EKEYREJECTED, "'%s' cannot be renewed; run: %s", path,
			       kind->login);
	r = kind->post(c, &now, &fresh, err);
	if (r == -EKEYREJECTED)
		return ended(kind, path, err);
	if (r < 0)
		return err_wrap(err, r, "renewing the login of '%s'", path);
	r = save(c, kind, path, now.refresh, &fresh, err);
	if (r == -ESTALE && file_login_read(c->host, path, kind, &other, NULL, err) == 0) {
		adopt(c, &other);
		return 0;
	}
	/* Saved or not, it is the one that works. */
	take_fresh(c, &fresh);
	return r == -ESTALE ? 0 : r;
}

int file_login_renew(struct cred *c, const struct file_login_kind *kind, struct err *err)
{
	const char *path = cred_source_is(c->source, "file");
	cleanup_free char *dir = path_dir(path);
	cleanup_fd int lock = cred_open(c->host, dir);
	int r;

	if (lock < 0)
		return err_sys(err, -lock, "cannot open '%s'", dir);
	r = fd_lock(lock, LOCK_MS);
	if (r < 0)
		return err_sys(err, -r, "cannot lock '%s'", dir);
	return renew_locked(c, kind, path, err);
}
