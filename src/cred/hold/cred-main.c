/*
 * libexec/ralph/cred: the credentials of one sandbox, asked over descriptor 3 by its supervisor
 * alone. It holds values; what it says is header fields for one request, or why there are none.
 * One question after the other: those that come while a login is renewed need it themselves.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "cred/hold/hold.h"
#include "spec/host-env.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"
#include "wire/helper.h"

struct held {
	struct cred *cred;
};

struct helper {
	json_t *setup; /* the host's places are in it */
	struct cred_host host;
	struct strv environ;
	struct held *creds;
	size_t n;
};

/* Documents with tokens in them go through jansson: nothing of them stays in freed memory. */
static void wiping_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void tell(void *arg, json_t *event)
{
	cleanup_json json_t *j = event;
	cleanup_free char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (!text)
		return;
	wire_put_bytes(&b, text, strlen(text));
	(void)wire_send(HELPER_FD, (enum wire_type)CRED_EVENT, 0, &b, NULL, 0);
}

static int add(struct helper *h, const struct spec_credential *from, struct err *err)
{
	struct cred *c =
		cred_new(&h->host, from->provider, from->name, from->source, from->origin, err);

	if (!c)
		return -EINVAL;
	c->ca_file = from->ca_file ? xstrdup(from->ca_file) : NULL;
	strv_extend(&c->options, &from->options);
	c->tell = tell;
	h->creds = xrealloc(h->creds, h->n + 1, sizeof(*h->creds));
	h->creds[h->n++].cred = c;
	return 0;
}

static int on_setup(void *arg, struct wire_msg *m, struct err *err)
{
	struct helper *h = arg;
	cleanup_(spec_freep) struct sandbox_spec *spec = spec_new();
	cleanup_fd int env = wire_take_fd(m, 0);
	struct wire_reader rd;
	const char *text;
	size_t len = 0;
	int r;

	wire_read(&rd, m);
	text = wire_get_bytes(&rd, &len);
	if (h->setup || wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	r = json_parse(text, len, &h->setup, err);
	if (r == 0)
		r = json_get_str(h->setup, "home", &h->host.home, err);
	if (r == 0)
		r = json_get_str(h->setup, "config", &h->host.config, err);
	if (r == 0)
		r = json_get_str(h->setup, "libexec", &h->host.libexec, err);
	if (r == 0)
		r = spec_credentials_from_json(h->setup, spec, err);
	if (r == 0 && env >= 0 && host_environ_read(env, &h->environ) < 0)
		r = err_set(err, EIO, "cannot read the user's environment");
	h->host.environ = h->environ.v;
	for (size_t i = 0; r == 0 && i < spec->n_credentials; i++)
		if (spec->credentials[i].way == SPEC_WAY_PHANTOM ||
		    spec->credentials[i].way == SPEC_WAY_ENV)
			r = add(h, &spec->credentials[i], err);
	if (r == 0)
		r = wire_send(HELPER_FD, (enum wire_type)CRED_READY, m->id, NULL, NULL, 0);
	return r;
}

static struct cred *find(const struct helper *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (streq(h->creds[i].cred->name, name))
			return h->creds[i].cred;
	return NULL;
}

static int ask(const struct helper *h, const struct gw_header_ask *a, struct cred_header *ret,
	       struct err *err)
{
	const struct cred_request r = {
		.method = a->method,
		.host = a->host,
		.target = a->target,
		.port = (uint16_t)a->port,
		.content_type = a->content_type,
		.body_sha256 = a->body_sha256,
		.rejected = a->rejected,
	};
	struct cred *c = find(h, a->credential);

	return c ? cred_answer(c, &r, ret, err)
		 : err_set(err, ENOENT, "there is no credential of that name");
}

static int on_ask(void *arg, struct wire_msg *m, struct err *err)
{
	const struct helper *h = arg;
	cleanup_(cred_header_done) struct cred_header got;
	struct gw_header answer = {0};
	struct gw_header_ask a;
	struct err why = {0};
	cleanup_buf struct buf b;
	int r;

	cred_header_init(&got);
	buf_init(&b, WIRE_BODY_MAX);
	if (gw_get_header_ask(m, &a) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	r = ask(h, &a, &got, &why);
	if (r < 0) {
		answer.error = (uint32_t)-r;
		answer.message = why.msg;
	} else {
		answer.keep_ms = got.keep_ms;
		answer.set = got.set;
		answer.drop = got.drop;
		answer.secrets = got.secrets;
	}
	gw_put_header(&b, &answer);
	r = wire_send(HELPER_FD, (enum wire_type)GW_HEADER_IS, m->id, &b, NULL, 0);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	return r;
}

static int on_vars(void *arg, struct wire_msg *m, struct err *err)
{
	const struct helper *h = arg;
	cleanup_(cred_wipe_strv) struct strv vars = {0};
	struct wire_reader rd;
	struct err why = {0};
	cleanup_buf struct buf b;
	const char *name;
	struct cred *c;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	wire_read(&rd, m);
	name = wire_get_str(&rd);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	c = find(h, name);
	r = c ? cred_variables(c, &vars, &why)
	      : err_set(&why, ENOENT, "there is no credential of that name");
	wire_put_u32(&b, r < 0 ? (uint32_t)-r : 0);
	wire_put_str(&b, r < 0 ? why.msg : "");
	wire_put_strv(&b, &vars);
	r = wire_send(HELPER_FD, (enum wire_type)CRED_VARS_IS, m->id, &b, NULL, 0);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	return r;
}

static void helper_done(struct helper *h)
{
	for (size_t i = 0; i < h->n; i++)
		(void)cred_free(h->creds[i].cred);
	free(h->creds);
	for (size_t i = 0; i < h->environ.n; i++)
		explicit_bzero(h->environ.v[i], strlen(h->environ.v[i]));
	strv_done(&h->environ);
	json_decref(h->setup);
}

int main(void)
{
	static const struct helper_frame frames[] = {
		{CRED_SETUP, on_setup},
		{CRED_ASK, on_ask},
		{CRED_VARS, on_vars},
	};
	struct helper h = {0};
	struct err err = {0};
	int code;

	/* No no_new_privs: the user's own commands that give keys may need what it takes away. */
	if (helper_protect(&err) < 0) {
		(void)fprintf(stderr, "ralph: cred: %s\n", err.msg);
		return EXIT_RUNTIME;
	}
	json_set_alloc_funcs(malloc, wiping_free);
	strv_init(&h.environ);
	code = helper_serve("cred", frames, ARRAY_SIZE(frames), &h);
	helper_done(&h);
	return code;
}
