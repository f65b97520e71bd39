/* Builds a worker's request: its list of one task, and its share of the loop's limits. */
#include "loop/workers/parallel.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

#define DESCRIPTION_MAX (64 * KiB)

static json_t *list_of(const struct strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, json_text(v->v[i]));
	return a;
}

/* Adds the loop's answers and the last failure to the task's text: the worker's own state starts
 * empty. */
static json_t *description_of(const struct worker *w)
{
	const struct task *t = w->task;
	json_t *answers = json_object_get(state_task(&w->l->state, t->id), "answers"), *text;
	const char *last = state_task_str(&w->l->state, t->id, "last");
	cleanup_buf struct buf b;

	buf_init(&b, DESCRIPTION_MAX);
	(void)buf_puts(&b, t->description ? t->description : "");
	if (json_array_size(answers) > 0)
		(void)buf_putc(&b, '\n');
	answers_put(&b, answers, "You asked");
	if (last)
		(void)buf_printf(&b, "\n\nWhat happened the last time: %s", last);
	text = json_text(buf_str(&b));
	return text;
}

/* Makes a list of this one task, whatever the format of the original list. */
json_t *worker_list(const struct worker *w)
{
	const struct task *t = w->task;
	const struct work *k = w->l->work;

	return json_pack(
		"{so so so so s[{so so so so si sb so so}]}", "project",
		json_text(k->project ? k->project : t->id), "branchName", json_text(w->branch),
		"description", json_text(k->description ? k->description : ""), "verifyCommands",
		list_of(&k->verify), "userStories", "id", json_text(t->id), "title",
		json_text(t->title ? t->title : t->id), "description", description_of(w),
		"acceptanceCriteria", list_of(&t->criteria), "priority", 1, "passes", 0, "notes",
		json_text(t->notes ? t->notes : ""), "verifyCommands", list_of(&t->verify));
}

/* The list is in the loop's state directory, which no sandbox can see. */
static int write_list(const struct worker *w, bool begun, char **ret_path, struct err *err)
{
	cleanup_free char *slug = repo_slug(w->branch), *dir = NULL, *text = NULL;
	cleanup_json json_t *j = worker_list(w);
	cleanup_fd int fd = -1;
	int r;

	for (char *p = slug; *p; p++)
		*p = *p == '/' ? '-' : *p;
	dir = xasprintf("%s/parallel/%s", w->l->place.path, slug);
	*ret_path = path_join(dir, "prd.json");
	/* A worker that was started before has its marks in the list, so it is not overwritten. */
	if (begun)
		return 0;
	r = path_mkdirs(dir, 0700, err);
	if (r < 0)
		return r;
	text = json_dumps(j, JSON_INDENT(1));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 || !text ? -EIO : path_write_atomic(fd, "prd.json", text, strlen(text), 0600, 0);
	if (r < 0)
		return err_sys(err, -r, "cannot write '%s/prd.json'", dir);
	return 0;
}

static void drop_flag(json_t *flags, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = json_array_size(flags); i-- > 0;) {
		const char *f = json_string_value(json_array_get(flags, i));

		if (f && strncmp(f, key, n) == 0 && f[n] == '=')
			(void)json_array_remove(flags, i);
	}
}

static void set_flag(json_t *flags, const char *key, char *value)
{
	cleanup_free char *text = xasprintf("%s=%s", key, value);

	drop_flag(flags, key);
	(void)json_array_append_new(flags, json_string(text));
	free(value);
}

static char *number(uint64_t v, const char *unit)
{
	return xasprintf("%llu%s", (unsigned long long)v, unit);
}

/* Sets the limits as flags, which override the typed ones. The worker's counters continue over
 * all its starts, so its usage so far is added to its share. */
void worker_limits(const struct worker *w, json_t *flags)
{
	const struct loop_limits *m = &w->l->limits;
	const struct loop_used *s = &w->share, *t = &w->taken;

	set_flag(flags, "loop.max_iterations",
		 m->iterations ? number(t->iterations - w->taken_waited + s->iterations, "")
			       : xstrdup("unlimited"));
	if (m->micro_usd) {
		uint64_t usd = t->micro_usd + s->micro_usd;

		set_flag(flags, "loop.max_cost",
			 xasprintf("%llu.%06llu", (unsigned long long)(usd / 1000000),
				   (unsigned long long)(usd % 1000000)));
	}
	if (m->duration_ms)
		set_flag(flags, "loop.max_duration", number(t->active_ms + s->active_ms, "ms"));
	set_flag(flags, "loop.max_attempts",
		 number(m->max_attempts > w->attempts ? m->max_attempts - w->attempts : 1, ""));
	set_flag(flags, "loop.notify", xstrdup(""));
}

/* Copies the user's own prompt, which may be uncommitted and so missing from the worktree. */
static void set_prompt(const struct worker *w, json_t *doc)
{
	static const char *const names[] = {"PROMPT_build.md", "prompt.md"};
	struct stat st;

	if (w->l->q.prompt)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (fstatat(w->l->dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode)) {
			cleanup_free char *path =
				xasprintf("%s/" WORK_DIR "/%s", w->l->q.workspace, names[i]);

			(void)json_object_set_new(doc, "prompt", json_text(path));
			return;
		}
}

int worker_request(const struct worker *w, bool resume, int *ret_fd, struct err *err)
{
	cleanup_json json_t *doc = json_deep_copy(w->l->q.doc);
	cleanup_free char *list = NULL, *text = NULL;
	int r = write_list(w, resume, &list, err);

	if (r < 0)
		return r;
	worker_limits(w, json_object_get(json_object_get(doc, "settings"), "flags"));
	(void)json_object_set_new(doc, "mode", json_string(resume ? "resume" : "build"));
	(void)json_object_del(doc, "kept_mode");
	(void)json_object_set_new(doc, "workspace", json_text(w->path));
	(void)json_object_set_new(doc, "tasks", json_text(list));
	(void)json_object_set_new(doc, "branch", json_text(w->branch));
	(void)json_object_del(doc, "sandbox");
	(void)json_object_set_new(doc, "parent", json_text(w->l->q.workspace));
	if (w->l->build.spec)
		(void)json_object_set_new(doc, "tested", json_text(w->l->build.spec->name));
	set_prompt(w, doc);
	(void)json_object_set_new(doc, "parallel", json_integer(1));
	(void)json_object_set_new(doc, "color", json_false());
	(void)json_object_set_new(doc, "json", json_true());
	/* Uncommitted files in the worktree are never the user's: the worktree belongs to the
	 * loop. */
	(void)json_object_set_new(doc, "stash", json_false());
	(void)json_object_set_new(doc, "worktree", json_false());
	(void)json_object_set_new(doc, "push", json_false());
	text = json_dumps(doc, JSON_COMPACT);
	*ret_fd = text ? fd_memfd("request", text, strlen(text)) : -EINVAL;
	return *ret_fd < 0 ? err_sys(err, -*ret_fd, "cannot make a request") : 0;
}
