/* What a node says, message by message. */
#include "loop/placed/placed.h"

#include <string.h>
#include <time.h>

#include "base/fd.h"

#define CLOSE_MS 5000 /* for a worker to end after its verdict */
#define WHY_MAX 1000

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
		.clock_ms = p->clock_ms,
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
}

/* False: it is of another epoch, and dropped. */
static bool is_ours(const struct placed *p, const char *lease)
{
	return lease && streq(lease, p->w->lease);
}

static void on_hello(struct placed *p, const struct fleet_msg *m)
{
	struct worker *w = p->w;
	struct fleet_hello h;
	struct err err = {0};

	if (p->state != PLACED_WAITS) {
		placed_lost(p, "it greets twice");
		return;
	}
	if (fleet_hello_read(m, &h, &err) < 0) {
		placed_lost(p, "%s", err.msg);
		return;
	}
	free(w->node);
	free(w->job);
	w->node = xstrdup(*h.node ? h.node : w->place);
	w->job = *h.job ? xstrdup(h.job) : NULL;
	if (fleet_same_version(h.protocol, h.version, w->node, &err) < 0)
		placed_refused(p, "%s", err.msg);
	else if (!h.usable)
		placed_refused(p, "%s: %s", w->node, *h.why ? h.why : "no sandbox can run there");
	fleet_done(&h);
	if (p->state == PLACED_OVER)
		return;
	show_line(&w->l->show, STYLE_NONE, "[%s] on %s%s%s%s", w->task->id, w->node,
		  w->job ? " (" : "", w->job ? w->job : "", w->job ? ")" : "");
	worker_note(w);
	status_write(w->l, w->l->phase ? w->l->phase : "iterating", 0);
	if (state_save(&w->l->state, &err) < 0 || placed_task(p, &err) < 0)
		placed_refused(p, "%s", err.msg);
	else
		placed_people_begin(p);
	if (p->state < PLACED_CLOSING)
		placed_begin_lease(p);
}

static void on_record(struct placed *p, const struct fleet_msg *m)
{
	struct fleet_record r;
	struct err err = {0};

	if (fleet_record_read(m, &r, &err) < 0) {
		placed_lost(p, "%s", err.msg);
		return;
	}
	if (is_ours(p, r.lease))
		take_word(p, r.summary);
	fleet_done(&r);
}

static void on_pack(struct placed *p, const struct fleet_msg *m)
{
	struct err err = {0};

	if (p->spool.bytes + m->len > FLEET_PACK_MAX)
		placed_lost(p, "it sends more than is taken over");
	else if (spool_add(&p->spool, m->data, m->len, &err) < 0)
		placed_refused(p, "%s", err.msg);
}

static void send_ack(struct placed *p, const char *head, bool verdict)
{
	const struct fleet_ack a = {.lease = p->w->lease, .head = head, .verdict = verdict};

	(void)fleet_put_json(&p->to, FLEET_ACK, 0, fleet_ack_json(&a));
	placed_flush(p);
}

/* Its commits are not taken: the task is another worker's. */
static void reject(struct placed *p, char *why)
{
	free(p->w->why);
	p->w->why = why;
	p->w->rejected = true;
	(void)fleet_put_json(&p->to, FLEET_STOP, 0, fleet_stop_json(true));
	placed_flush(p);
	placed_over(p);
}

/* A full disk and the like: nothing of it is taken, and nothing was changed. */
static void not_spooled(struct placed *p, int r, const struct err *err)
{
	if (r == -EPROTO)
		placed_lost(p, "%s", err->msg);
	else
		placed_refused(p, "%s", err->msg);
}

static void take_checkpoint(struct placed *p, const struct fleet_pack_end *end)
{
	struct worker *w = p->w;
	struct err err = {0};
	char *why = NULL;
	int r = spool_pack_end(&p->spool, end->bytes, end->sha256, &err);

	if (r < 0) {
		not_spooled(p, r, &err);
		return;
	}
	r = placed_take_head(w, &p->spool, end, &why, &err);
	if (r < 0)
		placed_lost(p, "%s", err.msg);
	else if (why)
		reject(p, why);
	if (r < 0 || p->state == PLACED_OVER)
		return;
	(void)spool_pack_drop(&p->spool, &err);
	w->ops->account(w);
	worker_note(w);
	r = state_save(&w->l->state, &err);
	if (r < 0)
		placed_refused(p, "%s", err.msg);
	else
		send_ack(p, end->head, false);
}

static void on_checkpoint(struct placed *p, const struct fleet_msg *m)
{
	struct fleet_pack_end end;
	struct err err = {0};

	if (fleet_pack_end_read(m, &end, &err) < 0) {
		placed_lost(p, "%s", err.msg);
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

/* On the disk, acknowledged, and then taken over. */
static int spool_verdict(struct placed *p, const struct fleet_verdict *v, struct err *err)
{
	struct worker *w = p->w;
	const char *head = *v->pack.head ? v->pack.head : placed_start(w);
	cleanup_json json_t *doc = json_pack("{s{ss} sI sO*}", "end", "head", head, "code",
					     (json_int_t)v->code, "summary", p->summary);
	int r = spool_pack_end(&p->spool, v->pack.bytes, v->pack.sha256, err);

	if (r == 0)
		r = spool_put(&p->spool, doc, err);
	if (r < 0)
		return r;
	send_ack(p, head, true);
	r = placed_take_verdict(w, &p->spool, doc, err);
	return r < 0 ? -EPROTO : 0;
}

static void take_verdict(struct placed *p, const struct fleet_verdict *v)
{
	cleanup_json json_t *before = json_incref(p->summary);
	struct err err = {0};
	int r;

	take_word(p, v->summary);
	r = spool_verdict(p, v, &err);
	if (r < 0) {
		/* What is not taken over costs nothing either. */
		json_decref(p->summary);
		p->summary = take_ptr(before);
		not_spooled(p, r, &err);
		return;
	}
	if (!p->w->rejected && *v->why && !v->summary)
		say(p, v->why);
	p->state = PLACED_CLOSING;
	ev_timer_stop(p->w->l->ev, &p->lease);
	ev_timer_set(p->w->l->ev, &p->end, CLOSE_MS);
}

static void on_verdict(struct placed *p, const struct fleet_msg *m)
{
	struct fleet_verdict v;
	struct err err = {0};

	if (fleet_verdict_read(m, &v, &err) < 0) {
		placed_lost(p, "%s", err.msg);
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

static void on_ping(struct placed *p, const struct fleet_msg *m)
{
	struct timespec t = {0};
	uint64_t number, ignored;

	if (fleet_ping_read(m, &number, &ignored) < 0) {
		placed_lost(p, "what it sends cannot be understood");
		return;
	}
	(void)clock_gettime(CLOCK_REALTIME, &t);
	(void)fleet_ping_put(&p->to, FLEET_PONG, number,
			     (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}

static void on_pong(struct placed *p, const struct fleet_msg *m)
{
	uint64_t number, at;

	if (fleet_ping_read(m, &number, &at) < 0)
		placed_lost(p, "what it sends cannot be understood");
	else
		placed_pong(p, number, at);
}

static const struct {
	void (*fn)(struct placed *p, const struct fleet_msg *m);
	bool early; /* also before the task was sent whole */
} handlers[FLEET_TYPE_N] = {
	[FLEET_HELLO] = {on_hello, true},    [FLEET_PING] = {on_ping, true},
	[FLEET_PONG] = {on_pong, true},	     [FLEET_LINE] = {on_line, false},
	[FLEET_RECORD] = {on_record, false}, [FLEET_CHECKPOINT] = {on_checkpoint, false},
	[FLEET_PACK] = {on_pack, false},     [FLEET_VERDICT] = {on_verdict, false},
	[FLEET_ASK] = {placed_ask, false},   [FLEET_EVENT] = {placed_event, false},
	[FLEET_LOG] = {placed_log, false},   [FLEET_QUESTION] = {placed_question, false},
};

void placed_message(struct placed *p, const struct fleet_msg *m)
{
	bool soon = p->state == PLACED_WAITS || p->state == PLACED_SENDS;

	if (p->state == PLACED_CLOSING)
		return;
	if (m->id != 0 || !handlers[m->type].fn || (soon && !handlers[m->type].early))
		placed_lost(p, "it sends %s, which nobody asked for", fleet_type_name(m->type));
	else
		handlers[m->type].fn(p, m);
}
