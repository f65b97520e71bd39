#include "loop/job.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "record/connect.h"
#include "wire/wire.h"

#define PIECE (64 * KiB)
#define LAST_MS 2000 /* a pipe that nobody inside can hold any more is at its end long before */

static int send_exec(int conn, const struct job_command *c, const int fds[3])
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u64(&b, 0);
	wire_put_str(&b, "");
	wire_put_u32(&b, c->whole ? 0 : WIRE_EXEC_INHERIT);
	wire_put_u32(&b, 24);
	wire_put_u32(&b, 80);
	wire_put_str(&b, c->whole ? c->whole : "");
	wire_put_strv(&b, c->argv);
	wire_put_strv(&b, c->env);
	return wire_send(conn, WIRE_EXEC, 0, &b, fds, 3);
}

static void finish(struct job *j)
{
	if (j->over)
		return;
	j->over = true;
	ev_timer_stop(j->ev, &j->last);
	for (int i = 0; i < 2; i++)
		(void)ev_want(j->ev, &j->out_io[i], 0);
	(void)ev_want(j->ev, &j->conn_io, 0);
	j->handler->ended(j);
}

static void finish_when_read(struct job *j)
{
	if (j->exited && j->out_io[0].want == 0 && j->out_io[1].want == 0)
		finish(j);
}

static void fail_job(struct job *j, const char *why)
{
	if (!j->failure)
		j->failure = xstrdup(why);
	finish(j);
}

static void on_last(struct ev *ev, struct ev_timer *t)
{
	finish(ev_owner(t, struct job, last));
}

static void on_exited(struct job *j, struct wire_reader *r)
{
	j->code = (int)wire_get_u32(r);
	j->exited = true;
	ev_timer_set(j->ev, &j->last, LAST_MS);
	finish_when_read(j);
}

static void on_conn(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct job *j = ev_owner(io, struct job, conn_io);
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	const char *msg;
	int r;

	wire_msg_init(&m);
	r = wire_recv(j->conn, &m);
	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		(void)ev_want(ev, io, 0);
		if (!j->exited)
			fail_job(j, "the sandbox ended while the command ran");
		return;
	}
	wire_read(&rd, &m);
	switch ((unsigned)m.type) {
	case WIRE_EXITED:
		on_exited(j, &rd);
		break;
	case WIRE_FAILED:
		(void)wire_get_u32(&rd);
		msg = wire_get_str(&rd);
		fail_job(j, msg ? msg : "it cannot be run");
		break;
	case WIRE_STARTED:
		j->started = true;
		break;
	default: /* notices are shown when the sandbox ends */
		break;
	}
}

static void read_output(struct job *j, int i)
{
	char piece[PIECE];
	ssize_t n = read(j->out[i], piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		j->handler->output(j, i == 1, piece, (size_t)n);
		return;
	}
	(void)ev_want(j->ev, &j->out_io[i], 0);
	finish_when_read(j);
}

static void on_stdout(struct ev *ev, struct ev_io *io, uint32_t events)
{
	read_output(ev_owner(io, struct job, out_io[0]), 0);
}

static void on_stderr(struct ev *ev, struct ev_io *io, uint32_t events)
{
	read_output(ev_owner(io, struct job, out_io[1]), 1);
}

static int make_pipes(struct job *j, int theirs[2], struct err *err)
{
	for (int i = 0; i < 2; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return err_sys(err, errno, "cannot create a pipe");
		j->out[i] = fds[0];
		theirs[i] = fds[1];
		(void)fd_set_nonblock(fds[0], true);
	}
	return 0;
}

static int give(struct job *j, const struct job_command *c, struct err *err)
{
	cleanup_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int theirs[2] = {-1, -1}, r = make_pipes(j, theirs, err);

	if (r == 0) {
		r = send_exec(j->conn, c,
			      (const int[]){c->input >= 0 ? c->input : null, theirs[0], theirs[1]});
		if (r == -EMSGSIZE)
			r = err_usage(err, "arguments and environment are too long");
		else if (r < 0)
			r = err_sys(err, -r, "cannot reach the sandbox");
	}
	/* The parent's copies must be closed: a pipe ends only when every writer has closed it. */
	for (int i = 0; i < 2; i++)
		closep(&theirs[i]);
	return r;
}

int job_start(struct job *j, struct ev *ev, const struct places *p, const char *name,
	      const struct job_command *c, struct err *err)
{
	int r;

	j->ev = ev;
	j->conn = j->out[0] = j->out[1] = -1;
	j->last.fn = on_last;
	r = live_connect(p, name, &j->conn, err);
	if (r == 0 && j->conn < 0)
		r = err_set(err, ESRCH, "sandbox '%s' is not running", name);
	if (r == 0)
		r = give(j, c, err);
	if (r < 0) {
		job_done(j);
		return r;
	}
	(void)fd_set_nonblock(j->conn, true);
	j->conn_io = (struct ev_io){.fd = j->conn, .fn = on_conn};
	j->out_io[0] = (struct ev_io){.fd = j->out[0], .fn = on_stdout};
	j->out_io[1] = (struct ev_io){.fd = j->out[1], .fn = on_stderr};
	(void)ev_want(ev, &j->conn_io, EPOLLIN);
	(void)ev_want(ev, &j->out_io[0], EPOLLIN);
	(void)ev_want(ev, &j->out_io[1], EPOLLIN);
	return 0;
}

void job_signal(struct job *j, int sig)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (j->conn < 0 || j->exited)
		return;
	wire_put_u32(&b, (uint32_t)sig);
	(void)wire_send(j->conn, WIRE_SIGNAL, 0, &b, NULL, 0);
}

void job_done(struct job *j)
{
	ev_timer_stop(j->ev, &j->last);
	if (j->conn >= 0)
		(void)ev_want(j->ev, &j->conn_io, 0);
	for (int i = 0; i < 2; i++) {
		if (j->out[i] >= 0)
			(void)ev_want(j->ev, &j->out_io[i], 0);
		closep(&j->out[i]);
	}
	closep(&j->conn);
	free(j->failure);
	j->failure = NULL;
}
