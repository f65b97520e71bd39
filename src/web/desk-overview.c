#include "web/desk.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/asks.h"
#include "record/loops.h"
#include "view/log-view.h"
#include "workspace/quarantine.h"

#define NEEDS_HOSTS_MAX 50
#define QUESTION_SHOWN (2 * KiB)
#define TOOL_SHOWN 300
#define STATE_FILE_MAX (16 * MiB)

json_t *desk_error(unsigned *status, unsigned code, const char *why)
{
	*status = code;
	return json_pack("{so}", "error", json_text(why));
}

json_t *desk_text(const char *text, size_t most)
{
	cleanup_free char *cut = NULL;
	size_t n = strlen(text);

	if (n <= most)
		return json_text(text);
	for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
		n--;
	cut = xasprintf("%.*s…", (int)n, text);
	return json_text(cut);
}

const struct survey_loop *desk_find_loop(const struct desk *d, const char *key)
{
	char own[ROUTE_KEY_LEN + 1];

	for (size_t i = 0; i < d->survey.n_loops; i++) {
		web_key(d->survey.loops[i]->workspace, own);
		if (streq(own, key))
			return d->survey.loops[i];
	}
	return NULL;
}

const struct survey_sandbox *desk_find_sandbox(const struct desk *d, const char *name)
{
	for (size_t i = 0; i < d->survey.n_sandboxes; i++)
		if (streq(d->survey.sandboxes[i]->name, name))
			return d->survey.sandboxes[i];
	return NULL;
}

json_t *desk_state_file(struct desk *d, const struct survey_loop *l, const char *name)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	struct err ignored;

	buf_init(&b, STATE_FILE_MAX);
	if (d->from || loops_find(&d->places, l->workspace, &at, &ignored) < 0 || at.state < 0 ||
	    path_read(at.state, name, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0 ||
	    !json_is_object(j))
		return NULL;
	return take_ptr(j);
}

static json_t *loop_row(const struct survey_loop *l)
{
	const json_t *task = json_object_get(l->status, "task"),
		     *tasks = json_object_get(l->status, "tasks");
	const char *wants = survey_loop_wants(l);
	char key[ROUTE_KEY_LEN + 1];

	web_key(l->workspace, key);
	return json_pack("{ss so so ss sb so so sI sI sI sI so sI so so}", "key", key, "project",
			 json_text(survey_project(NULL, l)), "workspace", json_text(l->workspace),
			 "state", survey_loop_state(l), "running", l->running, "task",
			 task ? json_incref((json_t *)task) : json_null(), "tool",
			 desk_text(l->running ? log_text(l->status, "tool") : "", TOOL_SHOWN),
			 "iteration", (json_int_t)log_number(l->status, "iteration"), "max",
			 (json_int_t)log_number(l->status, "max_iterations"), "done",
			 (json_int_t)log_number(tasks, "done"), "total",
			 (json_int_t)log_number(tasks, "total"), "sandbox",
			 json_text(log_text(l->status, "sandbox")), "micro_usd",
			 (json_int_t)log_number(l->status, "micro_usd"), "wants",
			 wants ? json_text(wants) : json_null(), "acts", desk_loop_acts(l));
}

static json_t *sandbox_row(const struct survey *s, const struct survey_sandbox *b)
{
	uint64_t tokens, usd;

	sandbox_log_rate(&b->log, s->now_s, &tokens, &usd);
	return json_pack("{ss so ss so sI sI sI sI sI sI sb}", "name", b->name, "project",
			 json_text(survey_project(b, b->loop)), "state", survey_sandbox_state(b),
			 "doing", desk_text(survey_doing(b), TOOL_SHOWN), "micro_usd",
			 (json_int_t)survey_micro_usd(b), "tokens", (json_int_t)survey_tokens(b),
			 "usd_minute", (json_int_t)usd, "refused", (json_int_t)b->log.refused,
			 "memory", (json_int_t)b->memory, "cpu",
			 (json_int_t)(b->cpu < 0 ? -1 : b->cpu), "loop", b->loop != NULL);
}

/* Questions and loops that ended for a person, then what was refused, then the quarantine. */
static void needs_of_loop(json_t *needs, const struct survey_loop *l)
{
	const char *wants = survey_loop_wants(l);
	char key[ROUTE_KEY_LEN + 1];
	json_t *ask;
	size_t i;

	if (!wants)
		return;
	web_key(l->workspace, key);
	json_array_foreach (json_object_get(l->status, "asks"), i, ask)
		(void)json_array_append_new(
			needs, json_pack("{ss ss so so so}", "kind", "question", "key", key,
					 "project", json_text(survey_project(NULL, l)), "task",
					 json_text(log_text(ask, "task")), "text",
					 desk_text(log_text(ask, "question"), QUESTION_SHOWN)));
	if (i == 0)
		(void)json_array_append_new(
			needs,
			json_pack("{ss ss so ss so so}", "kind", "loop", "key", key, "project",
				  json_text(survey_project(NULL, l)), "state", survey_loop_state(l),
				  "text", desk_text(wants, QUESTION_SHOWN), "next",
				  json_text(log_text(l->status, "next"))));
}

static json_t *refusal_row(const struct survey_sandbox *b, const struct sandbox_log_refused *r)
{
	return json_pack("{so sI sI sI so so}", "host", json_text(r->host), "port",
			 (json_int_t)r->port, "count", (json_int_t)r->count, "last_ms",
			 (json_int_t)r->last_ms, "reason", json_text(r->reason), "acts",
			 desk_refusal_acts(b, r));
}

static void asks_of_sandbox(json_t *needs, const struct survey_sandbox *b)
{
	json_t *ask, *row;
	size_t i;

	json_array_foreach (b->asks, i, ask) {
		if (!ask_is_open(ask))
			continue;
		row = desk_ask_row(b, ask);
		(void)json_object_set(row, "of", json_object_get(row, "kind"));
		(void)json_object_set_new(row, "kind", json_string("ask"));
		(void)json_array_append_new(needs, row);
	}
}

static void needs_of_sandbox(json_t *needs, const struct survey_sandbox *b)
{
	for (size_t i = b->log.n_hosts; b->live && i > 0; i--) {
		json_t *row = refusal_row(b, &b->log.hosts[i - 1]);

		if (json_array_size(json_object_get(row, "acts")) == 0 ||
		    json_array_size(needs) > NEEDS_HOSTS_MAX) {
			json_decref(row);
			continue;
		}
		(void)json_object_update_new(row, json_pack("{ss ss so}", "kind", "refused",
							    "sandbox", b->name, "project",
							    json_text(survey_project(b, b->loop))));
		(void)json_array_append_new(needs, row);
	}
}

static size_t count_held(struct desk *d)
{
	cleanup_strv struct strv ids = {0};
	struct err ignored;

	return d->from || quarantine_list(&d->places, SHELF_QUARANTINE, &ids, &ignored) < 0 ? 0
											    : ids.n;
}

json_t *desk_overview(struct desk *d)
{
	json_t *needs = json_array(), *loops = json_array(), *boxes = json_array();
	const struct survey *s = &d->survey;

	for (size_t i = 0; i < s->n_sandboxes; i++)
		asks_of_sandbox(needs, s->sandboxes[i]);
	for (size_t i = 0; i < s->n_loops; i++) {
		needs_of_loop(needs, s->loops[i]);
		if (!s->loops[i]->parent)
			(void)json_array_append_new(loops, loop_row(s->loops[i]));
	}
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		needs_of_sandbox(needs, s->sandboxes[i]);
		(void)json_array_append_new(boxes, sandbox_row(s, s->sandboxes[i]));
	}
	return json_pack("{so so so sI}", "needs", needs, "loops", loops, "sandboxes", boxes,
			 "quarantine", (json_int_t)count_held(d));
}

json_t *desk_net(struct desk *d, const char *name, unsigned *status)
{
	const struct survey_sandbox *b = desk_find_sandbox(d, name);
	json_t *rows;

	if (!b)
		return desk_error(status, 404, "there is no such sandbox");
	rows = json_array();
	for (size_t i = b->log.n_hosts; i > 0; i--)
		(void)json_array_append_new(rows, refusal_row(b, &b->log.hosts[i - 1]));
	return json_pack("{ss so ss sI so}", "sandbox", b->name, "project",
			 json_text(survey_project(b, b->loop)), "state", survey_sandbox_state(b),
			 "refused", (json_int_t)b->log.refused, "hosts", rows);
}
