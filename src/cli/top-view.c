#include "cli/top.h"

#include <string.h>
#include <time.h>

#include "cli/log-view.h"

#define WIDE 120 /* from here on there is room for more columns */
#define LIST_LEAST 3
#define EVENTS_LEAST 4

typedef unsigned long long ull;

static enum term_style style_of(const char *state)
{
	if (streq(state, "crashed") || streq(state, "failed") || streq(state, "killed"))
		return STYLE_RED;
	if (streq(state, "waiting") || streq(state, "paused"))
		return STYLE_YELLOW;
	if (streq(state, "stopped") || streq(state, "done"))
		return STYLE_DIM;
	return STYLE_GREEN;
}

/* "812", "12.3k", "4.5M": four to five columns. */
static char *short_count(uint64_t n)
{
	if (n < 1000)
		return xasprintf("%llu", (ull)n);
	if (n < 1000000)
		return xasprintf(n < 100000 ? "%.1fk" : "%.0fk", (double)n / 1e3);
	return xasprintf(n < 100000000 ? "%.1fM" : "%.0fM", (double)n / 1e6);
}

static char *short_size(uint64_t n)
{
	if (n < 1024 * 1024)
		return xasprintf("%lluK", (ull)(n / 1024));
	if (n < 1024ULL * 1024 * 1024)
		return xasprintf("%lluM", (ull)(n / 1024 / 1024));
	return xasprintf("%.1fG", (double)n / 1024 / 1024 / 1024);
}

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
	cleanup_free char *count = NULL;
	char when[16];

	for (size_t i = 0; i < t->survey.n_boxes; i++) {
		const struct survey_box *b = t->survey.boxes[i];
		uint64_t k, u;

		box_log_rate(&b->log, t->survey.now_s, &k, &u);
		tokens += k;
		usd += u;
		refused += b->live ? b->log.refused : 0;
		running += b->live;
	}
	clock_text(t->survey.now_s, when);
	count = short_count(tokens);
	screen_row(t->screen, 0, false);
	screen_cell(t->screen, 10, STYLE_BOLD, SCREEN_LEFT, "ralph top");
	screen_cellf(t->screen, t->columns > 20 ? t->columns - 20 : 0, STYLE_NONE, SCREEN_LEFT,
		     "%llu running, %zu loops · %s tok/min · %.2f USD/min · %llu refused",
		     (ull)running, t->survey.n_loops, count, (double)usd / 1e6, (ull)refused);
	screen_cell(t->screen, 10, STYLE_DIM, SCREEN_RIGHT, when);
}

enum column {
	C_NAME,
	C_STATE,
	C_AGENT,
	C_TURN,
	C_TASKS,
	C_DOING,
	C_RATE,
	C_COST,
	C_USD,
	C_REFUSED,
	C_CPU,
	C_MEMORY,
	C_PROCESSES,
	C_N
};

static const struct {
	const char *title;
	unsigned width; /* 0: of what is left; */
	bool wide;	/* only where there is room */
	enum screen_align align;
} columns[C_N] = {
	[C_NAME] = {"SANDBOX", 0, false, SCREEN_TAIL},
	[C_STATE] = {"STATE", 9, false, SCREEN_LEFT},
	[C_AGENT] = {"AGENT", 8, true, SCREEN_LEFT},
	[C_TURN] = {"ITERATION", 9, true, SCREEN_RIGHT},
	[C_TASKS] = {"TASKS", 7, true, SCREEN_RIGHT},
	[C_DOING] = {"DOING", 0, false, SCREEN_LEFT},
	[C_RATE] = {"TOK/M", 6, false, SCREEN_RIGHT},
	[C_COST] = {"USD/M", 5, false, SCREEN_RIGHT},
	[C_USD] = {"USD", 7, true, SCREEN_RIGHT},
	[C_REFUSED] = {"REF", 4, false, SCREEN_RIGHT},
	[C_CPU] = {"CPU%", 5, false, SCREEN_RIGHT},
	[C_MEMORY] = {"MEM", 5, false, SCREEN_RIGHT},
	[C_PROCESSES] = {"PROCS", 5, true, SCREEN_RIGHT},
};

/* What is left over is shared: two parts for the name, three for what is done. */
static unsigned width_of(const struct top *t, enum column c)
{
	unsigned fixed = 0, left;

	if (columns[c].wide && t->columns < WIDE)
		return 0;
	if (columns[c].width)
		return columns[c].width;
	for (int i = 0; i < C_N; i++)
		if (columns[i].width && !(columns[i].wide && t->columns < WIDE))
			fixed += columns[i].width + 1;
	left = t->columns > fixed + 3 ? t->columns - fixed - 1 : 2;
	return c == C_NAME ? left * 2 / 5 : left - left * 2 / 5;
}

static void draw_head(struct top *t, unsigned row)
{
	screen_row(t->screen, row, false);
	for (int c = 0; c < C_N; c++) {
		unsigned w = width_of(t, (enum column)c);

		if (!w)
			continue;
		screen_cell(t->screen, w, STYLE_BOLD, columns[c].align, columns[c].title);
		screen_cell(t->screen, 1, STYLE_NONE, SCREEN_LEFT, "");
	}
}

/* A loop that is over says nothing of a sandbox that runs all the same. */
static const char *state_of(const struct top_item *it)
{
	if (it->loop && (it->loop->running || !it->box || !it->box->live))
		return survey_loop_state(it->loop);
	return survey_box_state(it->box);
}

static char *loop_cell(const struct top_item *it, enum column c)
{
	const json_t *j = it->loop ? it->loop->status : NULL, *tasks = json_object_get(j, "tasks");

	if (!j)
		return xstrdup("-");
	if (c == C_TURN)
		return log_number(j, "max_iterations")
			       ? xasprintf("%lld/%lld", log_number(j, "iteration"),
					   log_number(j, "max_iterations"))
			       : xasprintf("%lld", log_number(j, "iteration"));
	return xasprintf("%lld/%lld", log_number(tasks, "done"), log_number(tasks, "total"));
}

static char *box_cell(const struct top *t, const struct survey_box *b, enum column c)
{
	uint64_t tokens = 0, usd = 0;

	if (!b)
		return xstrdup("-");
	box_log_rate(&b->log, t->survey.now_s, &tokens, &usd);
	switch (c) {
	case C_RATE:
		return short_count(tokens);
	case C_COST:
		return xasprintf("%.2f", (double)usd / 1e6);
	case C_USD:
		return xasprintf("%.2f", (double)b->log.micro_usd / 1e6);
	case C_REFUSED:
		return short_count(b->log.refused);
	case C_CPU:
		return b->live && b->cpu >= 0 ? xasprintf("%.1f", b->cpu) : xstrdup("-");
	case C_MEMORY:
		return b->live ? short_size(b->memory) : xstrdup("-");
	case C_PROCESSES:
		return b->live ? xasprintf("%zu", b->processes) : xstrdup("-");
	case C_NAME:
	case C_STATE:
	case C_AGENT:
	case C_TURN:
	case C_TASKS:
	case C_DOING:
	case C_N:
		break;
	}
	return xstrdup("");
}

/* One that has crashed does nothing; what helps is said instead. */
static char *doing_of(const struct top_item *it)
{
	if (streq(state_of(it), "crashed"))
		return xasprintf("ralph resume %s", it->loop->workspace);
	return xstrdup(it->box ? survey_doing(it->box) : log_text(it->loop->status, "tool"));
}

static char *text_of(const struct top *t, const struct top_item *it, enum column c)
{
	const struct survey_box *b = it->box;

	switch (c) {
	case C_NAME:
		return xstrdup(b ? b->name : it->loop->workspace);
	case C_STATE:
		return xstrdup(state_of(it));
	case C_AGENT:
		return xstrdup(b && b->agent ? b->agent
			       : it->loop    ? log_text(it->loop->status, "agent")
					     : "-");
	case C_TURN:
	case C_TASKS:
		return loop_cell(it, c);
	case C_DOING:
		return doing_of(it);
	case C_RATE:
	case C_COST:
	case C_USD:
	case C_REFUSED:
	case C_CPU:
	case C_MEMORY:
	case C_PROCESSES:
	case C_N:
		break;
	}
	return box_cell(t, b, c);
}

static enum term_style cell_style(const struct top_item *it, enum column c)
{
	if (c == C_STATE)
		return style_of(state_of(it));
	if (c == C_REFUSED && it->box && it->box->log.refused)
		return STYLE_RED;
	return STYLE_NONE;
}

static void draw_item(struct top *t, unsigned row, size_t i)
{
	const struct top_item *it = &t->items[i];

	screen_row(t->screen, row, i == t->at);
	for (int c = 0; c < C_N; c++) {
		unsigned w = width_of(t, (enum column)c);
		cleanup_free char *text = NULL;

		if (!w)
			continue;
		text = text_of(t, it, (enum column)c);
		screen_cell(t->screen, w, cell_style(it, (enum column)c), columns[c].align, text);
		screen_cell(t->screen, 1, STYLE_NONE, SCREEN_LEFT, "");
	}
}

/* The selected one is always among those that are shown. */
static unsigned draw_list(struct top *t, unsigned row, unsigned room)
{
	size_t n = t->n_items < room ? t->n_items : room;

	if (t->at < t->first)
		t->first = t->at;
	if (t->at >= t->first + room)
		t->first = t->at - room + 1;
	if (t->first + n > t->n_items)
		t->first = t->n_items - n;
	for (size_t i = 0; i < n; i++)
		draw_item(t, row + (unsigned)i, t->first + i);
	if (t->n_items == 0) {
		screen_row(t->screen, row, false);
		screen_cell(t->screen, t->columns, STYLE_DIM, SCREEN_LEFT,
			    t->all ? "no sandboxes and no loops"
				   : "nothing runs; ralph top --all shows those that do not, too");
		n = 1;
	}
	return row + (unsigned)n;
}

static void draw_event(struct top *t, unsigned row, const struct box_event *e)
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
	const struct box_log *l = it && it->box ? &it->box->log : NULL;
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

/* As a whole, over as many rows as it takes: what is agreed to must have been seen. */
static void draw_question(struct top *t)
{
	cleanup_free char *safe = term_escape(t->question);
	unsigned n = (unsigned)(term_columns(safe) / t->columns) + 1, row;
	const char *p = safe;

	row = t->rows > n + 2 ? t->rows - 1 - n : 1;
	for (; *p && row < t->rows - 1; row++) {
		size_t len = term_fit(p, t->columns);
		cleanup_free char *part = xstrndup(p, len);

		screen_row(t->screen, row, false);
		screen_cell(t->screen, t->columns, STYLE_YELLOW, SCREEN_LEFT, part);
		p += len ? len : 1;
	}
}

static void draw_foot(struct top *t)
{
	static const char *const keys[] = {
		[TOP_LIST] = "p pause  s stop  l log  a allow a host  j k select  ? help  q quit",
		[TOP_LOG] = "j k scroll  G end  q back",
		[TOP_ALLOW] = "j k select  Enter show the rule  q back",
		[TOP_CONFIRM] = "y yes  any other key no",
		[TOP_HELP] = "any key leads back",
	};

	if (t->rows < 2)
		return;
	screen_row(t->screen, t->rows - 2, false);
	if (t->mode == TOP_CONFIRM)
		draw_question(t);
	else if (t->message)
		screen_cell(t->screen, t->columns, t->message_bad ? STYLE_RED : STYLE_GREEN,
			    SCREEN_LEFT, t->message);
	screen_row(t->screen, t->rows - 1, false);
	screen_cell(t->screen, t->columns, STYLE_DIM, SCREEN_LEFT, keys[t->mode]);
}

static const char *name_of(struct top *t)
{
	struct top_item *it = top_selected(t);

	return !it ? "" : it->box ? it->box->name : it->loop->workspace;
}

static void draw_main(struct top *t)
{
	unsigned room = t->rows > 5 ? t->rows - 4 : 1, list = room, row;

	/* The events have what the list leaves, and a few rows at least. */
	if (room > LIST_LEAST + EVENTS_LEAST + 1 && list > room - EVENTS_LEAST - 1)
		list = room - EVENTS_LEAST - 1;
	draw_head(t, 1);
	row = draw_list(t, 2, list);
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

char *top_pattern(const struct box_refused *r)
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
	const struct box_log *l = it && it->box ? &it->box->log : NULL;
	unsigned row = 3, end = t->rows - 2;

	draw_bar(t, 1, "── which host should it reach? What was refused to %s ", name_of(t));
	for (size_t i = 0; l && i < l->n_hosts && row < end; i++, row++) {
		const struct box_refused *r = &l->hosts[l->n_hosts - 1 - i];
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
		"a             allow a host that was refused: which one, and the rule first",
		"q, Ctrl-C     end",
		"",
		"TOK/M, USD/M  tokens and US dollars of the last minute",
		"REF           refused since it was started: connections, credentials, budget",
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
	else if (shown == TOP_ALLOW)
		draw_allow(t);
	else if (shown == TOP_HELP)
		draw_help(t);
	else
		draw_main(t);
	draw_foot(t);
	(void)screen_flush(t->screen);
}
