/*
 * DOC: Theory of operation
 *
 * The loop looks twice a second at the records of the sandboxes that it has started: new lines of the
 * event log go home as FLEET_EVENT, open asks as FLEET_QUESTION. An ask is told again when its agent
 * waits on. FLEET_RULES replaces the user's file of rules, which is this worker's alone, and the live
 * sandbox gets it at once; FLEET_REPLY answers an ask as `ralph ask` would. Both come in the order in
 * which they happened at home, so that an agent that reads "allowed" is allowed already.
 */
#include "loop/home-line.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "events/events-follow.h"
#include "live/live.h"
#include "live/net-change.h"
#include "live/net-kept.h"
#include "loop/loop.h"
#include "record/asks.h"
#include "record/store.h"
#include "wire/fleet.h"

#define LOOK_MS 500
#define SANDBOXES_MAX 8 /* of one task: its agent's, and those of --fallback */

extern char **environ;

struct followed {
	char *name;
	int dir;
	ino_t ino;
	struct events_follow events;
};

struct home_line {
	struct loop *l;
	int fd;
	struct ev_io io;
	struct ev_timer look;
	struct fleet_in in;
	struct fleet_out out;
	struct followed v[SANDBOXES_MAX];
	size_t n;
	json_t *told; /* of open asks: until when their agents wait, as home knows it */
};

/* ---- to home ---- */

static void flush(struct home_line *h)
{
	int r = h->fd < 0 ? 1 : fleet_out_write(&h->out, h->fd);

	if (r < 0 && r != -EAGAIN) {
		(void)ev_want(h->l->ev, &h->io, 0);
		closep(&h->fd);
	} else if (h->fd >= 0) {
		(void)ev_want(h->l->ev, &h->io, EPOLLIN | (r == 1 ? 0 : EPOLLOUT));
	}
}

static int on_event(void *arg, const struct events_line *e)
{
	struct home_line *h = arg;

	if (h->fd >= 0 && e->n && e->n <= FLEET_BODY_MAX)
		(void)fleet_put(&h->out, FLEET_EVENT, 0, e->text, e->n);
	return 0;
}

static void stop_following(struct followed *f)
{
	events_follow_done(&f->events);
	closep(&f->dir);
	free(f->name);
}

/* A record that was removed and made again is another one. */
static struct followed *follow(struct home_line *h, const char *name)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err ignored = {0};
	struct followed *f;
	struct stat st;

	if (store_open(&h->l->q.places, name, false, &e, &ignored) < 0 || fstat(e.dir, &st) < 0)
		return NULL;
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].ino == st.st_ino)
			return &h->v[i];
	if (h->n == SANDBOXES_MAX) {
		stop_following(&h->v[0]);
		memmove(&h->v[0], &h->v[1], --h->n * sizeof(h->v[0]));
	}
	f = &h->v[h->n++];
	*f = (struct followed){.name = xstrdup(name), .dir = take_fd(e.dir), .ino = st.st_ino};
	events_follow_init(&f->events, f->dir, on_event, h);
	return f;
}

static const char *text_of(const json_t *ask, const char *key)
{
	const char *s = json_string_value(json_object_get(ask, key));

	return s ? s : "";
}

static void tell_ask(struct home_line *h, const json_t *ask)
{
	const json_t *before = json_object_get(h->told, text_of(ask, "id"));
	uint64_t until = ask_waits_until(ask), now = (uint64_t)time(NULL);
	cleanup_json json_t *none = json_array();
	const json_t *choices = json_object_get(ask, "choices");
	const struct fleet_question q = {.id = text_of(ask, "id"),
					 .kind = text_of(ask, "kind"),
					 .what = text_of(ask, "what"),
					 .why = text_of(ask, "why"),
					 .choices = choices ? choices : none,
					 .wait_s = until > now ? until - now : 0};

	if (before && (uint64_t)json_integer_value(before) == until)
		return;
	if (fleet_put_json(&h->out, FLEET_QUESTION, 0, fleet_question_json(&q)) == 0)
		(void)json_object_set_new(h->told, q.id, json_integer((json_int_t)until));
}

static void tell_asks(struct home_line *h, const struct followed *f)
{
	cleanup_json json_t *asks = NULL;
	struct err ignored = {0};
	json_t *a;
	size_t i;

	if (asks_read(f->dir, &asks, &ignored) < 0)
		return;
	json_array_foreach (asks, i, a)
		if (ask_is_open(a))
			tell_ask(h, a);
}

static void look(struct home_line *h)
{
	const struct sandbox_spec *spec = h->l->build.spec;
	struct err ignored = {0};

	if (h->fd < 0)
		return;
	if (spec)
		(void)follow(h, spec->name);
	for (size_t i = 0; i < h->n && fleet_out_pending(&h->out) < FLEET_QUEUE_LOW; i++) {
		(void)events_follow_more(&h->v[i].events, &ignored);
		tell_asks(h, &h->v[i]);
	}
	flush(h);
}

static void on_look(struct ev *ev, struct ev_timer *t)
{
	look(ev_owner(t, struct home_line, look));
	ev_timer_set(ev, t, LOOK_MS);
}

void home_line_look(struct loop *l)
{
	if (l->home_line)
		look(l->home_line);
}

/* ---- from home ---- */

static void take_rules(struct home_line *h, const struct fleet_msg *m)
{
	const struct places *p = &h->l->q.places;
	struct fleet_rules q;
	struct err err = {0};
	int r = fleet_rules_read(m, &q, &err);

	if (r == 0)
		r = net_kept_replace(p, q.rules, &err);
	/* One that is not live gets them at its start. */
	if (r == 0 && h->l->build.spec)
		r = net_catch_up(p, environ, h->l->build.spec->name, &err);
	if (r < 0)
		log_warn("loop", "the rules of home do not hold: %s", err.msg);
	fleet_done(&q);
}

static void answer(struct home_line *h, const struct followed *f, const struct fleet_reply *q,
		   struct err *err)
{
	const struct ask_answer a = {.id = q->id,
				     .allow = q->allow,
				     .text = q->text,
				     .scope = q->scope,
				     .now = (uint64_t)time(NULL)};
	cleanup_json json_t *ask = NULL;
	int r = asks_answer(f->dir, &a, &ask, err);

	if (r == -ENOENT || r == -EALREADY)
		return;
	if (r == 0)
		r = live_event(&h->l->q.places, f->name, "ask-answer",
			       json_pack("{ss so ss ss so}", "id", a.id, "what",
					 json_text(text_of(ask, "what")), "state",
					 text_of(ask, "state"), "scope", a.scope, "answer",
					 json_text(a.text)),
			       err);
	if (r < 0)
		log_warn("loop", "an answer from home: %s", err->msg);
}

static void take_reply(struct home_line *h, const struct fleet_msg *m)
{
	struct fleet_reply q;
	struct err err = {0};

	if (fleet_reply_read(m, &q, &err) < 0)
		return;
	(void)json_object_del(h->told, q.id);
	for (size_t i = 0; i < h->n; i++)
		answer(h, &h->v[i], &q, &err);
	fleet_done(&q);
}

static void read_all(struct home_line *h)
{
	struct fleet_msg m;
	int r = h->fd < 0 ? -EPIPE : fleet_in_read(&h->in, h->fd), more = 0;

	if (r == -EAGAIN)
		return;
	while (r > 0 && (more = fleet_next(&h->in, &m)) > 0) {
		if (m.type == FLEET_RULES)
			take_rules(h, &m);
		else if (m.type == FLEET_REPLY)
			take_reply(h, &m);
	}
	if ((r <= 0 || more < 0) && h->fd >= 0) {
		(void)ev_want(h->l->ev, &h->io, 0);
		closep(&h->fd);
	}
}

static void on_line(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct home_line *h = ev_owner(io, struct home_line, io);

	if (events & ~(uint32_t)EPOLLOUT)
		read_all(h);
	flush(h);
}

/* ---- all of it ---- */

int home_line_open(struct loop *l, struct err *err)
{
	struct home_line *h;
	int r;

	if (l->q.home_line < 0)
		return 0;
	h = l->home_line = xcalloc(1, sizeof(*h));
	h->l = l;
	h->fd = l->q.home_line;
	h->told = json_object();
	fleet_in_init(&h->in, FLEET_HOME);
	fleet_out_init(&h->out);
	r = fd_set_cloexec(h->fd, true);
	if (r == 0)
		r = fd_set_nonblock(h->fd, true);
	if (r < 0)
		return err_sys(err, -r, "cannot use the line to the loop at home");
	h->io = (struct ev_io){.fd = h->fd, .fn = on_line};
	h->look.fn = on_look;
	ev_timer_set(l->ev, &h->look, LOOK_MS);
	/* The rules that hold at the start are there already, before the first sandbox is. */
	read_all(h);
	flush(h);
	return 0;
}

void home_line_close(struct loop *l)
{
	struct home_line *h = take_ptr(l->home_line);

	if (!h)
		return;
	if (l->ev) {
		look(h);
		ev_timer_stop(l->ev, &h->look);
		if (h->fd >= 0)
			(void)ev_want(l->ev, &h->io, 0);
	}
	if (h->fd >= 0 && fd_set_nonblock(h->fd, false) == 0)
		(void)fleet_out_write(&h->out, h->fd);
	closep(&h->fd);
	for (size_t i = 0; i < h->n; i++)
		stop_following(&h->v[i]);
	fleet_in_done(&h->in);
	fleet_out_done(&h->out);
	json_decref(h->told);
	free(h);
}
