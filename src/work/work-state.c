#include "work/work-state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "work/shared-file.h"
#include "work/source.h"

#define STATE_MAX (8 * MiB)
#define STATE_VERSION 1

const char work_gitignore[] = "# What ralph keeps here while it works.\n"
			      "/state/\n"
			      "/agent/\n"
			      "/logs/\n"
			      "/active\n"
			      "/summary.json\n";

void kept_done(struct kept *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->tasks[i].id);
		free(k->tasks[i].why);
		free(k->tasks[i].commit);
	}
	free(k->tasks);
	free(k->source);
	free(k->open);
	free(k->reach);
	free(k->log_reach);
	*k = (struct kept){0};
}

bool kept_all_done(const struct kept *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->tasks[i].state != TASK_DONE)
			return false;
	return true;
}

static int read_state(const json_t *j, const char *key, enum task_state *ret, struct err *err)
{
	const char *s = NULL;
	int r = json_get_str(j, key, &s, err);

	if (r == 0 && task_state_parse(s, ret) < 0)
		r = err_set(err, EINVAL, "'%s' is no state", s);
	return r;
}

static int read_task(const json_t *j, struct kept_task *t, struct err *err)
{
	const char *id = NULL, *why = NULL, *commit = NULL, *print = NULL;
	uint64_t attempts = 0;
	int r = json_get_str(j, "id", &id, err);

	if (r == 0)
		r = json_opt_str(j, "why", &why, err);
	if (r == 0)
		r = json_opt_str(j, "commit", &commit, err);
	if (r == 0)
		r = json_get_str(j, "fingerprint", &print, err);
	if (r == 0)
		r = json_get_uint(j, "attempts", &attempts, err);
	if (r == 0)
		r = read_state(j, "state", &t->state, err);
	if (r == 0)
		r = read_state(j, "said", &t->said, err);
	if (r < 0)
		return r;
	t->id = xstrdup(id);
	t->why = xstrdup_or_null(why);
	t->commit = xstrdup_or_null(commit);
	t->attempts = attempts > 1000000 ? 1000000 : (unsigned)attempts;
	(void)snprintf(t->fingerprint, sizeof(t->fingerprint), "%s", print);
	return 0;
}

static int read_all(const json_t *j, struct kept *k, struct err *err)
{
	const char *source = NULL, *open = NULL, *reach = NULL, *log = NULL;
	json_t *tasks = NULL;
	uint64_t version = 0;
	int r = json_get_uint(j, "version", &version, err);

	if (r == 0 && version != STATE_VERSION)
		return err_set(err, ENOTSUP, "it is of a later ralph (version %llu)",
			       (unsigned long long)version);
	if (r == 0)
		r = json_get_str(j, "source", &source, err);
	if (r == 0)
		r = json_opt_str(j, "open", &open, err);
	if (r == 0)
		r = json_opt_str(j, "reach", &reach, err);
	if (r == 0)
		r = json_opt_str(j, "progress", &log, err);
	if (r == 0)
		r = json_get_array(j, "tasks", &tasks, err);
	if (r < 0)
		return r;
	k->source = xstrdup(source);
	k->open = xstrdup_or_null(open);
	k->reach = xstrdup_or_null(reach);
	k->log_reach = xstrdup_or_null(log);
	k->tasks = xcalloc(json_array_size(tasks) + 1, sizeof(*k->tasks));
	for (size_t i = 0; r == 0 && i < json_array_size(tasks); i++, k->n += r == 0)
		r = read_task(json_array_get(tasks, i), &k->tasks[i], err);
	return r;
}

/* Returns the path of a state directory, for messages: it may be outside the workspace. */
static char *place_of(int dir)
{
	char self[32], path[4096];
	ssize_t n;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	n = readlink(self, path, sizeof(path) - 1);
	return n < 0 ? xstrdup(WORK_STATE_DIR) : xstrndup(path, (size_t)n);
}

int kept_read(int dir, struct kept *ret, struct err *err)
{
	cleanup_kept struct kept k = {0};
	cleanup_json json_t *j = NULL;
	cleanup_free char *place = NULL;
	cleanup_buf struct buf text;
	enum shared_file_state state;
	int r;

	buf_init(&text, STATE_MAX);
	if (dir < 0)
		return 0;
	state = shared_file_read(dir, KEPT_TASKS, &text);
	if (state == SHARED_FILE_GONE)
		return 0;
	r = state == SHARED_FILE_READ ? json_parse(buf_str(&text), text.len, &j, err)
				      : err_set(err, EIO, "it %s", shared_file_what(state));
	if (r == 0)
		r = read_all(j, &k, err);
	if (r < 0) {
		err->exit_code = EXIT_USAGE;
		place = place_of(dir);
		return err_hint(err, err_wrap(err, r, "%s/" KEPT_TASKS, place),
				"remove it, and the tasks stand as their source says");
	}
	*ret = k;
	k = (struct kept){0};
	return 0;
}

static json_t *text_or_null(const char *s)
{
	return s ? json_text(s) : json_null();
}

static json_t *to_json(const struct work *w)
{
	json_t *tasks = json_array();

	for (size_t i = 0; i < w->n; i++) {
		const struct task *t = w->tasks[i];

		(void)json_array_append_new(
			tasks,
			json_pack("{so so ss ss so so sI ss}", "id", json_text(t->id), "title",
				  json_text(t->title), "state", task_state_name(t->state), "said",
				  task_state_name(t->said), "why", text_or_null(t->why), "commit",
				  text_or_null(t->commit), "attempts", (json_int_t)t->attempts,
				  "fingerprint", t->fingerprint));
	}
	return json_pack("{si so so so so so}", "version", STATE_VERSION, "source",
			 json_text(w->source), "open", text_or_null(w->open), "reach",
			 text_or_null(w->from->reach ? w->from->rel : NULL), "progress",
			 text_or_null(w->from->log_reach ? w->from->log : NULL), "tasks", tasks);
}

int work_put_ignore(int dir, struct err *err)
{
	struct stat st;

	if (fstatat(dir, ".gitignore", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return shared_file_put(dir, ".gitignore", work_gitignore, strlen(work_gitignore), 0644,
			       err);
}

/* The state directory has mode 0700, because tasks may hold confidential text. */
int kept_places(int root, int *state, struct err *err)
{
	cleanup_fd int dir = -1;

	if (mkdirat(root, WORK_DIR, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", WORK_DIR);
	dir = path_open_beneath(root, WORK_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open '%s', which must be a directory", WORK_DIR);
	if (*state < 0 && mkdirat(dir, "state", 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", WORK_STATE_DIR);
	if (*state < 0)
		*state = path_open_beneath(dir, "state", O_RDONLY | O_DIRECTORY, 0);
	if (*state < 0)
		return err_sys(err, -*state, "cannot open '%s', which must be a directory",
			       WORK_STATE_DIR);
	return work_put_ignore(dir, err);
}

int kept_write(struct work *w, struct err *err)
{
	cleanup_json json_t *j = to_json(w);
	char *text = json_dumps(j, JSON_INDENT(1));
	int r = kept_places(w->root, &w->state, err);

	if (r == 0)
		r = shared_file_put(w->state, KEPT_TASKS, text, strlen(text), 0600, err);
	free(text);
	return r;
}

void kept_aside(int state, const char *path, const struct buf *text)
{
	cleanup_free char *oldest = NULL;
	time_t when = 0;
	struct err ignored = {0};

	for (int i = 1; i <= KEPT_ASIDE_MAX; i++) {
		cleanup_free char *name = xasprintf(KEPT_ASIDE "/%d-%s", i, path_base(path));
		cleanup_fd int fd = path_open_beneath(state, name, O_PATH | O_NOFOLLOW, 0);
		struct stat st = {0};

		if (fd >= 0 && fstat(fd, &st) < 0)
			continue;
		if (!oldest || st.st_mtime < when) {
			free(oldest);
			oldest = take_ptr(name);
			when = st.st_mtime;
		}
		if (fd < 0)
			break;
	}
	/* A failure is ignored: this copy is only for the user's convenience. */
	(void)shared_file_put(state, oldest, text->data, text->len, 0600, &ignored);
}
