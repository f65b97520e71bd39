#include "check/inside.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "record/connect.h"
#include "wire/wire.h"

#define GRACE_MS 10000 /* beyond the command's own time: the sandbox ends what is left of it */

static int send_exec(int conn, const struct inside *in, const int fds[4])
{
	cleanup_strv struct strv none;
	cleanup_buf struct buf b;

	strv_init(&none);
	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u64(&b, in->timeout_ms);
	wire_put_str(&b, "");
	wire_put_u32(&b, WIRE_EXEC_INHERIT | (in->program ? WIRE_EXEC_PROGRAM : 0));
	wire_put_u32(&b, 24);
	wire_put_u32(&b, 80);
	wire_put_str(&b, "");
	wire_put_strv(&b, in->argv);
	wire_put_strv(&b, &none);
	return wire_send(conn, WIRE_EXEC, 0, &b, fds, in->program ? 4 : 3);
}

static int send_expected(int conn, const struct strv *hosts)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (!hosts || hosts->n == 0)
		return 0;
	wire_put_strv(&b, hosts);
	return wire_send(conn, WIRE_EXPECT, 0, &b, NULL, 0);
}

static int start(int conn, const char *path, const struct inside *in, int *ret_out, struct err *err)
{
	cleanup_fd int program = path ? fd_program(path) : -1;
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup_fd int r_end = -1, w_end = -1;
	int pipe[2], r;

	if (path && program < 0)
		return err_sys(err, -program, "cannot read '%s'", path);
	if (null < 0)
		return err_sys(err, errno, "cannot open /dev/null");
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	r_end = pipe[0];
	w_end = pipe[1];
	r = send_expected(conn, in->expected);
	if (r == 0)
		r = send_exec(
			conn, in,
			(const int[]){in->input >= 0 ? in->input : null, w_end, null, program});
	if (r < 0)
		return err_sys(err, -r, "cannot reach the sandbox");
	*ret_out = take_fd(r_end);
	return 0;
}

enum { RUNNING, ENDED, GONE }; /* the command; the command and the sandbox */

/* Reads one frame of the supervisor and tells whether the command, or the sandbox, has ended. */
static int hear(int conn, int *ret_code, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	const char *msg;
	int r;

	wire_msg_init(&m);
	r = wire_recv(conn, &m);
	if (r <= 0)
		return err_set(err, EIO, "the sandbox ended meanwhile");
	wire_read(&rd, &m);
	switch ((unsigned)m.type) {
	case WIRE_STARTED:
	case WIRE_NEWS:
	case WIRE_NOTICE: /* of the workspace, for those who work in it */
		return RUNNING;
	case WIRE_EXITED:
		*ret_code = (int)wire_get_u32(&rd);
		if (wire_get_u32(&rd))
			return err_set(err, ETIMEDOUT, "it does not come to an end");
		return wire_get_u32(&rd) ? GONE : ENDED;
	case WIRE_FAILED:
		(void)wire_get_u32(&rd);
		msg = wire_get_str(&rd);
		return err_set(err, EIO, "%s", msg ? msg : "it cannot be run");
	default:
		return err_set(err, EPROTO, "the supervisor speaks another language");
	}
}

/* 1 at the end of its output. */
static int take(int fd, struct buf *out, struct err *err)
{
	char piece[16 * 1024];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : err_sys(err, errno, "cannot read");
	if (n > 0 && buf_append(out, piece, (size_t)n) < 0)
		return err_set(err, ENOBUFS, "it says more than %zu bytes", out->max);
	return n == 0;
}

/* The connection's end, after which nothing of the sandbox is left. */
static int at_end(int conn)
{
	char c;

	return recv(conn, &c, 1, MSG_DONTWAIT) <= 0 && errno != EAGAIN ? GONE : ENDED;
}

static int collect(int conn, int fd, uint64_t limit_ms, struct buf *out, int *ret_code,
		   struct err *err)
{
	uint64_t end = now_ms() + limit_ms + GRACE_MS;
	int state = RUNNING;
	bool silent = false;

	while (state != GONE || !silent) {
		struct pollfd p[] = {{.fd = state == GONE ? -1 : conn, .events = POLLIN},
				     {.fd = silent ? -1 : fd, .events = POLLIN}};
		uint64_t now = now_ms();
		int r = now < end ? poll(p, ARRAY_SIZE(p), (int)(end - now)) : 0;

		if (r == 0)
			return err_set(err, ETIMEDOUT, "the sandbox does not answer");
		if (r < 0 && errno != EINTR)
			return err_sys(err, errno, "poll");
		r = r > 0 && p[1].revents ? take(fd, out, err) : 0;
		if (r < 0)
			return r;
		silent = silent || r > 0;
		if (p[0].revents)
			state = state == ENDED ? at_end(conn) : hear(conn, ret_code, err);
		if (state < 0)
			return state;
	}
	return 0;
}

int inside_run(const struct places *p, const char *name, const struct inside *in, struct buf *out,
	       int *ret_code, struct err *err)
{
	cleanup_free char *path = in->program ? places_program(p, in->program) : NULL;
	cleanup_fd int own = -1, fd = -1;
	int conn = in->conn, r = conn < 0 ? live_connect(p, name, &own, err) : 0;

	if (conn < 0)
		conn = own;
	if (r == 0 && conn < 0)
		r = err_set(err, ESRCH, "sandbox '%s' is not running", name);
	if (r == 0)
		r = start(conn, path, in, &fd, err);
	if (r == 0)
		r = collect(conn, fd, in->timeout_ms, out, ret_code, err);
	return r;
}
