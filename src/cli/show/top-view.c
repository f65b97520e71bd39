#include "cli/show/top.h"

#include <string.h>
#include <time.h>

#include "view/log-view.h"

#define LIST_LEAST 3
#define EVENTS_LEAST 4

typedef unsigned long long ull;

static void clock_text(int64_t s, char ret[16])
{
	time_t at = (time_t)s;
	struct tm tm;

	ret[0] = '\0';
	if (localtime_r(&at, &tm))
		(void)strftime(ret, 16, "%H:%M:%S", &tm);
}

static void draw_title(struct top *t)
{
	uint64_t tokens = 0, usd = 0, refused = 0, running = 0;
	size_t loops = survey_running_loops(&t->survey);
	cleanup_free char *count = NULL;
	char when[16];

	for (size_t i = 0; i < t->survey.n_sandboxes; i++) {
		const struct survey_sandbox *b = t->survey.sandboxes[i];
		uint64_t k, u;

		sandbox_log_rate(&b->log, t->survey.now_s, &k, &u);
		tokens += k;
		usd += u;
		refused += b->live ? b->log.refused : 0;
		running += b->live;
	}
	clock_text(t->survey.now_s, when);
	count = top_count(tokens);
	screen_row(t->screen, 0, false);
	screen_cell(t->screen, 10, STYLE_BOLD, SCREEN_LEFT, "ralph top");
	screen_cellf(t->screen, t->columns > 20 ? t->columns - 20 : 0, STYLE_NONE, SCREEN_LEFT,
		     "%llu running, %zu loop%s · %s tok/min · %.2f USD/min · %llu refused",
		     (ull)running, loops, loops == 1 ? "" : "s", count, (double)usd / 1e6,
		     (ull)refused);
	screen_cell(t->screen, 10, STYLE_DIM, SCREEN_RIGHT, when);
}

static void draw_event(struct top *t, unsigned row, const struct sandbox_log_event *e)
{
	char when[16];

	clock_text(e->at_ms / 1000, when);
	screen_row(t->screen, row, false);
	screen_cellf(t->screen, 7, STYLE_DIM, SCREEN_RIGHT, "%lld ", e->seq);
	screen_cell(t->screen, 9, STYLE_DIM, SCREEN_LEFT, when);
	screen_cell(t->screen, 14, (enum term_style)e->style, SCREEN_LEFT, e->type);
	screen_cell(t->screen, 1, STYLE_NONE, SCREEN_LEFT, "");
	screen_cell(t->screen, screen_left(t->screen), STYLE_NONE, SCREEN_LEFT, e->text);
}

/* The latest that fit, the last one at the bottom; from the end so many are left out. */
static void draw_events(struct top *t, unsigned row, unsigned end, size_t left_out)
{
	struct top_item *it = top_selected(t);
	const struct sandbox_log *l = it && it->sandbox ? &it->sandbox->log : NULL;
	size_t n, from;

	if (!l || row >= end)
		return;
	n = l->n_events > left_out ? l->n_events - left_out : 0;
	from = n > end - row ? n - (end - row) : 0;
	for (size_t i = from; i < n; i++)
		draw_event(t, row + (unsigned)(i - from), &l->events[i]);
}

static void draw_bar(struct top *t, unsigned row, const char *fmt, ...) printf_like(3, 4);

static void draw_bar(struct top *t, unsigned row, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	screen_row(t->screen, row, false);
	screen_cell(t->screen, t->columns, STYLE_CYAN, SCREEN_LEFT, text);
}

static unsigned rows_of(const struct top *t, const char *safe)
{
	return (unsigned)(term_columns(safe) / t->columns) + 1;
}

/* As a whole, over as many rows as it takes: what is agreed to must have been seen. */
static unsigned draw_wrapped(struct top *t, unsigned row, const char *safe)
{
	for (const char *p = safe; *p && row < t->rows - 1; row++) {
		size_t len = term_fit(p, t->columns);
		cleanup_free char *part = xstrndup(p, len);

		screen_row(t->screen, row, false);
		screen_cell(t->screen, t->columns, STYLE_YELLOW, SCREEN_LEFT, part);
		p += len ? len : 1;
	}
	return row;
}

/* Above the last row. */
static void draw_question(struct top *t, const struct strv *lines)
{
	cleanup_strv struct strv safe = {0};
	unsigned n = 0, row;

	for (size_t i = 0; i < lines->n; i++) {
		strv_take(&safe, term_escape(lines->v[i]));
		n += rows_of(t, safe.v[i]);
	}
	row = t->rows > n + 2 ? t->rows - 1 - n : 1;
	for (size_t i = 0; i < safe.n; i++)
		row = draw_wrapped(t, row, safe.v[i]);
}

static void draw_foot(struct top *t)
{
	static const char *const keys[] = {
		[TOP_LIST] = "p pause  s stop  l log  a allow a host  j k select  ? help  q quit",
		[TOP_LOG] = "j k scroll  G end  q back",
		[TOP_ALLOW] = "j k select  Enter choose for how long  q back",
		[TOP_SCOPE] = "o l p adds that rule  any other key none",
		[TOP_CONFIRM] = "y yes  any other key no",
		[TOP_HELP] = "any key leads back",
	};

	cleanup_strv struct strv lines = {0};

	if (t->rows < 2)
		return;
	screen_row(t->screen, t->rows - 2, false);
	if (t->mode == TOP_CONFIRM)
		strv_push(&lines, t->question);
	else if (t->mode == TOP_SCOPE)
		top_scopes(t, &lines);
	if (lines.n)
		draw_question(t, &lines);
	else if (t->message)
		screen_cell(t->screen, t->columns, t->message_bad ? STYLE_RED : STYLE_GREEN,
			    SCREEN_LEFT, t->message);
	screen_row(t->screen, t->rows - 1, false);
	screen_cell(t->screen, t->columns, STYLE_DIM, SCREEN_LEFT, keys[t->mode]);
}

static const char *name_of(struct top *t)
{
	struct top_item *it = top_selected(t);

	return !it ? "" : it->sandbox ? it->sandbox->name : it->loop->workspace;
}

static void draw_main(struct top *t)
{
	unsigned room = t->rows > 5 ? t->rows - 4 : 1, list = room, row;

	/* The events have what the list leaves, and a few rows at least. */
	if (room > LIST_LEAST + EVENTS_LEAST + 1 && list > room - EVENTS_LEAST - 1)
		list = room - EVENTS_LEAST - 1;
	top_draw_head(t, 1);
	row = top_draw_list(t, 2, list);
	if (row + 2 < t->rows - 2 && t->n_items) {
		draw_bar(t, row + 1, "── last events of %s ", name_of(t));
		draw_events(t, row + 2, t->rows - 2, 0);
	}
}

static void draw_log(struct top *t)
{
	draw_bar(t, 1, "── events of %s (all of them: ralph events %s) ", name_of(t), name_of(t));
	draw_events(t, 2, t->rows - 2, t->scroll);
}

char *top_pattern(const struct sandbox_log_refused *r)
{
	bool ip6 = strchr(r->host, ':') != NULL;

	if ((r->port == 80 || r->port == 443 || r->port == 53) && !ip6)
		return xstrdup(r->host);
	return xasprintf(ip6 ? "[%s]:%lld" : "%s:%lld", r->host, r->port);
}

/* The latest first. */
static void draw_allow(struct top *t)
{
	struct top_item *it = top_selected(t);
	const struct sandbox_log *l = it && it->sandbox ? &it->sandbox->log : NULL;
	unsigned row = 3, end = t->rows - 2;

	draw_bar(t, 1, "── which host should it reach? What was refused to %s ", name_of(t));
	for (size_t i = 0; l && i < l->n_hosts && row < end; i++, row++) {
		const struct sandbox_log_refused *r = &l->hosts[l->n_hosts - 1 - i];
		cleanup_free char *pattern = top_pattern(r);
		char when[16];

		clock_text(r->last_ms / 1000, when);
		screen_row(t->screen, row, i == t->host);
		screen_cellf(t->screen, 6, STYLE_NONE, SCREEN_RIGHT, "%llu× ", (ull)r->count);
		screen_cell(t->screen, 9, STYLE_DIM, SCREEN_LEFT, when);
		screen_cell(t->screen, (t->columns - 16) / 2, STYLE_BOLD, SCREEN_LEFT, pattern);
		screen_cell(t->screen, 1, STYLE_NONE, SCREEN_LEFT, "");
		screen_cell(t->screen, screen_left(t->screen), STYLE_DIM, SCREEN_LEFT, r->reason);
	}
}

static void draw_help(struct top *t)
{
	static const char *const lines[] = {
		"j k, arrows   select another one; g G the first and the last",
		"p             pause its loop after this iteration",
		"s             stop its loop, or the sandbox where it has none",
		"l, Enter      its log",
		"a             allow a host that was refused: which one, then once, for this",
		"              loop or for this project, each with its command",
		"q, Ctrl-C     end",
		"",
		"TOK/M, USD/M  tokens and US dollars of the last minute",
		"REF           refused since it or its loop was started: connections,",
		"              credentials, budget",
		"CPU%, MEM     of everything in it, of one core, and what is resident",
	};

	draw_bar(t, 1, "── keys ");
	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++) {
		screen_row(t->screen, 3 + i, false);
		screen_cell(t->screen, 2, STYLE_NONE, SCREEN_LEFT, "");
		screen_cell(t->screen, screen_left(t->screen), STYLE_NONE, SCREEN_LEFT, lines[i]);
	}
}

void top_draw(struct top *t)
{
	enum top_mode shown = t->mode == TOP_CONFIRM ? t->behind : t->mode;

	screen_size(t->screen, &t->rows, &t->columns);
	screen_clear(t->screen, 0);
	draw_title(t);
	if (shown == TOP_LOG)
		draw_log(t);
	else if (shown == TOP_ALLOW || shown == TOP_SCOPE)
		draw_allow(t);
	else if (shown == TOP_HELP)
		draw_help(t);
	else
		draw_main(t);
	draw_foot(t);
	(void)screen_flush(t->screen);
}
