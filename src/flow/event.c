#include "flow/event.h"

#include <string.h>
#include <time.h>

/* A group keeps what tells events apart; bytes and counts add up. */
struct group {
	bool used;
	struct gw_event e;
	char host[256], rule[256], reason[256];
};

struct events {
	struct gw *gw;
	struct ev_timer timer;
	uint64_t tokens_at; /* ms when `tokens` was right */
	uint32_t tokens;
	struct group groups[EVENT_GROUPS];
	size_t n_groups;
};

const char *event_text(char *out, size_t cap, const char *s, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0;

	for (size_t i = 0; i < len && n + 5 < cap; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x20 && c <= 0x7e) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '\\';
		out[n++] = 'x';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	out[n] = '\0';
	return out;
}

static const char *printable(char *out, size_t cap, const char *s)
{
	return event_text(out, cap, s ? s : "", s ? strlen(s) : 0);
}

static uint64_t wall_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int put(struct gw *gw, const struct gw_event *e)
{
	char host[256], method[64], path[GW_TEXT_MAX], rule[GW_TEXT_MAX], reason[GW_TEXT_MAX];
	struct gw_event copy = *e;
	cleanup_buf struct buf b;

	copy.host = printable(host, sizeof(host), e->host);
	copy.method = printable(method, sizeof(method), e->method);
	copy.path = printable(path, sizeof(path), e->path);
	copy.rule = printable(rule, sizeof(rule), e->rule);
	copy.reason = printable(reason, sizeof(reason), e->reason);
	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_event(&b, &copy);
	return wire_send(gw->sock, (enum wire_type)GW_EVENT, 0, &b, NULL, 0);
}

static bool take_token(struct events *ev)
{
	uint64_t now = ev_now(ev->gw->ev), earned = (now - ev->tokens_at) * EVENT_PER_S / 1000;

	if (earned) {
		ev->tokens = earned + ev->tokens > EVENT_BURST ? EVENT_BURST
							       : (uint32_t)(ev->tokens + earned);
		ev->tokens_at = now;
	}
	if (ev->tokens == 0)
		return false;
	ev->tokens--;
	return true;
}

static bool alike(const struct group *g, const struct gw_event *e)
{
	return g->e.verb == e->verb && g->e.verdict == e->verdict && g->e.phase == e->phase &&
	       g->e.port == e->port && strncmp(g->host, e->host, sizeof(g->host) - 1) == 0 &&
	       strncmp(g->rule, e->rule, sizeof(g->rule) - 1) == 0;
}

static struct group *group_for(struct events *ev, const struct gw_event *e)
{
	struct group *g;

	for (size_t i = 0; i < ev->n_groups; i++)
		if (alike(&ev->groups[i], e))
			return &ev->groups[i];
	if (ev->n_groups == EVENT_GROUPS)
		return NULL;
	g = &ev->groups[ev->n_groups++];
	*g = (struct group){.e = *e};
	g->e.count = 0;
	g->e.up = g->e.down = 0;
	g->e.flow = 0;
	(void)strncpy(g->host, e->host, sizeof(g->host) - 1);
	(void)strncpy(g->rule, e->rule, sizeof(g->rule) - 1);
	(void)strncpy(g->reason, e->reason, sizeof(g->reason) - 1);
	g->e.host = g->host;
	g->e.rule = g->rule;
	g->e.reason = g->reason;
	g->e.method = g->e.path = "";
	return g;
}

/* The last group takes what no other can: many different names at a high rate. */
static void keep(struct events *ev, const struct gw_event *e)
{
	struct group *g = group_for(ev, e);

	if (!g) {
		g = &ev->groups[EVENT_GROUPS - 1];
		(void)strncpy(g->host, "(many)", sizeof(g->host));
		(void)strncpy(g->reason, "too many different ones to list", sizeof(g->reason));
		g->e.port = 0;
		if (e->verdict != GW_ALLOW)
			g->e.verdict = e->verdict;
	}
	g->e.time_ms = e->time_ms;
	g->e.count += e->count;
	g->e.up += e->up;
	g->e.down += e->down;
	if (!ev->timer.slot)
		ev_timer_set(ev->gw->ev, &ev->timer, EVENT_FLUSH_MS);
}

void events_flush(struct gw *gw)
{
	struct events *ev = gw->events;
	size_t sent = 0;

	while (sent < ev->n_groups && put(gw, &ev->groups[sent].e) == 0)
		sent++;
	ev->n_groups -= sent;
	memmove(ev->groups, ev->groups + sent, ev->n_groups * sizeof(ev->groups[0]));
	for (size_t i = 0; i < ev->n_groups; i++) {
		ev->groups[i].e.host = ev->groups[i].host;
		ev->groups[i].e.rule = ev->groups[i].rule;
		ev->groups[i].e.reason = ev->groups[i].reason;
	}
	if (ev->n_groups)
		ev_timer_set(gw->ev, &ev->timer, EVENT_FLUSH_MS);
}

static void on_timer(struct ev *ev, struct ev_timer *t)
{
	events_flush(ev_owner(t, struct events, timer)->gw);
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

void event_send(struct gw *gw, const struct gw_event *e)
{
	struct gw_event copy = *e;

	copy.time_ms = wall_ms();
	copy.count = 1;
	copy.host = or_empty(e->host);
	copy.method = or_empty(e->method);
	copy.path = or_empty(e->path);
	copy.rule = or_empty(e->rule);
	copy.reason = or_empty(e->reason);
	if (copy.verdict == GW_DENY)
		gw->health.denied++;
	if (!take_token(gw->events) || put(gw, &copy) < 0)
		keep(gw->events, &copy);
}

struct events *events_new(struct gw *gw)
{
	struct events *e = xcalloc(1, sizeof(*e));

	e->gw = gw;
	e->timer.fn = on_timer;
	e->tokens = EVENT_BURST;
	e->tokens_at = ev_now(gw->ev);
	return e;
}
