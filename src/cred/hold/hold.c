#include "cred/hold/hold.h"

#include <string.h>

#include "base/fd.h"
#include "base/json/json.h"

struct cred *cred_new(const struct cred_host *host, const char *provider, const char *name,
		      const char *source, const char *origin, struct err *err)
{
	const struct cred_holder *holder = cred_holder_find(provider);
	struct cred *c;

	if (!holder) {
		(void)err_set(err, EINVAL, "'%s' is no provider of credentials", provider);
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	c->provider = xstrdup(provider);
	c->holder = holder;
	c->host = host;
	c->name = xstrdup(name);
	c->source = xstrdup(source ? source : "");
	c->origin = origin ? xstrdup(origin) : NULL;
	strv_init(&c->options);
	strv_init(&c->requests);
	return c;
}

struct cred *cred_free(struct cred *c)
{
	if (!c)
		return NULL;
	if (c->holder->done)
		c->holder->done(c);
	free(c->provider);
	free(c->name);
	free(c->source);
	free(c->origin);
	free(c->ca_file);
	free(c->endpoint);
	strv_done(&c->options);
	strv_done(&c->requests);
	(void)cred_secret_free(c->value);
	free(c);
	return NULL;
}

const char *cred_option(const struct cred *c, const char *name)
{
	return strv_env_get(&c->options, name);
}

void cred_set_value(struct cred *c, const char *value)
{
	char *copy = value ? xstrdup(value) : NULL;

	(void)cred_secret_free(c->value);
	c->value = copy;
}

bool cred_expires_within(const struct cred *c, uint64_t ms)
{
	return c->expires_ms && cred_host_now(c->host) + ms >= c->expires_ms;
}

/* final: nothing but a new login helps; `ralph check-token` looks for it. */
static void tell(struct cred *c, const char *what, const char *message, bool final)
{
	if (c->tell)
		c->tell(c->tell_arg, json_pack("{ss so ss ss* sb}", "what", what, "credential",
					       json_text(c->name), "provider", c->provider,
					       "message", message, "final", final));
}

/*
 * A renewal that fails for now is no reason to refuse: what we have may last a few minutes more,
 * and an upstream that takes it is the better judge. One that fails for good is, once it expires.
 */
static int renew(struct cred *c, struct err *err)
{
	int r;

	if (now_ms() < c->retry_ms)
		return 0;
	r = c->holder->renew(c, err);
	if (r == 0) {
		c->retry_ms = 0;
		tell(c, "renewed", NULL, false);
		return 0;
	}
	c->retry_ms = now_ms() + CRED_RETRY_MS;
	tell(c, "not-renewed", err->msg, r == -EKEYREJECTED);
	if (r == -EKEYREJECTED && cred_expires_within(c, 0))
		return r;
	return 0;
}

/* True when it is time to look for a newer value. A wait that passed without a refusal was the last.
 */
static bool may_look(struct cred *c)
{
	uint64_t now = now_ms();

	if (now < c->again_ms)
		return false;
	if (now - c->again_ms > c->again_wait)
		c->again_wait = CRED_AGAIN_MS;
	else
		c->again_wait *= 2;
	if (c->again_wait > CRED_AGAIN_MAX_MS)
		c->again_wait = CRED_AGAIN_MAX_MS;
	c->again_ms = now + c->again_wait;
	return true;
}

/* Makes the value current. `again`: look for one that is newer than `refused`. */
static int make_current(struct cred *c, bool again, const char *refused, struct err *err)
{
	int r = c->holder->load(c, again, err);
	bool same = again && refused && c->value && streq(refused, c->value);

	if (r == 0 && c->renewable && c->holder->renew &&
	    (same || cred_expires_within(c, CRED_RENEW_AHEAD_MS)))
		r = renew(c, err);
	return r;
}

int cred_answer(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		struct err *err)
{
	cleanup_secret char *refused = r->rejected && c->value ? xstrdup(c->value) : NULL;
	bool again = r->rejected && may_look(c);
	int res = make_current(c, again, refused, err);

	if (res < 0)
		return res;
	/* Not every holder has one value to compare. */
	if (refused && c->value ? streq(refused, c->value) : r->rejected && !again)
		return err_set(err, EKEYREJECTED,
			       "the server refuses the credential '%s', and there is no newer one",
			       c->name);
	return c->holder->header(c, r, ret, err);
}

int cred_variables(struct cred *c, struct strv *ret, struct err *err)
{
	int r;

	if (!c->holder->variables)
		return err_set(err, ENOTSUP, "credential '%s' has no variables", c->name);
	r = c->holder->load(c, false, err);
	return r < 0 ? r : c->holder->variables(c, ret, err);
}

void cred_header_init(struct cred_header *h)
{
	*h = (struct cred_header){0};
	strv_init(&h->set);
	strv_init(&h->drop);
	strv_init(&h->secrets);
}

void cred_wipe_strv(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		explicit_bzero(s->v[i], strlen(s->v[i]));
	strv_done(s);
}

void cred_header_done(struct cred_header *h)
{
	cred_wipe_strv(&h->set);
	cred_wipe_strv(&h->secrets);
	strv_done(&h->drop);
}

void cred_header_set(struct cred_header *h, const char *field, const char *scheme,
		     const char *value)
{
	/* Wherever a client may have put its own, it goes. */
	static const char *const fields[] = {"authorization",  "x-api-key",	      "api-key",
					     "x-goog-api-key", "proxy-authorization", "cookie"};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strv_has(&h->drop, fields[i]))
			strv_push(&h->drop, fields[i]);
	strv_pushf(&h->set, "%s: %s%s%s", field, scheme ? scheme : "", scheme ? " " : "", value);
	strv_push(&h->secrets, value);
}
