/*
 * Commits come out of the sandbox, and the user's go in: docs/internals/private-git.md.
 *
 * DOC: Theory of operation
 *
 * A round is one of two things, and one round runs at a time:
 *
 *	import  git inside writes changed references and their objects into a pipe, whose other end
 *	        the broker gave to `repo import`; over when both have ended
 *	sync    git inside reads what the user moved, and follows
 *
 * An import is wanted when references of the private git directory are not as they were at the last
 * one: when inotify hints at it, after each command, at the start (the supervisor may have been
 * killed) and before the end. A sync is wanted when inotify hints at a change of the user's, before
 * a command and after an import. The import of a loop's sandbox holds everything, and none runs
 * beside a command: the loop judges what is held, and moves its own branch. Whoever ended a command, or wants to start one, waits until nothing
 * is wanted any more; then what happened is told. HEAD may follow only when no command runs.
 *
 * Everything from inside is hostile. The stream is not read here; the private directory is looked
 * at by git_stamp() alone. A round that takes too long is given up, and nothing moves.
 */
#include "supervisor/broker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "spec/of-loop.h"
#include "supervisor/git-news.h"
#include "workspace/git-stamp.h"
#include "workspace/private/private-git.h"

#define HINT_MS 150	 /* changes of references that come together are one */
#define HINT_SHARE 4	 /* an agent that moves references all the time gets a part of a core */
#define IMPORT_MS 120000 /* of one import, git inside included */
#define FIRST_MS 15000	 /* the same while a command waits to be started */
#define SYNC_MS 15000	 /* of one sync */
#define PATIENCE_MS 1000 /* until a waiting user is told why */
#define ANSWER_MAX (4 * MiB)

enum phase { RESTING, IMPORTING, SYNCING };

/* A user has an inotify of the supervisor's for each sandbox, and 128 of them in all. */
#define WATCHED_PLACES 4
#define WATCHED_MAX (3 * WATCHED_PLACES)

struct git_flow {
	struct supervisor *sup;
	int dir;		  /* the private git directory */
	int null;		  /* for what scripts say to people */
	int watched[WATCHED_MAX]; /* of the supervisor's inotify */
	size_t n_watched;
	enum phase phase;
	bool wants_import, wants_sync;
	uint64_t stamp;	   /* of the private references at the last import; */
	bool is_known;	   /* there was one */
	bool is_unwritten; /* it is not in the record yet: nobody should wait for that */
	uint64_t next;	   /* the same of the import that runs; */
	bool is_next;	   /* it could be told */
	bool is_closed;	   /* the last import before the end was made, or tried */
	uint64_t clean_ms; /* when a look found that nothing changed, and no command ran */
	bool is_due;	   /* something waits for the end of a command */
	bool is_late;	   /* git inside could not follow: once more after the next command */
	uint32_t id;	   /* of the script inside; 0: it has ended */
	uint32_t code;
	pid_t importer; /* 0: none */
	int answer;
	struct ev_io answer_io;
	struct buf said;
	uint64_t began_ms, took_ms;
	struct ev_timer hint, limit, patience;
	struct git_news *news;
	bool has_complained;
};

static void go(struct git_flow *g);

/* ---- what has changed ---- */

/* 0: *ret is the number; else it counts as changed. */
static int look(const struct git_flow *g, uint64_t *ret)
{
	return git_stamp(g->dir, ret);
}

static bool is_changed(const struct git_flow *g)
{
	uint64_t now;

	return look(g, &now) < 0 || !g->is_known || now != g->stamp;
}

/* A loop judges what its agent made when that has ended, and not before. */
static bool is_due_now(const struct git_flow *g)
{
	return is_changed(g) && !(spec_is_loops(g->sup->spec) && client_any_runs(g->sup));
}

/* A loop's sandbox follows the user while its agent works. Afterwards the loop itself moves the branch. */
static bool follows(const struct git_flow *g)
{
	return !spec_is_loops(g->sup->spec) || client_any_runs(g->sup);
}

/*
 * The record has the number of the last import that was made, so that the start after a killed
 * supervisor imports what is there. A directory that was made just now has nothing to import.
 */
static void compare_stamp(struct git_flow *g)
{
	const struct supervisor *s = g->sup;
	bool is_same = s->git_is_new || git_imported_is(s->entry.dir, g->dir) > 0;
	bool is_spare = s->git_spare.dir >= 0; /* which came with its number */

	g->stamp = s->git_spare.stamp;
	g->is_known = (is_spare || look(g, &g->stamp) == 0) && is_same;
	g->is_unwritten = s->git_is_new && !is_spare;
	g->wants_import = !g->is_known;
	g->wants_sync = !s->git_is_new;
}

/* A number that could not be written costs one import more. */
static void write_stamp(struct git_flow *g)
{
	if (g->is_known)
		(void)git_imported_set(g->sup->entry.dir, g->stamp);
	g->is_unwritten = false;
}

/* ---- a round ---- */

static int run_inside(struct git_flow *g, const char *script, int in, int out, struct err *err)
{
	struct supervisor *s = g->sup;
	cleanup_strv struct strv argv = {0}, env = {0};
	const int fds[] = {in, out, g->null};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	strv_push(&argv, "sh");
	strv_push(&argv, "-c");
	strv_push(&argv, script);
	spec_environ(s->spec, &env);
	strv_env_set(&env, "GIT_OPTIONAL_LOCKS", "0");
	strv_env_set(&env, "GIT_TERMINAL_PROMPT", "0");
	for (int i = 0; i < 3; i++)
		wire_put_u32(&b, 0); /* flags and the size of a terminal */
	wire_put_str(&b, s->spec->workspace);
	wire_put_strv(&b, &argv);
	wire_put_strv(&b, &env);
	g->id = ++s->next_id;
	r = wire_send(s->guest, WIRE_SPAWN, g->id, &b, fds, ARRAY_SIZE(fds));
	if (r < 0)
		g->id = 0;
	return r < 0 ? err_sys(err, -r, "git cannot be started in the sandbox") : 0;
}

/* Ends what still runs of the round. */
static void put_down(struct git_flow *g)
{
	struct supervisor *s = g->sup;
	cleanup_buf struct buf b;

	buf_init(&b, 16);
	wire_put_u32(&b, 0);
	if (g->id && s->guest >= 0)
		(void)wire_send(s->guest, WIRE_KILL, g->id, &b, NULL, 0);
	g->id = 0;
	if (g->answer >= 0)
		(void)ev_want(s->ev, &g->answer_io, 0);
	closep(&g->answer);
	if (g->importer)
		(void)broker_reap(s, g->importer);
	g->importer = 0;
}

static void complain(struct git_flow *g, const char *why)
{
	cleanup_free char *text =
		xasprintf("commits of the sandbox were not imported: %s; nothing was changed, and "
			  "the next command tries again",
			  why);

	events_link_limited(g->sup, "git-import-failed",
			    json_pack("{so}", "message", json_text(why)));
	if (!g->has_complained)
		client_notice_all(g->sup, text);
	g->has_complained = true;
}

static void end_round(struct git_flow *g)
{
	put_down(g);
	ev_timer_stop(g->sup->ev, &g->limit);
	g->took_ms = now_ms() - g->began_ms;
	g->phase = RESTING;
	go(g);
	sup_reconsider(g->sup);
}

static void give_up(struct git_flow *g, const char *why)
{
	/* The same references are not tried again before a command has ended. */
	if (g->phase == IMPORTING) {
		g->stamp = g->next;
		g->is_known = g->is_next;
		g->is_due = true;
		complain(g, why);
	}
	end_round(g);
}

static void import_done(struct git_flow *g, json_t *answer)
{
	g->stamp = g->next;
	g->is_known = g->is_next;
	g->is_due = json_is_true(json_object_get(answer, "again"));
	g->has_complained = false;
	write_stamp(g);
	if (!spec_is_loops(g->sup->spec)) /* the loop itself tells */
		git_news_take(g->news, answer);
	/* What was imported is the user's now, and what the user did meanwhile goes in. */
	g->wants_sync = follows(g);
	end_round(g);
}

/* Both have ended: the answer is complete, and an error is one sentence. */
static void judge(struct git_flow *g)
{
	cleanup_json json_t *j = NULL;
	struct err err = {0};
	int code = broker_reap(g->sup, g->importer);

	g->importer = 0;
	if (code == 0 && json_parse(buf_str(&g->said), g->said.len, &j, &err) == 0) {
		import_done(g, j);
		return;
	}
	if (g->code == 126 || g->code == 127) {
		give_up(g, "there is no git in the sandbox");
		return;
	}
	(void)buf_putc(&g->said, '\n');
	g->said.data[strcspn(g->said.data, "\n")] = '\0';
	give_up(g, g->said.data[0] ? g->said.data : "the import was killed");
}

static void on_answer(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct git_flow *g = ev_owner(io, struct git_flow, answer_io);
	char chunk[4 * KiB];
	ssize_t n = read(g->answer, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && buf_append(&g->said, chunk, (size_t)n) == 0)
		return;
	(void)ev_want(ev, io, 0);
	closep(&g->answer);
	if (n > 0)
		give_up(g, "the import says too much");
	else if (g->id == 0)
		judge(g);
	/* else git inside still runs, with nobody to read it: its next write ends it */
}

static void begin(struct git_flow *g, enum phase phase, uint64_t limit_ms)
{
	g->phase = phase;
	g->began_ms = now_ms();
	g->code = 0;
	ev_timer_set(g->sup->ev, &g->limit, limit_ms);
}

/* Somebody wants to start a command, which may be what helps. */
static bool is_awaited(const struct supervisor *s)
{
	for (const struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_WAITING)
			return true;
	return false;
}

static void begin_import(struct git_flow *g)
{
	struct supervisor *s = g->sup;
	int fds[GIT_IMPORT_FDS] = {-1, -1, -1}, r;
	struct err err = {0};

	g->wants_import = false;
	g->is_next = look(g, &g->next) == 0;
	begin(g, IMPORTING, is_awaited(s) ? FIRST_MS : IMPORT_MS);
	buf_clear(&g->said);
	r = broker_import(s, !client_any_runs(s), &g->importer, fds, &err);
	if (r == 0) {
		g->answer = fds[2];
		g->answer_io = (struct ev_io){.fd = g->answer, .fn = on_answer};
		(void)fd_set_nonblock(g->answer, true);
		(void)ev_want(s->ev, &g->answer_io, EPOLLIN);
		r = run_inside(g, private_git_export, fds[0], fds[1], &err);
	}
	closep(&fds[0]);
	closep(&fds[1]);
	if (r < 0)
		give_up(g, err.msg);
}

static void begin_sync(struct git_flow *g)
{
	cleanup_fd int moved = -1;
	struct err err = {0};
	int r = broker_moved(g->sup, g->is_late, &moved, &err);

	g->wants_sync = false;
	if (r < 0)
		complain(g, err.msg);
	if (r < 0 || moved < 0) {
		go(g);
		return;
	}
	begin(g, SYNCING, SYNC_MS);
	if (run_inside(g, private_git_sync, moved, g->null, &err) < 0)
		give_up(g, err.msg);
}

static bool can_run(const struct git_flow *g)
{
	return (g->sup->state == SUP_UP || g->sup->state == SUP_STOPPING) &&
	       !git_link_waits(g->sup);
}

/* Takes the next step, or lets everybody go on. */
static void go(struct git_flow *g)
{
	if (g->phase != RESTING || !can_run(g))
		return;
	if (g->wants_import) {
		begin_import(g);
	} else if (g->wants_sync) {
		begin_sync(g);
	} else {
		ev_timer_stop(g->sup->ev, &g->patience);
		if (!client_any_runs(g->sup))
			git_news_tell(g->news);
		client_resume(g->sup);
	}
}

void git_flow_ended(struct supervisor *s, uint32_t code)
{
	struct git_flow *g = s->git;

	g->id = 0;
	g->code = code;
	if (g->phase == IMPORTING) {
		if (g->answer < 0)
			judge(g);
		return;
	}
	g->is_late = code == PRIVATE_GIT_LATE;
	g->wants_import = is_due_now(g);
	end_round(g);
}

/* ---- when ---- */

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	give_up(ev_owner(t, struct git_flow, limit), "git in the sandbox took too long");
}

static void on_patience(struct ev *ev, struct ev_timer *t)
{
	struct git_flow *g = ev_owner(t, struct git_flow, patience);

	client_news_all(g->sup, g->phase == SYNCING ? "bringing your commits into the sandbox …"
						    : "importing commits of the sandbox …");
}

static void be_patient(struct git_flow *g)
{
	if (g->phase != RESTING && !g->patience.slot)
		ev_timer_set(g->sup->ev, &g->patience, PATIENCE_MS);
}

static void on_hint(struct ev *ev, struct ev_timer *t)
{
	struct git_flow *g = ev_owner(t, struct git_flow, hint);

	if (g->phase != RESTING) {
		ev_timer_set(ev, t, HINT_MS);
		return;
	}
	g->wants_import = g->wants_import || is_due_now(g);
	g->wants_sync = follows(g);
	go(g);
	sup_reconsider(g->sup);
}

static bool is_watched(const struct git_flow *g, int wd)
{
	for (size_t i = 0; i < g->n_watched; i++)
		if (g->watched[i] == wd)
			return true;
	return false;
}

void git_flow_hint(struct supervisor *s, int wd)
{
	struct git_flow *g = s->git;

	if (!g || g->hint.slot || (wd >= 0 && !is_watched(g, wd)))
		return;
	ev_timer_set(s->ev, &g->hint,
		     g->took_ms * HINT_SHARE > HINT_MS && client_any_runs(s) &&
				     now_ms() < g->began_ms + g->took_ms * HINT_SHARE
			     ? g->took_ms * HINT_SHARE
			     : HINT_MS);
}

bool git_flow_first(struct supervisor *s)
{
	struct git_flow *g = s->git;

	if (!g)
		return false;
	g->is_closed = false;
	/* The hint has not come to its time yet: the command must not see the state before. */
	if (g->hint.slot) {
		ev_timer_stop(s->ev, &g->hint);
		g->wants_import = g->wants_import || is_due_now(g);
		g->wants_sync = true;
	}
	return g->phase != RESTING || g->wants_import || g->wants_sync;
}

static void start_round(struct git_flow *g, bool looks)
{
	if (g->is_unwritten)
		write_stamp(g);
	g->wants_import = g->wants_import || (looks && g->phase == RESTING && is_due_now(g));
	go(g);
	be_patient(g);
}

void git_flow_kick(struct supervisor *s)
{
	if (s->git && can_run(s->git))
		start_round(s->git, true);
}

void git_flow_up(struct supervisor *s)
{
	if (s->git && can_run(s->git))
		start_round(s->git, !s->git_is_new);
}

/* Once: references of which there are too many to look at count as changed for ever. */
void git_flow_close(struct supervisor *s)
{
	/* A round that runs now may change references; its end comes here again. */
	if (!s->git || s->git->is_closed || s->git->phase != RESTING || !can_run(s->git))
		return;
	s->git->is_closed = true;
	/* The answer to the last command was given just now, after such a look. */
	if (s->git->clean_ms != now_ms())
		git_flow_kick(s);
}

bool git_flow_last(struct supervisor *s)
{
	struct git_flow *g = s->git;

	if (!g || !can_run(g))
		return false;
	ev_timer_stop(s->ev, &g->hint);
	g->wants_import = g->wants_import || is_changed(g) || (g->is_due && !client_any_runs(s));
	g->wants_sync = g->wants_sync || g->is_late;
	if (g->phase == RESTING && !g->wants_import && !g->wants_sync && !git_news_any(g->news)) {
		g->clean_ms = client_any_runs(s) ? 0 : now_ms();
		return false;
	}
	go(g);
	be_patient(g);
	return true;
}

bool git_flow_is_busy(const struct supervisor *s)
{
	return s->git && can_run(s->git) &&
	       (s->git->phase != RESTING || s->git->wants_import || s->git->wants_sync);
}

bool git_flow_is_ours(const struct supervisor *s, uint32_t id)
{
	return s->git && id && s->git->id == id;
}

void git_flow_cancel(struct supervisor *s)
{
	struct git_flow *g = s->git;

	if (!g || g->phase == RESTING)
		return;
	g->wants_import = g->wants_sync = false;
	give_up(g, "you interrupted it");
}

/* ---- the start ---- */

static void add_watch(struct git_flow *g, int fd, const char *name)
{
	const uint32_t what = IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR | IN_MASK_ADD;
	char path[64];
	int wd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d%s", fd, name);
	wd = inotify_add_watch(g->sup->watch, path, *name ? what | IN_DONT_FOLLOW : what);
	if (wd >= 0)
		g->watched[g->n_watched++] = wd;
}

/* Hints: each directory is watched by a descriptor that was opened before anything of the agent's
 * runs. Directories that are made later are seen after the next command. */
static void watch(struct git_flow *g, int at)
{
	cleanup_fd int refs = path_open_beneath(at, "refs", O_PATH | O_DIRECTORY, 0);

	if (at >= 0)
		add_watch(g, at, "");
	if (refs < 0)
		return;
	add_watch(g, refs, "");
	add_watch(g, refs, "/heads");
	add_watch(g, refs, "/tags");
}

static void watch_both(struct git_flow *g)
{
	const struct spec_git *of = &g->sup->spec->git;
	cleanup_fd int dir = open(of->dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int common = -1;

	watch(g, g->dir);
	watch(g, dir);
	if (streq(of->dir, of->common))
		return;
	common = open(of->common, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	watch(g, common);
}

int git_flow_start(struct supervisor *s, struct err *err)
{
	const struct spec_git *of = &s->spec->git;
	struct git_flow *g;
	int dir, r;

	/* What the checks of a loop make of their git directory is nobody's. */
	if (!of->private || !of->root || s->spec->checks)
		return 0;
	r = git_host_new(of, &s->git_host, err);
	if (r < 0)
		return r;
	dir = path_open_beneath(s->entry.dir, "git", O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open the sandbox's git directory");
	g = xcalloc(1, sizeof(*g));
	*g = (struct git_flow){.sup = s, .dir = dir, .answer = -1};
	g->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	g->hint.fn = on_hint;
	g->limit.fn = on_limit;
	g->patience.fn = on_patience;
	g->news = git_news_new(s);
	buf_init(&g->said, ANSWER_MAX);
	s->git = g;
	watch_both(g);
	compare_stamp(g);
	return 0;
}

void git_flow_let_go(struct supervisor *s)
{
	if (!s->git)
		return;
	closep(&s->git->dir);
	closep(&s->git->null);
}
