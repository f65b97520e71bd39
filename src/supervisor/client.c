#include "supervisor/broker.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define LIMIT_AGAIN_MS 1000 /* between two looks at whether an agent still waits for a person */
#define LIMIT_GRACE_MS 5000 /* from SIGTERM at the time limit to the end of the tree */
#define STOP_GRACE_MAX_MS 600000
#define TOLD_OF_MAX                                                                                \
	1024 /* files that a client is told of; as many as the watch announces, and more */

static void client_free(struct ev *ev, struct ev_defer *d)
{
	struct client *c = ev_owner(d, struct client, free), **p = &c->sup->clients;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	c->sup->n_clients--;
	strv_done(&c->expected);
	strv_done(&c->told_of);
	if (c->exec)
		wire_msg_done(c->exec);
	free(c->exec);
	free(c);
}

void client_drop(struct client *c)
{
	struct supervisor *s = c->sup;

	if (c->fd < 0)
		return;
	if (c->state == CLIENT_SPAWNING || c->state == CLIENT_RUNNING)
		s->runner->kill(s, c, 0);
	c->state = CLIENT_ENDED;
	ev_timer_stop(s->ev, &c->limit);
	(void)ev_want(s->ev, &c->io, 0);
	closep(&c->fd);
	ev_defer(s->ev, &c->free);
}

static void reply(struct client *c, enum wire_type type, const struct buf *body, const int *fds,
		  size_t n_fds)
{
	/* A command line that does not read its few answers is as good as gone. */
	if (c->fd >= 0 && wire_send(c->fd, type, 0, body, fds, n_fds) < 0)
		client_drop(c);
}

/* SIGKILL for the group alone would leave what moved out of it: the tree goes. */
static void pass_on(struct client *c, uint32_t sig)
{
	c->sup->runner->kill(c->sup, c, sig == SIGKILL ? 0 : sig);
}

void client_started(struct client *c, uint32_t pid, int pty)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, pid);
	wire_put_u32(&b, engine_can_signal(c->sup->engine) ? WIRE_STARTED_STOP_KEY : 0);
	c->state = CLIENT_RUNNING;
	c->stood_ms = asks_link_stood(c->sup, NULL);
	if (c->limit_ms)
		ev_timer_set(c->sup->ev, &c->limit, c->limit_ms);
	reply(c, WIRE_STARTED, &b, &pty, pty < 0 ? 0 : 1);
	for (uint32_t sig = 1; c->held && c->state == CLIENT_RUNNING; sig++) {
		if (c->held & UINT64_C(1) << (sig - 1))
			pass_on(c, sig);
		c->held &= ~(UINT64_C(1) << (sig - 1));
	}
}

static bool take_expected(struct strv *hosts, const char *host)
{
	for (size_t i = 0; i < hosts->n; i++) {
		if (!streq(hosts->v[i], host))
			continue;
		free(hosts->v[i]);
		hosts->v[i] = hosts->v[--hosts->n];
		hosts->v[hosts->n] = NULL;
		return true;
	}
	return false;
}

bool client_expects(struct supervisor *s, const char *host)
{
	for (struct client *c = s->clients; c; c = c->next)
		if ((c->state == CLIENT_SPAWNING || c->state == CLIENT_RUNNING) &&
		    take_expected(&c->expected, host))
			return true;
	return false;
}

static void put_refused(const struct client *c, struct buf *b)
{
	cleanup_strv struct strv hosts = {0};
	bool others = refused_since(&c->sup->log.refused, c->refused, &hosts);

	wire_put_strv(b, &hosts);
	wire_put_u32(b, others);
}

static bool is_last(const struct client *last)
{
	for (const struct client *c = last->sup->clients; c; c = c->next)
		if (c != last && (c->state == CLIENT_SPAWNING || c->state == CLIENT_RUNNING))
			return false;
	return true;
}

void client_ended(struct client *c, uint32_t code)
{
	if (c->sup->ev)
		ev_timer_stop(c->sup->ev, &c->limit);
	c->state = CLIENT_LEAVING;
	c->code = code;
	if (!git_flow_last(c->sup))
		client_exited(c, code);
}

/* The member "selftest" of the events of its command; NULL: none. */
static json_t *selftest_mark(const struct client *c)
{
	return c->selftest ? json_true() : NULL;
}

/* Once: the client stops, and reads no more before the user continues it. */
void client_suspended(struct client *c)
{
	if (!c->suspends || c->suspended)
		return;
	c->suspended = true;
	reply(c, WIRE_SUSPENDED, NULL, NULL, 0);
}

void client_exited(struct client *c, uint32_t code)
{
	cleanup_buf struct buf b;

	gateway_link_hear(c->sup);
	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, code);
	wire_put_u32(&b, c->timed_out);
	watch_look(c->sup);
	if (is_last(c))
		watch_refs(c->sup);
	c->state = CLIENT_ENDED;
	wire_put_u32(&b, sup_stays(c->sup));
	put_refused(c, &b);
	if (c->sup->ev)
		ev_timer_stop(c->sup->ev, &c->limit);
	/* If this was the last command, the sandbox's end can begin. */
	if (c->sup->state == SUP_UP && !sup_stays(c->sup))
		sup_kill(c->sup);
	/* The answer goes out first: nobody should wait for our log. */
	reply(c, WIRE_EXITED, &b, NULL, 0);
	events_link_flush(c->sup);
	sup_event(c->sup, "exec-end",
		  json_pack("{sI sI sI sb so*}", "id", (json_int_t)c->id, "code", (json_int_t)code,
			    "ms", (json_int_t)(now_ms() - c->started_ms), "timed_out", c->timed_out,
			    "selftest", selftest_mark(c)));
}

void client_failed(struct client *c, int exit_code, const char *msg)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, (uint32_t)exit_code);
	wire_put_str(&b, msg);
	c->state = CLIENT_ENDED;
	reply(c, WIRE_FAILED, &b, NULL, 0);
}

/* Is this the first notice about the file for this client? */
static bool is_news(struct client *c, const char *path)
{
	if (!path)
		return true;
	if (strv_has(&c->told_of, path) || c->told_of.n == TOLD_OF_MAX)
		return false;
	strv_push(&c->told_of, path);
	return true;
}

static void say_to_all(struct supervisor *s, enum wire_type type, const char *path,
		       const char *text)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_str(&b, text);
	for (struct client *c = s->clients; c; c = c->next)
		if (c->fd >= 0 && (c->id || c->exec || c->waits_stopped) && is_news(c, path))
			/* A client that does not read now loses the notice, not its command. */
			(void)wire_send(c->fd, type, 0, &b, NULL, 0);
}

void client_notice_all(struct supervisor *s, const char *text)
{
	if (s->told) {
		strv_push(s->told, CLIENT_NOTICE);
		strv_push(s->told, text);
		return;
	}
	say_to_all(s, WIRE_NOTICE, NULL, text);
}

void client_file_all(struct supervisor *s, const char *path, const char *text)
{
	if (s->told) {
		cleanup_json json_t *j = json_pack("[oo]", json_text(path), json_text(text));

		strv_push(s->told, CLIENT_FILE);
		strv_take(s->told, json_dumps(j, JSON_COMPACT));
		return;
	}
	say_to_all(s, WIRE_NOTICE, path, text);
}

void client_news_all(struct supervisor *s, const char *text)
{
	say_to_all(s, WIRE_NEWS, NULL, text);
}

void client_fail_all(struct supervisor *s, const char *msg)
{
	if (s->told) {
		strv_push(s->told, CLIENT_FAIL);
		strv_push(s->told, msg);
		return;
	}
	client_notice_all(s, msg);
	for (struct client *c = s->clients; c; c = c->next)
		if (c->fd >= 0 && c->id)
			client_failed(c, EXIT_RALPH, msg);
}

struct client *client_by_id(struct supervisor *s, uint32_t id)
{
	for (struct client *c = s->clients; c; c = c->next)
		if (c->id == id && (c->state == CLIENT_SPAWNING || c->state == CLIENT_RUNNING))
			return c;
	return NULL;
}

/* At most this many arguments of a command line are logged. */
#define ARGV_LOG_MAX 64

static json_t *argv_to_json(const struct strv *argv)
{
	json_t *a = json_array();

	for (size_t i = 0; i < argv->n && i < ARGV_LOG_MAX; i++)
		(void)json_array_append_new(a, json_text(argv->v[i]));
	return a;
}

static void exec_frame_done(struct exec_frame *f)
{
	strv_done(&f->argv);
	strv_done(&f->env);
}

static int read_exec(const struct wire_msg *m, struct exec_frame *f, uint64_t *ret_limit)
{
	struct wire_reader r;

	wire_read(&r, m);
	*ret_limit = wire_get_u64(&r);
	f->user = wire_get_str(&r);
	f->flags = wire_get_u32(&r);
	f->rows = wire_get_u32(&r);
	f->cols = wire_get_u32(&r);
	f->cwd = wire_get_str(&r);
	wire_get_strv(&r, &f->argv);
	wire_get_strv(&r, &f->env);
	if (wire_read_end(&r) < 0 || f->argv.n == 0 || m->n_fds != wire_exec_fds(f->flags) ||
	    (f->flags & WIRE_EXEC_LOGIN))
		return -EPROTO;
	return 0;
}

/* The sandbox's own environment, with what the command line adds on top. */
static void inherit(const struct sandbox_spec *spec, struct exec_frame *f)
{
	struct strv env;

	strv_init(&env);
	spec_environ(spec, &env);
	for (size_t i = 0; i < f->env.n; i++) {
		const char *entry = f->env.v[i], *eq = strchrnul(entry, '=');
		cleanup_free char *name = xstrndup(entry, (size_t)(eq - entry));

		strv_env_set(&env, name, *eq ? eq + 1 : "");
	}
	strv_done(&f->env);
	f->env = env;
	if (!f->cwd[0])
		f->cwd = spec->workspace;
}

/* A native sandbox has one user; asking for it by name or number is fine. */
static bool is_own_user(const struct sandbox_spec *spec, const char *user)
{
	const struct spec_env *own = spec_env_find(spec, "USER");
	cleanup_free char *uid = xasprintf("%u", spec->uid);

	return !user[0] || streq(user, uid) || (own && streq(user, own->value));
}

static void refuse_user(struct client *c, const char *user)
{
	const struct spec_env *own = spec_env_find(c->sup->spec, "USER");
	cleanup_free char *msg = xasprintf("the sandbox has one user, %s (%u); '%s' is not there",
					   own ? own->value : "its own", c->sup->spec->uid, user);

	client_failed(c, EXIT_USAGE, msg);
}

/* Names how the user agreed to a start. A command by `exec` or `shell` is no start. */
static const char *consent(uint32_t flags)
{
	return flags & WIRE_EXEC_CONFIRMED   ? "confirmed"
	       : flags & WIRE_EXEC_UNCHANGED ? "unchanged"
	       : flags & WIRE_EXEC_AUDIT_OFF ? "off"
	       : flags & WIRE_EXEC_ASSUMED   ? "yes"
					     : "unattended";
}

static void on_exec(struct client *c, struct wire_msg *m)
{
	cleanup_(exec_frame_done) struct exec_frame f = {0};
	struct supervisor *s = c->sup;
	struct err err = {0};
	int r;

	if (c->state != CLIENT_FRESH || read_exec(m, &f, &c->limit_ms) < 0) {
		client_drop(c);
		return;
	}
	if (!is_own_user(s->spec, f.user)) {
		refuse_user(c, f.user);
		return;
	}
	if (f.flags & WIRE_EXEC_INHERIT)
		inherit(s->spec, &f);
	autosave_link_remember(s, &f.env);
	cred_link_environ(s, &f.env);
	c->id = ++s->next_id;
	c->state = CLIENT_SPAWNING;
	c->suspends = f.flags & WIRE_EXEC_SUSPENDS;
	c->selftest = f.flags & WIRE_EXEC_PROGRAM;
	c->started_ms = now_ms();
	gateway_link_hear(s);
	git_cover_check(s);
	c->refused = s->log.refused.now;
	r = s->runner->spawn(s, c, &f, m, &err);
	sup_event(s, "exec",
		  json_pack("{sI so ss* so*}", "id", (json_int_t)c->id, "argv",
			    argv_to_json(&f.argv), "audit",
			    f.flags & WIRE_EXEC_INHERIT ? NULL : consent(f.flags), "selftest",
			    selftest_mark(c)));
	if (r == 0)
		return;
	client_failed(c, EXIT_RALPH,
		      r == -EMSGSIZE ? "arguments and environment are too long" : err.msg);
	if (r != -EMSGSIZE && r != -EOPNOTSUPP)
		sup_end(s);
}

/* A frame of its own outlives the one that was read. */
static void stash(struct client *c, struct wire_msg *m)
{
	c->exec = xcalloc(1, sizeof(*c->exec));
	*c->exec = *m;
	wire_msg_init(m);
	c->state = CLIENT_WAITING;
}

static void unstash(struct client *c)
{
	cleanup_wire_msg struct wire_msg m = *c->exec;

	free(take_ptr(c->exec));
	c->state = CLIENT_FRESH;
	on_exec(c, &m);
}

void client_resume(struct supervisor *s)
{
	for (struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_LEAVING)
			client_exited(c, c->code);
	for (struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_WAITING && c->fd >= 0)
			unstash(c);
}

bool client_any_runs(const struct supervisor *s)
{
	for (const struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_SPAWNING || c->state == CLIENT_RUNNING)
			return true;
	return false;
}

/* How much longer the command may take: the time limit stands still while an agent waits for a person. */
static uint64_t put_off(struct client *c)
{
	bool waits;
	uint64_t stood = asks_link_stood(c->sup, &waits);
	uint64_t ms = stood > c->stood_ms ? stood - c->stood_ms : 0;

	if (waits && ms < LIMIT_AGAIN_MS)
		ms = LIMIT_AGAIN_MS;
	c->stood_ms += ms;
	return ms;
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	struct client *c = ev_owner(t, struct client, limit);
	uint64_t more = c->timed_out ? 0 : put_off(c);

	if (more) {
		ev_timer_set(ev, &c->limit, more);
		return;
	}
	c->sup->runner->kill(c->sup, c, c->timed_out ? 0 : SIGTERM);
	if (c->timed_out)
		return;
	c->timed_out = true;
	ev_timer_set(ev, &c->limit, LIMIT_GRACE_MS);
}

static void on_wire_signal(struct client *c, uint32_t sig)
{
	if (sig == 0 || sig >= NSIG)
		return;
	if (sig == SIGCONT)
		c->suspended = false;
	if (c->state == CLIENT_RUNNING)
		pass_on(c, sig);
	else if (c->state == CLIENT_SPAWNING || c->state == CLIENT_WAITING)
		c->held |= UINT64_C(1) << (sig - 1);
	/* A user who does not want to wait need not. */
	if (c->state == CLIENT_WAITING || c->state == CLIENT_LEAVING)
		git_flow_cancel(c->sup);
}

void client_info(struct client *c, const json_t *j)
{
	cleanup_free char *text = json_dumps(j, JSON_COMPACT);
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_str(&b, text ? text : "{}");
	reply(c, WIRE_INFO, &b, NULL, 0);
}

static void add_refused(const struct supervisor *s, json_t *j)
{
	cleanup_strv struct strv hosts = {0};
	bool others = refused_since(&s->log.refused, 0, &hosts);
	json_t *a = json_array();

	for (size_t i = 0; i < hosts.n; i++)
		(void)json_array_append_new(a, json_text(hosts.v[i]));
	(void)json_object_set_new(j, "refused", a);
	(void)json_object_set_new(j, "refused_others", json_boolean(others));
}

static void on_inspect(struct client *c)
{
	struct supervisor *s = c->sup;
	cleanup_json json_t *j = NULL;
	json_int_t commands = 0;
	pid_t init;

	/* Asked while it starts, the question is whether it comes up. */
	c->asked = s->state == SUP_STARTING;
	if (c->asked)
		return;

	gateway_link_hear(s);
	for (const struct client *o = s->clients; o; o = o->next)
		commands += o->state == CLIENT_SPAWNING || o->state == CLIENT_RUNNING;
	init = s->broker >= 0 ? broker_init_pid(s) : engine_init_pid(s->engine);
	j = json_pack("{sI sI sI sI sI sb sb sb}", "supervisor",
		      (json_int_t)(s->broker >= 0 ? getppid() : getpid()), "init", (json_int_t)init,
		      "commands", commands, "uptime_ms", (json_int_t)(now_ms() - s->born_ms),
		      "landlock", (json_int_t)s->landlock_abi, "keep", s->keep, "provider_down",
		      gw_is_down(s->usage.status), "login_ended", s->usage.ended);
	add_refused(s, j);
	if (s->gateway.ends)
		(void)json_object_update_new(j, json_pack("{sI so sb}", "gateway_ends",
							  (json_int_t)s->gateway.ends,
							  "gateway_why", json_text(s->gateway.why),
							  "gateway_over", s->gateway.over));
	client_info(c, j);
}

static void on_expect(struct client *c, const struct wire_msg *m)
{
	struct wire_reader r;

	wire_read(&r, m);
	wire_get_strv(&r, &c->expected);
	if (c->state != CLIENT_FRESH || wire_read_end(&r) < 0 || c->expected.n > WIRE_EXPECT_MAX)
		client_drop(c);
}

static void handle(struct client *c, struct wire_msg *m)
{
	struct supervisor *s = c->sup;
	struct wire_reader r;
	uint32_t value = 0;

	wire_read(&r, m);
	if (m->type == WIRE_SIGNAL || m->type == WIRE_STOP || m->type == WIRE_KEEP)
		value = wire_get_u32(&r);
	if (m->type != WIRE_EXEC && m->type != WIRE_NET && m->type != WIRE_PORTS &&
	    m->type != WIRE_EVENT && m->type != WIRE_EXPECT && wire_read_end(&r) < 0) {
		client_drop(c);
		return;
	}
	switch ((unsigned)m->type) {
	case WIRE_EXEC:
		if (c->state == CLIENT_FRESH && git_flow_first(s)) {
			stash(c, m);
			git_flow_kick(s);
		} else {
			on_exec(c, m);
		}
		break;
	case WIRE_EXPECT:
		on_expect(c, m);
		break;
	case WIRE_SIGNAL:
		on_wire_signal(c, value);
		break;
	case WIRE_KEEP:
		s->keep = value & 1;
		sup_event(s, "keep",
			  json_pack("{sb ss}", "keep", s->keep, "audit", consent(value)));
		break;
	case WIRE_REMOVE:
		s->remove = true;
		s->keep = false;
		/* The client's command is still to come, and must find the sandbox. */
		c->holds = true;
		break;
	case WIRE_INSPECT:
		on_inspect(c);
		break;
	case WIRE_NET:
		net_update(c, m);
		break;
	case WIRE_EVENT:
		events_link_host(c, m);
		break;
	case WIRE_PORTS:
		ports_update(c, m);
		break;
	case WIRE_STOP:
		c->waits_stopped = true;
		c->state = CLIENT_ENDED;
		sup_stop(s, value < STOP_GRACE_MAX_MS ? value : STOP_GRACE_MAX_MS);
		break;
	default:
		client_drop(c);
		break;
	}
}

static void on_readable(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct client *c = ev_owner(io, struct client, io);
	struct supervisor *s = c->sup;
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(c->fd, &m);
	if (r == -EAGAIN)
		return;
	if (r <= 0)
		client_drop(c);
	else
		handle(c, &m);
	sup_reconsider(s);
}

struct client *client_new(struct supervisor *s, int fd, bool holds)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->sup = s;
	c->fd = fd;
	c->holds = holds;
	c->io = (struct ev_io){.fd = fd, .fn = on_readable};
	c->limit.fn = on_limit;
	c->free.fn = client_free;
	c->next = s->clients;
	s->clients = c;
	s->n_clients++;
	(void)fd_set_nonblock(fd, true);
	if (s->state == SUP_UP && !git_link_waits(s))
		client_watch(c);
	return c;
}

void client_watch(struct client *c)
{
	(void)ev_want(c->sup->ev, &c->io, EPOLLIN);
}

void client_watch_all(struct supervisor *s)
{
	for (struct client *c = s->clients; c; c = c->next) {
		if (c->asked)
			on_inspect(c);
		if (c->fd >= 0)
			client_watch(c);
	}
}

/* The directory's mode keeps others out already; the peer's identity is checked all the same. */
static bool may_command(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       (cred.uid == geteuid() || cred.uid == 0);
}

void client_accept_all(struct supervisor *s)
{
	for (;;) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (s->n_clients >= SUP_CLIENTS_MAX || !may_command(fd)) {
			(void)close(fd);
			continue;
		}
		(void)client_new(s, fd, false);
	}
}
