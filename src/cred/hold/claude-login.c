/*
 * DOC: Theory of operation
 *
 * The file is Claude Code's, and a host `claude` may renew it at any moment. A refresh token is
 * good for one use: the second program that posts it is told invalid_grant. So a renewal here goes
 * as in Claude Code: take its locks (claude-lock.h), then read the file again. If somebody was
 * faster, their login is used and nothing is posted. The new login is saved only if the file still
 * holds the refresh token that was posted; everything else in the file stays.
 *
 * Claude Code empties the file on invalid_grant. We never do: we say what happened and leave it.
 */
#include "cred/hold/claude-login.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "cred/claude-file.h"
#include "cred/hold/claude-lock.h"
#include "cred/hold/cred-broker.h"
#include "cred/fetch.h"

#define TOKEN_URL "https://platform.claude.com/v1/oauth/token"
#define CLIENT_ID "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
#define SCOPES                                                                                     \
	"user:profile user:inference user:sessions:claude_code user:mcp_servers "                  \
	"user:file_upload user:plugins"
#define EXPIRES_MAX_S (400ULL * 86400)
#define WAIT_MS 20000 /* for another's renewal; within what the gateway waits for us */
#define PAUSE_MS 250  /* to twice as long, between two looks */

/* The state that is kept beside the file. */
struct kept {
	char *rejected; /* a refresh token that was refused for good */
	/*
	 * A renewed login that could not be saved. It replaces the login with the refresh token
	 * `posted`, which is used up.
	 */
	char *posted;
	struct claude_login unsaved;
};

static struct kept *kept(struct cred *c)
{
	if (!c->own)
		c->own = xcalloc(1, sizeof(struct kept));
	return c->own;
}

void claude_login_forget(struct cred *c)
{
	struct kept *k = c->own;

	if (!k)
		return;
	(void)cred_secret_free(k->rejected);
	(void)cred_secret_free(k->posted);
	claude_login_done(&k->unsaved);
	free(k);
	c->own = NULL;
}

/* The locks lie beside the file, and an older version's beside its directory. */
void claude_login_needs(const struct cred *c, const char *path, struct cred_needs *n)
{
	cleanup_free char *dir = path_dir(path);

	strv_push(&n->files, path);
	strv_push(&n->saved, path);
	cred_needs_fetch(n, c, TOKEN_URL);
	strv_push(&n->locks, dir);
	strv_take(&n->locks, path_dir(dir));
}

static int read_login(const struct cred *c, const char *path, struct buf *b,
		      struct claude_login *ret, struct err *err)
{
	int r;

	buf_clear(b);
	r = cred_read_file(c->host, path, b, NULL, err);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "'%s' is not there any more; run: claude /login", path);
	if (r < 0)
		return r;
	r = claude_login_parse(buf_str(b), b->len, ret, err);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "'%s' holds no login any more; run: claude /login",
			       path);
	if (r < 0)
		return err_hint(err, err_wrap(err, r, "'%s'", path), "run: claude /login");
	return 0;
}

static void adopt(struct cred *c, const struct claude_login *l)
{
	cred_set_value(c, l->access);
	c->expires_ms = l->expires_ms;
	c->renewable = l->refresh != NULL;
}

static void tick(void *arg)
{
	claude_lock_touch(arg);
}

/* The scopes that the login has, as Claude Code asks for; without any, Claude Code's usual ones. */
static char *request_body(const struct claude_login *l)
{
	cleanup_json json_t *j = json_pack(
		"{ss ss ss ss}", "grant_type", "refresh_token", "refresh_token", l->refresh,
		"client_id", l->client_id ? l->client_id : CLIENT_ID, "scope", SCOPES);

	return j ? json_dumps(j, JSON_COMPACT) : NULL;
}

static int parse_answer(const struct cred *c, const char *body, struct claude_login *ret,
			struct err *err)
{
	cleanup_json json_t *j = NULL;
	const char *access = NULL, *refresh = NULL, *scope = NULL;
	uint64_t seconds = 0;
	struct err torn;
	int r;

	if (json_parse(body, strlen(body), &j, &torn) < 0)
		return err_set(err, EPROTO, "the answer is no JSON");
	r = json_get_str(j, "access_token", &access, err);
	if (r == 0)
		r = json_get_uint(j, "expires_in", &seconds, err);
	if (r == 0)
		r = json_opt_str(j, "refresh_token", &refresh, err);
	if (r == 0)
		r = json_opt_str(j, "scope", &scope, err);
	if (r == 0 && (!*access || seconds > EXPIRES_MAX_S))
		r = err_set(err, EPROTO, "the answer makes no sense");
	if (r < 0)
		return r;
	ret->access = xstrdup(access);
	ret->refresh = refresh && *refresh ? xstrdup(refresh) : NULL;
	ret->scopes = scope && *scope ? xstrdup(scope) : NULL;
	ret->expires_ms = cred_host_now(c->host) + seconds * 1000;
	return 0;
}

static bool is_final(unsigned status, const char *body)
{
	cleanup_json json_t *j = NULL;
	const char *what = NULL;
	struct err ignored;

	return (status == 400 || status == 401) &&
	       json_parse(body, strlen(body), &j, &ignored) == 0 &&
	       json_opt_str(j, "error", &what, &ignored) == 0 && what &&
	       streq(what, "invalid_grant");
}

static int post(struct cred *c, struct claude_lock *lock, const char *path,
		const struct claude_login *old, struct claude_login *ret, struct err *err)
{
	const char *url = cred_option(c, "token_url");
	cleanup_secret char *body = request_body(old), *answer = NULL;
	struct fetch f = {
		.method = "POST",
		.url = url ? url : TOKEN_URL,
		.content_type = "application/json",
		.body = body,
		/* The user's own authority speaks for the user's own address alone. */
		.ca_file = url ? c->ca_file : NULL,
		.tick = tick,
		.arg = lock,
		.tick_ms = CLAUDE_LOCK_TOUCH_MS,
	};
	unsigned status = 0;
	int r = body ? cred_fetch(c->host, &f, &status, &answer, err)
		     : err_set(err, EINVAL, "'%s' is not text", path);

	if (r < 0)
		return err_wrap(err, r, "renewing the login of '%s'", path);
	if (is_final(status, answer))
		return err_set(err, EKEYREJECTED,
			       "the login of '%s' has ended (invalid_grant); run: claude /login",
			       path);
	if (status != 200)
		return err_set(err, EAGAIN, "renewing the login of '%s' got status %u", path,
			       status);
	r = parse_answer(c, answer, ret, err);
	return r < 0 ? err_wrap(err, r, "renewing the login of '%s'", path) : 0;
}

/* -ESTALE: the file holds another login by now. */
static int save(const struct cred *c, struct claude_lock *lock, const char *path,
		const char *posted, const struct claude_login *fresh, struct err *err)
{
	cleanup_secret char *text = NULL;
	cleanup_(cred_wipe) struct buf b;
	int r = claude_lock_storage(lock, err);

	buf_init(&b, CRED_FILE_MAX);
	if (r == 0)
		r = cred_read_file(c->host, path, &b, NULL, err);
	if (r == 0)
		r = claude_login_update(buf_str(&b), b.len, posted, fresh, &text, err);
	return r < 0 ? r : cred_save(c->host, path, text, err);
}

static void keep_unsaved(struct cred *c, const char *posted, struct claude_login *fresh)
{
	struct kept *k = kept(c);

	(void)cred_secret_free(k->posted);
	claude_login_done(&k->unsaved);
	k->posted = xstrdup(posted);
	k->unsaved = *fresh;
	*fresh = (struct claude_login){0};
}

/* True when the file still has the login that ralph renewed and could not save. */
static bool is_behind(const struct cred *c, const struct claude_login *l)
{
	const struct kept *k = c->own;

	return k && k->posted && l->refresh && streq(l->refresh, k->posted);
}

/* Uses the renewed login, and tries to save it once more. */
static void save_again(struct cred *c, const char *path)
{
	cleanup_(claude_lock_done) struct claude_lock lock = {0};
	cleanup_free char *dir = path_dir(path);
	struct kept *k = c->own;
	struct err ignored;

	adopt(c, &k->unsaved);
	claude_lock_init(&lock, dir);
	if (save(c, &lock, path, k->posted, &k->unsaved, &ignored) == 0) {
		k->posted = cred_secret_free(k->posted);
		claude_login_done(&k->unsaved);
	}
}

/* A torn file is one that somebody is writing without a rename: what we have still holds. */
int claude_login_load(struct cred *c, const char *path, struct err *err)
{
	cleanup_(claude_login_done) struct claude_login l = {0};
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = read_login(c, path, &b, &l, err);
	if (r == -EINVAL && c->value && !cred_expires_within(c, 0))
		return 0;
	if (r < 0)
		return r;
	if (is_behind(c, &l)) {
		save_again(c, path);
		return 0;
	}
	if (!l.refresh && l.expires_ms && l.expires_ms <= cred_host_now(c->host))
		return err_set(err, EKEYEXPIRED,
			       "'%s' has expired and cannot be renewed; run: claude /login", path);
	adopt(c, &l);
	return 0;
}

/* With the locks of a renewal held. */
static int renew_locked(struct cred *c, struct claude_lock *lock, const char *path, struct err *err)
{
	cleanup_(claude_login_done) struct claude_login now = {0}, fresh = {0};
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = read_login(c, path, &b, &now, err);
	if (r < 0)
		return r;
	if (!c->value || !streq(now.access, c->value)) {
		adopt(c, &now);
		return 0;
	}
	if (!now.refresh)
		return err_set(err, EKEYREJECTED, "'%s' cannot be renewed; run: claude /login",
			       path);
	/* A refresh token that was refused once stays refused, so it is not posted again. */
	if (kept(c)->rejected && streq(kept(c)->rejected, now.refresh))
		return err_set(err, EKEYREJECTED,
			       "the login of '%s' has ended (invalid_grant); run: claude /login",
			       path);
	r = post(c, lock, path, &now, &fresh, err);
	if (r == -EKEYREJECTED) {
		(void)cred_secret_free(kept(c)->rejected);
		kept(c)->rejected = xstrdup(now.refresh);
	}
	if (r < 0)
		return r;
	r = save(c, lock, path, now.refresh, &fresh, err);
	if (r == -ESTALE) {
		claude_login_done(&now);
		r = read_login(c, path, &b, &now, err);
		if (r == 0)
			adopt(c, &now);
		return r;
	}
	/* Saved or not, it is the one that works. */
	if (!fresh.refresh)
		fresh.refresh = xstrdup(now.refresh);
	adopt(c, &fresh);
	if (r < 0)
		keep_unsaved(c, now.refresh, &fresh);
	return r;
}

/* Adopts the login that another process has renewed; false: the file still has the old one. */
static bool adopt_renewed(struct cred *c, const char *path)
{
	cleanup_(claude_login_done) struct claude_login l = {0};
	cleanup_(cred_wipe) struct buf b;
	struct err ignored;

	buf_init(&b, CRED_FILE_MAX);
	if (read_login(c, path, &b, &l, &ignored) < 0 || !c->value || streq(l.access, c->value))
		return false;
	adopt(c, &l);
	return true;
}

static void pause_a_little(void)
{
	uint32_t any = 0;
	struct timespec t = {0};

	if (getrandom(&any, sizeof(any), 0) < 0)
		any = (uint32_t)getpid();
	t.tv_nsec = (long)(PAUSE_MS + any % PAUSE_MS) * 1000000;
	(void)nanosleep(&t, NULL);
}

int claude_login_renew(struct cred *c, const char *path, struct err *err)
{
	cleanup_(claude_lock_done) struct claude_lock lock;
	cleanup_free char *dir = path_dir(path);
	uint64_t end = now_ms() + WAIT_MS;
	int r;

	claude_lock_init(&lock, dir);
	r = claude_lock_refresh(&lock, err);
	while (r == -EBUSY && now_ms() < end) {
		pause_a_little();
		if (adopt_renewed(c, path))
			return 0;
		r = claude_lock_refresh(&lock, err);
	}
	return r < 0 ? r : renew_locked(c, &lock, path, err);
}
