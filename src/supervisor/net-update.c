/*
 * New rules for a running sandbox. The command line sends all of them; they are judged here as a
 * sandbox's first ones are, written to the record, and hold from the gateway's next decision on.
 */
#include "supervisor/supervisor.h"

#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "netrules/net-listeners.h"
#include "netrules/net-rules.h"
#include "netrules/spec-net.h"
#include "record/loop-rules.h"

#define LOOP_LOOK_S 2 /* between two looks at whether the loop still lives that has rules here */

/* Sockets are born with the sandbox: a port that needs a new one is served at the next start. */
static bool has_row(const struct gateway_link *g, const struct gw_listener *row)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		const struct gw_listener *r = &g->rows[i];

		/* A stand-in's address may have moved with the rules; its host and port say all. */
		if (r->kind == row->kind && r->port == row->port && streq(r->host, row->host))
			return true;
	}
	return false;
}

static json_t *missing_rows(const struct gateway_link *g, const struct gw_listener *rows, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct gw_listener *row = &rows[i];
		const char *host = row->kind == GW_LISTEN_SERVICE ? "localhost" : row->host;

		if (row->optional || has_row(g, row))
			continue;
		(void)json_array_append_new(
			a, json_sprintf("%s%s%u", host, host[0] ? ":" : "port ", row->port));
	}
	return a;
}

/* Refuses the changes that only a new sandbox can have. */
static int check_kind(bool no_guest, const struct net_policy *now, const struct net_policy *next,
		      struct err *err)
{
	if (no_guest)
		return err_usage(err, "new rules hold from the next start on: ralph stop first");
	if (next->tier != now->tier)
		return err_usage(err, "the tier of a running sandbox cannot change");
	if (net_policy_inspects(next) && !net_policy_inspects(now))
		return err_usage(err, "inspection begins with the next start of the sandbox");
	return 0;
}

static int write_spec(const struct supervisor *s, struct err *err)
{
	cleanup_json json_t *j = spec_to_json(s->spec);
	cleanup_free char *text = json_dumps(j, JSON_COMPACT);
	int r = text ? store_write_spec_text(&s->entry, text, strlen(text)) : -EINVAL;

	return r < 0 ? err_sys(err, -r, "cannot write the record") : 0;
}

/* On success the spec has what was in *next, which gets the old rules. */
static int take(struct supervisor *s, struct net_policy *next, json_t **ret, struct err *err)
{
	cleanup_(policy_freep) struct policy *policy = NULL;
	cleanup_free struct gw_listener *rows = NULL;
	struct net_policy old = s->spec->net;
	size_t n = 0;
	int r = check_kind(s->guest < 0, &old, next, err);

	if (r == 0)
		r = policy_compile(next, &policy, err);
	if (r == 0)
		r = net_listeners(policy, &rows, &n, err);
	if (r < 0)
		return r;
	s->spec->net = *next;
	r = write_spec(s, err);
	if (r < 0) {
		s->spec->net = old;
		return r;
	}
	*next = old;
	*ret = json_pack("{so sb ss}", "after_restart", missing_rows(&s->gateway, rows, n), "ended",
			 s->gateway.over, "tier", policy_tier_name(s->spec->net.tier));
	return 0;
}

static void refuse(struct client *c, struct err *err)
{
	sup_event(c->sup, "error", json_pack("{so}", "message", json_text(err->msg)));
	client_failed(c, err_exit_code(err, EXIT_RUNTIME), err->msg);
}

static uint64_t end_of(const struct net_rule *r)
{
	uint64_t v = 0;

	return r->until && parse_uint(r->until, 1, INT64_MAX, &v) < 0 ? 1 : v;
}

static void tell_new_rules(struct supervisor *s)
{
	cred_link_policy(
		s); /* first: a question that follows from the new rules is judged by them */
	gateway_link_policy(s);
	sup_event(s, "net-policy", json_pack("{sI}", "rules", (json_int_t)s->spec->net.n_rules));
}

/* Takes out the rules that are over: those with an end, and a loop's when its process is gone. */
static void on_end(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, rules_end);
	struct net_policy *p = &s->spec->net;
	uint64_t now = (uint64_t)time(NULL);
	struct err ignored = {0};
	bool lives = s->spec->loop && loop_rules_count(&s->places, s->spec->loop);
	size_t n = 0;

	(void)ev;
	for (size_t i = 0; i < p->n_rules; i++) {
		uint64_t end = end_of(&p->rules[i]);

		if ((end && end <= now) || (!lives && net_rules_of_loop(&p->rules[i])))
			net_rule_done(&p->rules[i]);
		else
			p->rules[n++] = p->rules[i];
	}
	if (n < p->n_rules) {
		p->n_rules = n;
		(void)write_spec(s, &ignored);
		tell_new_rules(s);
	}
	net_update_ends(s);
}

void net_update_ends(struct supervisor *s)
{
	uint64_t now = (uint64_t)time(NULL), first = 0;

	for (size_t i = 0; i < s->spec->net.n_rules; i++) {
		const struct net_rule *r = &s->spec->net.rules[i];
		uint64_t end = net_rules_of_loop(r) ? now + LOOP_LOOK_S : end_of(r);

		if (end && (!first || end < first))
			first = end;
	}
	s->rules_end.fn = on_end;
	if (first)
		ev_timer_set(s->ev, &s->rules_end, first > now ? (first - now) * 1000 : 1);
	else
		ev_timer_stop(s->ev, &s->rules_end);
}

void net_update(struct client *c, const struct wire_msg *m)
{
	struct supervisor *s = c->sup;
	cleanup_json json_t *answer = NULL;
	struct err err = {0};
	struct net_policy p;
	int r;

	if (gw_get_policy(m, &p) < 0) {
		client_drop(c);
		return;
	}
	r = take(s, &p, &answer, &err);
	net_policy_clear(&p);
	if (r < 0) {
		refuse(c, &err);
		return;
	}
	tell_new_rules(s);
	net_update_ends(s);
	client_info(c, answer);
}
