/*
 * Events on their way into the event log. The gateway's decisions are folded. Events of the host
 * come as WIRE_EVENT (verdicts of a loop, releases from quarantine). Events that a program inside
 * can cause at will have a rate limit.
 */
#include "supervisor/supervisor.h"

#include <string.h>

#include "base/fd.h"
#include "events/fold.h"

#define LIMITED_BURST 1024 /* events that are caused from inside at once */
#define LIMITED_REFILL_MS 1000
#define HOST_EVENT_MAX (64 * KiB)

/* Adds the first and the last time to an event that stands for several. */
static void add_span(json_t *j, const struct folded *f)
{
	if (f->first_ms == f->last_ms)
		return;
	(void)json_object_set_new(j, "first_ms", json_integer((json_int_t)f->first_ms));
	(void)json_object_set_new(j, "last_ms", json_integer((json_int_t)f->last_ms));
}

static json_t *net_json(const struct gw_event *e)
{
	return json_pack("{sI ss ss ss so sI so so so so sI sI sI sI sI}", "at_ms",
			 (json_int_t)e->time_ms, "verb", gw_verb_name(e->verb), "verdict",
			 gw_verdict_name(e->verdict), "phase", e->phase == GW_OPEN ? "open" : "end",
			 "host", json_text(e->host), "port", (json_int_t)e->port, "method",
			 json_text(e->method), "path", json_text(e->path), "rule",
			 json_text(e->rule), "reason", json_text(e->reason), "flow",
			 (json_int_t)e->flow, "count", (json_int_t)e->count, "up",
			 (json_int_t)e->up, "down", (json_int_t)e->down, "ms", (json_int_t)e->ms);
}

static void write_net(void *s, const struct folded *f)
{
	json_t *j = net_json(&f->e);

	add_span(j, f);
	sup_event(s, "net", j);
}

/* The self-test says beforehand what it will ask for, so these records are few. */
static void write_expected(struct supervisor *s, const struct gw_event *e)
{
	json_t *j = net_json(e);

	(void)json_object_set_new(j, "selftest", json_true());
	sup_event(s, "net", j);
}

static void write_use(void *s, const struct folded *f)
{
	const struct gw_event *e = &f->e;
	json_t *j =
		json_pack("{ss so so sI so sI}", "what", "used", "credential", json_text(e->path),
			  "host", json_text(e->host), "port", (json_int_t)e->port, "method",
			  json_text(e->method), "count", (json_int_t)e->count);

	if (e->rule[0])
		(void)json_object_set_new(j, "rule", json_text(e->rule));
	add_span(j, f);
	sup_event(s, "credential", j);
}

static uint64_t due_next(const struct events_link *l)
{
	uint64_t a = l->fold ? fold_due(l->fold) : 0, b = l->uses ? fold_due(l->uses) : 0;

	return !a || (b && b < a) ? b : a;
}

static void flush(struct events_link *l, bool all)
{
	if (l->fold)
		fold_flush(l->fold, now_ms(), all);
	if (l->uses)
		fold_flush(l->uses, now_ms(), all);
}

static void arm(struct supervisor *s)
{
	uint64_t due = due_next(&s->log), now = now_ms();

	if (due && s->ev)
		ev_timer_set(s->ev, &s->log.timer, due > now ? due - now : 1);
}

static void on_timer(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, log.timer);

	flush(&s->log, false);
	arm(s);
}

void events_link_use(struct supervisor *s, const struct cred_use *u)
{
	struct timespec ts;
	struct gw_event e = {
		.verdict = GW_ALLOW,
		.phase = GW_END,
		.port = u->port,
		.count = 1,
		.host = u->host,
		.method = u->method,
		.path = u->credential,
		.rule = u->rule,
		.reason = "",
	};

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	e.time_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	if (!s->log.uses)
		s->log.uses = fold_new(write_use, s, true);
	s->log.timer.fn = on_timer;
	fold_add(s->log.uses, &e, now_ms());
	arm(s);
}

void events_link_net(struct supervisor *s, const struct gw_event *e)
{
	if (e->verdict == GW_DENY && e->count == 1 && client_expects(s, e->host)) {
		write_expected(s, e);
		return;
	}
	if (e->verdict == GW_DENY && e->host[0])
		refused_add(&s->log.refused, e->host);
	if (!s->log.fold)
		s->log.fold = fold_new(write_net, s, false);
	s->log.timer.fn = on_timer;
	fold_add(s->log.fold, e, now_ms());
	arm(s);
}

/* Nothing inside can cause this: commands are the host's. */
void events_link_flush(struct supervisor *s)
{
	flush(&s->log, true);
}

void events_link_limited(struct supervisor *s, const char *type, json_t *details)
{
	struct events_link *l = &s->log;
	uint64_t now = now_ms(), earned = (now - l->at_ms) / LIMITED_REFILL_MS;

	if (l->at_ms == 0) {
		l->at_ms = now;
		l->left = LIMITED_BURST;
		earned = 0;
	}
	l->at_ms += earned * LIMITED_REFILL_MS;
	l->left = l->left + earned > LIMITED_BURST ? LIMITED_BURST : l->left + earned;
	if (l->left == 0) {
		l->skipped++;
		json_decref(details);
		return;
	}
	l->left--;
	if (l->skipped)
		(void)json_object_set_new(details, "skipped", json_integer((json_int_t)l->skipped));
	l->skipped = 0;
	sup_event(s, type, details);
}

static bool is_type(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= 40 && s[0] >= 'a' && s[0] <= 'z' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

void events_link_host(struct client *c, const struct wire_msg *m)
{
	struct supervisor *s = c->sup;
	cleanup_json json_t *j = NULL, *answer = NULL;
	const char *type, *text;
	struct wire_reader rd;
	struct err err = {0};
	int r;

	wire_read(&rd, m);
	type = wire_get_str(&rd);
	text = wire_get_str(&rd);
	if (wire_read_end(&rd) < 0 || !is_type(type) || strlen(text) > HOST_EVENT_MAX) {
		client_drop(c);
		return;
	}
	if (json_parse(text, strlen(text), &j, &err) < 0 || !json_is_object(j)) {
		client_failed(c, EXIT_USAGE, "the event is no JSON object");
		return;
	}
	/* The host's event is marked as such, whatever it says of itself. */
	(void)json_object_set_new(j, "by", json_string("host"));
	r = events_add(&s->events, type, json_incref(j));
	if (r < 0) {
		client_failed(c, EXIT_RUNTIME, "the event log cannot be written");
		return;
	}
	if (streq(type, "ask-answer"))
		asks_link_look(s);
	answer = json_pack("{sI}", "seq", (json_int_t)s->events.chain.seq);
	client_info(c, answer);
}

void events_link_stop(struct supervisor *s)
{
	flush(&s->log, true);
	s->log.fold = fold_free(s->log.fold);
	s->log.uses = fold_free(s->log.uses);
}
