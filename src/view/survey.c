#include "view/survey.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "view/log-view.h"
#include "live/live.h"
#include "record/loops.h"
#include "record/runtime.h"
#include "record/asks.h"
#include "record/store.h"

#define STATUS_MAX (256 * KiB)

void survey_init(struct survey *s, const struct places *p)
{
	*s = (struct survey){.places = p, .inspect = live_inspect};
}

static void sandbox_free(struct survey_sandbox *b)
{
	free(b->name);
	free(b->workspace);
	free(b->agent);
	sandbox_log_done(&b->log);
	json_decref(b->asks);
	free(b->elsewhere);
	free(b);
}

static void loop_free(struct survey_loop *l)
{
	free(l->workspace);
	json_decref(l->status);
	free(l);
}

void survey_done(struct survey *s)
{
	for (size_t i = 0; i < s->n_sandboxes; i++)
		sandbox_free(s->sandboxes[i]);
	for (size_t i = 0; i < s->n_loops; i++)
		loop_free(s->loops[i]);
	free(s->sandboxes);
	free(s->loops);
	procs_done(&s->procs);
	*s = (struct survey){0};
}

static int64_t changed_ns(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static struct survey_sandbox *find_sandbox(const struct survey *s, const char *name)
{
	for (size_t i = 0; i < s->n_sandboxes; i++)
		if (streq(s->sandboxes[i]->name, name))
			return s->sandboxes[i];
	return NULL;
}

static struct survey_sandbox *add_sandbox(struct survey *s, const char *name, int dir)
{
	struct survey_sandbox *b = xcalloc(1, sizeof(*b));

	b->name = xstrdup(name);
	b->cpu = -1;
	sandbox_log_open(&b->log, dir);
	s->sandboxes = xrealloc(s->sandboxes, s->n_sandboxes + 1, sizeof(void *));
	s->sandboxes[s->n_sandboxes++] = b;
	return b;
}

static void read_spec(struct survey_sandbox *b, const struct places *p)
{
	const struct store_entry e = {.name = b->name, .dir = b->log.dir, .lock = -1, .live = -1};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	int64_t ns = changed_ns(b->log.dir, "spec.json");
	struct err ignored;

	if (ns == b->spec_ns)
		return;
	b->spec_ns = ns;
	free(b->agent);
	free(b->workspace);
	b->agent = NULL;
	b->budget_micro_usd = b->budget_tokens = 0;
	b->workspace = store_owner(p, b->name);
	if (store_read_spec(&e, &spec, &ignored) < 0)
		return;
	b->agent = xstrdup(spec->agent);
	b->budget_micro_usd = spec->budget.micro_usd;
	b->budget_tokens = spec->budget.tokens;
}

/* Asks the supervisor once per start; after that, its process in /proc is enough. */
static void look_alive(struct survey *s, struct survey_sandbox *b)
{
	const struct proc_row *r = b->live ? procs_find(&s->procs, b->supervisor) : NULL;
	cleanup_json json_t *live = NULL;
	struct err ignored;
	struct stat st;

	if (r && r->start == b->start)
		return;
	b->live = false;
	b->cpu = -1;
	b->measured = false;
	if (runtime_exists(s->places, b->name) &&
	    s->inspect(s->places, b->name, &live, &ignored) == 0 && live) {
		b->supervisor = (pid_t)json_integer_value(json_object_get(live, "supervisor"));
		b->init = (pid_t)json_integer_value(json_object_get(live, "init"));
		b->start = loops_start_time(b->supervisor);
		b->live = true;
	}
	/* A mark of a running supervisor without a process means that it was killed. */
	b->killed = !b->live && fstatat(b->log.dir, "lock", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (st.st_mode & S_IXUSR);
}

static int by_name(const void *a, const void *b)
{
	const struct survey_sandbox *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void drop_unseen(struct survey *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n_sandboxes; i++) {
		if (s->sandboxes[i]->seen)
			s->sandboxes[kept++] = s->sandboxes[i];
		else
			sandbox_free(s->sandboxes[i]);
	}
	s->n_sandboxes = kept;
	if (kept)
		qsort(s->sandboxes, kept, sizeof(void *), by_name);
}

/* A record that was removed and created again is a different one. */
static bool is_same(const struct survey_sandbox *b, const struct store_entry *e)
{
	struct stat x, y;

	return fstat(b->log.dir, &x) == 0 && fstat(e->dir, &y) == 0 && x.st_ino == y.st_ino;
}

/* The row of a worker on another machine for which this sandbox stands; NULL: there is none. */
static const json_t *placed_in(const struct survey_loop *l, const char *name)
{
	const json_t *w;
	size_t i;

	if (l->running)
		json_array_foreach (json_object_get(l->status, "workers"), i, w)
			if (streq(log_text(w, "sandbox"), name))
				return w;
	return NULL;
}

static const struct survey_loop *loop_in(const struct survey *s, const char *name)
{
	for (size_t i = 0; i < s->n_loops; i++)
		if (streq(log_text(s->loops[i]->status, "sandbox"), name) ||
		    placed_in(s->loops[i], name))
			return s->loops[i];
	return NULL;
}

static void find_elsewhere(struct survey_sandbox *b)
{
	const json_t *w = b->loop ? placed_in(b->loop, b->name) : NULL;
	const char *job = log_text(w, "job");

	free(b->elsewhere);
	b->elsewhere = w ? xasprintf("%s on %s%s%s", log_text(w, "task"), log_text(w, "node"),
				     *job ? ", " : "", job)
			 : NULL;
}

/* A loop starts its sandbox afresh for each iteration; its counts are of all of them. */
static int64_t counts_from(const struct survey_loop *l)
{
	return l && !streq(survey_loop_state(l), "done")
		       ? (int64_t)log_number(l->status, "started") * 1000
		       : 0;
}

static void read_asks(struct survey_sandbox *b)
{
	struct err ignored = {0};

	json_decref(b->asks);
	b->asks = NULL;
	(void)asks_read(b->log.dir, &b->asks, &ignored);
}

static void refresh_box(struct survey *s, const char *name)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct survey_sandbox *b = find_sandbox(s, name);
	struct err ignored;

	if (store_open(s->places, name, false, &e, &ignored) < 0)
		return;
	if (b && !is_same(b, &e))
		b = NULL; /* removed below, as it was not seen */
	if (!b)
		b = add_sandbox(s, name, take_fd(e.dir));
	b->seen = true;
	read_spec(b, s->places);
	look_alive(s, b);
	read_asks(b);
	sandbox_log_since(&b->log, counts_from(loop_in(s, name)));
	(void)sandbox_log_more(&b->log, &ignored);
}

static int refresh_boxes(struct survey *s, struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = store_names(s->places, &names, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n_sandboxes; i++)
		s->sandboxes[i]->seen = false;
	for (size_t i = 0; i < names.n && i < SURVEY_MAX; i++)
		refresh_box(s, names.v[i]);
	drop_unseen(s);
	return 0;
}

static void measure_sandbox(struct survey_sandbox *b, const struct proc_sum *own,
			    const struct proc_sum *inside, uint64_t ms)
{
	uint64_t before = b->ticks;

	b->memory = own->memory + inside->memory;
	b->processes = own->n + inside->n;
	b->ticks = own->ticks + inside->ticks;
	/* The sum can decrease when a process was killed and not waited for. */
	if (b->live && b->measured && ms)
		b->cpu = b->ticks < before ? 0
					   : (double)(b->ticks - before) * 100000 /
						     ((double)sysconf(_SC_CLK_TCK) * (double)ms);
	b->measured = b->live;
}

/* Processes inside descend from the supervisor or, in a container, from a separate init. */
static void measure(struct survey *s)
{
	uint64_t ms = s->at_ms - s->before_ms;
	size_t n = 2 * s->n_sandboxes;
	pid_t *roots = xcalloc(n + 1, sizeof(*roots));
	struct proc_sum *sums = xcalloc(n + 1, sizeof(*sums));

	for (size_t i = 0; i < s->n_sandboxes; i++) {
		roots[2 * i] = s->sandboxes[i]->live ? s->sandboxes[i]->supervisor : 0;
		roots[2 * i + 1] = s->sandboxes[i]->live ? s->sandboxes[i]->init : 0;
	}
	procs_sum(&s->procs, roots, sums, n);
	for (size_t i = 0; i < s->n_sandboxes; i++)
		measure_sandbox(s->sandboxes[i], &sums[2 * i], &sums[2 * i + 1], ms);
	free(roots);
	free(sums);
}

/* The host writes this file, in a directory that no sandbox can write. It is checked like
 * hostile input all the same. */
static json_t *read_status(const struct places *p, const char *workspace, int64_t *at_ns,
			   json_t *before)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_fd int fd = -1;
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	struct err ignored;
	struct stat st;
	int64_t ns;

	buf_init(&b, STATUS_MAX);
	if (loops_find(p, workspace, &at, &ignored) == 0 && at.state >= 0)
		fd = path_open_beneath(at.state, "status.json", O_RDONLY | O_NONBLOCK | O_NOCTTY,
				       0);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (before && ns == *at_ns)
		return json_incref(before);
	*at_ns = ns;
	if (fd_read_all(fd, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0 ||
	    !json_is_object(j))
		return NULL;
	return take_ptr(j);
}

static bool is_running(const struct survey *s, const json_t *status)
{
	const struct proc_row *r = procs_find(&s->procs, (pid_t)log_number(status, "pid"));

	return r && r->start == (uint64_t)log_number(status, "start");
}

static struct survey_loop *take_loop(struct survey *s, const char *workspace)
{
	for (size_t i = 0; i < s->n_loops; i++) {
		struct survey_loop *l = s->loops[i];

		if (!l || !streq(l->workspace, workspace))
			continue;
		s->loops[i] = NULL;
		return l;
	}
	return NULL;
}

static int refresh_loops(struct survey *s, struct err *err)
{
	cleanup_strv struct strv workspaces = {0};
	struct survey_loop **v;
	size_t n = 0;
	int r = loops_each(s->places, &workspaces, err);

	if (r < 0)
		return r;
	v = xcalloc(workspaces.n + 1, sizeof(void *));
	for (size_t i = 0; i < workspaces.n && n < SURVEY_MAX; i++) {
		struct survey_loop *l = take_loop(s, workspaces.v[i]);
		json_t *status;

		if (!l) {
			l = xcalloc(1, sizeof(*l));
			l->workspace = xstrdup(workspaces.v[i]);
		}
		status = read_status(s->places, l->workspace, &l->mtime_ns, l->status);
		json_decref(l->status);
		l->status = status;
		if (!status) {
			loop_free(l);
			continue;
		}
		l->running = is_running(s, status);
		v[n++] = l;
	}
	for (size_t i = 0; i < s->n_loops; i++)
		if (s->loops[i])
			loop_free(s->loops[i]);
	free(s->loops);
	s->loops = v;
	s->n_loops = n;
	return 0;
}

static int by_need(const void *a, const void *b)
{
	const struct survey_loop *const *x = a, *const *y = b;
	int first = (survey_loop_wants(*y) != NULL) - (survey_loop_wants(*x) != NULL);

	return first ? first : strcmp((*x)->workspace, (*y)->workspace);
}

static const struct survey_loop *loop_of(const struct survey *s, const char *workspace)
{
	for (size_t i = 0; i < s->n_loops; i++)
		if (streq(s->loops[i]->workspace, workspace))
			return s->loops[i];
	return NULL;
}

void survey_join(struct survey *s)
{
	if (s->n_loops)
		qsort(s->loops, s->n_loops, sizeof(void *), by_need);
	for (size_t i = 0; i < s->n_loops; i++)
		s->loops[i]->parent = loop_of(s, log_text(s->loops[i]->status, "parent"));
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		s->sandboxes[i]->loop = loop_in(s, s->sandboxes[i]->name);
		find_elsewhere(s->sandboxes[i]);
	}
}

int survey_refresh(struct survey *s, struct err *err)
{
	int r = procs_read(&s->procs);

	if (r < 0)
		return err_sys(err, -r, "cannot read /proc");
	s->before_ms = s->at_ms;
	s->at_ms = now_ms();
	s->now_s = (int64_t)time(NULL);
	r = refresh_loops(s, err);
	if (r == 0)
		r = refresh_boxes(s, err);
	if (r < 0)
		return r;
	measure(s);
	survey_join(s);
	return 0;
}

const struct survey_loop *survey_whole(const struct survey_loop *l)
{
	return l && l->parent ? l->parent : l;
}

const char *survey_project(const struct survey_sandbox *b, const struct survey_loop *l)
{
	const struct survey_loop *whole = survey_whole(l);
	const char *path = whole ? whole->workspace : b->workspace;

	return path && path_base(path)[0] ? path_base(path) : b ? b->name : path;
}

/* The status of a loop is written between steps, so the log of its sandbox may be ahead of it. */
static uint64_t larger(uint64_t a, long long b)
{
	return b > 0 && (uint64_t)b > a ? (uint64_t)b : a;
}

uint64_t survey_tokens(const struct survey_sandbox *b)
{
	const struct survey_loop *l = survey_whole(b->loop);
	const json_t *t = json_object_get(l ? l->status : NULL, "tokens");

	return larger(b->log.tokens, log_number(t, "input") + log_number(t, "output") +
					     log_number(t, "cache_read") +
					     log_number(t, "cache_write"));
}

uint64_t survey_micro_usd(const struct survey_sandbox *b)
{
	const struct survey_loop *l = survey_whole(b->loop);

	return larger(b->log.micro_usd, l ? log_number(l->status, "micro_usd") : 0);
}

size_t survey_running_loops(const struct survey *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_loops; i++)
		n += s->loops[i]->running && !s->loops[i]->parent;
	return n;
}

static bool was_at_work(const char *phase)
{
	static const char *const phases[] = {"starting", "iterating", "verifying", "waiting"};

	for (size_t i = 0; i < ARRAY_SIZE(phases); i++)
		if (streq(phases[i], phase))
			return true;
	return false;
}

const char *survey_loop_state(const struct survey_loop *l)
{
	const char *phase = log_text(l->status, "phase");

	if (!l->running && was_at_work(phase))
		return "crashed";
	return phase[0] ? phase : "unknown";
}

char *survey_asks(const struct survey_sandbox *b)
{
	size_t i, n = 0;
	const json_t *a, *first = NULL;

	json_array_foreach (b->asks, i, a)
		if (ask_is_open(a) && n++ == 0)
			first = a;
	if (!first)
		return NULL;
	return xasprintf("asks for %s %s%s: ralph ask show %s",
			 streq(log_text(first, "kind"), "decide") ? "a decision"
								  : log_text(first, "kind"),
			 log_text(first, "what"), n > 1 ? " and more" : "", log_text(first, "id"));
}

const char *survey_loop_wants(const struct survey_loop *l)
{
	static const char *const calm[] = {"done", "paused", "stopped", "crashed", "unknown"};
	const json_t *ask = json_array_get(json_object_get(l->status, "asks"), 0);
	const char *state = survey_loop_state(l), *reason = log_text(l->status, "reason");

	if (log_text(ask, "question")[0])
		return log_text(ask, "question");
	for (size_t i = 0; i < ARRAY_SIZE(calm); i++)
		if (l->running || streq(state, calm[i]))
			return NULL;
	return reason[0] ? reason : state;
}

const char *survey_sandbox_state(const struct survey_sandbox *b)
{
	return b->live ? "running" : b->killed ? "killed" : "stopped";
}

const char *survey_doing(const struct survey_sandbox *b)
{
	const char *tool = b->loop && b->loop->running ? log_text(b->loop->status, "tool") : "";

	if (b->elsewhere)
		return b->elsewhere;
	if (tool[0])
		return tool;
	if (b->loop && b->loop->running) {
		const json_t *task = json_object_get(b->loop->status, "task");

		if (log_text(task, "title")[0])
			return log_text(task, "title");
	}
	return b->live && sandbox_log_command(&b->log) ? sandbox_log_command(&b->log) : "";
}
