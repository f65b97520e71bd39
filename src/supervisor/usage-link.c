/*
 * The supervisor's side of metering.
 *
 * DOC: Theory of operation
 *
 * The reader reports what each answer of a provider has used (GW_USAGE); here it becomes a "usage"
 * event with its price. If the spec has a budget, the reader asks before each request that uses
 * tokens, and budget-link.c reserves the most that the request can cost. The report then says what
 * becomes of that: the request costs what its answer used, or what was reserved, or nothing. The
 * supervisor sums up the log once, with the first question, and keeps the sum up to date. The sum
 * covers the sandbox's whole life, over all its starts. When the budget is used up, the credential
 * helper is told to give no more headers, whatever the gateway asks it.
 */
#include "supervisor/supervisor.h"

#include <stdio.h>
#include <string.h>

#include "events/usage.h"

bool usage_link_has_budget(const struct supervisor *s)
{
	return s->spec->budget.micro_usd || s->spec->budget.tokens;
}

static void add(void *arg, const struct usage_event *e)
{
	struct usage_link *u = arg;

	u->micro_usd += e->micro_usd;
	u->tokens += usage_all(&e->tokens);
}

static void count_so_far(struct supervisor *s)
{
	struct err err = {0};

	if (s->usage.counted)
		return;
	s->usage.counted = true;
	if (usage_each(s->entry.dir, add, &s->usage, &err) < 0)
		s->usage.unknown = true; /* then nothing may be spent */
}

/* "name: value" lines as an object; NULL when they say what they said last. */
static json_t *new_limits(struct usage_link *u, const char *lines)
{
	json_t *j;

	if (!lines[0] || (u->limits && streq(u->limits, lines)))
		return NULL;
	free(u->limits);
	u->limits = xstrdup(lines);
	j = json_object();
	for (const char *p = lines; *p;) {
		size_t n = strcspn(p, "\n");
		const char *colon = memmem(p, n, ": ", 2);
		cleanup_free char *name = colon ? xstrndup(p, (size_t)(colon - p)) : NULL;
		cleanup_free char *value =
			colon ? xstrndup(colon + 2, n - (size_t)(colon + 2 - p)) : NULL;

		if (colon)
			(void)json_object_set_new(j, name, json_text(value));
		p += n + (p[n] == '\n');
	}
	return j;
}

static char *over(const struct supervisor *s);

/* The helper gives no more headers then, even to a gateway that does not ask for the budget. */
static void close_if_over(struct supervisor *s)
{
	cleanup_free char *why = over(s);

	if (why && !s->usage.closed)
		cred_link_budget(s, why);
	s->usage.closed = why != NULL;
}

static void count(struct supervisor *s, const struct usage_event *e)
{
	if (!usage_link_has_budget(s))
		return;
	count_so_far(s);
	add(&s->usage, e);
	close_if_over(s);
}

static json_t *record(const struct usage_event *e, const char *price)
{
	return json_pack("{so so sI sI sI sI sI so}", "credential", json_text(e->credential),
			 "model", json_text(e->model), "input", (json_int_t)e->tokens.input,
			 "output", (json_int_t)e->tokens.output, "cache_read",
			 (json_int_t)e->tokens.cache_read, "cache_write",
			 (json_int_t)e->tokens.cache_write, "micro_usd", (json_int_t)e->micro_usd,
			 "price", json_text(price));
}

void usage_link_settle(struct supervisor *s, const struct reservation *r)
{
	const struct usage_event e = {.credential = r->credential,
				      .model = r->model,
				      .tokens = r->tokens,
				      .micro_usd = r->micro_usd};
	struct price price;
	json_t *j;

	price_find(r->model, &s->spec->prices, &price);
	/* Before the event is written, which the sum would otherwise find in the log again. */
	count(s, &e);
	j = record(&e, price.model);
	(void)json_object_set_new(j, "reserved", json_true());
	sup_event(s, "usage", j);
}

/* An answer whose usage counts, or that has something to say about limits. */
static void report(struct supervisor *s, const struct gw_usage *u)
{
	struct usage_event e = {
		.credential = u->credential,
		.model = u->model,
		.tokens = {u->input, u->output, u->cache_read, u->cache_write},
	};
	json_t *j, *limits = new_limits(&s->usage, u->limits);
	bool used = u->cost == GW_COST_USED && usage_all(&e.tokens) > 0;
	struct price price;

	if (!used && !limits)
		return;
	if (!used)
		e.tokens = (struct usage_tokens){0};
	price_find(u->model, &s->spec->prices, &price);
	e.micro_usd = price_of(&price, &e.tokens);
	count(s, &e);
	j = record(&e, price.model);
	(void)json_object_set_new(j, "status", json_integer(u->status));
	if (limits)
		(void)json_object_set_new(j, "limits", limits);
	sup_event(s, used ? "usage" : "limits", j);
}

void usage_link_report(struct supervisor *s, const struct wire_msg *m)
{
	struct reservation r;
	struct gw_usage u;

	if (gw_get_usage(m, &u) < 0)
		return;
	report(s, &u);
	if (!u.reservation || !budget_link_take(s, u.reservation, &r))
		return;
	if (u.cost == GW_COST_RESERVED)
		usage_link_settle(s, &r);
	budget_link_done(&r);
	budget_link_next(s);
}

void usage_link_provider(struct supervisor *s, const struct wire_msg *m)
{
	struct wire_reader r;
	uint32_t status;

	wire_read(&r, m);
	status = wire_get_u32(&r);
	if (wire_read_end(&r) == 0)
		s->usage.status = status;
}

static char *over(const struct supervisor *s)
{
	const struct spec_budget *b = &s->spec->budget;
	const struct usage_link *u = &s->usage;

	if (u->unknown)
		return xstrdup("what this sandbox has spent cannot be read from its event log");
	if (b->micro_usd && u->micro_usd >= b->micro_usd)
		return xasprintf("the budget of this sandbox is used up: %.2f of %.2f US dollars",
				 (double)u->micro_usd / 1e6, (double)b->micro_usd / 1e6);
	if (b->tokens && u->tokens >= b->tokens)
		return xasprintf("the budget of this sandbox is used up: %llu of %llu tokens",
				 (unsigned long long)u->tokens, (unsigned long long)b->tokens);
	return NULL;
}

char *usage_link_closed(struct supervisor *s)
{
	char *why;

	if (!usage_link_has_budget(s))
		return NULL;
	count_so_far(s);
	why = over(s);
	return why ? why : xstrdup("");
}

void usage_link_over(struct supervisor *s, const char *credential, const char *why)
{
	if (s->usage.told)
		return;
	s->usage.told = true;
	sup_event(s, "budget",
		  json_pack("{ss so sI sI}", "message", why, "credential", json_text(credential),
			    "micro_usd", (json_int_t)s->usage.micro_usd, "tokens",
			    (json_int_t)s->usage.tokens));
}

void usage_link_stop(struct supervisor *s)
{
	free(s->usage.limits);
	s->usage.limits = NULL;
}
