#include "compose/cred-check.h"

#include <assert.h>
#include <string.h>

#include "cred/cred.h"
#include "cred/token-store.h"

#define DAY_MS (86400ULL * 1000)
#define SETUP_TOKEN_MS (365 * DAY_MS) /* tokens of `claude setup-token` are valid for a year */

static struct cred_host host_of(const struct places *p, char *const *environ, const char *project)
{
	return (struct cred_host){
		.home = p->home,
		.config = p->config,
		.libexec = p->libexec,
		.environ = environ,
		.project = project,
	};
}

static char *where_of(const struct cred_host *h, const char *source)
{
	cleanup_(cred_stored_done) struct cred_stored stored = {0};
	const char *at = cred_source_is(source, "store");
	struct err ignored;

	if (at && cred_stored_look(h, at, &stored, &ignored) == 0)
		return stored.secret_service ? xstrdup("the Secret Service, by ralph store-token")
					     : xasprintf("'%s', by ralph store-token", stored.path);
	at = cred_source_is(source, "file");
	if (at)
		return xasprintf("'%s'", at);
	at = cred_source_is(source, "env");
	if (at)
		return xasprintf("the variable %s", at);
	at = cred_source_is(source, "helper");
	if (at)
		return xasprintf("apiKeyHelper of '%s'", at);
	at = cred_source_is(source, "command");
	return at ? xasprintf("the command '%s'", at) : xstrdup(source);
}

static void found(struct cred_status *s, const struct cred_host *h, struct cred_ref *ref)
{
	uint64_t now = cred_host_now(h);

	s->state = CRED_STATE_OK;
	s->provider = xstrdup(ref->provider->name);
	s->source = xstrdup(ref->source ? ref->source : "");
	s->where = where_of(h, s->source);
	s->warning = take_ptr(ref->warning);
	s->expires_ms = ref->expires_ms;
	s->renewable = ref->renewable;
	if (!s->expires_ms)
		return;
	s->left_ms = s->expires_ms > now ? s->expires_ms - now : 0;
	s->days_left = (int64_t)(s->left_ms / DAY_MS);
	if (s->left_ms == 0 && !s->renewable) {
		s->state = CRED_STATE_UNUSABLE;
		s->problem = xasprintf("%s has expired and cannot be renewed%s%s", s->where,
				       ref->provider->login ? "; run: " : "",
				       ref->provider->login ? ref->provider->login : "");
	}
}

int cred_unusable(const char *service, const char *problem, struct err *err)
{
	int r = err_set(err, EKEYREJECTED, "%s: %s; see: ralph check-token", service,
			problem ? problem : "there is no credential");

	err->exit_code = CRED_EXIT;
	return r;
}

/* Returns the login command of the service's last row, which is the simplest one. */
static char *login_of(const char *service)
{
	const char *login = NULL;

	for (size_t i = 0; i < cred_provider_count(); i++)
		if (streq(cred_provider_at(i)->service, service))
			login = cred_provider_at(i)->login;
	return login ? xasprintf("run: %s", login) : NULL;
}

static void check_service(struct cred_status *s, const struct cred_host *h, const struct config *c,
			  const char *service)
{
	const struct config_credential *said = config_credential(c, service);
	cleanup_(cred_ref_done) struct cred_ref ref;
	struct err err = {0};

	cred_ref_init(&ref);
	*s = (struct cred_status){.service = xstrdup(service), .days_left = -1};
	if (said && said->way && streq(said->way, "off")) {
		s->state = CRED_STATE_OFF;
		return;
	}
	switch (cred_probe(h, service, &ref, &err)) {
	case CRED_MISSING:
		s->state = CRED_STATE_MISSING;
		s->problem = login_of(service);
		break;
	case CRED_UNUSABLE:
		s->state = CRED_STATE_UNUSABLE;
		s->problem = xstrdup(err.msg);
		break;
	case CRED_FOUND:
		found(s, h, &ref);
		break;
	}
}

int cred_check(const struct places *p, const struct config *c, char *const *environ,
	       const char *project, const struct agent *a, struct cred_report *ret, struct err *err)
{
	struct cred_host h = host_of(p, environ, project);

	*ret = (struct cred_report){0};
	for (const char *const *service = a->services; *service; service++) {
		ret->v = xrealloc(ret->v, ret->n + 1, sizeof(*ret->v));
		check_service(&ret->v[ret->n++], &h, c, *service);
	}
	return 0;
}

void cred_report_done(struct cred_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct cred_status *s = &r->v[i];

		free(s->service);
		free(s->provider);
		free(s->where);
		free(s->source);
		free(s->problem);
		free(s->warning);
	}
	free(r->v);
	*r = (struct cred_report){0};
}

const char *cred_state_name(enum cred_state s)
{
	static const char *const names[] = {
		[CRED_STATE_OK] = "ok",
		[CRED_STATE_MISSING] = "missing",
		[CRED_STATE_UNUSABLE] = "unusable",
		[CRED_STATE_OFF] = "off",
	};
	static_assert(ARRAY_SIZE(names) == CRED_STATE_N, "one name per state");

	return names[s];
}

static json_t *status_json(const struct cred_status *s)
{
	json_t *j = json_pack("{ss ss ss* ss* ss* sb}", "service", s->service, "state",
			      cred_state_name(s->state), "provider", s->provider, "source",
			      s->source, "where", s->where, "renewable", s->renewable);

	if (s->expires_ms) {
		(void)json_object_set_new(j, "expires_ms", json_integer((json_int_t)s->expires_ms));
		(void)json_object_set_new(j, "days_left", json_integer(s->days_left));
		(void)json_object_set_new(j, "expired", json_boolean(s->left_ms == 0));
	}
	if (s->problem)
		(void)json_object_set_new(j, "problem", json_text(s->problem));
	if (s->warning)
		(void)json_object_set_new(j, "warning", json_text(s->warning));
	return j;
}

json_t *cred_report_json(const struct cred_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++)
		(void)json_array_append_new(list, status_json(&r->v[i]));
	return json_pack("{sb so}", "ok", cred_report_ok(r), "credentials", list);
}

bool cred_report_ok(const struct cred_report *r)
{
	size_t usable = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].state == CRED_STATE_UNUSABLE)
			return false;
		usable += r->v[i].state == CRED_STATE_OK;
	}
	return usable > 0;
}

static const char *origin_of(const char *service)
{
	for (size_t i = 0; i < cred_provider_count(); i++)
		if (streq(cred_provider_at(i)->service, service) && cred_provider_at(i)->origin)
			return cred_provider_at(i)->origin;
	return NULL;
}

static int ask(const struct cred_host *h, const struct config *c, const char *service,
	       const char *token, char **ret_checked, struct err *err)
{
	const struct config_provider *own = config_provider(c, service);
	const char *origin = own && own->origin ? own->origin : origin_of(service);
	cleanup_free char *why = NULL;

	switch (token_ask(h, origin, own ? own->ca_file : NULL, token, &why)) {
	case TOKEN_REFUSED:
		return err_set(err, EKEYREJECTED,
			       "%s; nothing is stored: make another with 'claude setup-token'",
			       why);
	case TOKEN_TAKEN:
		*ret_checked = xasprintf("checked: %s takes it", origin);
		return 0;
	case TOKEN_NOT_CHECKED:
		break;
	}
	*ret_checked = xasprintf("not checked: %s", why);
	return 0;
}

int cred_keep(const struct places *p, const struct config *c, char *const *environ,
	      const char *service, const char *token, struct cred_kept *ret, struct err *err)
{
	struct cred_host h = host_of(p, environ, NULL);
	bool is_key = token_is_api_key(token), secret_service = false;
	int r;

	if (!is_key && !token_is_setup_token(token))
		return err_usage(err, "that is no token: one of 'claude setup-token' begins with "
				      "sk-ant-oat01-, an API key with sk-ant-api");
	r = ask(&h, c, service, token, &ret->checked, err);
	if (r == 0)
		r = cred_store_put(&h, service, token, is_key,
				   is_key ? 0 : cred_host_now(&h) + SETUP_TOKEN_MS, &secret_service,
				   err);
	if (r < 0)
		return r;
	ret->where = secret_service ? xstrdup("the Secret Service")
				    : xasprintf("'%s/tokens/%s.json'", p->config, service);
	return 0;
}

void cred_kept_done(struct cred_kept *k)
{
	free(k->where);
	free(k->checked);
}

int cred_forget(const struct places *p, char *const *environ, const char *service, struct err *err)
{
	struct cred_host h = host_of(p, environ, NULL);

	return cred_store_drop(&h, service, err);
}
