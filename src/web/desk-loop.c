#include "web/desk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/loops.h"
#include "view/log-view.h"

#define RECORDS_FILE "records.jsonl"
#define RECORDS_SHOWN 200
#define TITLE_SHOWN 300 /* bytes of a task */
#define QUESTION_SHOWN (4 * KiB)
#define RECORDS_TAIL (128 * KiB) /* bytes of the file that are looked at */

static const char *question_of(const json_t *state, const char *task)
{
	return log_text(json_object_get(json_object_get(state, "tasks"), task), "question");
}

static void put_task_acts(json_t *task, const struct survey_loop *l, const char *question)
{
	const char *id = log_text(task, "id"), *state = log_text(task, "state");
	const struct verb_args args = {.workspace = l->workspace, .task = id};
	char loop[ROUTE_KEY_LEN + 1], own[ROUTE_KEY_LEN + 1];
	cleanup_free char *name = NULL;
	json_t *acts = json_array();

	web_key(l->workspace, loop);
	web_key(id, own);
	name = xasprintf("%s/%s", loop, own);
	if (*question)
		desk_put_act(acts, "answer", name,
			     json_pack("{so so so}", "workspace", json_text(l->workspace), "task",
				       json_text(id), "question", json_text(question)),
			     &args);
	else if (!streq(state, "done"))
		desk_put_act(acts, "note", name,
			     json_pack("{so so}", "workspace", json_text(l->workspace), "task",
				       json_text(id)),
			     &args);
	/* A loop that works there would write over it; the command refuses it too. */
	if (!l->running && *id && !streq(state, "ready"))
		desk_put_act(acts, "reopen", name,
			     json_pack("{so so so}", "workspace", json_text(l->workspace), "task",
				       json_text(id), "state", json_text(state)),
			     &args);
	(void)json_object_set_new(task, "acts", acts);
}

/* The list of the state, with what agents ask. A question of the loop itself has no task. */
static json_t *tasks_of(struct desk *d, const struct survey_loop *l)
{
	cleanup_json json_t *list = desk_state_file(d, l, "tasks.json"),
			    *state = desk_state_file(d, l, "loop.json");
	json_t *rows = json_array(), *t;
	const char *own = question_of(state, "");
	size_t i;

	if (*own) {
		t = json_pack("{ss ss ss so}", "id", "", "title", "the loop itself", "state",
			      "asks", "question", desk_text(own, QUESTION_SHOWN));
		put_task_acts(t, l, own);
		(void)json_array_append_new(rows, t);
	}
	json_array_foreach (json_object_get(list, "tasks"), i, t) {
		const char *question = question_of(state, log_text(t, "id"));
		json_t *row = json_pack("{so so ss so sI so}", "id", json_text(log_text(t, "id")),
					"title", desk_text(log_text(t, "title"), TITLE_SHOWN),
					"state", *question ? "asks" : log_text(t, "state"), "why",
					desk_text(log_text(t, "why"), TITLE_SHOWN), "attempts",
					(json_int_t)log_number(t, "attempts"), "commit",
					json_text(log_text(t, "commit")));

		if (*question)
			(void)json_object_set_new(row, "question",
						  desk_text(question, QUESTION_SHOWN));
		put_task_acts(row, l, question);
		(void)json_array_append_new(rows, row);
	}
	return rows;
}

/* The last records, newest first; the file is only appended to. */
static json_t *records_of(struct desk *d, const struct survey_loop *l)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_free char *text = NULL;
	cleanup_fd int fd = -1;
	json_t *rows = json_array();
	struct err ignored;
	struct stat st;
	off_t from;
	ssize_t n;

	if (d->from || loops_find(&d->places, l->workspace, &at, &ignored) < 0 || at.state < 0)
		return rows;
	fd = path_open_beneath(at.state, RECORDS_FILE, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return rows;
	from = st.st_size > (off_t)RECORDS_TAIL ? st.st_size - (off_t)RECORDS_TAIL : 0;
	text = xcalloc(1, RECORDS_TAIL + 1);
	n = pread(fd, text, RECORDS_TAIL, from);
	for (char *end = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;
	     end && json_array_size(rows) < RECORDS_SHOWN;) {
		char *before = end > text ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
		char *line = before ? before + 1 : text;
		json_t *j = before || from == 0 ? json_loadb(line, (size_t)(end - line), 0, NULL)
						: NULL;

		if (json_is_object(j))
			(void)json_array_append_new(rows, j);
		else
			json_decref(j);
		end = before;
	}
	return rows;
}

json_t *desk_loop(struct desk *d, const char *key, unsigned *status)
{
	const struct survey_loop *l = desk_find_loop(d, key);
	json_t *j;

	if (!l)
		return desk_error(status, 404, "there is no such loop");
	j = json_pack("{ss so so ss sb so so so}", "key", key, "project",
		      json_text(survey_project(NULL, l)), "workspace", json_text(l->workspace),
		      "state", survey_loop_state(l), "running", l->running, "acts",
		      desk_loop_acts(l), "tasks", tasks_of(d, l), "records", records_of(d, l));
	/* The counters and words of the status come along; a member of that name here wins. */
	(void)json_object_update_missing(j, l->status);
	(void)json_object_del(j, "asks"); /* the tasks have them */
	(void)json_object_del(j, "pid");
	(void)json_object_del(j, "start");
	(void)json_object_del(j, "updated");
	return j;
}
