/*
 * libexec/ralph/cred: the credentials of one sandbox.
 *
 * DOC: Theory of operation
 *
 * Two lines lead here. Over descriptor 3 the supervisor says what there is to judge by: the
 * credentials of the spec, the rules of the network, and whether the budget is used up. Over a line
 * of its own, which comes with CRED_LINE, the gateway asks for the header fields of one request.
 * Each question is judged here (cred-judge.c), and its answer goes to the gateway alone; the supervisor
 * is told what was given for which request and what was refused, never a value.
 *
 * With the set-up the helper gives up files, programs and network (cred-broker.h); all else is read
 * after that.
 *
 * One question after the other: those that come while a login is renewed need it themselves. What
 * the supervisor has sent before the gateway asked counts for the question. The end of the
 * supervisor's line is the end of the helper. The end of the gateway's is not: what was counted and
 * renewed holds for the next gateway too, whose line comes with another CRED_LINE.
 */
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cred/hold/cred-broker.h"
#include "cred/hold/cred-judge.h"
#include "wire/gateway-proto.h"
#include "wire/guest-proto.h"
#include "wire/helper.h"

#define RULE_TEXT_MAX 200
#define ENVIRON_MAX (4 * MiB)

struct helper {
	json_t *setup; /* the host's places are in it */
	struct policy *policy;
	char *closed; /* NULL: no budget; "": not used up; else why there is no header */
	int line;     /* to the gateway; -1: none */
	struct cred_host host;
	struct strv environ;
	struct cred_needs needs;
	struct cred **creds;
	size_t n;
	struct strv logins; /* the host's files, of way pipe */
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

/* Of a login that is piped only the file is known here; one that is mounted is not the helper's. */
static int add(struct helper *h, const json_t *row, struct err *err)
{
	const char *name = NULL, *provider = NULL, *way = NULL;
	const char *source = NULL, *origin = NULL, *ca_file = NULL, *endpoint = NULL;
	struct cred *c;
	int r = json_get_str(row, "name", &name, err);

	if (r == 0)
		r = json_get_str(row, "provider", &provider, err);
	if (r == 0)
		r = json_get_str(row, "way", &way, err);
	if (r == 0)
		r = json_opt_str(row, "source", &source, err);
	if (r == 0)
		r = json_opt_str(row, "origin", &origin, err);
	if (r == 0)
		r = json_opt_str(row, "ca_file", &ca_file, err);
	if (r == 0)
		r = json_opt_str(row, "endpoint", &endpoint, err);
	if (r == 0 && streq(way, "pipe") && cred_source_is(source, "file"))
		strv_push(&h->logins, cred_source_is(source, "file"));
	if (r < 0 || (!streq(way, "phantom") && !streq(way, "env")))
		return r;
	c = cred_new(&h->host, provider, name, source, origin, err);
	if (!c)
		return -EINVAL;
	h->creds = xrealloc(h->creds, h->n + 1, sizeof(struct cred *));
	h->creds[h->n++] = c;
	c->ca_file = xstrdup_or_null(ca_file);
	c->endpoint = xstrdup_or_null(endpoint);
	c->inside = streq(way, "env");
	c->tell = tell;
	r = json_opt_strv(row, "options", &c->options, err);
	return r < 0 ? r : json_opt_strv(row, "requests", &c->requests, err);
}

/* Entries ended by NUL. */
static int read_environ(int fd, struct strv *ret, struct err *err)
{
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, ENVIRON_MAX);
	r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_read_all(fd, &b);
	for (size_t at = 0; r == 0 && at < b.len; at += strlen(b.data + at) + 1)
		strv_push(ret, b.data + at);
	return r < 0 ? err_sys(err, -r, "cannot read the user's environment") : 0;
}

static int read_setup(struct helper *h, const char *text, size_t len, struct err *err)
{
	json_t *rows = NULL;
	int r = json_parse(text, len, &h->setup, err);

	if (r == 0)
		r = json_get_str(h->setup, "home", &h->host.home, err);
	if (r == 0)
		r = json_get_str(h->setup, "config", &h->host.config, err);
	if (r == 0)
		r = json_get_str(h->setup, "libexec", &h->host.libexec, err);
	if (r == 0)
		r = json_get_array(h->setup, "credentials", &rows, err);
	for (size_t i = 0; r == 0 && i < json_array_size(rows); i++)
		r = add(h, json_array_get(rows, i), err);
	return r;
}

/* Before anything is read that was not the supervisor's first word. */
static int confine(struct helper *h, struct err *err)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct cred *c = h->creds[i];

		if (c->holder->needs)
			c->holder->needs(c, &h->needs);
		else
			cred_needs_source(&h->needs, c);
	}
	for (size_t i = 0; i < h->logins.n; i++)
		strv_push(&h->needs.files, h->logins.v[i]);
	return cred_confine(&h->host, &h->needs, err);
}

static int on_setup(void *arg, struct wire_msg *m, struct err *err)
{
	struct helper *h = arg;
	cleanup_fd int env = wire_take_fd(m, 0);
	struct wire_reader rd;
	const char *text;
	size_t len = 0;
	int r = 0;

	wire_read(&rd, m);
	text = wire_get_bytes(&rd, &len);
	if (h->setup || wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	if (env >= 0)
		r = read_environ(env, &h->environ, err);
	h->host.environ = h->environ.v;
	if (r == 0)
		r = read_setup(h, text, len, err);
	return r < 0 ? r : confine(h, err);
}

static int on_rules(void *arg, struct wire_msg *m, struct err *err)
{
	struct helper *h = arg;

	h->policy = policy_free(h->policy);
	return gw_get_rules(m, &h->policy) < 0 ? err_set(err, EPROTO, "a malformed frame came") : 0;
}

static int on_budget(void *arg, struct wire_msg *m, struct err *err)
{
	struct helper *h = arg;
	struct wire_reader rd;
	const char *why;

	wire_read(&rd, m);
	why = wire_get_str(&rd);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	free(h->closed);
	h->closed = xstrdup(why);
	return 0;
}

static int on_line(void *arg, struct wire_msg *m, struct err *err)
{
	struct helper *h = arg;

	if (m->n_fds != 1)
		return err_set(err, EPROTO, "a malformed frame came");
	closep(&h->line);
	h->line = wire_take_fd(m, 0);
	return 0;
}

static struct cred *find(const struct helper *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (streq(h->creds[i]->name, name))
			return h->creds[i];
	return NULL;
}

static void tell_refused(const struct gw_header_ask *a, const char *why)
{
	tell(NULL, json_pack("{ss so so sI so so}", "what", "refused", "credential",
			     json_text(a->credential), "host", json_text(a->host), "port",
			     (json_int_t)a->port, "method", json_text(a->method), "message",
			     json_text(why)));
}

static void tell_used(const struct gw_header_ask *a, const struct policy_rule *rule)
{
	char text[RULE_TEXT_MAX] = "";
	const struct cred_use use = {
		.credential = a->credential,
		.host = a->host,
		.port = a->port,
		.method = a->method,
		.rule = text,
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (rule)
		cred_rule_text(rule, text, sizeof(text));
	gw_put_use(&b, &use);
	(void)wire_send(HELPER_FD, (enum wire_type)CRED_USED, 0, &b, NULL, 0);
}

/* Only providers' answers tell what they used: other credentials have no budget. */
static bool is_metered(const struct helper *h, const struct cred *c)
{
	return c && h->closed && c->endpoint;
}

static int judge(const struct helper *h, const struct cred *c, const struct gw_header_ask *a,
		 const struct policy_rule **ret_rule, struct err *err)
{
	enum request_kind kind;
	int r = cred_judge(c, h->policy, a, ret_rule, &kind, err);

	if (r == 0 && is_metered(h, c) && kind == REQUEST_UNKNOWN)
		r = err_set(err, EPERM, "ralph cannot meter this request, and there is a budget");
	if (r == -EPERM)
		tell_refused(a, err->msg);
	if (r == 0 && c && is_metered(h, c) && h->closed[0])
		return err_set(err, EDQUOT, "%s", h->closed);
	return r;
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
	const struct policy_rule *rule;
	int res = judge(h, c, a, &rule, err);

	if (res == 0)
		res = cred_answer(c, &r, ret, err);
	if (res < 0)
		return res;
	tell_used(a, rule);
	/* With a budget every request must ask. */
	if (is_metered(h, c))
		ret->keep_ms = 0;
	return 0;
}

/* A question of the gateway. */
static int on_ask(const struct helper *h, struct wire_msg *m, struct err *err)
{
	cleanup_(cred_header_done) struct cred_header got;
	struct gw_header answer = {0};
	struct gw_header_ask a;
	struct err why = {0};
	cleanup_buf struct buf b;
	int r;

	cred_header_init(&got);
	buf_init(&b, WIRE_BODY_MAX);
	if ((int)m->type != GW_HEADER || gw_get_header_ask(m, &a) < 0)
		return err_set(err, EPROTO, "the gateway sends a malformed frame");
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
	/* A gateway that is gone does not need it, and the end of its line is seen next. */
	(void)wire_send(h->line, (enum wire_type)GW_HEADER_IS, m->id, &b, NULL, 0);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	return 0;
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

static int add_variables(const struct helper *h, struct strv *env, struct err *err)
{
	for (size_t i = 0; i < h->n; i++) {
		cleanup_(cred_wipe_strv) struct strv vars = {0};
		struct cred *c = h->creds[i];
		int r;

		if (!c->inside)
			continue;
		r = cred_variables(c, &vars, err);
		if (r < 0)
			return err_wrap(err, r, "credential '%s'", c->name);
		for (size_t k = 0; k < vars.n; k++) {
			cleanup_free char *name = xstrndup(vars.v[k], strcspn(vars.v[k], "="));

			strv_env_set(env, name, vars.v[k] + strlen(name) + 1);
		}
	}
	return 0;
}

/* The body of a WIRE_SPAWN, with the variables; *ret is a memory file. */
static int fill_spawn(const struct helper *h, const struct wire_msg *m, int *ret, uint32_t *ret_len,
		      struct err *err)
{
	cleanup_(cred_wipe_strv) struct strv env = {0};
	cleanup_(cred_wipe) struct buf b;
	cleanup_strv struct strv argv = {0};
	struct wire_reader rd;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	wire_read(&rd, m);
	for (int i = 0; i < 3; i++) /* flags, rows, columns */
		wire_put_u32(&b, wire_get_u32(&rd));
	wire_put_str(&b, rd.bad ? "" : wire_get_str(&rd));
	wire_get_strv(&rd, &argv);
	wire_get_strv(&rd, &env);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	r = add_variables(h, &env, err);
	if (r < 0)
		return r;
	wire_put_strv(&b, &argv);
	wire_put_strv(&b, &env);
	if (b.full)
		return err_set(err, E2BIG, "arguments and environment are too long");
	*ret = fd_memfd("ralph-frame", b.data, b.len);
	*ret_len = (uint32_t)b.len;
	return *ret < 0 ? err_sys(err, -*ret, "cannot create a memory file") : 0;
}

static int read_login(const struct helper *h, const char *path, struct buf *all, uint64_t *ret_len,
		      struct err *err)
{
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(&h->host, path, &b, NULL, err);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "the login '%s' is gone; log in on the host", path);
	*ret_len = b.len;
	return r < 0 ? r : buf_append(all, b.data, b.len);
}

/* As WIRE_EXEC_LOGIN has them; *ret is a memory file. */
static int fill_logins(const struct helper *h, int *ret, struct err *err)
{
	uint64_t lengths[GUEST_LOGINS_MAX] = {0};
	size_t head = h->logins.n * sizeof(lengths[0]);
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, head + h->logins.n * CRED_FILE_MAX);
	r = h->logins.n > GUEST_LOGINS_MAX ? err_set(err, E2BIG, "too many logins of way pipe")
					   : buf_append(&b, lengths, head);
	for (size_t i = 0; r == 0 && i < h->logins.n; i++)
		r = read_login(h, h->logins.v[i], &b, &lengths[i], err);
	if (r < 0)
		return r;
	memcpy(b.data, lengths, head);
	*ret = fd_memfd("ralph-login", b.data, b.len);
	return *ret < 0 ? err_sys(err, -*ret, "cannot create a memory file") : 0;
}

static bool wants_logins(const struct wire_msg *m)
{
	struct wire_reader rd;

	wire_read(&rd, m);
	return wire_get_u32(&rd) & WIRE_EXEC_LOGIN;
}

static int on_spawn(void *arg, struct wire_msg *m, struct err *err)
{
	cleanup_fd int file = -1, logins = -1;
	struct err why = {0};
	uint32_t len = 0;
	cleanup_buf struct buf b;
	int r = wants_logins(m) ? fill_logins(arg, &logins, &why) : 0;

	if (r == 0)
		r = fill_spawn(arg, m, &file, &len, &why);

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, r < 0 ? (uint32_t)-r : 0);
	wire_put_str(&b, r < 0 ? why.msg : "");
	wire_put_u32(&b, len);
	return wire_send(HELPER_FD, (enum wire_type)CRED_SPAWN_IS, m->id, &b,
			 (const int[]){file, logins},
			 r < 0	       ? 0
			 : logins >= 0 ? 2
				       : 1);
}

static void helper_done(struct helper *h)
{
	for (size_t i = 0; i < h->n; i++)
		(void)cred_free(h->creds[i]);
	free(h->creds);
	for (size_t i = 0; i < h->environ.n; i++)
		explicit_bzero(h->environ.v[i], strlen(h->environ.v[i]));
	strv_done(&h->environ);
	strv_done(&h->logins);
	cred_needs_done(&h->needs);
	(void)policy_free(h->policy);
	free(h->closed);
	json_decref(h->setup);
}

static const struct helper_frame frames[] = {
	{CRED_SETUP, on_setup}, {CRED_RULES, on_rules}, {CRED_BUDGET, on_budget},
	{CRED_LINE, on_line},	{CRED_SPAWN, on_spawn}, {CRED_VARS, on_vars},
};

/* One frame of a line: 1, 0 at its end. */
static int take_frame(struct helper *h, int fd, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(fd, &m);
	if (r <= 0)
		return r < 0 ? err_set(err, -r, "frames end badly") : 0;
	r = fd == HELPER_FD ? helper_frame(frames, ARRAY_SIZE(frames), h, &m, err)
			    : on_ask(h, &m, err);
	return r < 0 ? r : 1;
}

/*
 * The gateway's line is looked at before the supervisor's, and heard after it: a frame of the
 * supervisor that was there before a question is taken before it.
 */
static int serve(struct helper *h, struct err *err)
{
	for (;;) {
		struct pollfd p[] = {{.fd = h->line, .events = POLLIN},
				     {.fd = HELPER_FD, .events = POLLIN}};
		int r;

		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "cannot wait");
		if (!p[0].revents && !p[1].revents)
			continue;
		r = take_frame(h, p[1].revents ? HELPER_FD : h->line, err);
		if (r == 0 && !p[1].revents)
			closep(&h->line);
		else if (r <= 0)
			return r;
	}
}

int main(void)
{
	struct helper h = {.line = -1};
	struct err err = {0};
	int r;

	r = helper_protect(&err);
	if (r == 0) {
		json_set_alloc_funcs(malloc, wiping_free);
		strv_init(&h.environ);
		r = serve(&h, &err);
		helper_done(&h);
	}
	if (r < 0)
		(void)fprintf(stderr, "ralph: cred: %s\n", err.msg);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
