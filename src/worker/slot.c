#include "worker/node.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/strv.h"
#include "engine/launch.h"
#include "view/lines.h"

#define LINE_MAX_LEN (16 * KiB)
#define WHY_LEN 500
#define PIECE (32 * KiB)

static const char *const state_names[] = {
	[SLOT_PACKS] = "packs", [SLOT_UNPACKS] = "unpacks", [SLOT_RUNS] = "runs",
	[SLOT_SENDS] = "sends", [SLOT_WAITS] = "waits",	    [SLOT_GONE] = "gone",
};
static_assert(ARRAY_SIZE(state_names) == SLOT_N, "one word per state");

static void slot_go(struct slot *s, enum slot_state next)
{
	log_debug("worker", "slot %u: %s -> %s", s->id, state_names[s->state], state_names[next]);
	s->state = next;
}

static void gone(struct slot *s)
{
	if (s->state == SLOT_GONE)
		return;
	slot_go(s, SLOT_GONE);
	ev_timer_stop(s->n->ev, &s->kill);
	node_slot_gone(s->n, s);
}

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	slot_free(ev_owner(d, struct slot, gone));
}

/* ---- programs ---- */

static int program(struct slot *s, char *const argv[], const struct strv *env, int out, int err_fd,
		   const int keep[2], struct child *ret, struct err *err)
{
	struct run run = RUN_INIT;

	run.argv = argv;
	run.env = env->v;
	run.dir = s->dir;
	run.stdio[1] = out;
	run.stdio[2] = err_fd;
	/* What is typed at a terminal reaches this process only. */
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	for (int i = 0; keep && i < 2; i++)
		run_keep(&run, keep[i]);
	return run_start(&run, ret, err);
}

/* ---- the loop's output ---- */

static void on_line(void *arg, const char *line, size_t n)
{
	struct slot *s = arg;

	if (n > FLEET_BODY_MAX)
		n = FLEET_BODY_MAX;
	hold_tell(s->n->hold, "[%s] %.*s", s->task.task, (int)n, line);
	(void)fleet_put(&s->n->out, FLEET_LINE, s->id, line, n);
	node_flush(s->n);
}

/* The loop prints its summary after each iteration, and at its end. */
static void on_summary(void *arg, const char *line, size_t n)
{
	struct slot *s = arg;
	struct err err = {0};
	json_t *j = NULL;

	if (n == 0)
		return;
	if (json_parse(line, n, &j, &err) < 0 || !json_is_object(j)) {
		json_decref(j);
		log_warn("worker", "the loop prints no summary: %s", err.msg);
		return;
	}
	json_decref(s->summary);
	s->summary = j;
	if (json_integer_value(json_object_get(j, "exit_code")) < 0)
		slot_send_checkpoint(s);
}

static void read_pipe(struct ev_io *io, int fd, struct lines *lines, lines_fn *fn, struct slot *s)
{
	char piece[PIECE];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		lines_add(lines, piece, (size_t)n, fn, s);
	/* A home that takes nothing lets the loop wait. */
	if (n <= 0 || !node_has_room(s->n))
		(void)ev_want(s->n->ev, io, 0);
	if (n <= 0)
		io->fd = -1;
}

static void loop_is_over(struct slot *s);

static void on_out(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct slot *s = ev_owner(io, struct slot, out_io);

	read_pipe(io, s->out, s->out_lines, on_summary, s);
	loop_is_over(s);
}

static void on_err(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct slot *s = ev_owner(io, struct slot, err_io);

	read_pipe(io, s->err, s->err_lines, on_line, s);
	loop_is_over(s);
}

/* It has ended, and all it printed was read. */
static void loop_is_over(struct slot *s)
{
	if (s->state != SLOT_RUNS || !s->ended || s->out_io.fd >= 0 || s->err_io.fd >= 0 ||
	    !people_over(s->people))
		return;
	lines_end(s->out_lines, on_summary, s);
	lines_end(s->err_lines, on_line, s);
	slot_go(s, SLOT_SENDS);
	slot_send_end(s);
}

void slot_people_over(struct slot *s)
{
	loop_is_over(s);
}

static void on_loop(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct slot *s = ev_owner(io, struct slot, loop_io);

	(void)ev_want(ev, io, 0);
	s->code = run_wait(&s->loop);
	s->ended = true;
	ev_timer_stop(ev, &s->kill);
	loop_is_over(s);
}

static struct lines *lines_new(size_t max)
{
	struct lines *l = xcalloc(1, sizeof(*l));

	lines_init(l, max);
	return l;
}

static void watch_loop(struct slot *s)
{
	struct ev *ev = s->n->ev;

	(void)fd_set_nonblock(s->out, true);
	(void)fd_set_nonblock(s->err, true);
	s->out_lines = lines_new(FLEET_MESSAGE_MAX);
	s->err_lines = lines_new(LINE_MAX_LEN);
	s->out_io = (struct ev_io){.fd = s->out, .fn = on_out};
	s->err_io = (struct ev_io){.fd = s->err, .fn = on_err};
	s->loop_io = (struct ev_io){.fd = s->loop.pidfd, .fn = on_loop};
	(void)ev_want(ev, &s->out_io, EPOLLIN);
	(void)ev_want(ev, &s->err_io, EPOLLIN);
	(void)ev_want(ev, &s->loop_io, EPOLLIN);
}

static int start_loop(struct slot *s, struct err *err)
{
	cleanup_free char *libexec = launch_programs(), *path = path_join(libexec, "loop");
	cleanup_free char *number = NULL, *line = path_join(s->dir, "line");
	cleanup_fd int request = -1, out = -1, err_fd = -1;
	cleanup_strv struct strv env = {0};
	char *argv[3] = {path};
	int a[2], b[2], keep[2], r = slot_request(s, &request, err);

	if (r == 0)
		s->relay = relay_new(s, line, err);
	if (r < 0 || !s->relay)
		return r < 0 ? r : -EIO;
	if (pipe2(a, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	s->out = a[0];
	out = a[1];
	if (pipe2(b, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	s->err = b[0];
	err_fd = b[1];
	slot_environ(s, &env);
	number = xasprintf("%d", request);
	argv[1] = number;
	keep[0] = request;
	keep[1] = people_theirs(s->people);
	r = program(s, argv, &env, out, err_fd, keep, &s->loop, err);
	people_given(s->people);
	if (r == 0)
		watch_loop(s);
	return r;
}

/* ---- the pack of the base ---- */

static void on_unpacked(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct slot *s = ev_owner(io, struct slot, work_io);
	struct err err = {0};
	char said[WHY_LEN + 1] = "";
	ssize_t n;
	int code;

	(void)ev_want(ev, io, 0);
	code = run_wait(&s->work);
	n = read(s->work_out, said, WHY_LEN);
	said[n > 0 ? strcspn(said, "\n") : 0] = '\0';
	closep(&s->work_out);
	if (s->stopping) {
		slot_fail(s, 128 + SIGTERM, "stopped");
		return;
	}
	if (code != 0) {
		slot_fail(s, EXIT_RUNTIME, said[0] ? said : "the base commit cannot be taken");
		return;
	}
	slot_go(s, SLOT_RUNS);
	if (start_loop(s, &err) < 0)
		slot_fail(s, EXIT_RUNTIME, err.msg);
}

static int unpack(struct slot *s, struct err *err)
{
	cleanup_free char *libexec = launch_programs(), *path = path_join(libexec, "worker");
	cleanup_strv struct strv env = {0};
	cleanup_json json_t *how = json_pack("{ss ss ss ss ss}", "base", s->task.base, "start",
					     s->task.start, "branch", s->task.branch, "name",
					     s->task.author_name, "email", s->task.author_email);
	cleanup_free char *text = json_dumps(how, JSON_COMPACT);
	cleanup_fd int out = -1;
	char *argv[] = {path, (char *)(uintptr_t) "unpack", s->dir, NULL};
	int fds[2], r;

	r = path_write_atomic(s->root, "unpack.json", text, strlen(text), 0600, 0);
	if (r < 0)
		return err_sys(err, -r, "cannot write '%s/unpack.json'", s->dir);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	s->work_out = fds[0];
	out = fds[1];
	slot_environ(s, &env);
	r = program(s, argv, &env, out, out, NULL, &s->work, err);
	if (r < 0)
		return r;
	s->work_io = (struct ev_io){.fd = s->work.pidfd, .fn = on_unpacked};
	return ev_want(s->n->ev, &s->work_io, EPOLLIN);
}

static int take_pack(struct slot *s, const struct fleet_msg *m, struct err *err)
{
	int r;

	/* The task failed here while home was sending. */
	if (s->state >= SLOT_SENDS)
		return 0;
	if (s->state != SLOT_PACKS || s->pack_done)
		return err_set(err, EPROTO, "a pack came that nothing asked for");
	s->pack_bytes += m->len;
	if (s->pack_bytes > FLEET_PACK_MAX)
		return err_set(err, EPROTO, "the pack is larger than %zu MiB",
			       FLEET_PACK_MAX / MiB);
	SHA256Update(&s->pack_sum, (const uint8_t *)m->data, m->len);
	r = m->len ? fd_write_all(s->pack, m->data, m->len) : 0;
	/* A full disk is this node's, and no reason to end the stream. */
	if (r < 0) {
		slot_fail(s, EXIT_RUNTIME, "the node cannot store the base commit");
		return 0;
	}
	s->pack_done = !m->more;
	return 0;
}

static int take_go(struct slot *s, const struct fleet_msg *m, struct err *err)
{
	char sha256[SHA256_DIGEST_STRING_LENGTH] = "";
	struct fleet_pack_end end;
	int r = fleet_pack_end_read(m, &end, err);
	bool whole = false;

	if (r < 0)
		return r;
	if (s->state >= SLOT_SENDS) {
		fleet_done(&end);
		return 0;
	}
	closep(&s->pack);
	if (s->state != SLOT_PACKS || !streq(end.lease, s->task.lease) ||
	    !streq(end.head, s->task.start))
		r = err_set(err, EPROTO, "GO is not of this task");
	if (r == 0)
		whole = SHA256End(&s->pack_sum, sha256) && s->pack_done &&
			end.bytes == s->pack_bytes && streq(end.sha256, sha256);
	fleet_done(&end);
	if (r < 0)
		return r;
	if (!whole) {
		slot_fail(s, EXIT_RUNTIME, "the pack of the base commit is not whole");
		return 0;
	}
	slot_go(s, SLOT_UNPACKS);
	if (unpack(s, err) < 0)
		slot_fail(s, EXIT_RUNTIME, err->msg);
	return 0;
}

/* ---- from home ---- */

static int take_ack(struct slot *s, const struct fleet_msg *m, struct err *err)
{
	struct fleet_ack a;
	int r = fleet_ack_read(m, &a, err);

	if (r < 0)
		return r;
	if (streq(a.lease, s->task.lease) && !a.verdict && s->head && streq(a.head, s->head)) {
		free(s->acked);
		s->acked = xstrdup(a.head);
	}
	if (streq(a.lease, s->task.lease) && a.verdict && s->state == SLOT_WAITS)
		gone(s);
	fleet_done(&a);
	return 0;
}

int slot_take(struct slot *s, const struct fleet_msg *m, struct err *err)
{
	struct fleet_ask a;
	uint64_t ms;
	bool now;
	int r = 0;

	switch ((unsigned)m->type) {
	case FLEET_PACK:
		return take_pack(s, m, err);
	case FLEET_GO:
		return take_go(s, m, err);
	case FLEET_ACK:
		return take_ack(s, m, err);
	case FLEET_STOP:
		r = fleet_stop_read(m, &now, err);
		if (r == 0)
			slot_stop(s, now);
		return r;
	case FLEET_LIMIT:
		r = fleet_limit_read(m, &ms, err);
		if (r == 0 && slot_limit(s, ms) < 0)
			log_warn("worker", "cannot write down the provider's limit, ignoring it");
		return r;
	case FLEET_ANSWER:
		r = fleet_ask_read(m, &a);
		if (r == 0 && s->relay)
			r = relay_answer(s->relay, &a);
		fleet_wipe(m);
		break;
	case FLEET_RULES:
	case FLEET_REPLY:
		r = s->people ? people_take(s->people, m) : 0;
		break;
	case FLEET_OPENED:
	case FLEET_DATA:
	case FLEET_CLOSE:
	case FLEET_WINDOW:
		r = s->tunnels ? tunnels_take(s->tunnels, m) : 0;
		break;
	default: /* reserved, or of a later task */
		break;
	}
	return r < 0 ? err_set(err, EPROTO, "%s is malformed", fleet_type_name(m->type)) : 0;
}

/* ---- the end ---- */

static void on_kill(struct ev *ev, struct ev_timer *t)
{
	struct slot *s = ev_owner(t, struct slot, kill);

	if (s->state == SLOT_WAITS || s->state == SLOT_SENDS) {
		s->code = -1; /* home has not taken it */
		gone(s);
		return;
	}
	child_kill(&s->loop, SIGKILL);
	child_kill(&s->work, SIGKILL);
}

void slot_stop(struct slot *s, bool now)
{
	bool again = s->stopping;

	if (!now && s->state == SLOT_RUNS && !s->ended) {
		child_kill(&s->loop, SIGINT); /* after the iteration */
		return;
	}
	s->stopping = true;
	if (s->n->deaf &&
	    (s->state == SLOT_WAITS || s->state == SLOT_SENDS || s->state == SLOT_PACKS)) {
		s->code = -1;
		gone(s);
		return;
	}
	if (again)
		return;
	ev_timer_set(s->n->ev, &s->kill,
		     s->state == SLOT_RUNS || s->state == SLOT_UNPACKS ? NODE_KILL_MS
								       : NODE_LAST_MS);
	if (s->state == SLOT_RUNS && !s->ended)
		child_kill(&s->loop, SIGTERM);
	else if (s->state == SLOT_UNPACKS)
		child_kill(&s->work, SIGTERM);
	else if (s->state == SLOT_PACKS)
		slot_fail(s, 128 + SIGTERM, "stopped");
}

void slot_fail(struct slot *s, int code, const char *why)
{
	if (s->state >= SLOT_SENDS)
		return;
	s->code = code;
	free(s->why);
	s->why = xstrndup(why, WHY_LEN);
	slot_go(s, SLOT_SENDS);
	slot_send_end(s);
}

void slot_sent(struct slot *s)
{
	slot_go(s, SLOT_WAITS);
	if (s->n->deaf) {
		s->code = -1;
		gone(s);
		return;
	}
	if (s->stopping)
		ev_timer_set(s->n->ev, &s->kill, NODE_LAST_MS);
}

void slot_resume(struct slot *s)
{
	if (s->out_io.fd >= 0 && s->out_lines)
		(void)ev_want(s->n->ev, &s->out_io, EPOLLIN);
	if (s->err_io.fd >= 0 && s->err_lines)
		(void)ev_want(s->n->ev, &s->err_io, EPOLLIN);
	if (s->send)
		slot_send_more(s);
	if (s->people)
		people_resume(s->people);
	if (s->tunnels)
		tunnels_resume(s->tunnels);
}

/* ---- the beginning ---- */

static int open_tunnels(struct slot *s, struct err *err)
{
	bool proxy = streq(s->task.egress, "home"), endpoints = false;
	const json_t *row;
	size_t i;

	json_array_foreach (s->task.credentials, i, row)
		endpoints = endpoints || slot_row_dials_home(row);
	if (!proxy && !endpoints)
		return 0;
	s->tunnels = tunnels_new(s, proxy, endpoints, err);
	return s->tunnels ? 0 : -EIO;
}

static int open_slot(struct slot *s, struct err *err)
{
	int r = open_tunnels(s, err);

	if (r == 0)
		r = slot_files_make(s, err);
	if (r < 0)
		return r;
	s->people = people_new(s, err);
	if (!s->people)
		return -EIO;
	s->pack = openat(s->root, "in.pack", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->pack < 0)
		return err_sys(err, errno, "cannot make '%s/in.pack'", s->dir);
	return 0;
}

int slot_new(struct node *n, const struct fleet_msg *m, struct err *err)
{
	const struct child none = {.pid = -1, .pidfd = -1};
	struct slot *s;
	int r;

	if (n->slots[m->id])
		return err_set(err, EPROTO, "TASK came for slot %u, which has one", m->id);
	s = xcalloc(1, sizeof(*s));
	s->n = n;
	s->id = m->id;
	s->root = s->pack = s->out = s->err = s->work_out = -1;
	s->out_io.fd = s->err_io.fd = -1;
	s->loop = s->work = none;
	SHA256Init(&s->pack_sum);
	s->gone.fn = on_gone;
	s->kill.fn = on_kill;
	r = fleet_task_read(m, &s->task, err);
	if (r < 0) {
		slot_free(s);
		return r;
	}
	n->slots[m->id] = s;
	s->acked = xstrdup(s->task.start);
	s->send = slot_send_new(s);
	if (open_slot(s, err) < 0)
		slot_fail(s, EXIT_RUNTIME, err->msg);
	return 0;
}

static void end_program(struct slot *s, struct child *c, struct ev_io *io)
{
	if (c->pid <= 0)
		return;
	(void)ev_want(s->n->ev, io, 0);
	child_done(c);
}

static void close_pipe(struct slot *s, struct ev_io *io, int *fd)
{
	if (io->fd >= 0 && io->want)
		(void)ev_want(s->n->ev, io, 0);
	closep(fd);
}

static void free_lines(struct lines *l)
{
	if (l)
		lines_done(l);
	free(l);
}

void slot_free(struct slot *s)
{
	struct err ignored;

	end_program(s, &s->loop, &s->loop_io);
	s->send = slot_send_free(s->send);
	end_program(s, &s->work, &s->work_io);
	s->relay = relay_free(s->relay);
	s->people = people_free(s->people);
	s->tunnels = tunnels_free(s->tunnels);
	ev_timer_stop(s->n->ev, &s->kill);
	close_pipe(s, &s->out_io, &s->out);
	close_pipe(s, &s->err_io, &s->err);
	closep(&s->work_out);
	closep(&s->pack);
	closep(&s->root);
	free_lines(s->out_lines);
	free_lines(s->err_lines);
	/* Of several tasks, the next one of this slot finds nothing of the last one. */
	if (s->dir && s->n->max_slots > 1)
		(void)path_remove_tree(AT_FDCWD, s->dir, &ignored);
	json_decref(s->summary);
	fleet_done(&s->task);
	free(s->dir);
	free(s->workspace);
	free(s->acked);
	free(s->head);
	free(s->why);
	free(s);
}
