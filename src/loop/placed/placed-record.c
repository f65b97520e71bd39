/* The record of a placed worker, and the log in it. */
#include "loop/placed/placed.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "events/events.h"
#include "live/autosave.h"
#include "record/name.h"
#include "record/store.h"

#define FLUSH_MS 200
#define WAITING_MAX 512 /* events between two writes */
#define LOCK_MS 200
#define TEXT_MAX 1024
#define DEPTH_MAX 4
#define FAR_MS (INT32_MAX * 1000LL) /* no clock is that wrong */
#define ITEMS_MAX 64

char *placed_record_name(const struct worker *w)
{
	const struct loop *l = w->l;
	const struct sandbox_spec *s = l->build.spec;
	char *name;
	cleanup_free char *owner = NULL;

	if (!s || !s->instance)
		return NULL;
	name = name_make(s->agent, w->branch, NULL, s->instance, false);
	owner = store_owner(&l->q.places, name);
	if (!owner || streq(owner, l->q.workspace))
		return name;
	free(name);
	return name_make(s->agent, w->branch, NULL, s->instance, true);
}

static struct sandbox_spec *spec_of(const struct worker *w, char *name)
{
	const struct sandbox_spec *of = w->l->build.spec;
	struct sandbox_spec *s = spec_new();

	s->name = name;
	/* Nothing of an engine is made for it, so nothing is to be removed. */
	s->engine = xstrdup("native");
	s->agent = xstrdup(of->agent);
	s->workspace = xstrdup(w->l->q.workspace);
	s->branch = xstrdup(w->branch);
	s->instance = xstrdup(of->instance);
	s->home = xstrdup(of->home);
	s->hostname = xstrdup(name);
	s->loop = xstrdup_or_null(of->loop);
	s->place = xstrdup(w->place);
	/* Conversations of its agents become those of the project, as if it had been here. */
	s->home_of = SPEC_HOME_WORKER;
	s->home_key = xstrdup_or_null(of->home_key);
	s->project = xstrdup_or_null(of->project);
	s->inbox = xstrdup_or_null(of->inbox);
	s->uid = of->uid;
	s->gid = of->gid;
	net_policy_copy(&s->net, &of->net);
	return s;
}

/* An export of what comes from the node leaves out what this loop's sandbox was given. */
static void know_values(const struct worker *w, const char *name)
{
	cleanup_free char *record = store_record(&w->l->q.places, name);
	cleanup_strv struct strv values = {0};

	spec_values(w->l->build.spec, &values);
	(void)values_remember(record, w->l->build.spec, &values);
}

int placed_record_open(struct placed_home *h, struct err *err)
{
	const struct worker *w = h->p->w;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	char *name = placed_record_name(w);
	int r;

	if (!name)
		return err_set(err, EINVAL, "the loop has no sandbox of its own");
	h->spec = spec_of(w, name);
	r = store_open(&w->l->q.places, name, true, &e, err);
	if (r == 0)
		r = store_mark_placed(&e, err);
	if (r == 0)
		r = store_write_owner(&e, w->l->q.workspace, err);
	if (r == 0)
		r = store_write_spec(&e, h->spec, err);
	if (r == 0)
		know_values(w, name);
	return r;
}

/* ---- events ---- */

/* What a sandbox's supervisor says about what happens in it. What only the host can say is not among
 * these, nor is what home says itself. */
static bool is_taken(const char *type)
{
	static const char *const types[] = {
		"net",	       "usage",		"surface",    "surface-flood", "error",
		"exec",	       "exec-failed",	"budget",     "credential",    "gateway-start",
		"gateway-end", "sandbox-start", "sandbox-up", "sandbox-stop",  "protect-again",
		"refs-back",   "net-policy",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (streq(types[i], type))
			return true;
	return false;
}

/* A copy with bounds. NULL: too deep. */
static json_t *bounded(const json_t *j, int depth)
{
	json_t *copy, *v;
	const char *key;
	size_t i;

	if (json_is_string(j)) {
		cleanup_free char *s = xstrndup(json_string_value(j), TEXT_MAX);

		return json_text(s);
	}
	if (!json_is_object(j) && !json_is_array(j))
		return json_deep_copy(j);
	if (depth == 0)
		return NULL;
	copy = json_is_object(j) ? json_object() : json_array();
	json_object_foreach ((json_t *)(uintptr_t)j, key, v)
		if (json_object_size(copy) < ITEMS_MAX && strlen(key) < FLEET_TEXT_MAX)
			(void)json_object_set_new(copy, key, bounded(v, depth - 1));
	json_array_foreach (j, i, v)
		if (json_is_array(j) && i < ITEMS_MAX)
			(void)json_array_append_new(copy, bounded(v, depth - 1));
	return copy;
}

static json_int_t number_of(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

/* By this machine's clock, and not before the worker began or after now. */
static void set_times(const struct placed *p, json_t *j)
{
	static const char *const keys[] = {"at_ms", "first_ms", "last_ms"};
	json_int_t now = (json_int_t)time(NULL) * 1000, began = (json_int_t)p->began_s * 1000;
	/* The clock's difference is the node's word too. */
	json_int_t ahead = p->s->clock_ms > -FAR_MS && p->s->clock_ms < FAR_MS ? p->s->clock_ms : 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_int_t at = number_of(j, keys[i]);

		if (!json_object_get(j, keys[i]))
			continue;
		at = at < 0 || at > now + FAR_MS ? now : at - ahead;
		(void)json_object_set_new(j, keys[i],
					  json_integer(at < began ? began
						       : at > now ? now
								  : at));
	}
}

/* No more than the task's share of the loop's limits, as in its summary. */
static bool is_within_share(struct placed_home *h, const json_t *j)
{
	const struct worker *w = h->p->w;
	json_int_t usd = number_of(j, "micro_usd");

	if (usd < 0 || (w->l->limits.micro_usd &&
			h->micro_usd + (uint64_t)usd > w->taken.micro_usd + w->share.micro_usd))
		return false;
	h->micro_usd += (uint64_t)usd;
	return true;
}

static void on_flush(struct ev *ev, struct ev_timer *t)
{
	placed_events_flush(ev_owner(t, struct placed_home, flush));
}

static void add(struct placed_home *h, const char *type, json_t *details)
{
	if (!h->events)
		h->events = json_array();
	if (json_array_size(h->events) >= WAITING_MAX)
		placed_events_flush(h);
	if (json_array_size(h->events) == 0) {
		h->flush.fn = on_flush;
		ev_timer_set(h->p->w->l->ev, &h->flush, FLUSH_MS);
	}
	(void)json_array_append_new(h->events, json_pack("{ss so}", "t", type, "d", details));
}

void placed_event_add(struct placed_home *h, const char *type, json_t *details)
{
	if (h)
		add(h, type, details);
	else
		json_decref(details);
}

void placed_event(struct placed *p, const struct fleet_msg *m)
{
	static const char *const ours[] = {"seq", "time", "type", "chain", "by", "node"};
	struct placed_home *h = p->home;
	cleanup_json json_t *said = NULL;
	struct err ignored = {0};
	const char *type;
	json_t *j;

	if (json_parse(m->len ? m->data : "", m->len, &said, &ignored) < 0 ||
	    !json_is_object(said)) {
		stream_lost(p->s, "what it sends cannot be understood");
		return;
	}
	type = json_string_value(json_object_get(said, "type"));
	if (!h || !type || !is_taken(type) || h->n_events > PLACED_EVENTS_MAX ||
	    (streq(type, "usage") && !is_within_share(h, said)))
		return;
	if (h->n_events++ == PLACED_EVENTS_MAX) {
		add(h, "error",
		    json_pack("{ss}", "message", "the node says more than is kept of it"));
		return;
	}
	j = bounded(said, DEPTH_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		(void)json_object_del(j, ours[i]);
	set_times(p, j);
	(void)json_object_set_new(j, "by", json_string("node"));
	add(h, type, j);
}

static int write_events(struct placed_home *h, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	const struct places *places = &h->p->w->l->q.places;
	struct events log = EVENTS_INIT;
	int r = store_open(places, h->spec->name, false, &e, err);
	json_t *row;
	size_t i;

	if (r == 0)
		r = store_lock_live(places, &e, LOCK_MS, err);
	if (r == 0)
		r = events_open(e.dir, &log, err);
	if (r < 0)
		return r;
	json_array_foreach (h->events, i, row)
		(void)events_add(&log, json_string_value(json_object_get(row, "t")),
				 json_incref(json_object_get(row, "d")));
	events_close(&log);
	return 0;
}

void placed_events_flush(struct placed_home *h)
{
	struct err err = {0};

	ev_timer_stop(h->p->w->l->ev, &h->flush);
	if (json_array_size(h->events) == 0)
		return;
	if (write_events(h, &err) < 0)
		log_warn("loop", "events of %s: %s", h->p->w->task->id, err.msg);
	(void)json_array_clear(h->events);
}
