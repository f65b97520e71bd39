/* Which worker has which slot of which stream, and the ends of streams. */
#include "loop/placed/placed.h"

#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "build-config.h"

#define CLOSE_MS 5000 /* for a worker to end after its last task */
#define LAST_MS 2000  /* for the last words of a command whose stream has ended */
#define WHAT_MAX 1000

struct placed_streams {
	struct placed_stream *first;
	bool waits; /* for the end of all */
};

static struct placed_streams *streams_of(struct loop *l)
{
	if (!l->placed_streams)
		l->placed_streams = xcalloc(1, sizeof(struct placed_streams));
	return l->placed_streams;
}

/* ---- the ends of streams ---- */

static void stop(struct placed_stream *s)
{
	stream_stop(s);
	if (streams_of(s->l)->waits)
		ev_stop(s->l->ev);
}

static void free_stream(struct placed_stream *s)
{
	fleet_in_done(&s->from);
	fleet_out_done(&s->to);
	buf_done(&s->tail);
	free(s->node);
	free(s->job);
	free(s);
}

void streams_sweep(struct loop *l)
{
	struct placed_stream **at = &streams_of(l)->first;

	while (*at) {
		struct placed_stream *s = *at;

		if (s->state != STREAM_OVER) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free_stream(s);
	}
}

void stream_end(struct placed_stream *s, bool close)
{
	if (s->state >= STREAM_ENDING)
		return;
	if (s->state == STREAM_WAITS) {
		stop(s);
		return;
	}
	s->state = STREAM_ENDING;
	ev_timer_stop(s->l->ev, &s->lease);
	ev_timer_stop(s->l->ev, &s->ping);
	ev_timer_stop(s->l->ev, &s->idle);
	ev_timer_set(s->l->ev, &s->end, CLOSE_MS);
	if (close) {
		(void)ev_want(s->l->ev, &s->out_io, 0);
		closep(&s->out);
	}
}

/* Nothing is said to a slot any more, so none drains. */
static void close_with(struct placed_stream *s, const char *what,
		       void (*fn)(struct placed *p, const char *fmt, ...))
{
	if (s->state == STREAM_OVER)
		return;
	s->state = STREAM_ENDING;
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].p)
			fn(s->slots[i].p, "%s", what);
	stop(s);
}

void stream_lost(struct placed_stream *s, const char *fmt, ...)
{
	char what[WHAT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	close_with(s, what, placed_lost);
}

void stream_refused(struct placed_stream *s, const char *fmt, ...)
{
	char what[WHAT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	close_with(s, what, placed_refused);
}

static void on_end(struct ev *ev, struct ev_timer *t)
{
	stream_lost(ev_owner(t, struct placed_stream, end), "its stream has ended");
}

void stream_ended(struct placed_stream *s)
{
	(void)ev_want(s->l->ev, &s->in_io, 0);
	ev_timer_stop(s->l->ev, &s->lease);
	s->eof = true;
	if (s->state == STREAM_ENDING || s->errors_eof)
		stream_lost(s, "its stream has ended");
	else
		ev_timer_set(s->l->ev, &s->end, LAST_MS);
}

static void on_idle(struct ev *ev, struct ev_timer *t)
{
	struct placed_stream *s = ev_owner(t, struct placed_stream, idle);

	log_debug("loop", "hub %llu has no task, and is ended", (unsigned long long)s->number);
	stream_end(s, true);
}

void streams_end(struct loop *l)
{
	struct placed_streams *all = streams_of(l);
	struct placed_stream *s = all->first;
	struct err ignored;

	for (; s; s = s->next)
		stream_end(s, true);
	all->waits = true;
	while (streams_sweep(l), all->first)
		if (ev_run(l->ev, &ignored) < 0)
			for (s = all->first; s; s = s->next)
				stream_stop(s);
	free(take_ptr(l->placed_streams));
}

/* ---- slots ---- */

static int free_slot(const struct placed_stream *s)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (!s->slots[i].p && !s->slots[i].drains[0])
			return (int)i;
	return -1;
}

/* A hub that works comes before one that may wait in a queue for hours. */
static struct placed_stream *find(struct loop *l)
{
	struct placed_stream *found = NULL, *s = streams_of(l)->first;

	for (; s; s = s->next) {
		if (s->n_slots == 1 || s->state >= STREAM_ENDING || s->eof || free_slot(s) < 0)
			continue;
		if (!found || s->state > found->state)
			found = s;
	}
	return found;
}

static void greet(struct placed_stream *s)
{
	const struct fleet_start start = {
		.protocol = FLEET_PROTOCOL,
		.version = RALPH_VERSION,
		.engine = s->l->config->engine,
		.lease_ms = s->l->config->fleet.lease_ms,
		.slots = s->n_slots,
	};

	(void)fleet_put_json(&s->to, FLEET_START, 0, fleet_start_json(&start));
}

/* Numbers are never used twice: what is left of a killed loop's hubs may have theirs for a while. */
static uint64_t next_number(struct loop *l)
{
	uint64_t n = state_task_uint(&l->state, "", "hubs") + 1;

	state_task_set(&l->state, "", "hubs", json_integer((json_int_t)n));
	return n;
}

static struct placed_stream *new_stream(struct loop *l)
{
	struct placed_stream *s = xcalloc(1, sizeof(*s));

	s->l = l;
	s->place = l->placement;
	s->n_slots = l->placement->slots ? l->placement->slots : 1;
	s->number = s->n_slots > 1 ? next_number(l) : 0;
	s->child = (struct child){.pid = -1, .pidfd = -1};
	s->in = s->out = s->errors = -1;
	s->end.fn = on_end;
	s->idle.fn = on_idle;
	fleet_in_init(&s->from, FLEET_NODE);
	fleet_out_init(&s->to);
	buf_init(&s->tail, PLACE_STDERR_MAX);
	greet(s);
	s->next = streams_of(l)->first;
	streams_of(l)->first = s;
	return s;
}

void placed_attach(struct placed *p)
{
	struct loop *l = p->w->l;
	struct placed_stream *s = find(l);

	if (!s)
		s = new_stream(l);
	p->s = s;
	p->slot = (uint32_t)free_slot(s);
	s->slots[p->slot].p = p;
	p->w->hub = s->number;
	ev_timer_stop(l->ev, &s->idle);
}

static size_t index_of(const struct worker *w)
{
	size_t i = 0;

	while (i < w->l->work->n && w->l->work->tasks[i] != w->task)
		i++;
	return i + w->epoch;
}

void placed_words(const struct worker *w, const struct config_place *place, struct place_words *ret)
{
	const char *title = w->l->state.branch ? w->l->state.branch : "loop";
	size_t i = w->hub ? w->hub : index_of(w);

	place_words(title, w->l->q.workspace, w->hub ? "hub" : w->task->id,
		    w->hub ? (unsigned)w->hub : w->epoch, ret);
	ret->host = place->hosts.n ? place->hosts.v[i % place->hosts.n] : NULL;
}

static void look_idle(struct placed_stream *s)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].p)
			return;
	ev_timer_set(s->l->ev, &s->idle, s->l->config->fleet.lease_ms);
}

static void drain(struct placed_stream *s, struct placed_slot *slot, const char *lease)
{
	(void)snprintf(slot->drains, sizeof(slot->drains), "%s", lease);
	(void)fleet_put_json(&s->to, FLEET_STOP, (uint32_t)(slot - s->slots),
			     fleet_stop_json(true));
	stream_flush(s);
}

void placed_release(struct placed *p, bool drains)
{
	struct placed_stream *s = take_ptr(p->s);

	if (!s)
		return;
	s->slots[p->slot].p = NULL;
	if (s->state >= STREAM_ENDING)
		return;
	if (s->n_slots == 1 && (drains || p->state == PLACED_WAITS)) {
		stop(s);
	} else if (s->n_slots == 1) {
		stream_end(s, false);
	} else {
		if (drains)
			drain(s, &s->slots[p->slot], p->w->lease);
		look_idle(s);
	}
}

bool placed_drains(struct placed_stream *s, const struct fleet_msg *m)
{
	struct placed_slot *slot = &s->slots[m->id];
	struct fleet_verdict v;
	struct fleet_ack ack = {.lease = slot->drains, .verdict = true};
	struct err err = {0};

	if (!slot->drains[0])
		return false;
	if (m->type != FLEET_VERDICT)
		return true;
	if (fleet_verdict_read(m, &v, &err) < 0) {
		stream_lost(s, "%s", err.msg);
		return true;
	}
	if (streq(v.pack.lease, slot->drains)) {
		ack.head = v.pack.head;
		(void)fleet_put_json(&s->to, FLEET_ACK, m->id, fleet_ack_json(&ack));
		slot->drains[0] = '\0';
		stream_flush(s);
	}
	fleet_done(&v);
	return true;
}
