#include "loop/workers/parallel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "live/live.h"
#include "view/lines.h"
#include "loop/review/review.h"
#include "loop/loop-usage.h"

#define LINE_MAX_LEN (16 * KiB)
#define SUMMARY_MAX (16 * MiB)

extern char **environ;

/* ---- while it runs ---- */

void worker_line(void *arg, const char *line, size_t n)
{
	struct worker *w = arg;
	cleanup_free char *text = xstrndup(line, n);
	/* The worker's line starts with the time of day, which show_line() adds again. A line of a
	 * hostile node may have a NUL in it, and its text ends there. */
	const char *p = strlen(text) > 10 && text[2] == ':' && text[5] == ':' ? text + 10 : text;

	show_line(&w->l->show, STYLE_NONE, "[%s] %s", w->task->id, p);
}

static void on_output(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct worker *w = ev_owner(io, struct worker, out_io);
	char piece[4096];
	ssize_t n;

	while ((n = read(w->out, piece, sizeof(piece))) > 0)
		lines_add(w->lines, piece, (size_t)n, worker_line, w);
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		(void)ev_want(ev, io, 0);
}

static void on_exit_of(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct worker *w = ev_owner(io, struct worker, child_io);

	(void)ev_want(ev, io, 0);
	on_output(ev, &w->out_io, 0);
	lines_end(w->lines, worker_line, w);
	w->code = run_wait(&w->child);
	w->state = WORKER_ENDED;
	pool_worker_ended(w->pool);
}

/* True when the worker was started before: it then resumes from its own journal. */
static bool was_begun(const struct worker *w)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	struct err ignored;
	struct stat st;

	return loops_find(&w->l->q.places, w->path, &at, &ignored) == 0 && at.state >= 0 &&
	       fstatat(at.state, STATE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int start(struct worker *w, struct err *err)
{
	struct loop *l = w->l;
	cleanup_free char *program = places_program(&l->q.places, "loop"), *number = NULL;
	cleanup_fd int request = -1;
	struct run run = RUN_INIT;
	char *argv[3] = {program};
	int fds[2], r = worker_request(w, was_begun(w), &request, err);

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
	/* Ctrl-C reaches the loop only, which passes it on. */
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run_keep(&run, request);
	r = run_start(&run, &w->child, err);
	(void)close(fds[1]);
	if (r < 0)
		return r;
	w->state = WORKER_RUNS;
	w->lines = xcalloc(1, sizeof(*w->lines));
	lines_init(w->lines, LINE_MAX_LEN);
	w->out_io = (struct ev_io){.fd = w->out, .fn = on_output};
	w->child_io = (struct ev_io){.fd = w->child.pidfd, .fn = on_exit_of};
	(void)ev_want(l->ev, &w->out_io, EPOLLIN);
	(void)ev_want(l->ev, &w->child_io, EPOLLIN);
	return 0;
}

static void end(struct worker *w, bool now)
{
	child_kill(&w->child, now ? SIGTERM : SIGINT);
}

static void stop(struct worker *w)
{
	if (!w->lines)
		return;
	(void)ev_want(w->l->ev, &w->out_io, 0);
	if (w->state == WORKER_RUNS) {
		(void)ev_want(w->l->ev, &w->child_io, 0);
		child_done(&w->child);
	}
	lines_done(w->lines);
	free(w->lines);
	w->lines = NULL;
	closep(&w->out);
}

void worker_done(struct worker *w)
{
	w->ops->stop(w);
	free(w->branch);
	free(w->path);
	free(w->before);
	free(w->commit);
	free(w->why);
	free(w->place);
	free(w->lease);
	free(w->node);
	free(w->job);
	free(w->base);
	free(w->checkpoint);
	*w = (struct worker){.out = -1};
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

/* Moves the output logs of the worker's agent; they get the loop's iteration number. */
static void take_logs(const struct worker *w, int logs, uint64_t theirs, uint64_t ours)
{
	static const struct {
		const char *stem, *ext;
	} kinds[] = {{"iteration", "jsonl"}, {"iteration", "stderr"}, {"verify", "jsonl"}};

	for (size_t i = 0; logs >= 0 && i < ARRAY_SIZE(kinds); i++) {
		cleanup_free char *from = xasprintf("%s-%03llu.%s", kinds[i].stem,
						    (unsigned long long)theirs, kinds[i].ext);
		cleanup_free char *to = xasprintf("%s-%03llu.%s", kinds[i].stem,
						  (unsigned long long)ours, kinds[i].ext);

		(void)renameat(logs, from, w->l->logs, to);
	}
}

static void take_records(struct worker *w, const json_t *records, int logs)
{
	struct loop_state *s = &w->l->state;

	for (size_t i = w->taken.iterations; i < json_array_size(records); i++) {
		const json_t *r = json_array_get(records, i);
		json_t *copy = json_copy((json_t *)r);

		s->iterations++;
		if (json_is_true(json_object_get(r, "waited"))) {
			s->waited++;
			w->taken_waited++;
		}
		take_logs(w, logs, (uint64_t)json_integer_value(json_object_get(r, "iteration")),
			  s->iterations);
		(void)json_object_set_new(copy, "iteration",
					  json_integer((json_int_t)s->iterations));
		(void)json_array_append_new(s->records, copy);
		w->taken.iterations++;
	}
}

/* Returns the increase since the last call; a worker's counters never decrease. */
static uint64_t more(const json_t *j, const char *key, uint64_t *taken)
{
	uint64_t now = (uint64_t)json_integer_value(json_object_get(j, key));
	uint64_t by = now > *taken ? now - *taken : 0;

	*taken += by;
	return by;
}

void worker_take_summary(struct worker *w, const json_t *j, int logs)
{
	struct loop_state *s = &w->l->state;
	const json_t *task = json_array_get(json_object_get(j, "tasks"), 0);
	const char *why = json_string_value(json_object_get(task, "why"));
	unsigned attempts = (unsigned)json_integer_value(json_object_get(task, "attempts"));
	struct err err = {0};
	uint64_t until;

	take_records(w, json_object_get(j, "records"), logs);
	s->micro_usd += more(j, "micro_usd", &w->taken.micro_usd);
	s->tokens.input += more(j, "tokens", &w->taken_tokens);
	if (task)
		w->task->attempts = w->attempts + attempts;
	if (review_take(w->l, w->task, json_object_get(task, "review"), &err) < 0)
		log_warn("loop", "%s", err.msg);
	if (!why)
		why = json_string_value(json_object_get(j, "reason"));
	free(w->why);
	w->why = xstrdup(why ? why : "its worker says nothing");
	until = w->began + more(j, "active_ms", &w->taken.active_ms);
	s->active_ms = until > s->active_ms ? until : s->active_ms;
}

static void account(struct worker *w)
{
	cleanup_fd int root = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int logs =
		root < 0 ? -1
			 : path_open_beneath(root, WORK_DIR "/logs", O_RDONLY | O_DIRECTORY, 0);
	cleanup_json json_t *j = read_summary(w);

	worker_take_summary(w, j, logs);
}

/* ---- its place ---- */

/* Creates or finds the branch and the worktree. */
static int make(struct worker *w, const char *head, struct err *err)
{
	return repo_worktree_add(w->l->repo, w->branch, head, &w->path, NULL, err);
}

/* A worker that is done has removed its sandbox, and kept the event log in its worktree. */
static void take_events(const struct worker *w, const char *sandbox)
{
	cleanup_fd int root = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int from = root < 0 ? -1
				       : path_open_beneath(root, WORK_DIR "/logs/events",
							   O_RDONLY | O_DIRECTORY, 0);
	cleanup_free char *to = xasprintf("events/%s", sandbox);

	if (from < 0)
		return;
	(void)mkdirat(w->l->logs, "events", 0700);
	(void)renameat(from, sandbox, w->l->logs, to);
}

static int clear(struct worker *w, struct err *err)
{
	struct loop *l = w->l;
	cleanup_free char *path = w->path ? NULL : repo_worktree_path(l->repo, w->branch);
	const struct build_input in = {
		.places = &l->q.places, .config = l->config, .path = w->path ? w->path : path};
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	cleanup_free char *kept = NULL;
	struct stat st;
	int r = 0;

	if (lstat(in.path, &st) < 0)
		return 0;
	if (!w->path)
		w->path = take_ptr(path);
	if (!l->q.direct && build_identity(&in, s, err) == 0 && s->name) {
		take_events(w, s->name);
		r = clear_sandbox(l, s->name, &kept, err);
	}
	return r < 0 ? r : repo_worktree_remove(l->repo, w->path, err);
}

const struct worker_ops worker_local = {
	.make = make,
	.start = start,
	.end = end,
	.stop = stop,
	.account = account,
	.clear = clear,
};
