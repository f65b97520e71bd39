#include "loop/fallback/fallback.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "loop/loop-usage.h"

struct fallback {
	const struct agent *agents[FALLBACK_MAX];
	struct config configs[FALLBACK_MAX]; /* borrow from the loop's settings */
	size_t n, now;
};

static uint64_t seconds(void)
{
	return (uint64_t)time(NULL);
}

/* ---- the list ---- */

static int add(struct loop *l, struct fallback *f, const char *name, struct err *err)
{
	const struct agent *a = agent_find(name);

	if (!a || !a->program)
		return err_usage(err, "--fallback: there is no agent '%s'", name);
	for (size_t i = 0; i < f->n; i++)
		if (f->agents[i] == a)
			return err_usage(err, "--fallback: '%s' works already", name);
	if (f->n == FALLBACK_MAX)
		return err_usage(err, "--fallback takes at most %d agents", FALLBACK_MAX - 1);
	f->configs[f->n] = *l->q.config;
	f->configs[f->n].agent = (char *)(uintptr_t)a->name;
	f->configs[f->n].loop.model = NULL; /* a name of the first agent's provider */
	f->agents[f->n++] = a;
	return 0;
}

static void take(struct loop *l, size_t k)
{
	struct fallback *f = l->fallback;

	f->now = k;
	l->agent = f->agents[k];
	l->config = k ? &f->configs[k] : l->q.config;
	if (!l->state.agents)
		l->state.agents = json_pack("{s{} s{}}", "away", "begun");
	(void)json_object_set_new(l->state.agents, "now", json_string(l->agent->name));
}

int fallback_open(struct loop *l, struct err *err)
{
	const char *names = l->config->loop.fallback, *was;
	struct fallback *f;
	int r = 0;

	if (!names || !*names)
		return 0;
	if (l->q.direct)
		return err_usage(err, "--fallback needs a sandbox");
	f = l->fallback = xcalloc(1, sizeof(*f));
	f->agents[f->n++] = l->agent;
	while (r == 0 && *names) {
		size_t n = strcspn(names, ",");
		cleanup_free char *name = xstrndup(names, n);

		r = add(l, f, name, err);
		names += n + (names[n] == ',');
	}
	was = json_string_value(json_object_get(l->state.agents, "now"));
	for (size_t i = 0; r == 0 && was && l->q.mode == LOOP_RESUME && i < f->n; i++)
		if (streq(f->agents[i]->name, was))
			take(l, i);
	return r;
}

void fallback_free(struct loop *l)
{
	free(l->fallback);
	l->fallback = NULL;
}

int fallback_check(struct loop *l, struct err *err)
{
	const struct agent *agent = l->agent;
	const struct config *config = l->config;
	int r = 0;

	for (size_t i = 1; l->fallback && r == 0 && i < l->fallback->n; i++) {
		l->agent = l->fallback->agents[i];
		l->config = &l->fallback->configs[i];
		r = loop_check_credentials(l, err);
		if (r < 0)
			r = err_wrap(err, r, "--fallback %s", l->agent->name);
	}
	l->agent = agent;
	l->config = config;
	return r;
}

/* ---- who works ---- */

static uint64_t away_until(const struct loop *l, size_t k)
{
	const json_t *away = json_object_get(l->state.agents, "away");

	return (uint64_t)json_integer_value(json_object_get(away, l->fallback->agents[k]->name));
}

static void set_away(struct loop *l, size_t k, uint64_t until)
{
	if (!l->state.agents)
		take(l, l->fallback->now);
	(void)json_object_set_new(json_object_get(l->state.agents, "away"),
				  l->fallback->agents[k]->name, json_integer((json_int_t)until));
}

/* The usage of another sandbox is counted from its present value. */
static int enter(struct loop *l, size_t k, struct err *err)
{
	const json_t *begun = json_object_get(l->state.agents, "begun");
	struct loop_usage m;
	int r;

	loop_sandbox_keep(l);
	take(l, k);
	l->fresh = !json_object_get(begun, l->agent->name);
	r = loop_sandbox_build(l, err);
	if (r < 0)
		return r;
	loop_usage_read(&l->q.places, l->build.spec->name, &m);
	l->state.seen_micro_usd = m.micro_usd;
	l->state.seen = m.tokens;
	l->state.outage = l->state.tries = l->weekly_used = 0; /* of the other provider */
	return 0;
}

/* Goes on with the first agent that is not away and can be run; false: there is none. */
static bool change(struct loop *l, const char *why)
{
	struct fallback *f = l->fallback;
	const struct agent *before = l->agent;
	uint64_t away[FALLBACK_MAX];

	for (;;) {
		struct err err = {0};
		size_t k;

		for (size_t i = 0; i < f->n; i++)
			away[i] = away_until(l, i);
		k = fallback_first(away, f->n, seconds());
		if (k == f->n)
			return false;
		if (f->agents[k] == l->agent)
			return l->agent != before;
		if (enter(l, k, &err) == 0) {
			show_line(&l->show, STYLE_YELLOW, "%s %s; %s goes on", before->name, why,
				  l->agent->name);
			return true;
		}
		show_line(&l->show, STYLE_RED, "%s cannot go on: %s", l->agent->name, err.msg);
		set_away(l, k, seconds() + WAIT_MAX_S);
	}
}

bool fallback_takes_over(struct loop *l, const struct judgement *j)
{
	const struct fallback_facts facts = {
		.verdict = j->verdict,
		.now = seconds(),
		.resets_at = l->resets_at,
		.since = l->state.outage,
		.after = l->config->loop.fallback_ms / 1000,
		.no_wait = l->q.no_wait,
	};
	uint64_t until = l->fallback ? fallback_until(&facts) : 0;
	cleanup_free char *why = NULL;
	char when[SHOW_WHEN_SIZE];
	size_t left = l->fallback ? l->fallback->now : 0;

	if (!until)
		return false;
	set_away(l, left, until);
	why = j->verdict == VERDICT_CREDENTIAL
		      ? xstrdup("has no valid credential any more")
		      : xasprintf("is not available until %s", show_when(until, when));
	if (change(l, why))
		return true;
	/* All are away: this loop waits for the agent that worked last. */
	if (l->fallback->now != left) {
		struct err ignored = {0};

		(void)enter(l, left, &ignored);
	}
	return false;
}

void fallback_return(struct loop *l)
{
	struct err err = {0};
	const struct agent *now = l->agent;
	size_t k;
	int r;

	if (!l->fallback || l->fallback->now == 0)
		return;
	for (k = 0; k < l->fallback->now; k++) {
		if (away_until(l, k) > seconds())
			continue;
		l->agent = l->fallback->agents[k];
		l->config = k ? &l->fallback->configs[k] : l->q.config;
		r = loop_check_credentials(l, &err);
		if (r < 0)
			set_away(l, k, seconds() + l->config->loop.fallback_ms / 1000 + 1);
		l->agent = now;
		l->config = &l->fallback->configs[l->fallback->now];
		if (r == 0)
			break;
	}
	if (k < l->fallback->now)
		(void)change(l, "goes aside");
}

uint64_t fallback_cut(const struct loop *l, uint64_t until)
{
	uint64_t end = l->state.outage + l->config->loop.fallback_ms / 1000;

	return l->fallback && until && end < until && end > seconds() ? end : until;
}

void fallback_begun(struct loop *l)
{
	if (!l->fallback)
		return;
	if (!l->state.agents)
		take(l, l->fallback->now);
	(void)json_object_set_new(json_object_get(l->state.agents, "begun"), l->agent->name,
				  json_true());
}
