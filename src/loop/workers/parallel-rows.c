/* The rows of the state: what a loop must know of its workers after it was killed. */
#include "loop/workers/parallel.h"
#include "loop/placed/placed.h"

bool worker_is_final(int code)
{
	return code == LOOP_DONE || code == LOOP_BLOCKED || code == LOOP_DECIDE ||
	       code == LOOP_STUCK;
}

static void note_placed(const struct worker *w, json_t *row)
{
	cleanup_free char *record = placed_record_name(w);
	const struct {
		const char *key, *text;
	} texts[] = {{"place", w->place}, {"lease", w->lease}, {"node", w->node},
		     {"job", w->job},	  {"base", w->base},   {"checkpoint", w->checkpoint},
		     {"sandbox", record}};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].text)
			(void)json_object_set_new(row, texts[i].key, json_text(texts[i].text));
	(void)json_object_set_new(row, "epoch", json_integer(w->epoch));
	(void)json_object_set_new(row, "tries", json_integer(w->tries));
	if (w->hub)
		(void)json_object_set_new(row, "hub", json_integer((json_int_t)w->hub));
}

void worker_note(const struct worker *w)
{
	json_t *row = json_pack(
		"{so sI sI sI sI sI sI so* so*}", "branch", json_text(w->branch), "attempts",
		(json_int_t)w->attempts, "iterations", (json_int_t)w->taken.iterations, "micro_usd",
		(json_int_t)w->taken.micro_usd, "active_ms", (json_int_t)w->taken.active_ms,
		"tokens", (json_int_t)w->taken_tokens, "waited", (json_int_t)w->taken_waited,
		"before", w->before ? json_text(w->before) : NULL, "commit",
		w->commit && !w->before ? json_text(w->commit) : NULL);

	if (w->place)
		note_placed(w, row);
	if (w->state == WORKER_FINAL && !w->rejected)
		(void)json_object_set_new(row, "code", json_integer(w->code));
	(void)json_object_set_new(w->l->state.workers, w->task->id, row);
}

static uint64_t number_of(const json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

static char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? xstrdup(s) : NULL;
}

void worker_read_row(struct worker *w, const json_t *row)
{
	const json_t *code = json_object_get(row, "code");

	w->branch = text_of(row, "branch");
	w->attempts = (unsigned)number_of(row, "attempts");
	w->before = text_of(row, "before");
	w->commit = text_of(row, "commit");
	w->taken = (struct loop_used){number_of(row, "iterations"), number_of(row, "micro_usd"),
				      number_of(row, "active_ms")};
	w->place = text_of(row, "place");
	w->lease = text_of(row, "lease");
	w->node = text_of(row, "node");
	w->job = text_of(row, "job");
	w->base = text_of(row, "base");
	w->checkpoint = text_of(row, "checkpoint");
	w->epoch = (unsigned)number_of(row, "epoch");
	w->tries = (unsigned)number_of(row, "tries");
	w->hub = number_of(row, "hub");
	w->taken_tokens = number_of(row, "tokens");
	w->taken_waited = number_of(row, "waited");
	w->code = (int)json_integer_value(code);
	w->state = code && worker_is_final(w->code) ? WORKER_FINAL : WORKER_WAITS;
}
