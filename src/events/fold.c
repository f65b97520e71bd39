#include "events/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum text { HOST, METHOD, PATH, RULE, REASON, TEXT_N };

struct slot {
	bool used;
	bool coarse; /* distinguished by verdict, host and port only */
	struct gw_event e;
	char *text[TEXT_N]; /* strings that e points to */
	uint64_t first_ms, last_ms;
	uint64_t window, due;
};

struct fold {
	fold_fn *fn;
	void *arg;
	struct slot slots[FOLD_SLOTS];
	struct slot many[GW_VERDICT_N];
	uint64_t supply, supply_at;
	bool started, all;
};

struct fold *fold_new(fold_fn *fn, void *arg, bool all)
{
	struct fold *f = xcalloc(1, sizeof(*f));

	f->fn = fn;
	f->arg = arg;
	f->supply = FOLD_BURST;
	f->all = all;
	return f;
}

static void slot_clear(struct slot *s)
{
	for (int i = 0; i < TEXT_N; i++)
		free(s->text[i]);
	*s = (struct slot){0};
}

struct fold *fold_free(struct fold *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < FOLD_SLOTS; i++)
		slot_clear(&f->slots[i]);
	for (size_t i = 0; i < GW_VERDICT_N; i++)
		slot_clear(&f->many[i]);
	free(f);
	return NULL;
}

static bool take_supply(struct fold *f, uint64_t now)
{
	uint64_t earned;

	if (!f->started) {
		f->started = true;
		f->supply_at = now;
	}
	earned = (now - f->supply_at) / FOLD_REFILL_MS;
	f->supply_at += earned * FOLD_REFILL_MS;
	f->supply = f->supply + earned > FOLD_BURST ? FOLD_BURST : f->supply + earned;
	if (f->supply == 0)
		return false;
	f->supply--;
	return true;
}

static void texts_of(const struct gw_event *e, const char *ret[TEXT_N])
{
	ret[HOST] = e->host;
	ret[METHOD] = e->method;
	ret[PATH] = e->path;
	ret[RULE] = e->rule;
	ret[REASON] = e->reason;
}

static bool alike(const struct slot *s, const struct gw_event *e, bool coarse)
{
	const char *text[TEXT_N];

	if (!s->used || s->coarse != coarse || s->e.verdict != e->verdict || s->e.port != e->port ||
	    !streq(s->text[HOST], e->host))
		return false;
	if (coarse)
		return true;
	texts_of(e, text);
	for (int i = METHOD; i < TEXT_N; i++)
		if (!streq(s->text[i], text[i]))
			return false;
	return s->e.verb == e->verb && s->e.phase == e->phase;
}

static void slot_fill(struct slot *s, const struct gw_event *e, bool coarse, uint64_t now)
{
	const char *text[TEXT_N];

	slot_clear(s);
	texts_of(e, text);
	*s = (struct slot){.used = true, .coarse = coarse, .e = *e};
	for (int i = 0; i < TEXT_N; i++)
		s->text[i] = xstrdup(coarse && i != HOST && i != REASON ? "" : text[i]);
	s->e.host = s->text[HOST];
	s->e.method = s->text[METHOD];
	s->e.path = s->text[PATH];
	s->e.rule = s->text[RULE];
	s->e.reason = s->text[REASON];
	s->e.count = 0;
	s->e.flow = 0;
	s->e.up = s->e.down = 0;
	s->window = FOLD_WINDOW_MS;
	s->due = now + s->window;
}

static void count(struct slot *s, const struct gw_event *e)
{
	if (s->e.count == 0)
		s->first_ms = e->time_ms;
	s->last_ms = s->e.time_ms = e->time_ms;
	s->e.count = s->e.count > UINT32_MAX - e->count ? UINT32_MAX : s->e.count + e->count;
	s->e.up += e->up;
	s->e.down += e->down;
	s->e.ms = e->ms;
}

static struct slot *find(struct fold *f, const struct gw_event *e, bool coarse)
{
	for (size_t i = 0; i < FOLD_SLOTS; i++)
		if (alike(&f->slots[i], e, coarse))
			return &f->slots[i];
	return NULL;
}

/* Returns a free slot, or one that has counted nothing yet: its event is then written again. */
static struct slot *room(struct fold *f)
{
	struct slot *idle = NULL;

	for (size_t i = 0; i < FOLD_SLOTS; i++) {
		struct slot *s = &f->slots[i];

		if (!s->used)
			return s;
		if (s->e.count == 0 && (!idle || s->due < idle->due))
			idle = s;
	}
	return idle;
}

static struct slot *coarse_room(struct fold *f)
{
	size_t n = 0;

	for (size_t i = 0; i < FOLD_SLOTS; i++)
		n += f->slots[i].used && f->slots[i].coarse;
	return n < FOLD_COARSE ? room(f) : NULL;
}

/* Returns the "(many)" slot of a verdict, for events that are no longer counted separately. */
static struct slot *many(struct fold *f, const struct gw_event *e, uint64_t now)
{
	struct slot *s = &f->many[e->verdict < GW_VERDICT_N ? e->verdict : 0];

	if (!s->used) {
		struct gw_event any = *e;

		any.host = "(many)";
		any.reason = "too many different ones to list";
		any.port = 0;
		slot_fill(s, &any, true, now);
	}
	return s;
}

static void write_one(struct fold *f, const struct gw_event *e)
{
	const struct folded one = {.e = *e, .first_ms = e->time_ms, .last_ms = e->time_ms};

	f->fn(f->arg, &one);
}

void fold_add(struct fold *f, const struct gw_event *e, uint64_t now)
{
	bool folds = f->all || e->verdict != GW_ALLOW;
	struct slot *s = folds ? find(f, e, false) : NULL;

	if (s) {
		count(s, e);
		return;
	}
	if (take_supply(f, now)) {
		write_one(f, e);
		s = folds ? room(f) : NULL;
		if (s)
			slot_fill(s, e, false, now);
		return;
	}
	s = find(f, e, true);
	if (!s) {
		s = coarse_room(f);
		if (s)
			slot_fill(s, e, true, now);
		else
			s = many(f, e, now);
	}
	count(s, e);
}

/* A slot with new events is written and kept for more; an idle slot is freed. */
static void flush_slot(struct fold *f, struct slot *s, uint64_t now)
{
	const struct folded out = {.e = s->e, .first_ms = s->first_ms, .last_ms = s->last_ms};
	bool more = s->e.count > 0;

	if (more)
		f->fn(f->arg, &out);
	if (!more) {
		slot_clear(s);
		return;
	}
	s->e.count = 0;
	s->e.up = s->e.down = 0;
	if (s->window < FOLD_WINDOW_MAX_MS)
		s->window *= 2;
	s->due = now + s->window;
}

void fold_flush(struct fold *f, uint64_t now, bool all)
{
	for (size_t i = 0; i < FOLD_SLOTS; i++)
		if (f->slots[i].used && (all || f->slots[i].due <= now))
			flush_slot(f, &f->slots[i], now);
	for (size_t i = 0; i < GW_VERDICT_N; i++)
		if (f->many[i].used && (all || f->many[i].due <= now))
			flush_slot(f, &f->many[i], now);
}

uint64_t fold_due(const struct fold *f)
{
	uint64_t due = 0;

	for (size_t i = 0; i < FOLD_SLOTS; i++)
		if (f->slots[i].used && (!due || f->slots[i].due < due))
			due = f->slots[i].due;
	for (size_t i = 0; i < GW_VERDICT_N; i++)
		if (f->many[i].used && (!due || f->many[i].due < due))
			due = f->many[i].due;
	return due;
}
