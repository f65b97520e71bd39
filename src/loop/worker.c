#include "loop/parallel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "loop/lines.h"
#include "loop/meter.h"

#define LINE_MAX_LEN (16 * KiB)
#define SUMMARY_MAX (16 * MiB)

extern char **environ;

/* ---- what it is asked ---- */

static json_t *list_of(const struct strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, json_text(v->v[i]));
	return a;
}

/* A list of this one task, whatever it was read from. */
static json_t *task_list(const struct worker *w)
{
	const struct task *t = w->task;
	const struct work *k = w->l->work;

	return json_pack(
		"{so so so so s[{so so so so si sb so so}]}", "project",
		json_text(k->project ? k->project : t->id), "branchName", json_text(w->branch),
		"description", json_text(k->description ? k->description : ""), "verifyCommands",
		list_of(&k->verify), "userStories", "id", json_text(t->id), "title",
		json_text(t->title ? t->title : t->id), "description",
		json_text(t->description ? t->description : ""), "acceptanceCriteria",
		list_of(&t->criteria), "priority", 1, "passes", 0, "notes",
		json_text(t->notes ? t->notes : ""), "verifyCommands", list_of(&t->verify));
}

/* Where the list lies: in the loop's own memory, which no sandbox shows. */
static int write_list(const struct worker *w, bool begun, char **ret_path, struct err *err)
{
	cleanup_free char *slug = repo_slug(w->branch), *dir = NULL, *text = NULL;
	cleanup_json json_t *j = task_list(w);
	cleanup_fd int fd = -1;
	int r;

	for (char *p = slug; *p; p++)
		*p = *p == '/' ? '-' : *p;
	dir = xasprintf("%s/parallel/%s", w->l->place.path, slug);
	*ret_path = path_join(dir, "prd.json");
	/* One that was begun has written to it. */
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

static void set_flag(json_t *flags, const char *key, uint64_t v, const char *unit)
{
	cleanup_free char *text = xasprintf("%s=%llu%s", key, (unsigned long long)v, unit);

	(void)json_array_append_new(flags, json_string(text));
}

/* Flags that the worker must have whatever was typed: what is left of the loop's limits. */
static void set_limits(const struct worker *w, json_t *flags)
{
	const struct loop *l = w->l;
	const struct loop_state *s = &l->state;
	uint64_t left =
		l->limits.iterations > s->iterations ? l->limits.iterations - s->iterations : 1;
	json_t *f;
	size_t i;

	for (i = json_array_size(flags); i-- > 0;) {
		f = json_array_get(flags, i);
		if (strncmp(json_string_value(f), "loop.max_iterations=", 20) == 0 ||
		    strncmp(json_string_value(f), "loop.max_cost=", 14) == 0 ||
		    strncmp(json_string_value(f), "loop.notify=", 12) == 0)
			(void)json_array_remove(flags, i);
	}
	if (l->limits.iterations == 0 || left > l->limits.max_attempts)
		left = l->limits.max_attempts;
	set_flag(flags, "loop.max_iterations", left, "");
	if (l->limits.micro_usd) {
		cleanup_free char *text = NULL;
		uint64_t usd =
			l->limits.micro_usd > s->micro_usd ? l->limits.micro_usd - s->micro_usd : 1;

		text = xasprintf("loop.max_cost=%llu.%06llu", (unsigned long long)(usd / 1000000),
				 (unsigned long long)(usd % 1000000));
		(void)json_array_append_new(flags, json_string(text));
	}
	(void)json_array_append_new(flags, json_string("loop.notify="));
}

static int make_request(const struct worker *w, bool resume, int *ret_fd, struct err *err)
{
	cleanup_json json_t *doc = json_deep_copy(w->l->q.doc);
	cleanup_free char *list = NULL, *text = NULL;
	int r = write_list(w, resume, &list, err);

	if (r < 0)
		return r;
	set_limits(w, json_object_get(json_object_get(doc, "settings"), "flags"));
	(void)json_object_set_new(doc, "mode", json_string(resume ? "resume" : "build"));
	(void)json_object_del(doc, "kept_mode");
	(void)json_object_set_new(doc, "workspace", json_text(w->path));
	(void)json_object_set_new(doc, "tasks", json_text(list));
	(void)json_object_set_new(doc, "branch", json_text(w->branch));
	(void)json_object_del(doc, "sandbox");
	(void)json_object_set_new(doc, "parallel", json_integer(1));
	(void)json_object_set_new(doc, "color", json_false());
	(void)json_object_set_new(doc, "json", json_true());
	/* What is not committed here is not the user's: the worktree is the loop's own. */
	(void)json_object_set_new(doc, "stash", json_false());
	(void)json_object_set_new(doc, "worktree", json_false());
	(void)json_object_set_new(doc, "push", json_false());
	text = json_dumps(doc, JSON_COMPACT);
	*ret_fd = text ? fd_memfd("request", text, strlen(text)) : -EINVAL;
	return *ret_fd < 0 ? err_sys(err, -*ret_fd, "cannot make a request") : 0;
}

/* ---- while it runs ---- */

static void on_line(void *arg, const char *line, size_t n)
{
	struct worker *w = arg;
	cleanup_free char *text = xstrndup(line, n);
	/* It puts the time of day in front, as we do. */
	const char *p = n > 10 && text[2] == ':' && text[5] == ':' ? text + 10 : text;

	show_line(&w->l->show, STYLE_NONE, "[%s] %s", w->task->id, p);
}

static void on_output(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct worker *w = ev_owner(io, struct worker, out_io);
	char piece[4096];
	ssize_t n = read(w->out, piece, sizeof(piece));

	if (n > 0)
		lines_add(w->lines, piece, (size_t)n, on_line, w);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		(void)ev_want(ev, io, 0);
}

static void on_exit_of(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct worker *w = ev_owner(io, struct worker, child_io);

	(void)ev_want(ev, io, 0);
	on_output(ev, &w->out_io, 0);
	lines_end(w->lines, on_line, w);
	w->code = run_wait(&w->child);
	w->over = true;
	if (--*w->running == 0)
		ev_stop(ev);
}

/* Was it started before? Then it goes on by its own journal. */
static bool was_begun(const struct worker *w)
{
	cleanup_loop_place struct loop_place at = LOOP_PLACE_INIT;
	struct err ignored;
	struct stat st;

	return loops_find(&w->l->q.places, w->path, &at, &ignored) == 0 && at.state >= 0 &&
	       fstatat(at.state, STATE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int worker_start(struct worker *w, struct err *err)
{
	struct loop *l = w->l;
	cleanup_free char *program = places_program(&l->q.places, "loop"), *number = NULL;
	cleanup_fd int request = -1;
	struct run run = RUN_INIT;
	char *argv[3] = {program};
	int fds[2], r = make_request(w, was_begun(w), &request, err);

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	w->out = fds[0];
	(void)fd_set_nonblock(w->out, true);
	number = xasprintf("%d", request);
	argv[1] = number;
	run.argv = argv;
	run.env = environ;
	run.stdio[2] = fds[1];
	/* Ctrl-C is for the loop, which passes it on. */
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run_keep(&run, request);
	r = run_start(&run, &w->child, err);
	(void)close(fds[1]);
	if (r < 0)
		return r;
	w->lines = xcalloc(1, sizeof(*w->lines));
	lines_init(w->lines, LINE_MAX_LEN);
	w->out_io = (struct ev_io){.fd = w->out, .fn = on_output};
	w->child_io = (struct ev_io){.fd = w->child.pidfd, .fn = on_exit_of};
	(void)ev_want(l->ev, &w->out_io, EPOLLIN);
	(void)ev_want(l->ev, &w->child_io, EPOLLIN);
	++*w->running;
	return 0;
}

void worker_done(struct worker *w)
{
	if (w->lines) {
		(void)ev_want(w->l->ev, &w->out_io, 0);
		if (!w->over) {
			(void)ev_want(w->l->ev, &w->child_io, 0);
			child_done(&w->child);
		}
		lines_done(w->lines);
		free(w->lines);
	}
	closep(&w->out);
	free(w->branch);
	free(w->path);
}

/* ---- afterwards ---- */

static json_t *read_summary(const struct worker *w)
{
	cleanup_fd int dir = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		dir < 0 ? -1 : path_open_beneath(dir, WORK_DIR "/summary.json", O_RDONLY, 0);
	struct err err = {0};
	json_t *j = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, SUMMARY_MAX);
	if (fd < 0 || fd_read_all(fd, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &err) < 0)
		return NULL;
	return j;
}

/* What its agent printed is kept under the number that the iteration has here. */
static void take_logs(const struct worker *w, uint64_t theirs, uint64_t ours)
{
	static const char *const kinds[] = {"jsonl", "stderr"};
	cleanup_fd int root = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int logs =
		root < 0 ? -1
			 : path_open_beneath(root, WORK_DIR "/logs", O_RDONLY | O_DIRECTORY, 0);

	for (size_t i = 0; logs >= 0 && i < ARRAY_SIZE(kinds); i++) {
		cleanup_free char *from =
			xasprintf("iteration-%03llu.%s", (unsigned long long)theirs, kinds[i]);
		cleanup_free char *to =
			xasprintf("iteration-%03llu.%s", (unsigned long long)ours, kinds[i]);

		(void)renameat(logs, from, w->l->logs, to);
	}
}

void worker_account(struct worker *w, char **ret_why)
{
	struct loop_state *s = &w->l->state;
	cleanup_json json_t *j = read_summary(w);
	json_t *r;
	const char *why;
	size_t i;

	json_array_foreach (json_object_get(j, "records"), i, r) {
		json_t *copy = json_copy(r);

		s->iterations++;
		take_logs(w, (uint64_t)json_integer_value(json_object_get(r, "iteration")),
			  s->iterations);
		(void)json_object_set_new(copy, "iteration",
					  json_integer((json_int_t)s->iterations));
		(void)json_array_append_new(s->records, copy);
	}
	s->micro_usd += (uint64_t)json_integer_value(json_object_get(j, "micro_usd"));
	s->tokens.input += (uint64_t)json_integer_value(json_object_get(j, "tokens"));
	s->active_ms += (uint64_t)json_integer_value(json_object_get(j, "active_ms"));
	why = json_string_value(
		json_object_get(json_array_get(json_object_get(j, "tasks"), 0), "why"));
	if (!why)
		why = json_string_value(json_object_get(j, "reason"));
	*ret_why = xstrdup(why ? why : "its worker says nothing");
}
