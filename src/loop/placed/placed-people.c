/* Rules, answers and asks of placed workers; see placed-people.h. */
#include "loop/placed/placed-people.h"

#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/ask-judge.h"
#include "live/net-change.h"
#include "live/net-kept.h"
#include "loop/placed/placed.h"
#include "record/store.h"

#define QUESTION_WAIT_S 60 /* that one question may say; the agent asks again */

extern char **environ;

/* All workers of a loop. */
struct placed_people {
	struct loop *l;
	int watches; /* of the kernel; -1: there are none */
	struct ev_io io;
	struct placed **v;
	size_t n, max;
};

/* ---- rules ---- */

static void send_rules(struct placed *p)
{
	struct placed_home *h = p->home;
	cleanup_json json_t *rules = NULL;
	cleanup_free char *text = NULL;
	struct err err = {0};
	uint64_t until, now = (uint64_t)time(NULL);
	struct fleet_rules f;

	if (net_kept_list(h->spec, &p->w->l->q.places, environ, &rules, &until, &err) < 0) {
		log_warn("loop", "the rules of %s stay as they are: %s", p->w->task->id, err.msg);
		return;
	}
	ev_timer_stop(p->w->l->ev, &h->again);
	if (until)
		ev_timer_set(p->w->l->ev, &h->again, (until > now ? until - now : 0) * 1000 + 50);
	text = json_dumps(rules, JSON_COMPACT);
	if (!text || (h->rules && streq(h->rules, text)))
		return;
	f = (struct fleet_rules){.rules = rules};
	if (fleet_put_json(&p->s->to, FLEET_RULES, p->slot, fleet_rules_json(&f)) < 0) {
		placed_lost(p, "it does not take the rules of the network");
		return;
	}
	free(h->rules);
	h->rules = take_ptr(text);
	placed_flush(p);
}

static void on_again(struct ev *ev, struct ev_timer *t)
{
	send_rules(ev_owner(t, struct placed_home, again)->p);
}

/* ---- answers ---- */

static const char *text_of(const json_t *ask, const char *key)
{
	const char *s = json_string_value(json_object_get(ask, key));

	return s ? s : "";
}

static void reply(struct placed *p, const char *id, bool allow, const char *text, const char *scope)
{
	const struct fleet_reply q = {.id = id, .allow = allow, .text = text, .scope = scope};

	if (fleet_put_json(&p->s->to, FLEET_REPLY, p->slot, fleet_reply_json(&q)) < 0)
		placed_lost(p, "it does not take answers");
	else
		placed_flush(p);
}

static json_t *queue_of(const struct placed *p, struct store_entry *e)
{
	struct err ignored = {0};
	json_t *asks = NULL;

	if (store_open(&p->w->l->q.places, p->home->spec->name, false, e, &ignored) < 0 ||
	    asks_read(e->dir, &asks, &ignored) < 0)
		return NULL;
	return asks;
}

static void look_at_asks(struct placed *p)
{
	struct placed_home *h = p->home;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_json json_t *asks = queue_of(p, &e);
	struct err ignored = {0};
	size_t n = 0;

	for (size_t i = 0; i < h->n_asks; i++) {
		const struct placed_question q = h->asks[i];
		const json_t *a = asks ? asks_find(asks, q.home) : NULL;

		if (a && ask_is_open(a)) {
			h->asks[n++] = q;
			continue;
		}
		if (a)
			(void)asks_heard(e.dir, q.home, &ignored);
		reply(p, q.node, streq(text_of(a, "state"), "allowed"), text_of(a, "answer"),
		      text_of(a, "scope"));
	}
	h->n_asks = n;
}

/* ---- what the kernel says ---- */

static void on_change(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_people *all = ev_owner(io, struct placed_people, io);
	char piece[4 * KiB];

	while (read(all->watches, piece, sizeof(piece)) > 0)
		;
	for (size_t i = 0; i < all->n; i++) {
		struct placed *p = all->v[i];

		if (p->state == PLACED_OVER)
			continue;
		send_rules(p);
		if (p->state != PLACED_OVER && p->home && p->home->n_asks)
			look_at_asks(p);
	}
}

static struct placed_people *people_of(struct loop *l)
{
	struct placed_people *all = l->placed_people;
	cleanup_free char *lock = path_join(l->q.places.state, NET_CHANGE_LOCK);
	int made;

	if (all)
		return all;
	all = l->placed_people = xcalloc(1, sizeof(*all));
	all->l = l;
	all->watches = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	made = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	closep(&made);
	if (all->watches < 0 || inotify_add_watch(all->watches, lock, IN_CLOSE_WRITE) < 0)
		log_warn("loop",
			 "changes of the network's rules do not reach workers elsewhere: %s",
			 strerror(errno));
	all->io = (struct ev_io){.fd = all->watches, .fn = on_change};
	if (all->watches >= 0)
		(void)ev_want(l->ev, &all->io, EPOLLIN);
	return all;
}

static void watch_record(struct placed *p)
{
	struct placed_home *h = p->home;
	cleanup_free char *path = store_record(&p->w->l->q.places, h->spec->name);

	if (h->watch < 0)
		h->watch = inotify_add_watch(p->w->l->placed_people->watches, path, IN_MOVED_TO);
	if (h->watch < 0)
		log_warn("loop", "answers do not reach the worker of %s: %s", p->w->task->id,
			 strerror(errno));
}

/* ---- asks ---- */

static json_t *event_of(const json_t *ask)
{
	static const char *const keys[] = {"id", "kind", "what", "why", "state"};
	json_t *j = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set(j, keys[i], json_object_get(ask, keys[i]));
	return j;
}

static struct placed_question *known(struct placed_home *h, const char *node)
{
	for (size_t i = 0; i < h->n_asks; i++)
		if (streq(h->asks[i].node, node))
			return &h->asks[i];
	return NULL;
}

static void tell_person(struct placed *p, const json_t *ask)
{
	struct loop *l = p->w->l;

	show_line(&l->show, STYLE_YELLOW, "[%s] asks (%s) %s%s%s; see: ralph ask show %s",
		  p->w->task->id, text_of(ask, "kind"), text_of(ask, "what"),
		  text_of(ask, "what")[0] ? ": " : "", text_of(ask, "why"), text_of(ask, "id"));
	placed_event_add(p->home, "ask", event_of(ask));
	l->asks_looked_ms = 0;
	loop_asks_tell(l);
}

/* NULL, or why the agent gets no answer but this. */
static char *put(struct placed *p, const struct fleet_question *q, const struct strv *choices)
{
	struct placed_home *h = p->home;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	const struct ask_words words = {q->what, q->why, choices};
	struct ask_wish w = {.kind = ask_kind_of(q->kind),
			     .why = q->why,
			     .choices = choices,
			     .now = (uint64_t)time(NULL)};
	cleanup_free char *what = NULL;
	const char *why = ask_judge(h->spec, w.kind, &words, &what);
	cleanup_json json_t *ask = NULL;
	struct err err = {0};
	int r;

	if (why)
		return xstrdup(why);
	if (h->n_asks == ASKS_OPEN_MAX)
		return xstrdup("too many asks are open; wait for an answer");
	w.what = what;
	r = store_open(&p->w->l->q.places, h->spec->name, false, &e, &err);
	if (r == 0)
		r = asks_put(e.dir, &w, &ask, &err);
	if (r == -EAGAIN) /* it comes again while the agent waits */
		return NULL;
	if (r < 0)
		return xstrdup(err.msg);
	watch_record(p);
	(void)snprintf(h->asks[h->n_asks].node, sizeof(h->asks[0].node), "%s", q->id);
	(void)snprintf(h->asks[h->n_asks++].home, sizeof(h->asks[0].home), "%s",
		       text_of(ask, "id"));
	if (json_integer_value(json_object_get(ask, "times")) == 1)
		tell_person(p, ask);
	return NULL;
}

static void set_waits(struct placed *p, const struct fleet_question *q)
{
	const struct placed_question *k = known(p->home, q->id);
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	uint64_t wait = q->wait_s < QUESTION_WAIT_S ? q->wait_s : WAIT_MAX_S;
	struct err ignored = {0};

	if (k && wait &&
	    store_open(&p->w->l->q.places, p->home->spec->name, false, &e, &ignored) == 0)
		(void)asks_wait(e.dir, k->home, (uint64_t)time(NULL) + wait, &ignored);
}

static bool is_id(const char *s)
{
	return strlen(s) == ASK_ID_LEN && strspn(s, "0123456789abcdef") == ASK_ID_LEN;
}

void placed_question(struct placed *p, const struct fleet_msg *m)
{
	cleanup_strv struct strv choices = {0};
	cleanup_free char *why = NULL;
	struct fleet_question q;
	struct err err = {0};
	json_t *choice;
	size_t i;

	if (fleet_question_read(m, &q, &err) < 0 || !is_id(q.id)) {
		stream_lost(p->s, "what it asks cannot be understood");
		fleet_done(&q);
		return;
	}
	json_array_foreach (q.choices, i, choice)
		if (i <= ASK_CHOICES_MAX)
			strv_push(&choices,
				  json_string_value(choice) ? json_string_value(choice) : "");
	if (!p->home)
		why = xstrdup("nobody can be asked here");
	else if (!known(p->home, q.id))
		why = put(p, &q, &choices);
	if (why)
		reply(p, q.id, false, why, "");
	else
		set_waits(p, &q);
	fleet_done(&q);
}

/* ---- beginning and end ---- */

void placed_people_begin(struct placed *p)
{
	struct placed_people *all = people_of(p->w->l);
	struct placed_home *h = p->home = xcalloc(1, sizeof(*h));
	struct err err = {0};

	h->p = p;
	h->watch = -1;
	strv_init(&h->said);
	h->again.fn = on_again;
	if (placed_record_open(h, &err) < 0) {
		log_warn("loop", "the worker of %s has no record: %s", p->w->task->id, err.msg);
		(void)spec_free(h->spec);
		free(take_ptr(p->home));
		return;
	}
	if (all->n == all->max) {
		all->max = all->max ? 2 * all->max : 16;
		all->v = xrealloc(all->v, all->max, sizeof(struct placed *));
	}
	all->v[all->n++] = p;
	placed_event_add(h, "placed",
			 json_pack("{so so so* so* si}", "task", json_text(p->w->task->id), "place",
				   json_text(p->w->place), "node",
				   p->w->node ? json_text(p->w->node) : NULL, "job",
				   p->w->job ? json_text(p->w->job) : NULL, "epoch",
				   (int)p->w->epoch));
	send_rules(p);
}

void placed_people_end(struct placed *p)
{
	struct placed_people *all = p->w->l->placed_people;
	struct placed_home *h = take_ptr(p->home);

	if (!h)
		return;
	placed_events_flush(h);
	ev_timer_stop(p->w->l->ev, &h->again);
	if (h->watch >= 0)
		(void)inotify_rm_watch(all->watches, h->watch);
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i] == p)
			all->v[i--] = all->v[--all->n];
	json_decref(h->events);
	(void)spec_free(h->spec);
	strv_done(&h->said);
	free(h->rules);
	free(h);
}

void placed_people_free(struct loop *l)
{
	struct placed_people *all = take_ptr(l->placed_people);

	if (!all)
		return;
	if (all->watches >= 0)
		(void)ev_want(l->ev, &all->io, 0);
	closep(&all->watches);
	free(all->v);
	free(all);
}
