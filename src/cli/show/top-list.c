#include "cli/show/top.h"

#include <string.h>

#include "view/log-view.h"

#define OF_LOOP "agent-loop-" /* how the names begin that ralph gives to sandboxes */
#define WIDE 120	      /* from here on there is room for more columns */

typedef unsigned long long ull;

static enum term_style style_of(const char *state)
{
	if (streq(state, "crashed") || streq(state, "failed") || streq(state, "killed"))
		return STYLE_RED;
	if (streq(state, "waiting") || streq(state, "paused") || streq(state, "question") ||
	    streq(state, "blocked") || streq(state, "stuck") || streq(state, "limit") ||
	    streq(state, "provider") || streq(state, "login"))
		return STYLE_YELLOW;
	if (streq(state, "stopped") || streq(state, "done"))
		return STYLE_DIM;
	return STYLE_GREEN;
}

/* "812", "12.3k", "4.5M": four to five columns. */
char *top_count(uint64_t n)
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
	[C_NAME] = {"PROJECT", 0, false, SCREEN_LEFT},
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

/* Columns without a fixed width share the rest: two parts for the name, three for the activity. */
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

void top_draw_head(struct top *t, unsigned row)
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
	if (it->loop && (it->loop->running || !it->sandbox || !it->sandbox->live))
		return survey_loop_state(it->loop);
	return survey_sandbox_state(it->sandbox);
}

static char *loop_cell(const struct top_item *it, enum column c)
{
	const struct survey_loop *l = survey_whole(it->loop);
	const json_t *j = l ? l->status : NULL, *tasks = json_object_get(j, "tasks");

	if (!j)
		return xstrdup("-");
	if (c == C_TURN)
		return log_number(j, "max_iterations")
			       ? xasprintf("%lld/%lld", log_number(j, "iteration"),
					   log_number(j, "max_iterations"))
			       : xasprintf("%lld", log_number(j, "iteration"));
	return xasprintf("%lld/%lld", log_number(tasks, "done"), log_number(tasks, "total"));
}

static char *sandbox_cell(const struct top *t, const struct survey_sandbox *b, enum column c)
{
	uint64_t tokens = 0, usd = 0;

	if (!b)
		return xstrdup("-");
	sandbox_log_rate(&b->log, t->survey.now_s, &tokens, &usd);
	switch (c) {
	case C_RATE:
		return top_count(tokens);
	case C_COST:
		return xasprintf("%.2f", (double)usd / 1e6);
	case C_USD:
		return xasprintf("%.2f", (double)survey_micro_usd(b) / 1e6);
	case C_REFUSED:
		return top_count(b->log.refused);
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

/* A crashed loop does nothing, so the column names the command that resumes it. */
static char *doing_of(const struct top_item *it)
{
	char *asks = it->sandbox ? survey_asks(it->sandbox) : NULL;

	if (asks)
		return asks;
	if (streq(state_of(it), "crashed"))
		return xasprintf("ralph resume %s", it->loop->workspace);
	if (it->loop && survey_loop_wants(it->loop))
		return xstrdup(survey_loop_wants(it->loop));
	return xstrdup(it->sandbox ? survey_doing(it->sandbox)
				   : log_text(it->loop->status, "tool"));
}

/* Another row of the same project needs more than its name: which sandbox of it. */
static char *project_of(const struct top *t, const struct top_item *it)
{
	const char *name = it->sandbox ? it->sandbox->name : it->loop->workspace;
	const char *project = survey_project(it->sandbox, it->loop);
	size_t same = 0;

	for (size_t i = 0; i < t->n_items; i++)
		same += streq(project, survey_project(t->items[i].sandbox, t->items[i].loop));
	if (same < 2)
		return xstrdup(project);
	if (strncmp(name, OF_LOOP, strlen(OF_LOOP)) == 0)
		name += strlen(OF_LOOP);
	return xasprintf("%s: %s", project, name);
}

static char *text_of(const struct top *t, const struct top_item *it, enum column c)
{
	const struct survey_sandbox *b = it->sandbox;

	switch (c) {
	case C_NAME:
		return project_of(t, it);
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
	return sandbox_cell(t, b, c);
}

static enum term_style cell_style(const struct top_item *it, enum column c)
{
	if (c == C_STATE)
		return style_of(state_of(it));
	if (c == C_REFUSED && it->sandbox && it->sandbox->log.refused)
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
unsigned top_draw_list(struct top *t, unsigned row, unsigned room)
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
