#include "web/hand.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "live/live.h"
#include "record/name.h"
#include "record/runtime.h"
#include "web/hand-own.h"
#include "web/web.h"

#define HIGH_FD 20 /* descriptors wait there to be put where a helper expects them */
#define AGAIN_MS 300
#define URL_FILE "url" /* beside the log of acts */
#define TOO_OFTEN_MS 60000
#define CTL_S 2

void hand_answer(struct hand *h, uint32_t id, unsigned status, json_t *j)
{
	cleanup_json json_t *owned = j;
	cleanup_free char *text = json_dumps(owned, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (text && strlen(text) > WEB_ANSWER_MAX)
		hand_error(h, id, 404, "it is too large for the page");
	else if (h->web.sock.fd >= 0 && text)
		(void)web_send_answer(h->web.sock.fd, id,
				      &(struct web_answer){.status = status,
							   .body = text,
							   .n_body = strlen(text)});
}

void hand_error(struct hand *h, uint32_t id, unsigned status, const char *why)
{
	hand_answer(h, id, status, json_pack("{so}", "error", json_text(why)));
}

static void revoked(struct hand *h, const char *session)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_str(&b, session);
	if (h->web.sock.fd >= 0)
		(void)wire_send(h->web.sock.fd, (enum wire_type)(unsigned)WEB_REVOKED, 0, &b, NULL,
				0);
}

static bool is_one_of(char ids[][SESSION_ID_LEN + 1], const char *id)
{
	size_t i = 0;

	while (i < SESSIONS_MAX && !streq(ids[i], id))
		i++;
	return i < SESSIONS_MAX;
}

/* A stream is opened once and lasts: web hears of each session that has ended, be it by a word, by its
 * age, or because a newer one has taken its place. */
void hand_sessions_changed(struct hand *h)
{
	char valid[SESSIONS_MAX][SESSION_ID_LEN + 1];
	uint64_t now = now_ms(), first = sessions_valid(&h->sessions, now, valid);

	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (h->told[i][0] && !is_one_of(valid, h->told[i]))
			revoked(h, h->told[i]);
	memcpy(h->told, valid, sizeof(valid));
	if (first)
		ev_timer_set(h->ev, &h->expiry, first > now ? first - now : 0);
	else
		ev_timer_stop(h->ev, &h->expiry);
}

static void on_expiry(struct ev *ev, struct ev_timer *t)
{
	(void)ev;
	hand_sessions_changed(ev_owner(t, struct hand, expiry));
}

/* ---- what web asks ---- */

static void login(struct hand *h, uint32_t id, const struct web_ask *a)
{
	char cookie[REQUEST_HALF_LEN + 1] = "", key[REQUEST_HALF_LEN + 1] = "";
	cleanup_json json_t *j = json_loadb(a->body, a->n_body, JSON_REJECT_DUPLICATES, NULL);
	const char *link = json_string_value(json_object_get(j, "key"));
	const struct session *s = NULL;
	unsigned status = sessions_login(&h->sessions, link ? link : "", now_ms(), cookie, key, &s);
	cleanup_free char *text = NULL;

	if (status != 200) {
		hand_error(h, id, status,
			   status == 429 ? "too many tries; wait a minute"
					 : "this link was used before, or is too old; "
					   "make another with: ralph web link");
		return;
	}
	text = xasprintf("{\"key\":\"%s\",\"level\":\"%s\",\"session\":\"%s\"}", key,
			 level_name(s->level), s->id);
	(void)web_send_answer(
		h->web.sock.fd, id,
		&(struct web_answer){
			.status = 200, .cookie = cookie, .body = text, .n_body = strlen(text)});
	explicit_bzero(cookie, sizeof(cookie));
	explicit_bzero(key, sizeof(key));
	explicit_bzero(text, strlen(text));
	hand_sessions_changed(h);
}

static json_t *list_json(struct hand *h, const struct session *own)
{
	return json_pack("{so sO ss}", "sessions", sessions_json(&h->sessions, own, now_ms()),
			 "acts", h->last, "level", own ? level_name(own->level) : "");
}

static void on_ask(struct hand *h, uint32_t id, const struct web_ask *a)
{
	struct session *s;

	if (a->kind == WEB_LOGIN) {
		login(h, id, a);
		return;
	}
	s = sessions_check(&h->sessions, a->cookie, a->key, now_ms());
	if (!s) {
		hand_error(h, id, 401, "this session has ended; make a link with: ralph web link");
	} else if (a->kind == WEB_CHECK) {
		(void)web_send_answer(h->web.sock.fd, id,
				      &(struct web_answer){.status = 200, .cookie = s->id});
	} else if (a->kind == WEB_SESSIONS) {
		hand_answer(h, id, 200, list_json(h, s));
	} else if (a->kind == WEB_VIEW) {
		view_begin(h, id, a->path);
	} else if (a->kind == WEB_LOGOUT) {
		(void)sessions_end(&h->sessions, s->id);
		hand_answer(h, id, 200, json_object());
		hand_sessions_changed(h);
	} else if (a->kind == WEB_ACT) {
		act_begin(h, id, s, a);
	} else {
		hand_error(h, id, 400, "no such question");
	}
}

/* True: a frame is in m. False: there is none, or the peer is gone, which its pidfd says. */
static bool receive(struct ev *ev, struct ev_io *io, struct wire_msg *m)
{
	int r;

	wire_msg_init(m);
	r = wire_recv(io->fd, m);
	if (r <= 0 && r != -EAGAIN) {
		(void)ev_want(ev, io, 0);
		closep(&io->fd);
	}
	return r > 0;
}

static void on_web(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct hand *h = ev_owner(io, struct helper, sock)->hand;
	cleanup_wire_msg struct wire_msg m;
	struct web_ask a;

	(void)events;
	if (receive(ev, io, &m) && web_get_ask(&m, &a) == 0)
		on_ask(h, m.id, &a);
}

static void on_desk(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct hand *h = ev_owner(io, struct helper, sock)->hand;
	cleanup_wire_msg struct wire_msg m;
	struct web_answer a;

	(void)events;
	if (receive(ev, io, &m) && web_get_answer(&m, &a) == 0)
		act_resolved(h, m.id, &a);
}

/* desk sees no socket of a supervisor; it hears from us whether one is there. */
static void on_alive(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct hand *h = ev_owner(io, struct hand, alive);
	cleanup_wire_msg struct wire_msg m;
	cleanup_json json_t *live = NULL;
	cleanup_free char *text = NULL;
	struct web_answer answer = {.status = 404};
	struct web_ask a;
	struct err ignored;

	(void)events;
	if (!receive(ev, io, &m) || web_get_ask(&m, &a) < 0)
		return;
	if (a.kind == WEB_ALIVE && name_valid(a.path) &&
	    live_inspect(h->o->places, a.path, &live, &ignored) == 0 && live) {
		cleanup_json json_t *j =
			json_pack("{sO? sO?}", "supervisor", json_object_get(live, "supervisor"),
				  "init", json_object_get(live, "init"));

		text = json_dumps(j, JSON_COMPACT);
		answer = (struct web_answer){
			.status = 200, .body = text, .n_body = text ? strlen(text) : 0};
	}
	(void)web_send_answer(io->fd, m.id, &answer);
}

/* ---- the helpers ---- */

struct places_of_fds {
	int from[3];
	size_t n;
};

static int put_fds(void *arg)
{
	const struct places_of_fds *f = arg;

	for (size_t i = 0; i < f->n; i++)
		if (dup2(f->from[i], WEB_HAND_FD + (int)i) < 0 || close(f->from[i]) < 0)
			return -errno;
	return 0;
}

static void on_ended(struct ev *ev, struct ev_io *io, uint32_t events);

/* Only the variables by which ralph finds its directories: the user's own may hold secrets. */
static void put_env(struct strv *env)
{
	static const char *const names[] = {
		"HOME",		 "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"XDG_DATA_HOME", "RALPH_LIBEXEC",   "ASAN_OPTIONS"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value)
			strv_env_set(env, names[i], value);
	}
}

/* Starts it with these descriptors at 3, 4 and 5. They are closed here. */
static int start_helper(struct helper *p, struct strv *args, int *fds, size_t n, struct err *err)
{
	struct places_of_fds f = {.n = n};
	cleanup_free char *program = places_program(p->hand->o->places, p->name);
	cleanup_strv struct strv argv = {0}, env = {0};
	struct run run = RUN_INIT;
	int r;

	strv_push(&argv, program);
	strv_extend(&argv, args);
	for (size_t i = 0; i < n; i++) {
		f.from[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, HIGH_FD);
		run_keep(&run, f.from[i]);
	}
	run.argv = argv.v;
	put_env(&env);
	run.env = env.v;
	run.stdio[2] = STDERR_FILENO;
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run.before_exec = put_fds;
	run.arg = &f;
	r = run_start(&run, &p->child, err);
	for (size_t i = 0; i < n; i++)
		(void)close(f.from[i]);
	if (r < 0)
		return r;
	p->ended = (struct ev_io){.fd = p->child.pidfd, .fn = on_ended};
	return ev_want(p->hand->ev, &p->ended, EPOLLIN);
}

static int start_desk(struct hand *h, int web_side, struct err *err)
{
	int hand[2] = {-1, -1}, alive[2] = {-1, -1};
	cleanup_strv struct strv args = {0};
	int r = wire_pair(hand, err);

	if (r == 0)
		r = wire_pair(alive, err);
	if (r == 0) {
		strv_push(&args, h->o->inbox ? h->o->inbox : "");
		if (h->o->from)
			strv_push(&args, h->o->from);
		r = start_helper(&h->desk, &args, (int[]){hand[1], web_side, alive[1]}, 3, err);
	}
	closep(&hand[1]);
	closep(&alive[1]);
	if (r < 0) {
		closep(&hand[0]);
		closep(&alive[0]);
		return r;
	}
	if (h->alive.fd >= 0) {
		(void)ev_want(h->ev, &h->alive, 0);
		closep(&h->alive.fd);
	}
	if (h->desk.sock.fd >= 0) {
		(void)ev_want(h->ev, &h->desk.sock, 0);
		closep(&h->desk.sock.fd);
	}
	h->alive = (struct ev_io){.fd = alive[0], .fn = on_alive};
	h->desk.sock = (struct ev_io){.fd = hand[0], .fn = on_desk};
	(void)fd_set_nonblock(alive[0], true);
	(void)fd_set_nonblock(hand[0], true);
	r = ev_want(h->ev, &h->alive, EPOLLIN);
	return r < 0 ? r : ev_want(h->ev, &h->desk.sock, EPOLLIN);
}

static int start_web(struct hand *h, int desk_side, int conns, struct err *err)
{
	int hand[2] = {-1, -1};
	cleanup_strv struct strv args = {0};
	int r = wire_pair(hand, err);

	if (r < 0)
		return r;
	strv_take(&args, path_join(h->o->places->data, "web"));
	strv_push(&args, h->o->cert ? "tls" : "tcp");
	strv_extend(&args, h->o->hosts);
	r = start_helper(&h->web, &args, (int[]){hand[1], desk_side, conns}, 3, err);
	closep(&hand[1]);
	if (r < 0) {
		closep(&hand[0]);
		return r;
	}
	if (h->web.sock.fd >= 0) {
		(void)ev_want(h->ev, &h->web.sock, 0);
		closep(&h->web.sock.fd);
	}
	h->web.sock = (struct ev_io){.fd = hand[0], .fn = on_web};
	(void)fd_set_nonblock(hand[0], true);
	return ev_want(h->ev, &h->web.sock, EPOLLIN);
}

/* It ends with web, to which it sends connections. */
static int start_tls(struct hand *h, int web_side, struct err *err)
{
	cleanup_strv struct strv args = {0};
	int hand[2] = {-1, -1}, r = wire_pair(hand, err);

	if (r < 0)
		return r;
	strv_push(&args, "serve");
	strv_push(&args, h->o->cert);
	strv_push(&args, h->o->key);
	r = start_helper(&h->tls, &args, (int[]){hand[1], web_side, h->o->listener}, 3, err);
	closep(&hand[1]);
	if (r < 0) {
		closep(&hand[0]);
		return r;
	}
	closep(&h->tls.sock.fd);
	h->tls.sock.fd = hand[0];
	return 0;
}

static void end_helper(struct hand *h, struct helper *p)
{
	if (p->child.pid <= 0)
		return;
	(void)ev_want(h->ev, &p->ended, 0);
	child_kill(&p->child, SIGKILL);
	(void)run_wait(&p->child);
	p->child = (struct child){.pidfd = -1};
}

/* web, with what gives it connections. */
static int start_front(struct hand *h, int desk_side, struct err *err)
{
	cleanup_fd int one = -1, two = -1;
	int pair[2], r;

	if (!h->o->cert)
		return start_web(h, desk_side, h->o->listener, err);
	end_helper(h, &h->tls);
	r = wire_pair(pair, err);
	if (r < 0)
		return r;
	one = pair[0];
	two = pair[1];
	r = start_web(h, desk_side, one, err);
	return r < 0 ? r : start_tls(h, two, err);
}

/* Starts whichever is missing. A new desk's socket is sent to the web that runs; a new web needs a
 * new desk too, since the old one's socket went with the old web. */
static int start_missing(struct hand *h, struct err *err)
{
	cleanup_fd int one = -1, two = -1;
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	one = pair[0];
	two = pair[1];
	if (h->o->cert && h->tls.child.pid <= 0)
		end_helper(h, &h->web);
	if (h->web.child.pid <= 0)
		end_helper(h, &h->desk);
	if (h->desk.child.pid <= 0)
		r = start_desk(h, one, err);
	if (r == 0 && h->web.child.pid <= 0)
		r = start_front(h, two, err);
	else if (r == 0)
		/* Where this fails web has ended too, which is handled next. */
		(void)wire_send(h->web.sock.fd, (enum wire_type)(unsigned)WEB_DESK, 0, NULL, &two,
				1);
	return r;
}

static void give_up(struct hand *h)
{
	h->failed = true;
	ev_stop(h->ev);
}

static void on_again(struct ev *ev, struct ev_timer *t)
{
	struct hand *h = ev_owner(t, struct hand, again);

	(void)ev;
	if (start_missing(h, h->err) < 0)
		give_up(h);
}

/* One that ended is started again; one that does so all the time ends the server. */
static void on_ended(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct helper *p = ev_owner(io, struct helper, ended);
	struct hand *h = p->hand;
	uint64_t now = now_ms(), oldest = p->starts_ms[p->next];
	int code;

	(void)events;
	(void)ev_want(ev, io, 0);
	code = run_wait(&p->child);
	p->child = (struct child){.pidfd = -1};
	p->starts_ms[p->next] = now;
	p->next = (p->next + 1) % ARRAY_SIZE(p->starts_ms);
	/* desk ends by itself, without an error, when there is a new workspace. */
	if (oldest && now - oldest < TOO_OFTEN_MS && !(code == 0 && p == &h->desk)) {
		(void)err_set(h->err, EIO, "'%s' ends again and again, with %d", p->name, code);
		give_up(h);
		return;
	}
	ev_timer_set(ev, &h->again, code == 0 ? 0 : AGAIN_MS);
}

/* ---- other commands ---- */

static json_t *control(struct hand *h, const struct web_ask *a, unsigned *status)
{
	char key[REQUEST_HALF_LEN + 1];
	cleanup_free char *link = NULL;
	enum web_level level;

	if (a->kind == WEB_SESSIONS)
		return list_json(h, NULL);
	if (a->kind == WEB_LOGIN) {
		level = level_of(a->path);
		if (level < LEVEL_N && sessions_link(&h->sessions, level, now_ms(), key) == 0) {
			link = xasprintf("%s#k=%s", h->o->url, key);
			return json_pack(
				"{ss ss}", "link", link, "level",
				level_name(level < h->sessions.most ? level : h->sessions.most));
		}
	}
	if (a->kind == WEB_LOGOUT && sessions_end(&h->sessions, a->path)) {
		hand_sessions_changed(h);
		return json_object();
	}
	*status = 404;
	return json_pack("{ss}", "error", "there is no such session");
}

/* One question per connection, of this user alone: the directory is private. */
static void on_ctl(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct hand *h = ev_owner(io, struct hand, ctl);
	const struct timeval limit = {.tv_sec = CTL_S};
	cleanup_fd int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
	cleanup_wire_msg struct wire_msg m;
	cleanup_free char *text = NULL;
	unsigned status = 200;
	struct web_ask a;

	(void)ev;
	(void)events;
	wire_msg_init(&m);
	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (wire_recv(fd, &m) > 0 && web_get_ask(&m, &a) == 0) {
		cleanup_json json_t *j = control(h, &a, &status);

		text = json_dumps(j, JSON_COMPACT);
		(void)web_send_answer(fd, m.id,
				      &(struct web_answer){.status = status,
							   .body = text,
							   .n_body = text ? strlen(text) : 0});
	}
}

static int ask_hand(const struct places *p, const struct web_ask *a, json_t **ret, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	struct web_answer answer;
	cleanup_fd int fd = -1;
	const char *why = NULL;
	int r = runtime_connect(p, HAND_NAME, &fd, err);

	wire_msg_init(&m);
	if (r < 0 || fd < 0)
		return r;
	if (web_send_ask(fd, 1, a) < 0 || wire_recv(fd, &m) <= 0 || web_get_answer(&m, &answer) < 0)
		return err_set(err, EIO, "the server does not answer");
	r = json_parse(answer.body, answer.n_body, ret, err);
	if (r == 0 && answer.status != 200)
		return err_set(err, ENOENT, "%s",
			       json_opt_str(*ret, "error", &why, err) == 0 && why ? why
										  : "it failed");
	return r < 0 ? r : 1;
}

int hand_sessions(const struct places *p, json_t **ret, struct err *err)
{
	return ask_hand(p, &(struct web_ask){.kind = WEB_SESSIONS}, ret, err);
}

int hand_link(const struct places *p, enum web_level level, json_t **ret, struct err *err)
{
	return ask_hand(p, &(struct web_ask){.kind = WEB_LOGIN, .path = level_name(level)}, ret,
			err);
}

int hand_revoke(const struct places *p, const char *session, json_t **ret, struct err *err)
{
	return ask_hand(p, &(struct web_ask){.kind = WEB_LOGOUT, .path = session}, ret, err);
}

/* ---- the server ---- */

static void on_signal(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct hand *h = ev_owner(io, struct hand, signals);

	(void)events;
	h->ended = ev_signal_read(io->fd);
	if (h->ended)
		ev_stop(ev);
}

/* The log of all acts: STATE/web. The one server that holds its lock writes it. */
static int open_log(struct hand *h, struct err *err)
{
	cleanup_free char *dir = path_join(h->o->places->state, "web");
	int r = path_mkdirs(dir, 0700, err);

	if (r < 0)
		return r;
	h->log_dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (h->log_dir < 0)
		return err_sys(err, errno, "cannot open '%s'", dir);
	if (fd_lock(h->log_dir, 0) < 0)
		return err_set(err, EBUSY, "a server runs already; see: ralph web sessions");
	/* For links of notifications: the address alone, no key. */
	r = path_write_atomic(h->log_dir, URL_FILE, h->o->url, strlen(h->o->url), 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/" URL_FILE "'", dir)
		     : events_open(h->log_dir, &h->log, err);
}

/* desk can be allowed only what is there when it starts. */
static int make_places(const struct hand *h, struct err *err)
{
	static const char *const names[] = {"sandboxes", "loops", "projects", "quarantine"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		cleanup_free char *path = path_join(h->o->places->state, names[i]);

		r = path_mkdirs(path, 0700, err);
	}
	return r;
}

static int serve(struct hand *h, struct err *err)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
	char key[REQUEST_HALF_LEN + 1];
	cleanup_free char *link = NULL;
	int r = open_log(h, err);

	if (r == 0)
		r = make_places(h, err);
	if (r == 0)
		r = ev_signalfd(caught, ARRAY_SIZE(caught), &h->signals.fd, err);
	if (r == 0)
		r = runtime_listen(h->o->places, HAND_NAME, &h->ctl.fd, err);
	if (r < 0)
		return r;
	h->signals.fn = on_signal;
	h->ctl.fn = on_ctl;
	if (ev_want(h->ev, &h->signals, EPOLLIN) < 0 || ev_want(h->ev, &h->ctl, EPOLLIN) < 0)
		return err_sys(err, EIO, "cannot watch the sockets");
	r = start_missing(h, err);
	if (r == 0 && sessions_link(&h->sessions, LEVEL_GRANT, now_ms(), key) < 0)
		r = err_set(err, EIO, "there are no random numbers");
	if (r < 0)
		return r;
	link = xasprintf("%s#k=%s", h->o->url, key);
	explicit_bzero(key, sizeof(key));
	h->o->ready(link);
	r = ev_run(h->ev, err);
	return r < 0 ? r : h->failed ? -EIO : 128 + h->ended;
}

int hand_serve(const struct hand_options *o, struct err *err)
{
	struct hand *h = xcalloc(1, sizeof(*h));
	int r = ev_new(&h->ev, err);

	h->o = o;
	h->err = err;
	h->log = (struct events)EVENTS_INIT;
	h->log_dir = h->alive.fd = h->ctl.fd = h->signals.fd = -1;
	h->sessions.most = o->most;
	h->last = json_array();
	h->again.fn = on_again;
	h->expiry.fn = on_expiry;
	h->web = (struct helper){.hand = h, .name = "web", .sock.fd = -1};
	h->desk = (struct helper){.hand = h, .name = "desk", .sock.fd = -1};
	h->tls = (struct helper){.hand = h, .name = "web-tls", .sock.fd = -1};
	h->web.child.pidfd = h->desk.child.pidfd = h->tls.child.pidfd = -1;
	for (size_t i = 0; i < HAND_ACTS_MAX; i++)
		h->acts[i] = (struct act){.hand = h, .out = -1};
	for (size_t i = 0; i < HAND_VIEWS_MAX; i++)
		h->views[i] = (struct view){.hand = h, .out = -1, .said = -1, .ended.fd = -1};
	if (r == 0)
		r = serve(h, err);
	if (h->ctl.fd >= 0)
		runtime_remove(o->places, HAND_NAME);
	if (h->web.child.pid > 0)
		child_done(&h->web.child);
	if (h->desk.child.pid > 0)
		child_done(&h->desk.child);
	if (h->tls.child.pid > 0)
		child_done(&h->tls.child);
	closep(&h->tls.sock.fd);
	acts_end(h);
	views_end(h);
	/* Another server's file stays: only the one that has the log wrote it. */
	if (h->log.fd >= 0)
		(void)unlinkat(h->log_dir, URL_FILE, 0);
	events_close(&h->log);
	closep(&h->web.sock.fd);
	closep(&h->desk.sock.fd);
	closep(&h->alive.fd);
	closep(&h->ctl.fd);
	closep(&h->signals.fd);
	closep(&h->log_dir);
	json_decref(h->last);
	ev_free(h->ev);
	explicit_bzero(&h->sessions, sizeof(h->sessions));
	free(h);
	return r;
}
