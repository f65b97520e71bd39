#include "web/desk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "events/events-files.h"
#include "events/events-verify.h"
#include "events/usage-kept.h"
#include "events/usage.h"
#include "record/store.h"
#include "view/event-text.h"
#include "view/log-view.h"
#include "workspace/quarantine.h"

#define EVENTS_SHOWN 500
#define DAYS_MAX 400
#define TEXT_SHOWN 500 /* of one event; ralph why has it whole */

static const char *tone(int style)
{
	return style == STYLE_RED ? "bad" : style == STYLE_YELLOW ? "warn" : "";
}

static json_t *event_row(long long seq, int64_t at_ms, const char *type, const char *text,
			 int style)
{
	return json_pack("{sI sI so so ss}", "seq", (json_int_t)seq, "at", (json_int_t)at_ms,
			 "type", json_text(type), "text", desk_text(text, TEXT_SHOWN), "tone",
			 tone(style));
}

struct events_wanted {
	json_t *rows;
	long long after;
	bool oldest; /* of too many the first are wanted, not the last */
};

static int on_event(void *arg, const struct events_line *line)
{
	struct events_wanted *w = arg;
	cleanup_json json_t *j = line->cut ? NULL : json_loadb(line->text, line->n, 0, NULL);
	cleanup_free char *text = NULL;

	if (!json_is_object(j) || log_number(j, "seq") <= w->after || event_is_selftest(j))
		return 0;
	if (w->oldest && json_array_size(w->rows) == EVENTS_SHOWN)
		return 1;
	text = event_text(j);
	(void)json_array_append_new(
		w->rows, event_row(log_number(j, "seq"), log_time_ms(log_text(j, "time")),
				   log_text(j, "type"), text, (int)event_style(j)));
	if (json_array_size(w->rows) > EVENTS_SHOWN)
		(void)json_array_remove(w->rows, 0);
	return 0;
}

json_t *desk_events(struct desk *d, const char *name, uint64_t after, unsigned *status)
{
	const struct survey_sandbox *b = desk_find_sandbox(d, name);
	struct events_files files = EVENTS_FILES_INIT;
	struct events_wanted w = {.after = (long long)after};
	struct err err = {0};
	uint64_t cursor = after;

	if (!b)
		return desk_error(status, 404, "there is no such sandbox");
	if (b->log.dir < 0)
		return desk_events_new(d, name, &cursor);
	if (events_files_open(b->log.dir, &files, &err) < 0)
		return desk_error(status, 503, err.msg);
	w.rows = json_array();
	(void)events_each(&files, on_event, &w, &err);
	events_files_close(&files);
	return json_pack("{ss so}", "sandbox", name, "rows", w.rows);
}

/* Those that the survey does not keep any more; the oldest first, for a reader that was away. */
static void add_older(const struct survey_sandbox *b, uint64_t *cursor, json_t *rows)
{
	struct events_files files = EVENTS_FILES_INIT;
	struct events_wanted w = {.rows = rows, .after = (long long)*cursor, .oldest = true};
	struct err ignored;

	if (b->log.dir < 0 || b->log.n_events < SANDBOX_LOG_EVENTS_MAX ||
	    b->log.events[0].seq <= (long long)*cursor + 1 ||
	    events_files_open(b->log.dir, &files, &ignored) < 0)
		return;
	(void)events_each(&files, on_event, &w, &ignored);
	events_files_close(&files);
	if (json_array_size(rows))
		*cursor = (uint64_t)log_number(json_array_get(rows, json_array_size(rows) - 1),
					       "seq");
}

json_t *desk_events_new(struct desk *d, const char *name, uint64_t *cursor)
{
	const struct survey_sandbox *b = desk_find_sandbox(d, name);
	json_t *rows = json_array();

	if (b)
		add_older(b, cursor, rows);

	for (size_t i = 0; b && i < b->log.n_events; i++) {
		const struct sandbox_log_event *e = &b->log.events[i];

		if (e->seq <= (long long)*cursor)
			continue;
		(void)json_array_append_new(
			rows, event_row(e->seq, e->at_ms, e->type, e->text, e->style));
		*cursor = (uint64_t)e->seq;
	}
	return json_pack("{ss so}", "sandbox", name, "rows", rows);
}

json_t *desk_verify(struct desk *d, const char *name, unsigned *status)
{
	const struct survey_sandbox *b = desk_find_sandbox(d, name);
	struct verify v;
	struct err err = {0};
	json_t *j;
	int r;

	if (!b || b->log.dir < 0)
		return desk_error(status, 404, "there is no such log");
	r = events_verify(b->log.dir, &v, &err);
	if (r < 0)
		return desk_error(status, 503, err.msg);
	j = json_pack("{sb sI sI sI so so}", "whole", !v.broken, "first", (json_int_t)v.first,
		      "last", (json_int_t)v.last.seq, "records", (json_int_t)v.records, "where",
		      json_text(v.where), "how", json_text(v.how));
	verify_done(&v);
	return j;
}

/* ---- usage ---- */

struct sums {
	json_t *days, *models, *boxes;
	const char *sandbox;
};

static void add_to(json_t *table, const char *key, const struct usage_event *e)
{
	const struct {
		const char *name;
		uint64_t more;
	} columns[] = {{"micro_usd", e->micro_usd},
		       {"input", e->tokens.input},
		       {"output", e->tokens.output},
		       {"cache", e->tokens.cache_read + e->tokens.cache_write},
		       {"requests", e->requests}};
	json_t *row = json_object_get(table, key);

	if (!row && json_object_size(table) >= DAYS_MAX)
		return;
	if (!row) {
		row = json_object();
		(void)json_object_set_new(table, key, row);
	}
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		(void)json_object_set_new(row, columns[i].name,
					  json_integer(log_number(row, columns[i].name) +
						       (json_int_t)columns[i].more));
}

static void on_usage(void *arg, const struct usage_event *e)
{
	const struct sums *s = arg;
	cleanup_free char *day = xstrndup(e->time, 10), *box = NULL;
	cleanup_json json_t *model = json_text(e->model && *e->model ? e->model : "unknown");

	add_to(s->days, day, e);
	add_to(s->models, json_string_value(model), e);
	add_to(s->boxes, s->sandbox, e);
}

static void on_kept(void *arg, const char *sandbox, const struct usage_event *e)
{
	struct sums *s = arg;
	cleanup_json json_t *name = json_text(sandbox);

	s->sandbox = json_string_value(name);
	on_usage(s, e);
}

/* What may be spent at most: by a sandbox over its lifetime, by a loop until it is done. */
static json_t *budgets_of(const struct survey *s)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < s->n_loops; i++) {
		const struct survey_loop *l = s->loops[i];
		long long most = log_number(l->status, "max_micro_usd");

		if (most > 0 && !l->parent)
			(void)json_array_append_new(
				rows, json_pack("{ss so sI sI}", "of", "loop", "name",
						json_text(survey_project(NULL, l)), "micro_usd",
						(json_int_t)log_number(l->status, "micro_usd"),
						"max_micro_usd", (json_int_t)most));
	}
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		const struct survey_sandbox *b = s->sandboxes[i];

		if (b->budget_micro_usd || b->budget_tokens)
			(void)json_array_append_new(
				rows, json_pack("{ss ss sI sI sI sI}", "of", "sandbox", "name",
						b->name, "micro_usd", (json_int_t)b->log.micro_usd,
						"max_micro_usd", (json_int_t)b->budget_micro_usd,
						"tokens", (json_int_t)b->log.tokens, "max_tokens",
						(json_int_t)b->budget_tokens));
	}
	return rows;
}

/* What providers have told of their limits; names and values are theirs. */
static json_t *limits_of(const struct survey *s)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < s->n_sandboxes; i++) {
		const struct sandbox_log *l = &s->sandboxes[i]->log;

		if (l->limits)
			(void)json_array_append_new(rows, json_pack("{ss sI sO}", "sandbox",
								    s->sandboxes[i]->name, "at_ms",
								    (json_int_t)l->limits_ms,
								    "values", l->limits));
	}
	return rows;
}

json_t *desk_usage(struct desk *d)
{
	struct sums s = {json_object(), json_object(), json_object(), ""};
	struct err ignored;

	for (size_t i = 0; i < d->survey.n_sandboxes; i++) {
		s.sandbox = d->survey.sandboxes[i]->name;
		if (d->survey.sandboxes[i]->log.dir >= 0)
			(void)usage_each(d->survey.sandboxes[i]->log.dir, on_usage, &s, &ignored);
	}
	if (!d->from)
		(void)usage_kept_each(d->places.state, on_kept, &s, &ignored);
	return json_pack("{so so so so so}", "days", s.days, "models", s.models, "sandboxes",
			 s.boxes, "budgets", budgets_of(&d->survey), "limits",
			 limits_of(&d->survey));
}
