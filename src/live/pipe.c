#include "live/pipe.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cred/cred.h"
#include "live/live.h"
#include "record/runtime.h"
#include "wire/wire.h"

#define ANSWER_S 60

/* Every step counts: what fails leaves no file behind. $1: where the agent looks for it. */
static const char script[] = "umask 077\n"
			     "t=$(mktemp /tmp/.ralph-pipe.XXXXXXXX) || exit\n"
			     "wipe() { [ ! -e \"$t\" ] || { head -c \"$(wc -c <\"$t\")\" /dev/zero "
			     "| dd of=\"$t\" conv=notrunc "
			     "2>/dev/null; rm -f \"$t\"; }; }\n"
			     "trap wipe EXIT\n"
			     "cat >\"$t\" && mkdir -p \"${1%/*}\" && rm -f \"$1\" && cat \"$t\" "
			     ">\"$1\" && chmod 0400 \"$1\"\n";

static int send_exec(int conn, const char *target, int in, struct err *err)
{
	cleanup_fd int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[3] = {in, none, none};
	cleanup_strv struct strv argv, env;
	cleanup_buf struct buf b;
	int r;

	strv_init(&argv);
	strv_init(&env);
	buf_init(&b, WIRE_BODY_MAX);
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_push(&argv, script);
	strv_push(&argv, "ralph-pipe");
	strv_push(&argv, target);
	wire_put_u64(&b, ANSWER_S * 1000UL);
	wire_put_str(&b, "");
	wire_put_u32(&b, WIRE_EXEC_INHERIT);
	wire_put_u32(&b, 0);
	wire_put_u32(&b, 0);
	wire_put_str(&b, "/");
	wire_put_strv(&b, &argv);
	wire_put_strv(&b, &env);
	r = wire_send(conn, WIRE_EXEC, 0, &b, fds, ARRAY_SIZE(fds));
	return r < 0 ? err_sys(err, -r, "cannot reach the sandbox") : 0;
}

static int await_end(int conn, struct err *err)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};

	(void)setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		struct wire_reader rd;
		uint32_t code;
		int r;

		wire_msg_init(&m);
		r = wire_recv(conn, &m);
		if (r <= 0)
			return err_set(err, EAGAIN, "the sandbox ended just now");
		if (m.type == WIRE_STARTED || m.type == WIRE_NOTICE)
			continue;
		wire_read(&rd, &m);
		code = wire_get_u32(&rd);
		if (m.type != WIRE_EXITED || code != 0)
			return err_set(err, EIO, "the login could not be put into the sandbox");
		return 0;
	}
}

static int pipe_one(const struct places *p, const struct sandbox_spec *spec,
		    const struct spec_credential *c, struct err *err)
{
	const char *path = cred_source_is(c->source, "file");
	const char *target = strv_env_get(&c->options, "target");
	cleanup_(cred_wipe) struct buf b;
	cleanup_fd int conn = -1, in = -1;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = path && target ? cred_read_file(NULL, path, &b, NULL, err) : -EINVAL;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	/* A copy: whoever holds a descriptor of the file itself could open it again for writing. */
	in = fd_memfd("ralph-pipe", buf_str(&b), b.len);
	if (in < 0)
		return err_sys(err, -in, "cannot create a memory file");
	r = runtime_connect(p, spec->name, &conn, err);
	if (r == 0 && conn < 0)
		r = err_set(err, EAGAIN, "the sandbox ended just now");
	if (r == 0)
		r = send_exec(conn, target, in, err);
	return r < 0 ? r : await_end(conn, err);
}

int pipe_credentials(const struct places *p, const struct sandbox_spec *spec, int conn,
		     struct err *err)
{
	bool up = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_credentials; i++) {
		if (spec->credentials[i].way != SPEC_WAY_PIPE)
			continue;
		if (!up)
			r = live_wait_up(conn, spec->name, err);
		up = true;
		if (r == 0)
			r = pipe_one(p, spec, &spec->credentials[i], err);
	}
	return r;
}
