/*
 * The supervisor's side of credentials.
 *
 * DOC: Theory of operation
 *
 * A phantom is made for each credential when the sandbox starts: random, known to this process,
 * its gateway and the commands inside, and to nothing on disk. It goes into the environment of
 * every command where the spec says so, and to the gateway with the route it opens.
 *
 * The gateway asks the helper itself, over a line of their own that is made here. The helper is
 * started with the first question: its end of the line is watched until then, and not read. It is
 * then handed over, with what the helper judges questions by, and no copy is kept. So no value of a
 * credential enters this process. The user's environment, which may hold keys, came here as a
 * descriptor, and is handed on without a look, by the broker (broker.h), which also tells the helper
 * what credentials there are.
 *
 * When the helper ends, the gateway sees the end of the line and refuses what waits. It gets a new
 * line, and the next question starts the helper again, but not in a tight circle. When the gateway
 * ends, the helper goes on, and gets the line of the next gateway.
 */
#include "supervisor/supervisor.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "compose/cred-place.h"

#define VARIABLES_S 60	    /* for a login to be looked up */
#define RESTART_MS 1000	    /* between two starts of the helper */
#define EVENT_MAX (8 * KiB) /* of JSON */

int cred_link_prepare(struct supervisor *s, struct err *err)
{
	int r = 0;

	s->cred.phantoms = xcalloc(s->spec->n_credentials + 1, sizeof(char *));
	for (size_t i = 0; r == 0 && i < s->spec->n_credentials; i++)
		if (s->spec->credentials[i].way == SPEC_WAY_PHANTOM)
			r = cred_phantom_make(&s->spec->credentials[i], &s->cred.phantoms[i], err);
	return r;
}

static const char *phantom_of(const struct supervisor *s, const char *credential)
{
	for (size_t i = 0; s->cred.phantoms && i < s->spec->n_credentials; i++)
		if (streq(s->spec->credentials[i].name, credential))
			return s->cred.phantoms[i];
	return NULL;
}

static char *put_phantom(const char *value, const char *phantom)
{
	const char *at = strstr(value, SPEC_PHANTOM);
	cleanup_free char *rest = NULL;

	if (!at)
		return xstrdup(value);
	rest = put_phantom(at + strlen(SPEC_PHANTOM), phantom);
	return xasprintf("%.*s%s%s", (int)(at - value), value, phantom, rest);
}

void cred_link_environ(const struct supervisor *s, struct strv *env)
{
	for (size_t i = 0; i < s->spec->n_env; i++) {
		const struct spec_env *e = &s->spec->env[i];
		const char *phantom = e->credential ? phantom_of(s, e->credential) : NULL;
		cleanup_free char *value = NULL;

		/* A variable that the command was given by name keeps its value. */
		if (!phantom || strv_env_get(env, e->name))
			continue;
		value = put_phantom(e->value, phantom);
		strv_env_set(env, e->name, value);
	}
}

static bool has_phantom(const struct supervisor *s)
{
	for (size_t i = 0; i < s->spec->n_credentials; i++)
		if (s->cred.phantoms[i])
			return true;
	return false;
}

static void stop(struct supervisor *s)
{
	struct cred_link *c = &s->cred;

	if (c->sock >= 0 && s->ev)
		(void)ev_want(s->ev, &c->io, 0);
	if (c->line >= 0 && s->ev)
		(void)ev_want(s->ev, &c->line_io, 0);
	closep(&c->sock);
	closep(&c->line);
	child_done(&c->child);
}

static void on_event(struct supervisor *s, const struct wire_msg *m)
{
	struct wire_reader rd;
	struct err ignored;
	const char *text;
	size_t len = 0;
	json_t *j = NULL;

	wire_read(&rd, m);
	text = wire_get_bytes(&rd, &len);
	if (wire_read_end(&rd) < 0 || len > EVENT_MAX || json_parse(text, len, &j, &ignored) < 0)
		return;
	if (json_is_boolean(json_object_get(j, "final"))) /* the end of a renewal */
		s->usage.ended = json_is_true(json_object_get(j, "final"));
	events_link_limited(s, "credential", j);
}

static void on_use(struct supervisor *s, const struct wire_msg *m)
{
	struct cred_use u;

	if (gw_get_use(m, &u) == 0)
		events_link_use(s, &u);
}

static void on_again(struct ev *ev, struct ev_timer *t);

/* The helper has ended, or is not to go on: the gateway sees it by the end of its line. */
static void end(struct supervisor *s)
{
	struct err ignored;

	sup_event(s, "credential-end",
		  json_pack("{sI}", "code", (json_int_t)sup_reap(s, &s->cred.child)));
	stop(s);
	s->cred.again.fn = on_again;
	if (cred_link_line(s, &ignored) < 0)
		ev_timer_set(s->ev, &s->cred.again, RESTART_MS);
}

/* The wait after the helper's last start, or after a line that could not be made, is over. */
static void on_again(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, cred.again);
	struct err ignored;

	if (s->cred.line >= 0)
		(void)ev_want(ev, &s->cred.line_io, EPOLLIN);
	else if (s->cred.sock < 0 && cred_link_line(s, &ignored) < 0)
		ev_timer_set(ev, t, RESTART_MS);
}

static void on_frame(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, cred.io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r == -EAGAIN)
		return;
	if (r <= 0)
		end(s);
	else if ((unsigned)m.type == CRED_EVENT)
		on_event(s, &m);
	else if ((unsigned)m.type == CRED_USED)
		on_use(s, &m);
}

int cred_link_introduce(const struct supervisor *s, int sock, struct err *err)
{
	cleanup_json json_t *j = spec_credentials_to_json(s->spec);
	cleanup_json json_t *places = json_pack("{ss ss ss}", "home", s->places.home, "config",
						s->places.config, "libexec", s->places.libexec);
	cleanup_free char *text = NULL;
	const struct cred_link *c = &s->cred;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	if (j && places && json_object_update(j, places) == 0)
		text = json_dumps(j, JSON_COMPACT);
	if (!text)
		return err_set(err, EINVAL, "the credentials cannot be written as JSON");
	wire_put_bytes(&b, text, strlen(text));
	r = wire_send(sock, (enum wire_type)CRED_SETUP, 0, &b, &c->env_fd, c->env_fd >= 0);
	return r < 0 ? err_sys(err, -r, "cannot reach the credential helper") : 0;
}

static int send_rules(const struct supervisor *s)
{
	const struct net_policy none = {.tier = POLICY_NONE};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	/* As the gateway has them: one that serves endpoints on the host has no rules. */
	gw_put_rules(&b, s->spec->port ? &none : &s->spec->net);
	return wire_send(s->cred.sock, (enum wire_type)CRED_RULES, 0, &b, NULL, 0);
}

static int send_budget(const struct supervisor *s, const char *why)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_str(&b, why);
	return wire_send(s->cred.sock, (enum wire_type)CRED_BUDGET, 0, &b, NULL, 0);
}

/* All else that the helper judges by, and then the line. */
static int hand_over(struct supervisor *s, struct err *err)
{
	struct cred_link *c = &s->cred;
	cleanup_free char *why = usage_link_closed(s);
	int r = send_rules(s);

	if (r == 0 && why)
		r = send_budget(s, why);
	if (r == 0)
		r = wire_send(c->sock, (enum wire_type)CRED_LINE, 0, NULL, &c->line, 1);
	closep(&c->line);
	return r < 0 ? err_sys(err, -r, "cannot reach the credential helper") : 0;
}

static int start(struct supervisor *s, struct err *err)
{
	struct cred_link *c = &s->cred;
	int r = sup_spawn(s, "cred", &c->child, &c->sock, err);

	c->started_ms = now_ms();
	if (r == 0)
		r = hand_over(s, err);
	if (r < 0)
		return r;
	c->io = (struct ev_io){.fd = c->sock, .fn = on_frame};
	(void)fd_set_nonblock(c->sock, true);
	sup_event(s, "credential-start", json_object());
	return ev_want(s->ev, &c->io, EPOLLIN);
}

/* The first question, which is the helper's to read. */
static void on_question(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, cred.line_io);
	struct cred_link *c = &s->cred;
	uint64_t now = now_ms();
	struct err err = {0};

	(void)ev_want(ev, io, 0);
	if (events & EPOLLHUP) {
		closep(&c->line); /* the gateway has ended */
		return;
	}
	if (c->started_ms && now - c->started_ms < RESTART_MS) {
		c->again.fn = on_again;
		ev_timer_set(ev, &c->again, RESTART_MS - (now - c->started_ms));
		return;
	}
	if (start(s, &err) < 0) {
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
		end(s);
	}
}

int cred_link_line(struct supervisor *s, struct err *err)
{
	struct cred_link *c = &s->cred;
	cleanup_fd int theirs = -1;
	int pair[2], r;

	if (s->gateway.gateway.sock < 0 || !has_phantom(s))
		return 0;
	r = wire_pair(pair, err);
	if (r < 0)
		return r;
	theirs = pair[0];
	c->line = pair[1];
	r = wire_send(s->gateway.gateway.sock, (enum wire_type)GW_CRED, 0, NULL, &theirs, 1);
	if (r < 0) {
		closep(&c->line);
		return err_sys(err, -r, "cannot reach the gateway");
	}
	if (c->sock >= 0) {
		r = wire_send(c->sock, (enum wire_type)CRED_LINE, 0, NULL, &c->line, 1);
		closep(&c->line);
		return r < 0 ? err_sys(err, -r, "cannot reach the credential helper") : 0;
	}
	c->line_io = (struct ev_io){.fd = c->line, .fn = on_question};
	return ev_want(s->ev, &c->line_io, EPOLLIN);
}

void cred_link_unline(struct supervisor *s)
{
	struct cred_link *c = &s->cred;

	if (c->line >= 0)
		(void)ev_want(s->ev, &c->line_io, 0);
	closep(&c->line);
}

/* A helper that does not learn of a change must not go on with what it knows. */
void cred_link_policy(struct supervisor *s)
{
	if (s->cred.sock >= 0 && send_rules(s) < 0)
		end(s);
}

void cred_link_budget(struct supervisor *s, const char *why)
{
	if (s->cred.sock >= 0 && send_budget(s, why) < 0)
		end(s);
}

/* Waits for the frame of that type; what the helper has to say for the log is lost here. */
static int await(int sock, enum gw_type type, struct wire_msg *m, struct err *err)
{
	const struct timeval limit = {.tv_sec = VARIABLES_S};
	int r;

	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (;;) {
		r = wire_recv(sock, m);
		if (r <= 0)
			return err_set(err, EIO, "the credential helper does not answer");
		if ((unsigned)m->type == type)
			return 0;
		wire_msg_done(m);
		wire_msg_init(m);
	}
}

static int ask_variables(int sock, const char *credential, struct strv *env, struct strv *names,
			 struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_strv struct strv got = {0};
	struct wire_reader rd;
	cleanup_buf struct buf b;
	const char *why;
	uint32_t eno;
	int r;

	wire_msg_init(&m);
	buf_init(&b, WIRE_BODY_MAX);
	wire_put_str(&b, credential);
	r = wire_send(sock, (enum wire_type)CRED_VARS, 0, &b, NULL, 0);
	if (r == 0)
		r = await(sock, CRED_VARS_IS, &m, err);
	if (r < 0)
		return r;
	wire_read(&rd, &m);
	eno = wire_get_u32(&rd);
	why = wire_get_str(&rd);
	wire_get_strv(&rd, &got);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "the credential helper answers nonsense");
	if (eno)
		return err_set(err, (int)eno, "credential '%s': %s", credential, why);
	for (size_t i = 0; i < got.n; i++) {
		cleanup_free char *name = xstrndup(got.v[i], strcspn(got.v[i], "="));

		strv_env_set(env, name, got.v[i] + strlen(name) + (got.v[i][strlen(name)] == '='));
		strv_push(names, name);
		explicit_bzero(got.v[i], strlen(got.v[i]));
	}
	explicit_bzero(m.body.data, m.body.len);
	return 0;
}

/* The helper's answer: files with the frame's body, of length *ret_len, and with the logins; the
 * latter is -1 where there are none. */
static int ask_spawn(int sock, const struct buf *body, int *ret_file, uint32_t *ret_len,
		     int *ret_logins, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	const char *why;
	uint32_t eno;
	int r = wire_send(sock, (enum wire_type)CRED_SPAWN, 0, body, NULL, 0);

	wire_msg_init(&m);
	if (r < 0)
		return err_sys(err, -r, "cannot reach the credential helper");
	r = await(sock, CRED_SPAWN_IS, &m, err);
	if (r < 0)
		return r;
	wire_read(&rd, &m);
	eno = wire_get_u32(&rd);
	why = wire_get_str(&rd);
	*ret_len = wire_get_u32(&rd);
	if (wire_read_end(&rd) < 0 || (eno == 0) != (m.n_fds >= 1))
		return err_set(err, EPROTO, "the credential helper answers nonsense");
	if (eno)
		return err_set(err, (int)eno, "%s", why);
	*ret_file = wire_take_fd(&m, 0);
	*ret_logins = wire_take_fd(&m, 1);
	return 0;
}

int cred_link_spawn(struct supervisor *s, uint32_t id, const struct buf *body, const int *fds,
		    size_t n_fds, struct err *err)
{
	cleanup_(child_done) struct child helper = {.pid = -1, .pidfd = -1};
	cleanup_fd int sock = -1, file = -1, logins = -1;
	int all[WIRE_FDS_MAX];
	uint32_t len = 0;
	int r = sup_spawn(s, "cred", &helper, &sock, err);

	if (r == 0)
		r = ask_spawn(sock, body, &file, &len, &logins, err);
	if (r < 0 || n_fds >= WIRE_FDS_MAX)
		return -EOPNOTSUPP; /* this command fails, and the sandbox goes on */
	memcpy(all, fds, n_fds * sizeof(*fds));
	if (logins >= 0)
		all[n_fds++] = logins;
	return wire_send_file(s->guest, WIRE_SPAWN, id, file, len, all, n_fds);
}

bool cred_link_has(const struct supervisor *s, enum spec_way way)
{
	for (size_t i = 0; i < s->spec->n_credentials; i++)
		if (s->spec->credentials[i].way == way)
			return true;
	return false;
}

int cred_link_variables(struct supervisor *s, struct strv *env, struct strv *names, struct err *err)
{
	struct child helper = {.pid = -1, .pidfd = -1};
	cleanup_fd int sock = -1;
	int r = sup_spawn(s, "cred", &helper, &sock, err);

	for (size_t i = 0; r == 0 && i < s->spec->n_credentials; i++)
		if (s->spec->credentials[i].way == SPEC_WAY_ENV)
			r = ask_variables(sock, s->spec->credentials[i].name, env, names, err);
	child_done(&helper);
	return r;
}

void cred_link_stop(struct supervisor *s)
{
	if (!s->spec)
		return;
	stop(s);
	closep(&s->cred.env_fd);
	for (size_t i = 0; s->cred.phantoms && i < s->spec->n_credentials; i++)
		if (s->cred.phantoms[i])
			explicit_bzero(s->cred.phantoms[i], strlen(s->cred.phantoms[i]));
}
