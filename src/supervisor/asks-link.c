/*
 * The supervisor's side of asks.
 *
 * DOC: Theory of operation
 *
 * The agent asks the gateway, and its reader asks here (GW_ASK). An ask is judged first: only a host
 * that no rule mentions, a file of the workspace and a question can be asked; the rest is answered "not
 * askable" at once. It goes into the queue of record/asks.h, and into the event log. The person answers
 * with a command of the host, which changes the queue and then sends the event "ask-answer": with it
 * those that wait are answered here. Nothing inside changes a rule: the person's command does.
 */
#include "supervisor/supervisor.h"

#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "live/ask-judge.h"
#include "record/asks.h"

static void answer_text(const struct supervisor *s, uint32_t id, uint32_t status, const char *text)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, status);
	wire_put_str(&b, text);
	if (!b.full && s->reader.half.sock >= 0)
		(void)wire_send(s->reader.half.sock, (enum wire_type)GW_ASK_IS, id, &b, NULL, 0);
}

/* Takes j. */
static void answer(const struct supervisor *s, uint32_t id, uint32_t status, json_t *j)
{
	cleanup_json json_t *owned = j;
	cleanup_free char *text = json_dumps(owned, JSON_COMPACT | JSON_ENSURE_ASCII);

	answer_text(s, id, text ? status : 500, text ? text : "{}");
}

static void refuse(const struct supervisor *s, uint32_t id, uint32_t status, const char *why)
{
	answer(s, id, status, json_pack("{ss so}", "state", "refused", "answer", json_text(why)));
}

/* What the agent is told of its ask. */
static json_t *told(const json_t *ask)
{
	static const char *const keys[] = {"id", "kind", "what", "state", "answer", "scope"};
	json_t *j = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *v = json_object_get(ask, keys[i]);

		if (v)
			(void)json_object_set(j, keys[i], v);
	}
	return j;
}

static json_t *event_of(const json_t *ask)
{
	json_t *j = told(ask);

	(void)json_object_set(j, "why", json_object_get(ask, "why"));
	return j;
}

/* ---- putting in ---- */

static uint32_t status_of(int r)
{
	return r == -EAGAIN ? 503 : r == -EDQUOT ? 429 : r == -EPERM ? 403 : 500;
}

static void put(struct supervisor *s, uint32_t id, const struct gw_ask *a)
{
	const struct gw_ask *q = a;
	struct ask_wish w = {.kind = ask_kind_of(q->kind),
			     .why = q->why,
			     .choices = &q->choices,
			     .now = (uint64_t)time(NULL)};
	cleanup_free char *what = NULL;
	const struct ask_words words = {q->what, q->why, &q->choices};
	const char *why = ask_judge(s->spec, w.kind, &words, &what);
	cleanup_json json_t *ask = NULL;
	struct err err = {0};
	int r;

	if (why) {
		refuse(s, id, 403, why);
		return;
	}
	w.what = what;
	r = asks_put(s->entry.dir, &w, &ask, &err);
	if (r < 0) {
		refuse(s, id, status_of(r), err.msg);
		return;
	}
	if (json_integer_value(json_object_get(ask, "times")) == 1)
		events_link_limited(s, "ask", event_of(ask));
	answer(s, id, 200, told(ask));
}

/* ---- waiting ---- */

/* Time limits of commands stand still while an agent waits, at most as long as asks_wait() lets it:
 * until then, in seconds since 1970. 0: nobody waits. */
static void stand_still(struct supervisor *s, uint64_t until)
{
	uint64_t now = now_ms(), clock = (uint64_t)time(NULL);

	s->asks.stood_ms = asks_link_stood(s, NULL);
	s->asks.since_ms = now;
	s->asks.until_ms = until > clock ? now + (until - clock) * 1000 : now;
}

uint64_t asks_link_stood(const struct supervisor *s, bool *ret_now)
{
	const struct asks_link *l = &s->asks;
	uint64_t now = now_ms(), end = now < l->until_ms ? now : l->until_ms;

	if (ret_now)
		*ret_now = now < l->until_ms;
	return l->stood_ms + (end > l->since_ms ? end - l->since_ms : 0);
}

static void arm(struct supervisor *s)
{
	uint64_t first = 0, now = now_ms();

	for (size_t i = 0; i < SUP_ASKS_MAX; i++)
		if (s->asks.v[i].id && (!first || s->asks.v[i].due_ms < first))
			first = s->asks.v[i].due_ms;
	if (first)
		ev_timer_set(s->ev, &s->asks.timer, first > now ? first - now : 0);
	else
		ev_timer_stop(s->ev, &s->asks.timer);
}

/* Answers those that wait for something that is answered, or have waited long enough. */
static void look(struct supervisor *s)
{
	cleanup_json json_t *asks = NULL;
	uint64_t now = now_ms(), until = 0;
	struct err err = {0};

	if (asks_read(s->entry.dir, &asks, &err) < 0)
		asks = json_array();
	for (size_t i = 0; i < SUP_ASKS_MAX; i++) {
		const char *id = s->asks.v[i].ask;
		json_t *ask = s->asks.v[i].id ? asks_find(asks, id) : NULL;

		if (!s->asks.v[i].id)
			continue;
		if (ask && ask_is_open(ask) && s->asks.v[i].due_ms > now) {
			uint64_t waits = ask_waits_until(ask);

			until = waits > until ? waits : until;
			continue;
		}
		if (ask && !ask_is_open(ask))
			(void)asks_heard(s->entry.dir, id, &err);
		if (ask)
			answer(s, s->asks.v[i].id, 200, told(ask));
		else
			refuse(s, s->asks.v[i].id, 404, "there is no such ask");
		s->asks.v[i].id = 0;
	}
	stand_still(s, until);
	arm(s);
}

static void on_timer(struct ev *ev, struct ev_timer *t)
{
	look(ev_owner(t, struct supervisor, asks.timer));
}

void asks_link_look(struct supervisor *s)
{
	look(s);
}

void asks_link_end(struct supervisor *s)
{
	for (size_t i = 0; i < SUP_ASKS_MAX; i++)
		s->asks.v[i].id = 0;
	stand_still(s, 0);
	if (s->ev)
		ev_timer_stop(s->ev, &s->asks.timer);
}

static void get(struct supervisor *s, uint32_t id, const struct gw_ask *a)
{
	uint64_t now = (uint64_t)time(NULL);
	struct err ignored = {0};
	size_t i = 0;

	if (strlen(a->what) != ASK_ID_LEN) {
		refuse(s, id, 404, "there is no such ask");
		return;
	}
	while (i < SUP_ASKS_MAX && s->asks.v[i].id)
		i++;
	if (i == SUP_ASKS_MAX) {
		refuse(s, id, 429, "too many wait already");
		return;
	}
	if (a->wait_s)
		(void)asks_wait(s->entry.dir, a->what, now + a->wait_s + 2, &ignored);
	s->asks.timer.fn = on_timer;
	s->asks.v[i].id = id;
	s->asks.v[i].due_ms = now_ms() + (uint64_t)a->wait_s * 1000;
	(void)snprintf(s->asks.v[i].ask, sizeof(s->asks.v[i].ask), "%s", a->what);
	look(s);
}

static void refused_hosts(struct supervisor *s, uint32_t id, uint64_t since)
{
	cleanup_strv struct strv hosts = {0};
	bool others = refused_since(&s->log.refused, since, &hosts);

	answer(s, id, 200,
	       json_pack("{sI so sb}", "now", (json_int_t)s->log.refused.now, "hosts",
			 json_strv(&hosts), "others", others));
}

void asks_link_take(struct supervisor *s, const struct wire_msg *m)
{
	struct gw_ask a;

	if (gw_get_ask(m, &a) < 0 || m->id == 0)
		return;
	if (a.verb == GW_ASK_PUT)
		put(s, m->id, &a);
	else if (a.verb == GW_ASK_GET)
		get(s, m->id, &a);
	else
		refused_hosts(s, m->id, a.since);
	strv_done(&a.choices);
}
