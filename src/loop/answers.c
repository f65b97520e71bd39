#include "loop/loop.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define ANSWER_MAX (256 * KiB)
#define ANSWERS_MAX 1000 /* taken at a time */

/* True when this answer is already recorded. A killed loop can record it and leave its file. */
static bool is_known(const json_t *answers, const char *question, const char *answer)
{
	json_t *a;
	size_t i;

	json_array_foreach (answers, i, a)
		if (streq(json_string_value(json_object_get(a, "question")), question) &&
		    streq(json_string_value(json_object_get(a, "answer")), answer))
			return true;
	return false;
}

static int take_one(struct loop *l, const char *id, const char *answer, bool note, struct err *err)
{
	json_t *kept = state_task(&l->state, id), *answers = json_object_get(kept, "answers");
	const char *asked = json_string_value(json_object_get(kept, "question"));
	cleanup_free char *question = xstrdup(asked && !note ? asked : "");
	struct task *t = l->work && *id ? work_task(l->work, id) : NULL;
	int r;

	if (!answers) {
		answers = json_array();
		(void)json_object_set_new(kept, "answers", answers);
	}
	if (!is_known(answers, question, answer))
		(void)json_array_append_new(answers,
					    json_pack("{so so}", "question", json_text(question),
						      "answer", json_text(answer)));
	/* A note leaves the task as it is. */
	if (!note) {
		(void)json_object_del(kept, "question");
		(void)json_object_del(kept, "stuck");
	}
	r = state_save(&l->state, err);
	if (r == 0 && t && t->state != TASK_DONE && !note)
		r = work_reopen(l->work, t, err);
	if (r == 0)
		show_line(&l->show, STYLE_CYAN, "%s: %s", note ? "noted" : "answered",
			  *id ? id : "the loop's question");
	return r;
}

static int take_file(struct loop *l, int dir, const char *name, struct err *err)
{
	const char *id = NULL, *answer = NULL;
	cleanup_json json_t *j = NULL;
	struct err bad = {0};
	cleanup_buf struct buf b;
	int r = 0;

	buf_init(&b, ANSWER_MAX);
	if (path_read(dir, name, &b) == 0 && json_parse(buf_str(&b), b.len, &j, &bad) == 0 &&
	    json_get_str(j, "task", &id, &bad) == 0 &&
	    json_get_str(j, "answer", &answer, &bad) == 0)
		r = take_one(l, id, answer, json_is_true(json_object_get(j, "note")), err);
	if (r == 0)
		(void)unlinkat(dir, name, 0);
	return r;
}

void answers_put(struct buf *b, const json_t *answers, const char *asked)
{
	json_t *a;
	size_t i;

	json_array_foreach (answers, i, a) {
		const char *question = json_string_value(json_object_get(a, "question"));

		if (question && *question)
			(void)buf_printf(b, "\n%s: %s", asked, question);
		(void)buf_printf(b, "\nThe user %s: %s\n",
				 question && *question ? "answers" : "notes",
				 json_string_value(json_object_get(a, "answer")));
	}
}

bool answers_wait(const struct loop *l)
{
	cleanup_fd int fd = path_open_beneath(l->place.state, "answers", O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool found = false;

	if (!d)
		return false;
	fd = -1;
	while (!found && (e = readdir(d)))
		found = e->d_name[0] != '.';
	(void)closedir(d);
	return found;
}

int answers_take(struct loop *l, struct err *err)
{
	cleanup_fd int dir =
		path_open_beneath(l->place.state, "answers", O_RDONLY | O_DIRECTORY, 0);
	cleanup_strv struct strv names = {0};
	struct dirent *e;
	int copy, r = 0;
	DIR *d;

	if (dir < 0)
		return 0;
	copy = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		closep(&copy);
		return 0;
	}
	while ((e = readdir(d)) && names.n < ANSWERS_MAX)
		if (e->d_name[0] != '.')
			strv_push(&names, e->d_name);
	(void)closedir(d);
	strv_sort(&names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = take_file(l, dir, names.v[i], err);
	return r;
}
