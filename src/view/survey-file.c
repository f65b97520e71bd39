#include "view/survey.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "view/log-view.h"

#define STATE_MAX (4 * MiB)

/* Adds one sandbox: the data that survey_refresh() would collect, and the records of its log. */
static void add_sandbox(struct survey *s, const json_t *j)
{
	struct survey_sandbox *b = xcalloc(1, sizeof(*b));
	const char *state = log_text(j, "state");
	const json_t *record;
	size_t i;

	b->name = xstrdup(log_text(j, "name"));
	b->workspace = xstrdup(log_text(j, "workspace"));
	b->agent = xstrdup(log_text(j, "agent"));
	b->live = streq(state, "running");
	b->killed = streq(state, "killed");
	b->cpu = json_number_value(json_object_get(j, "cpu"));
	b->memory = (uint64_t)log_number(j, "memory");
	b->processes = (size_t)log_number(j, "processes");
	b->budget_micro_usd = (uint64_t)log_number(j, "budget_micro_usd");
	b->budget_tokens = (uint64_t)log_number(j, "budget_tokens");
	b->asks = json_deep_copy(json_object_get(j, "asks"));
	sandbox_log_open(&b->log, -1);
	json_array_foreach (json_object_get(j, "events"), i, record)
		sandbox_log_take(&b->log, record);
	s->sandboxes = xrealloc(s->sandboxes, s->n_sandboxes + 1, sizeof(void *));
	s->sandboxes[s->n_sandboxes++] = b;
}

static void add_loop(struct survey *s, const json_t *j)
{
	struct survey_loop *l = xcalloc(1, sizeof(*l));

	l->workspace = xstrdup(log_text(j, "workspace"));
	l->status = json_deep_copy(j);
	l->running = json_is_true(json_object_get(j, "running"));
	s->loops = xrealloc(s->loops, s->n_loops + 1, sizeof(void *));
	s->loops[s->n_loops++] = l;
}

int survey_from_file(struct survey *s, const char *path, struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	const json_t *v;
	size_t i;
	int r;

	buf_init(&b, STATE_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	r = json_parse(buf_str(&b), b.len, &j, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	json_array_foreach (json_object_get(j, "loops"), i, v)
		if (i < SURVEY_MAX)
			add_loop(s, v);
	json_array_foreach (json_object_get(j, "sandboxes"), i, v)
		if (i < SURVEY_MAX)
			add_sandbox(s, v);
	survey_join(s);
	s->now_s = log_time_ms(log_text(j, "now")) / 1000;
	s->at_ms = now_ms();
	return 0;
}
