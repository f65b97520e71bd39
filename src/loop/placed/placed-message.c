/* What a node says, message by message. */
#include "loop/placed/placed.h"

#include <string.h>
#include <time.h>

#include "base/fd.h"

#define WHY_MAX 1000
#define DUE_MS 60000 /* beyond the time of its share, for a worker to end by itself */

static void share_of(const struct placed *p, struct placed_bounds *ret)
{
	const struct worker *w = p->w;
	const struct loop_limits *m = &w->l->limits;

	*ret = (struct placed_bounds){
		.task = w->task->id,
		.iterations = m->iterations ? w->share.iterations : UINT64_MAX,
		.micro_usd = m->micro_usd ? w->share.micro_usd : UINT64_MAX,
		.ms = now_ms() - p->began_ms,
		.began = p->began_s,
		.now = (uint64_t)time(NULL),
		.clock_ms = p->s->clock_ms,
	};
}

static void take_word(struct placed *p, const json_t *summary)
{
	struct placed_bounds b;

	if (!summary)
		return;
	share_of(p, &b);
	json_decref(p->summary);
	p->summary = placed_word(summary, &b);
	placed_tunnels_judge(p);
}

/* False: it is of another epoch, and dropped. A hub that gives the lease of one slot to another one
 * cannot be understood. */
static bool is_ours(struct placed *p, const char *lease)
{
	if (lease && streq(lease, p->w->lease))
		return true;
	if (p->s->n_slots > 1)
		stream_lost(p->s, "it answers with another lease than that of slot %u", p->slot);
	return false;
}

static void on_hello(struct placed_stream *s, const struct fleet_msg *m)
{
	struct fleet_hello h;
	struct err err = {0};

	if (s->state != STREAM_WAITS) {
		stream_lost(s, "it greets twice");
		return;
	}
	if (fleet_hello_read(m, &h, &err) < 0) {
		stream_lost(s, "%s", err.msg);
		return;
	}
	s->node = xstrdup(*h.node ? h.node : s->place->name);
	s->job = *h.job ? xstrdup(h.job) : NULL;
	if (fleet_same_version(h.protocol, h.version, s->node, &err) < 0)
		stream_refused(s, "%s", err.msg);
	else if (!h.usable)
		stream_refused(s, "%s: %s", s->node, *h.why ? h.why : "no sandbox can run there");
	else if (h.slots < s->n_slots)
		stream_refused(s,
			       "%s has %llu slots and the placement says %zu; add '--slots %zu' "
			       "after 'worker' in its command",
			       s->node, (unsigned long long)h.slots, s->n_slots, s->n_slots);
	else
		stream_open(s);
	fleet_done(&h);
}

void placed_begin(struct placed *p)
{
	struct worker *w = p->w;
	struct err err = {0};

	w->node = xstrdup(p->s->node);
	w->job = xstrdup_or_null(p->s->job);
	show_line(&w->l->show, STYLE_NONE, "[%s] on %s%s%s%s", w->task->id, w->node,
		  w->job ? " (" : "", w->job ? w->job : "", w->job ? ")" : "");
	worker_note(w);
	status_write(w->l, w->l->phase ? w->l->phase : "iterating", 0);
	if (placed_task(p, &err) < 0)
		placed_failed(p, "%s", err.msg);
	else
		placed_people_begin(p);
	placed_tell_limit(w);
	if (p->state != PLACED_OVER && w->l->limits.duration_ms)
		ev_timer_set(w->l->ev, &p->due, w->share.active_ms + DUE_MS);
}

void placed_tell_limit(const struct worker *w)
{
	struct placed *p = w->placed;
	uint64_t ms = pace_holds(&w->l->pace, now_ms());

	if (!ms || !p || (p->state != PLACED_SENDS && p->state != PLACED_WORKS))
		return;
	(void)fleet_put_json(&p->s->to, FLEET_LIMIT, p->slot, fleet_limit_json(ms));
	placed_flush(p);
}

/* What one worker meets holds for all. A loop with other agents to turn to goes on with these. */
static void look_for_limit(struct placed *p)
{
	const json_t *records = json_object_get(p->summary, "records");
	const json_t *last = json_array_get(records, json_array_size(records) - 1);
	const char *verdict = json_string_value(json_object_get(last, "verdict"));
	const char *fallback = p->w->l->config->loop.fallback;
	uint64_t now = (uint64_t)time(NULL), at;

	if (!verdict || json_array_size(records) <= p->seen || (fallback && *fallback))
		return;
	p->seen = json_array_size(records);
	at = (uint64_t)json_integer_value(json_object_get(p->summary, "resets_at"));
	if (streq(verdict, verdict_name(VERDICT_LIMITED)))
		pool_limited(p->w->pool, (limits_wait_until(now, at, 0) - now) * 1000);
	else if (streq(verdict, verdict_name(VERDICT_OUTAGE)))
		pool_limited(p->w->pool, 0);
}

static void on_record(struct placed *p, const struct fleet_msg *m)
{
	struct fleet_record r;
	struct err err = {0};

	if (fleet_record_read(m, &r, &err) < 0) {
		stream_lost(p->s, "%s", err.msg);
		return;
	}
	if (is_ours(p, r.lease)) {
		take_word(p, r.summary);
		look_for_limit(p);
	}
	fleet_done(&r);
}

static void on_pack(struct placed *p, const struct fleet_msg *m)
{
	struct err err = {0};

	if (p->spool.bytes + m->len > PLACED_PACK_MAX)
		placed_lost(p, "it sends more than is taken over");
	else if (spool_add(&p->spool, m->data, m->len, &err) < 0)
		placed_failed(p, "%s", err.msg);
}

static void send_ack(struct placed *p, const char *head, bool verdict)
{
	const struct fleet_ack a = {.lease = p->w->lease, .head = head, .verdict = verdict};

	(void)fleet_put_json(&p->s->to, FLEET_ACK, p->slot, fleet_ack_json(&a));
	p->acked |= verdict;
	placed_flush(p);
}

/* Its commits are not taken: the task is another worker's. */
static void reject(struct placed *p, char *why)
{
	free(p->w->why);
	p->w->why = why;
	p->w->rejected = true;
	placed_over(p, true);
}

/* A full disk and the like: nothing of it is taken, and nothing was changed. */
static void not_spooled(struct placed *p, int r, const struct err *err)
{
	if (r == -EPROTO)
		placed_lost(p, "%s", err->msg);
	else
		placed_failed(p, "%s", err->msg);
}

static void take_checkpoint(struct placed *p, const struct fleet_pack_end *end)
{
	struct err err = {0};
	int r = spool_pack_end(&p->spool, end->bytes, end->sha256, &err);

	if (r < 0) {
		not_spooled(p, r, &err);
	} else if (placed_is_known(p->w, end->head)) {
		(void)spool_pack_drop(&p->spool, &err);
		send_ack(p, end->head, false);
	} else {
		placed_take(p, end->head);
	}
}

/* Each checkpoint is an iteration, and the share has a limit of those. */
static bool is_in_share(struct placed *p)
{
	struct placed_bounds b;

	share_of(p, &b);
	placed_word_at_least(&p->summary, ++p->checkpoints, &b);
	return p->checkpoints / 2 <= b.iterations;
}

static void checkpoint_taken(struct placed *p, const char *head)
{
	struct worker *w = p->w;
	struct err err = {0};
	int r;

	placed_took(w, head);
	(void)spool_pack_drop(&p->spool, &err);
	if (!is_in_share(p)) {
		placed_lost(
			p, "it sends more checkpoints than its share of the limits has iterations");
		return;
	}
	w->ops->account(w);
	worker_note(w);
	r = state_save(&w->l->state, &err);
	if (r < 0)
		placed_failed(p, "%s", err.msg);
	else
		send_ack(p, head, false);
}

static void on_checkpoint(struct placed *p, const struct fleet_msg *m)
{
	struct fleet_pack_end end;
	struct err err = {0};

	if (fleet_pack_end_read(m, &end, &err) < 0) {
		stream_lost(p->s, "%s", err.msg);
		return;
	}
	if (is_ours(p, end.lease))
		take_checkpoint(p, &end);
	fleet_done(&end);
}

static void say(struct placed *p, const char *why)
{
	cleanup_buf struct buf b;

	buf_init(&b, WHY_MAX);
	(void)buf_put_escaped(&b, why);
	free(p->said);
	p->said = xstrdup(buf_str(&b));
}

/* The codes of a loop's end that count as such: any other is that of a worker that went wrong. */
static int code_of(const struct placed *p, uint64_t code)
{
	bool asked = p->stopping, worked = json_array_size(json_object_get(p->summary, "records"));

	switch (code) {
	case LOOP_DONE:
	case LOOP_STUCK:
	case LOOP_BLOCKED:
	case LOOP_DECIDE:
	case LOOP_PROVIDER:
	case LOOP_CREDENTIAL:
	case EXIT_USAGE:
		return (int)code;
	case LOOP_LIMIT:
		/* Else it would be started again and again for nothing. */
		return worked ? LOOP_LIMIT : EXIT_RUNTIME;
	default:
		return asked || code > 128 ? (int)code : EXIT_RUNTIME;
	}
}

static void verdict_taken(struct placed *p, const char *head, char *why)
{
	cleanup_json json_t *doc = take_ptr(p->taking.verdict);

	if (!why)
		placed_took(p->w, head);
	placed_take_verdict(p->w, doc, why);
	if (p->w->rejected)
		free(take_ptr(p->said));
	placed_over(p, false);
}

void placed_taken(struct placed *p, const char *head, int r, char *why, struct err *err)
{
	bool verdict = p->taking.verdict;

	if (r < 0 && verdict) {
		/* What is not taken over costs nothing either. */
		json_decref(p->summary);
		p->summary = take_ptr(p->taking.before);
	}
	if (r < 0)
		placed_lost(p, "%s", err->msg);
	else if (verdict)
		verdict_taken(p, head, why);
	else if (why)
		reject(p, why);
	else
		checkpoint_taken(p, head);
}

/* On the disk, acknowledged, and then taken over. */
static int spool_verdict(struct placed *p, const struct fleet_verdict *v, struct err *err)
{
	struct worker *w = p->w;
	const char *head = *v->pack.head ? v->pack.head : placed_start(w);
	cleanup_json json_t *doc =
		json_pack("{s{ss} sI sO*}", "end", "head", head, "code",
			  (json_int_t)code_of(p, v->code), "summary", p->summary);
	int r = spool_pack_end(&p->spool, v->pack.bytes, v->pack.sha256, err);

	if (r == 0)
		r = spool_put(&p->spool, doc, err);
	if (r < 0)
		return r;
	send_ack(p, head, true);
	p->taking.verdict = take_ptr(doc);
	if (placed_is_known(w, head))
		verdict_taken(p, head, NULL);
	else
		placed_take(p, head);
	return 0;
}

static void take_verdict(struct placed *p, const struct fleet_verdict *v)
{
	struct err err = {0};
	int r;

	json_decref(p->taking.before);
	p->taking.before = json_incref(p->summary);
	take_word(p, v->summary);
	if (*v->why && !v->summary)
		say(p, v->why);
	r = spool_verdict(p, v, &err);
	if (r < 0) {
		json_decref(p->summary);
		p->summary = take_ptr(p->taking.before);
		not_spooled(p, r, &err);
	}
}

static void on_verdict(struct placed *p, const struct fleet_msg *m)
{
	struct fleet_verdict v;
	struct err err = {0};

	if (fleet_verdict_read(m, &v, &err) < 0) {
		stream_lost(p->s, "%s", err.msg);
		return;
	}
	if (v.code > 255)
		placed_lost(p, "its verdict is none");
	else if (is_ours(p, v.pack.lease))
		take_verdict(p, &v);
	fleet_done(&v);
}

static void on_line(struct placed *p, const struct fleet_msg *m)
{
	if (p->lines++ < PLACED_LINES_MAX)
		worker_line(p->w, m->data, m->len < PLACED_LINE_MAX ? m->len : PLACED_LINE_MAX);
	else if (p->lines == PLACED_LINES_MAX + 1)
		show_line(&p->w->l->show, STYLE_YELLOW, "[%s] more lines are not shown",
			  p->w->task->id);
}

static void on_ping(struct placed_stream *s, const struct fleet_msg *m)
{
	struct timespec t = {0};
	uint64_t number, at;

	if (fleet_ping_read(m, &number, &at) < 0) {
		stream_lost(s, "what it sends cannot be understood");
		return;
	}
	if (m->type == FLEET_PONG) {
		stream_pong(s, number, at);
		return;
	}
	(void)clock_gettime(CLOCK_REALTIME, &t);
	(void)fleet_ping_put(&s->to, FLEET_PONG, number,
			     (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}

static const struct {
	void (*of_stream)(struct placed_stream *s, const struct fleet_msg *m);
	void (*of_task)(struct placed *p, const struct fleet_msg *m);
} handlers[FLEET_TYPE_N] = {
	[FLEET_HELLO] = {.of_stream = on_hello},    [FLEET_PING] = {.of_stream = on_ping},
	[FLEET_PONG] = {.of_stream = on_ping},	    [FLEET_LINE] = {.of_task = on_line},
	[FLEET_RECORD] = {.of_task = on_record},    [FLEET_CHECKPOINT] = {.of_task = on_checkpoint},
	[FLEET_PACK] = {.of_task = on_pack},	    [FLEET_VERDICT] = {.of_task = on_verdict},
	[FLEET_ASK] = {.of_task = placed_ask},	    [FLEET_EVENT] = {.of_task = placed_event},
	[FLEET_LOG] = {.of_task = placed_log},	    [FLEET_QUESTION] = {.of_task = placed_question},
	[FLEET_OPEN] = {.of_task = placed_tunnel},  [FLEET_DATA] = {.of_task = placed_tunnel},
	[FLEET_CLOSE] = {.of_task = placed_tunnel}, [FLEET_WINDOW] = {.of_task = placed_tunnel},
};

/* A task that was not yet sent whole has nothing to say. */
static void to_task(struct placed_stream *s, const struct fleet_msg *m)
{
	struct placed *p = m->id < s->n_slots ? s->slots[m->id].p : NULL;

	if (m->id < s->n_slots && placed_drains(s, m))
		return;
	if (!p || p->state != PLACED_WORKS || !handlers[m->type].of_task)
		stream_lost(s, "it sends %s, which nobody asked for", fleet_type_name(m->type));
	else
		handlers[m->type].of_task(p, m);
}

void placed_message(struct placed_stream *s, const struct fleet_msg *m)
{
	if (m->id == 0 && handlers[m->type].of_stream)
		handlers[m->type].of_stream(s, m);
	else
		to_task(s, m);
}
