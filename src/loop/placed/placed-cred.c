/*
 * The logins of workers elsewhere stay here.
 *
 * DOC: Theory of operation
 *
 * One credential helper serves the loop's placed workers. It is set up from home's own rows and judges
 * each question by home's own rules, as for a sandbox of this machine (cred/hold/cred-judge.c). What a
 * node says about credentials is never used: it gives the name of one, a host and a request. Before the
 * helper, this file judges what only home knows: which kinds may be given to another machine at all
 * (compose/cred-place.h), and whether the task has any of its share left. The answer is for one request: it
 * may not be kept. For a key that is used at home the answer is the phantom of home's own gateway.
 *
 * The helper is started with the first question. When it ends, what waits is refused, and the next
 * question starts it again.
 */
#include "loop/placed/placed.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "compose/cred-place.h"
#include "loop/placed/placed-gate.h"
#include "spec/host-env.h"
#include "wire/gateway-proto.h"
#include "wire/helper.h"

#define WAITING_MAX 1024 /* questions of all workers; FLEET_ASKS_MAX of each */
#define FRAMES_AT_ONCE 32

extern char **environ;

struct waiting {
	uint32_t id; /* 0: free */
	struct placed *p;
	uint32_t line, number;
	const char *credential; /* of the spec */
};

struct placed_cred {
	struct loop *l;
	struct child child;
	int sock, line;
	struct ev_io sock_io, line_io;
	struct waiting waiting[WAITING_MAX];
	uint32_t last;
	struct strv told; /* credentials of which the user was told */
};

/* ---- answers ---- */

static void answer(struct placed *p, uint32_t line, uint32_t number, struct gw_header *h)
{
	cleanup_buf struct buf b;
	struct fleet_ask a = {.line = line, .number = number, .kind = GW_HEADER_IS};

	buf_init(&b, WIRE_INLINE_MAX);
	h->keep_ms = 0;
	gw_put_header(&b, h);
	a.body = b.data;
	a.len = b.len;
	if (b.full || fleet_ask_put(&p->s->to, FLEET_ANSWER, p->slot, &a) < 0)
		stream_lost(p->s, "it does not take answers to its questions");
	else
		placed_flush(p);
	if (b.data)
		explicit_bzero(b.data, b.len);
}

static void refuse(struct placed *p, uint32_t line, uint32_t number, int eno, const char *why)
{
	struct gw_header h;

	gw_header_init(&h);
	h.error = (uint32_t)eno;
	h.message = xstrdup(why);
	answer(p, line, number, &h);
	gw_header_done(&h);
}

/* ---- the helper ---- */

static void stop(struct placed_cred *c)
{
	if (c->sock >= 0)
		(void)ev_want(c->l->ev, &c->sock_io, 0);
	if (c->line >= 0)
		(void)ev_want(c->l->ev, &c->line_io, 0);
	closep(&c->sock);
	closep(&c->line);
	if (c->child.pid > 0)
		child_done(&c->child);
	c->child = (struct child){.pid = -1, .pidfd = -1};
}

static void ended(struct placed_cred *c)
{
	stop(c);
	for (size_t i = 0; i < WAITING_MAX; i++) {
		struct waiting w = c->waiting[i];

		c->waiting[i] = (struct waiting){0};
		if (w.id)
			refuse(w.p, w.line, w.number, EIO,
			       "the credential helper of home has ended");
	}
}

static void tell(struct placed *p, struct placed_cred *c, const char *credential)
{
	if (strv_has(&c->told, credential))
		return;
	strv_push(&c->told, credential);
	show_line(&c->l->show, STYLE_YELLOW,
		  "the credential '%s' is given to gateways at '%s', for one request each time",
		  credential, p->w->place);
}

static void on_answer(struct placed_cred *c, const struct wire_msg *m)
{
	struct waiting *w = &c->waiting[m->id % WAITING_MAX], was = *w;
	struct gw_header h;

	if ((unsigned)m->type != GW_HEADER_IS || m->id == 0 || was.id != m->id)
		return;
	*w = (struct waiting){0};
	gw_header_init(&h);
	if (gw_get_header(m, &h) < 0)
		refuse(was.p, was.line, was.number, EIO, "the credential helper of home is broken");
	else
		answer(was.p, was.line, was.number, &h);
	if (!h.error)
		tell(was.p, c, was.credential);
	gw_header_done(&h);
}

static void on_line(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_cred *c = ev_owner(io, struct placed_cred, line_io);

	for (int i = 0; i < FRAMES_AT_ONCE && c->line >= 0; i++) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(c->line, &m);
		if (r == -EAGAIN)
			return;
		if (r <= 0) {
			ended(c);
			return;
		}
		on_answer(c, &m);
		explicit_bzero(m.body.data, m.body.len);
	}
}

/* What it says for the log of a sandbox: there is none here. */
static void on_sock(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_cred *c = ev_owner(io, struct placed_cred, sock_io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(c->sock, &m);
	if (r <= 0 && r != -EAGAIN)
		ended(c);
}

int placed_cred_introduce(const struct loop *l, int sock, struct err *err)
{
	cleanup_json json_t *j = spec_credentials_to_json(l->build.spec);
	cleanup_json json_t *places = json_pack("{ss ss ss}", "home", l->q.places.home, "config",
						l->q.places.config, "libexec", l->q.places.libexec);
	cleanup_free char *text = NULL;
	cleanup_fd int env = host_environ_memfd(l->build.spec, environ);
	cleanup_buf struct buf setup, rules;
	int r;

	buf_init(&setup, WIRE_BODY_MAX);
	buf_init(&rules, WIRE_BODY_MAX);
	if (j && places && json_object_update(j, places) == 0)
		text = json_dumps(j, JSON_COMPACT);
	if (!text || env < 0)
		return err_set(err, EINVAL, "the credentials cannot be told to their helper");
	wire_put_bytes(&setup, text, strlen(text));
	gw_put_rules(&rules, &l->build.spec->net);
	r = wire_send(sock, (enum wire_type)CRED_SETUP, 0, &setup, &env, 1);
	if (r == 0)
		r = wire_send(sock, (enum wire_type)CRED_RULES, 0, &rules, NULL, 0);
	return r < 0 ? err_sys(err, -r, "cannot reach the credential helper") : 0;
}

static int start(struct placed_cred *c, struct err *err)
{
	int lines[2] = {-1, -1}, r = placed_program(c->l, "cred", &c->child, &c->sock, err);
	cleanup_fd int far = -1;

	if (r == 0)
		r = placed_cred_introduce(c->l, c->sock, err);
	if (r == 0)
		r = wire_pair(lines, err);
	if (r < 0)
		return r;
	c->line = lines[0];
	far = lines[1];
	r = wire_send(c->sock, (enum wire_type)CRED_LINE, 0, NULL, &far, 1);
	if (r < 0)
		return err_sys(err, -r, "cannot reach the credential helper");
	(void)fd_set_nonblock(c->sock, true);
	(void)fd_set_nonblock(c->line, true);
	c->sock_io = (struct ev_io){.fd = c->sock, .fn = on_sock};
	c->line_io = (struct ev_io){.fd = c->line, .fn = on_line};
	(void)ev_want(c->l->ev, &c->sock_io, EPOLLIN);
	return ev_want(c->l->ev, &c->line_io, EPOLLIN);
}

static struct placed_cred *helper_of(struct loop *l, struct err *err)
{
	struct placed_cred *c = l->placed_cred;

	if (!c) {
		c = l->placed_cred = xcalloc(1, sizeof(*c));
		c->l = l;
		c->sock = c->line = -1;
		c->child = (struct child){.pid = -1, .pidfd = -1};
		strv_init(&c->told);
	}
	if (c->line < 0 && start(c, err) < 0) {
		stop(c);
		return NULL;
	}
	return c;
}

/* ---- questions ---- */

bool placed_share_is_used(const struct placed *p)
{
	json_int_t used = json_integer_value(json_object_get(p->summary, "micro_usd"));

	return p->w->l->limits.micro_usd && (uint64_t)used >= p->w->share.micro_usd;
}

/*
 * The key is used at home: what the node's gateway gets for its request is the phantom of home's own. The
 * same again would not help where home's gateway was refused: that one has tried.
 */
static bool answer_phantom(struct placed *p, const struct fleet_ask *a,
			   const struct gw_header_ask *ask)
{
	struct loop *l = p->w->l;
	const struct spec_credential *c = spec_credential_find(l->build.spec, ask->credential);
	const char *phantom;
	struct gw_header h;

	if (cred_place(c, l->placement) != CRED_PLACE_HOME)
		return false;
	phantom = ask->rejected ? NULL : placed_gate_phantom(l, c->name);
	if (!phantom) {
		refuse(p, a->line, a->number, EACCES, "the provider refuses the key of home");
		return true;
	}
	gw_header_init(&h);
	strv_pushf(&h.set, "Authorization: Bearer %s", phantom);
	strv_push(&h.secrets, phantom);
	answer(p, a->line, a->number, &h);
	gw_header_done(&h);
	return true;
}

/* Why home does not ask its helper at all; NULL: it does. *ret_eno goes with it. */
static char *judge(const struct placed *p, const struct gw_header_ask *ask, int *ret_eno)
{
	const struct loop *l = p->w->l;
	const struct spec_credential *c =
		l->build.spec ? spec_credential_find(l->build.spec, ask->credential) : NULL;

	*ret_eno = EPERM;
	if (!c || c->way != SPEC_WAY_PHANTOM)
		return xstrdup("home has no such credential");
	if (cred_place(c, l->placement) == CRED_PLACE_REFUSED)
		return xasprintf("the credential '%s' may never expire, so it does not leave home; "
				 "say 'dial: relay' for the placement '%s' if it may",
				 c->name, p->w->place);
	*ret_eno = EDQUOT;
	if (placed_share_is_used(p))
		return xstrdup("the task has used its share of the loop's limits");
	return NULL;
}

static void pass_on(struct placed *p, const struct fleet_ask *a, const struct gw_header_ask *ask)
{
	struct err err = {0};
	struct placed_cred *c = helper_of(p->w->l, &err);
	cleanup_buf struct buf b;
	struct waiting *w;
	size_t pending = 0;

	buf_init(&b, WIRE_INLINE_MAX);
	if (!c) {
		refuse(p, a->line, a->number, EIO, err.msg);
		return;
	}
	for (size_t i = 0; i < WAITING_MAX; i++)
		pending += c->waiting[i].id && c->waiting[i].p == p;
	do
		c->last++;
	while (c->last == 0);
	w = &c->waiting[c->last % WAITING_MAX];
	/* Written anew from what was understood. */
	gw_put_header_ask(&b, ask);
	if (pending >= FLEET_ASKS_MAX || w->id || b.full ||
	    wire_send(c->line, (enum wire_type)GW_HEADER, c->last, &b, NULL, 0) < 0) {
		refuse(p, a->line, a->number, EBUSY, "home has too many questions to answer");
		return;
	}
	*w = (struct waiting){
		.id = c->last,
		.p = p,
		.line = a->line,
		.number = a->number,
		.credential = spec_credential_find(p->w->l->build.spec, ask->credential)->name};
}

void placed_ask(struct placed *p, const struct fleet_msg *m)
{
	cleanup_wire_msg struct wire_msg body;
	cleanup_free char *why = NULL;
	struct gw_header_ask ask;
	struct fleet_ask a;
	int eno = 0;

	wire_msg_init(&body);
	if (fleet_ask_read(m, &a) < 0 || a.kind != GW_HEADER ||
	    buf_append(&body.body, a.body, a.len) < 0 || gw_get_header_ask(&body, &ask) < 0) {
		stream_lost(p->s, "its question cannot be understood");
		return;
	}
	why = judge(p, &ask, &eno);
	if (why)
		refuse(p, a.line, a.number, eno, why);
	else if (!answer_phantom(p, &a, &ask))
		pass_on(p, &a, &ask);
}

void placed_cred_forget(struct placed *p)
{
	struct placed_cred *c = p->w->l->placed_cred;

	for (size_t i = 0; c && i < WAITING_MAX; i++)
		if (c->waiting[i].p == p)
			c->waiting[i] = (struct waiting){0};
}

void placed_cred_free(struct loop *l)
{
	struct placed_cred *c = take_ptr(l->placed_cred);

	if (!c)
		return;
	stop(c);
	strv_done(&c->told);
	free(c);
}
