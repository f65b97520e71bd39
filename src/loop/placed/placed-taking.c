/*
 * Commits of nodes are taken over in a process of its own, so that the loop goes on meanwhile: a pack may be made to
 * take minutes, and other workers would lose their lease. One node's commits are taken over at a time, because imports
 * into a repository wait for each other; the others stand in a line. Nothing more is read from a node whose commits
 * are being taken over, while pings go on.
 */
#include "loop/placed/placed.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define ANSWER_MAX (64 * KiB)

/* ---- in the child ---- */

static void answer(int to, int r, const char *why, const struct err *err)
{
	cleanup_json json_t *j = json_pack("{si so so*}", "r", r, "msg", json_text(err->msg), "why",
					   why ? json_text(why) : NULL);
	cleanup_free char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	_exit(text && fd_write_all(to, text, strlen(text)) == 0 ? 0 : 1);
}

static void child(struct placed *p, int to, pid_t parent)
{
	struct run run = RUN_INIT;
	const int keep[] = {to, p->spool.dir, p->spool.pack};
	struct err err = {0};
	char *why = NULL;
	int r;

	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	r = run_become(&run);
	/* A stream that this process held would not end with its command. */
	fd_close_rest(keep, ARRAY_SIZE(keep));
	if (r < 0 || getppid() != parent)
		_exit(1);
	r = placed_take_commits(p->w, &p->spool, p->taking.head, &why, &err);
	answer(to, r, why, &err);
}

/* ---- the line ---- */

static void begin(struct placed *p);

static void leave_line(struct placed *p)
{
	struct loop *l = p->w->l;
	struct placed **at = &l->placed_takes;
	bool first = *at == p;

	while (*at && *at != p)
		at = &(*at)->taking.next;
	if (!*at)
		return;
	*at = p->taking.next;
	p->taking.next = NULL;
	if (first && l->placed_takes)
		begin(l->placed_takes);
}

void placed_take_stop(struct placed *p)
{
	struct placed_taking *t = &p->taking;
	struct ev *ev = p->w->l->ev;

	if (!t->head)
		return;
	/* What waits is read when more comes, unless the caller goes on at once. */
	if (p->s && --p->s->takes == 0 && p->s->state < STREAM_OVER && !p->s->eof)
		(void)ev_want(ev, &p->s->in_io, EPOLLIN);
	ev_timer_stop(ev, &t->late);
	if (t->from >= 0)
		(void)ev_want(ev, &t->io, 0);
	closep(&t->from);
	/* It was not waited for yet, so the number is still its own. */
	if (t->child.pid > 0) {
		(void)kill(t->child.pid, SIGKILL);
		(void)run_wait(&t->child);
	}
	buf_done(&t->answer);
	free(take_ptr(t->head));
	leave_line(p);
}

static void finish(struct placed *p, int r, char *why, struct err *err)
{
	cleanup_free char *head = xstrdup(p->taking.head);
	struct placed_stream *s = p->s;

	placed_take_stop(p);
	if (p->state != PLACED_OVER)
		placed_taken(p, head, r, why, err);
	else
		free(why);
	if (s)
		stream_go_on(s);
}

/* What the child says; without a whole answer it was killed. */
static void on_answer(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed *p = ev_owner(io, struct placed, taking.io);
	struct placed_taking *t = &p->taking;
	cleanup_json json_t *j = NULL;
	struct err err = {0};
	const char *msg = NULL, *why = NULL;
	char piece[4 * KiB];
	ssize_t n = read(t->from, piece, sizeof(piece));
	int r;

	if (n > 0 && buf_append(&t->answer, piece, (size_t)n) == 0)
		return;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	r = n ? -EIO : json_parse(buf_str(&t->answer), t->answer.len, &j, &err);
	if (r == 0)
		r = json_get_str(j, "msg", &msg, &err);
	if (r == 0)
		r = json_opt_str(j, "why", &why, &err);
	if (r < 0) {
		r = err_set(&err, EIO, "its commits cannot be taken over");
	} else {
		r = (int)json_integer_value(json_object_get(j, "r"));
		(void)err_set(&err, EIO, "%s", msg);
	}
	finish(p, r, xstrdup_or_null(why), &err);
}

static void on_late(struct ev *ev, struct ev_timer *timer)
{
	struct placed *p = ev_owner(timer, struct placed, taking.late);
	struct err err = {0};
	int r = err_set(&err, ETIMEDOUT, "its commits were not taken over within %d s",
			PLACED_TAKE_MS / 1000);

	finish(p, r, NULL, &err);
}

static int start(struct placed *p, struct err *err)
{
	struct placed_taking *t = &p->taking;
	struct ev *ev = p->w->l->ev;
	pid_t parent = getpid();
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	t->from = pipes[0];
	t->child.pid = fork();
	if (t->child.pid == 0)
		child(p, pipes[1], parent);
	(void)close(pipes[1]);
	if (t->child.pid < 0)
		return err_sys(err, errno, "cannot start a process");
	t->io = (struct ev_io){.fd = t->from, .fn = on_answer};
	t->late.fn = on_late;
	ev_timer_set(ev, &t->late, PLACED_TAKE_MS);
	return ev_want(ev, &t->io, EPOLLIN);
}

static void begin(struct placed *p)
{
	struct err err = {0};
	int r = start(p, &err);

	if (r < 0)
		finish(p, r, NULL, &err);
}

void placed_take(struct placed *p, const char *head)
{
	struct placed **at = &p->w->l->placed_takes;

	p->taking.head = xstrdup(head);
	p->taking.from = -1;
	p->taking.child = (struct child){.pid = -1, .pidfd = -1};
	buf_init(&p->taking.answer, ANSWER_MAX);
	p->s->takes++;
	stream_pause(p->s);
	while (*at)
		at = &(*at)->taking.next;
	*at = p;
	if (p->w->l->placed_takes == p)
		begin(p);
}
