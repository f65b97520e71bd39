/*
 * libexec/ralph/desk INBOX [FILE]: reads for the page, see desk.h; INBOX "": there is none; with
 * FILE, a saved
 * state (`ralph top --from`) instead of the machine. It ends with the
 * hand, and by itself when a workspace appears that it may not read: the hand starts another.
 *
 * DOC: Theory of operation
 *
 * Questions are answered at once, from a survey that is at most a second old. A stream is a list of
 * topics, each with a cursor (an event's number, an offset of a file). While there is a stream a
 * timer looks at all topics of those that have taken their last answer, in turns, and sends what
 * lies behind the cursor. Without a stream no timer runs.
 */
#include "web/desk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "base/path.h"
#include "confine/filters.h"
#include "confine/syscalls.h"
#include "events/usage-kept.h"
#include "flow/isolate.h"
#include "record/loops.h"
#include "view/log-view.h"
#include "web/frames.h"

#define ALIVE_FD 5 /* questions about supervisors, which the hand answers */
#define ALIVE_S 3

/* Only the hand can reach supervisors: their sockets take commands. */
static int inspect(const struct places *p, const char *name, json_t **ret, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	struct web_answer a;

	(void)p;
	*ret = NULL;
	wire_msg_init(&m);
	if (web_send_ask(ALIVE_FD, 1, &(struct web_ask){.kind = WEB_ALIVE, .path = name}) < 0 ||
	    wire_recv(ALIVE_FD, &m) <= 0 || web_get_answer(&m, &a) < 0)
		return err_set(err, EIO, "the hand does not answer");
	return a.status == 200 ? json_parse(a.body, a.n_body, ret, err) : 0;
}

int desk_look(struct desk *d, struct err *err)
{
	uint64_t now = now_ms();
	int r;

	if (d->from || (d->surveyed_ms && now - d->surveyed_ms < DESK_SURVEY_MS))
		return 0;
	r = survey_refresh(&d->survey, err);
	d->surveyed_ms = r == 0 ? now : 0;
	return r;
}

static json_t *get(struct desk *d, const struct route *r, unsigned *status)
{
	struct err err = {0};

	if (desk_look(d, &err) < 0)
		return desk_error(status, 503, err.msg);
	switch (r->id) {
	case ROUTE_OVERVIEW:
		return desk_overview(d);
	case ROUTE_LOOP:
		return desk_loop(d, r->word, status);
	case ROUTE_LOG:
		return desk_log(d, r, status);
	case ROUTE_CHECKS:
		return desk_checks(d, r, status);
	case ROUTE_NET:
		return desk_net(d, r->word, status);
	case ROUTE_EVENTS:
		return desk_events(d, r->word, r->at, status);
	case ROUTE_VERIFY:
		return desk_verify(d, r->word, status);
	case ROUTE_USAGE:
		return desk_usage(d);
	case ROUTE_QUARANTINE:
		return desk_quarantine(d);
	case ROUTE_HELD:
		return desk_held(d, r->word, status);
	case ROUTE_TALKS:
		return desk_talks(d);
	case ROUTE_TALK:
		return desk_talk(d, r, status);
	case ROUTE_ASKS:
		return desk_asks(d);
	case ROUTE_ASK:
		return desk_ask(d, r->word, status);
	case ROUTE_NONE:
	case ROUTE_PAGE:
	case ROUTE_LOGIN:
	case ROUTE_LOGOUT:
	case ROUTE_ACT:
	case ROUTE_STREAM:
	case ROUTE_SESSIONS:
	case ROUTE_DIFF:
	case ROUTE_AUDIT:
	case ROUTE_ID_N:
		break;
	}
	return desk_error(status, 404, "there is no such page");
}

/* True: of state that no answer can hold nothing is sent; the page's own question says why. The other topics
 * of the stream go on. */
static bool is_too_large(const json_t *j)
{
	return json_dumpb(j, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) > WEB_ANSWER_MAX - KiB;
}

/* Takes j. An answer that does not fit is an error, which does. */
static void answer(int sock, uint32_t id, unsigned status, json_t *j)
{
	cleanup_json json_t *owned = j;
	cleanup_free char *text = json_dumps(owned, JSON_COMPACT | JSON_ENSURE_ASCII);
	struct web_answer a = {.status = status, .body = text, .n_body = text ? strlen(text) : 0};

	if (!text || a.n_body > WEB_ANSWER_MAX)
		a = (struct web_answer){
			.status = 500, .body = "{\"error\":\"too large\"}", .n_body = 21};
	(void)web_send_answer(sock, id, &a);
}

/* ---- streams ---- */

static struct desk_stream *stream_of(struct desk *d, uint32_t id)
{
	for (size_t i = 0; i < WEB_CONNS_MAX; i++)
		if (d->streams[i].id == id)
			return &d->streams[i];
	return NULL;
}

static uint64_t hash_of(const json_t *j)
{
	cleanup_free char *text = json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII);
	char key[ROUTE_KEY_LEN + 1];
	uint64_t h = 0;

	web_key(text ? text : "", key);
	for (size_t i = 0; i < ROUTE_KEY_LEN; i++)
		h = h * 16 + (uint64_t)(key[i] > '9' ? key[i] - 'a' + 10 : key[i] - '0');
	return h ? h : 1;
}

/* State is sent whole, when it differs from what was sent. */
static json_t *changed(struct desk_topic *t, json_t *state, unsigned status)
{
	uint64_t h = hash_of(state);

	if (status != 200 || t->sent == h) {
		json_decref(state);
		return NULL;
	}
	t->sent = h;
	return state;
}

static json_t *more_log(struct desk *d, struct desk_topic *t)
{
	struct route r = t->route;
	unsigned status = 200;
	json_t *j;

	r.at = t->cursor;
	j = desk_log(d, &r, &status);
	if (status != 200 || (uint64_t)log_number(j, "next") <= t->cursor) {
		json_decref(j);
		return NULL;
	}
	t->cursor = (uint64_t)log_number(j, "next");
	return j;
}

static json_t *news_of(struct desk *d, struct desk_topic *t)
{
	unsigned status = 200;
	json_t *j;

	if (t->route.id == ROUTE_OVERVIEW)
		return changed(t, desk_overview(d), 200);
	if (t->route.id == ROUTE_LOOP) {
		j = desk_loop(d, t->route.word, &status);
		return changed(t, j, status);
	}
	if (t->route.id == ROUTE_LOG)
		return more_log(d, t);
	j = desk_events_new(d, t->route.word, &t->cursor);
	if (json_array_size(json_object_get(j, "rows")) == 0) {
		json_decref(j);
		return NULL;
	}
	return j;
}

/* Sends at most one answer: the first topic with news, beginning behind the last one that had. */
static void feed(struct desk *d, struct desk_stream *s)
{
	for (size_t i = 0; s->credit && i < s->n_topics; i++) {
		struct desk_topic *t = &s->topics[(s->next + i) % s->n_topics];
		json_t *j = news_of(d, t);

		if (j && is_too_large(j)) {
			json_decref(j);
			j = NULL;
		}
		if (!j)
			continue;
		s->credit = false;
		s->next = (s->next + i + 1) % s->n_topics;
		answer(d->web.fd, s->id, 200,
		       json_pack("{ss sI so}", "topic", t->name, "cursor", (json_int_t)t->cursor,
				 "data", j));
	}
}

static bool is_there(const char *dir, const char *name)
{
	cleanup_free char *path = path_join(dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Landlock cannot grow: a new workspace needs a new desk. */
static bool has_new_workspace(const struct desk *d)
{
	cleanup_strv struct strv now = {0};
	struct err ignored;

	if (d->from || loops_each(&d->places, &now, &ignored) < 0)
		return false;
	for (size_t i = 0; i < now.n; i++)
		if (!strv_has(&d->workspaces, now.v[i]) && is_there(now.v[i], ".ralph"))
			return true;
	return (!d->usage && is_there(d->places.state, USAGE_KEPT_FILE)) ||
	       (d->talks && !d->saved && is_there(d->talks, "."));
}

static void on_tick(struct ev *ev, struct ev_timer *t)
{
	struct desk *d = ev_owner(t, struct desk, tick);
	struct err ignored;
	bool any = false;

	if (has_new_workspace(d)) {
		ev_stop(ev);
		return;
	}
	(void)desk_look(d, &ignored);
	for (size_t i = 0; i < WEB_CONNS_MAX; i++)
		if (d->streams[i].id) {
			any = true;
			feed(d, &d->streams[i]);
		}
	if (any)
		ev_timer_set(ev, t, DESK_TICK_MS);
}

static bool read_topics(struct desk_stream *s, const char *body, size_t n)
{
	cleanup_json json_t *j = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
	json_t *topics = json_object_get(j, "topics"), *v;
	const char *name;

	if (!json_is_object(topics) || json_object_size(topics) == 0 ||
	    json_object_size(topics) > DESK_TOPICS_MAX)
		return false;
	json_object_foreach (topics, name, v) {
		struct desk_topic *t = &s->topics[s->n_topics++];

		if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		    strlen(name) >= sizeof(t->name) || !route_topic(name, &t->route))
			return false;
		(void)snprintf(t->name, sizeof(t->name), "%s", name);
		t->cursor = (uint64_t)json_integer_value(v);
	}
	return true;
}

static void open_stream(struct desk *d, uint32_t id, const struct web_ask *a)
{
	struct desk_stream s = {.id = id, .credit = false};
	struct desk_stream *place = stream_of(d, 0);
	unsigned status = 200;

	if (!id || !place)
		answer(d->web.fd, id, 429, desk_error(&status, 429, "too many streams"));
	else if (!read_topics(&s, a->body, a->n_body))
		answer(d->web.fd, id, 400, desk_error(&status, 400, "no such topics"));
	else {
		*place = s;
		(void)web_send_answer(d->web.fd, id, &(struct web_answer){.status = 200});
		ev_timer_set(d->ev, &d->tick, 0);
	}
}

static void on_ask(struct desk *d, uint32_t id, const struct web_ask *a)
{
	struct desk_stream *s = id ? stream_of(d, id) : NULL;
	unsigned status = 200;
	struct route r;
	json_t *j;

	if (a->kind == WEB_STREAM) {
		open_stream(d, id, a);
	} else if (a->kind == WEB_MORE && s) {
		s->credit = true;
		feed(d, s);
	} else if (a->kind == WEB_END && s) {
		*s = (struct desk_stream){0};
	} else if (a->kind == WEB_GET) {
		j = route_find(false, a->path, strlen(a->path), &r)
			    ? desk_error(&status, 404, "there is no such page")
			    : get(d, &r, &status);
		answer(d->web.fd, id, status, j);
		if (has_new_workspace(d))
			ev_stop(d->ev);
	}
}

static void on_web(struct ev *ev, struct ev_io *io, uint32_t events)
{
	cleanup_wire_msg struct wire_msg m;
	struct web_ask a;
	int r;

	(void)events;
	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r <= 0 && r != -EAGAIN)
		ev_stop(ev);
	else if (r > 0 && web_get_ask(&m, &a) == 0)
		on_ask(ev_owner(io, struct desk, web), m.id, &a);
}

static void on_hand(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct desk *d = ev_owner(io, struct desk, hand);
	cleanup_wire_msg struct wire_msg m;
	struct web_ask a;
	int r;

	(void)events;
	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r <= 0 && r != -EAGAIN) {
		ev_stop(ev);
	} else if (r > 0 && web_get_ask(&m, &a) == 0 && a.kind == WEB_RESOLVE) {
		const char *slash = strchr(a.path, '/');
		cleanup_free char *verb =
			xstrndup(a.path, slash ? (size_t)(slash - a.path) : strlen(a.path));
		unsigned status = 200;
		json_t *j = desk_resolve(d, verb, slash ? slash + 1 : "", &status);

		answer(io->fd, m.id, status, j);
	}
}

/* ---- the start ---- */

static int shut_in(struct desk *d, struct err *err)
{
	static const char *const below[] = {"sandboxes", "loops", "projects", "quarantine",
					    USAGE_KEPT_FILE};
	cleanup_strv struct strv paths = {0};
	int r;

	strv_push(&paths, "/proc");
	strv_push(&paths, d->places.runtime);
	d->saved = d->talks && is_there(d->talks, ".");
	if (d->saved)
		strv_push(&paths, d->talks);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		strv_take(&paths, path_join(d->places.state, below[i]));
	for (size_t i = 0; i < d->workspaces.n; i++)
		strv_take(&paths, path_join(d->workspaces.v[i], ".ralph"));
	d->usage = is_there(d->places.state, USAGE_KEPT_FILE);
	r = isolate_rights();
	if (r == 0)
		r = isolate_files((const char *const *)paths.v, NULL, NULL,
				  LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r >= 0)
		r = confine_calls(desk);
	return r < 0 ? err_sys(err, -r, "desk cannot give up its rights") : 0;
}

static int start(struct desk *d, struct err *err)
{
	const struct timeval limit = {.tv_sec = ALIVE_S};
	cleanup_strv struct strv known = {0};
	int r = places_find(&d->places, err);

	survey_init(&d->survey, &d->places);
	d->survey.inspect = inspect;
	if (r == 0 && !d->from)
		r = loops_each(&d->places, &known, err);
	for (size_t i = 0; i < known.n; i++)
		if (is_there(known.v[i], ".ralph"))
			strv_push(&d->workspaces, known.v[i]);
	if (r == 0 && d->from)
		r = survey_from_file(&d->survey, d->from, err);
	if (r == 0)
		r = ev_new(&d->ev, err);
	if (r < 0)
		return r;
	(void)setsockopt(ALIVE_FD, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	d->tick.fn = on_tick;
	d->hand = (struct ev_io){.fd = WEB_HAND_FD, .fn = on_hand};
	d->web = (struct ev_io){.fd = WEB_OTHER_FD, .fn = on_web};
	if (ev_want(d->ev, &d->hand, EPOLLIN) < 0 || ev_want(d->ev, &d->web, EPOLLIN) < 0)
		return err_sys(err, EIO, "cannot watch the sockets");
	return shut_in(d, err);
}

int main(int argc, char **argv)
{
	static struct desk d;
	struct err err = {0};
	int r;

	d.talks = argc > 1 && argv[1][0] ? path_join(argv[1], "conversations") : NULL;
	d.from = argc > 2 ? argv[2] : NULL;
	r = start(&d, &err);
	if (r == 0)
		r = ev_run(d.ev, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: desk: %s\n", err.msg);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
