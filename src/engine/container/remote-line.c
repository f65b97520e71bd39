#include "engine/container/remote-line.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pty.h"
#include "wire/remote.h"
#include "wire/guest-proto.h"

#define LEAVE_MS 10000 /* for the engine's program, when its command has ended */

/* A command: the program that carries its streams, and what the guest said of its end. */
struct carried {
	struct carried *next;
	uint32_t id;
	struct child client; /* pidfd -1: it has ended */
	int pty;	     /* master, until the command is started; -1: none */
	bool ended;
	uint64_t until; /* ms: then the client is ended */
	struct wire_msg end;
};

struct remote_line {
	const struct remote_words *words;
	int line, in, out; /* the supervisor; the outpost's stdin and stdout */
	struct child attached;
	struct carried *commands;
};

/* Nothing is worth a word any more; children die with us. */
static _Noreturn void leave(int code)
{
	_exit(code);
}

static void to_outpost(struct remote_line *f, enum wire_type type, uint32_t id,
		       const struct buf *body, const struct buf *program)
{
	if (remote_send(f->in, type, id, body, program) < 0)
		leave(EXIT_RALPH);
}

static void to_supervisor(struct remote_line *f, enum wire_type type, uint32_t id,
			  const struct buf *body, int fd)
{
	if (wire_send(f->line, type, id, body, &fd, fd >= 0) < 0)
		leave(EXIT_RALPH);
}

static void drop(struct remote_line *f, struct carried *c)
{
	struct carried **at = &f->commands;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	child_done(&c->client);
	closep(&c->pty);
	wire_msg_done(&c->end);
	free(c);
}

static struct carried *find(struct remote_line *f, uint32_t id)
{
	for (struct carried *c = f->commands; c; c = c->next)
		if (c->id == id)
			return c;
	return NULL;
}

/* ---- from the supervisor ---- */

static int start_client(struct remote_line *f, struct carried *c, const struct wire_msg *m,
			bool tty, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	cleanup_fd int slave = -1;
	struct run run = RUN_INIT;
	struct wire_reader rd;
	uint32_t rows, cols;

	wire_read(&rd, m);
	(void)wire_get_u32(&rd);
	rows = wire_get_u32(&rd);
	cols = wire_get_u32(&rd);
	if (tty) {
		c->pty = pty_open(rows, cols, &slave, err);
		if (c->pty < 0)
			return c->pty;
	}
	strv_push(&argv, f->words->program);
	strv_push(&argv, "exec");
	strv_push(&argv, tty ? "-it" : "-i");
	strv_push(&argv, f->words->outpost);
	strv_push(&argv, REMOTE_OUTPOST);
	strv_push(&argv, "attach");
	strv_pushf(&argv, "%u", m->id);
	if (tty)
		strv_push(&argv, "tty");
	run.argv = argv.v;
	run.env = f->words->client_env->v;
	run.dir = "/";
	run.flags = RUN_NEW_SESSION | RUN_DIE_WITH_US;
	for (int i = 0; i < 3; i++)
		run.stdio[i] = tty ? slave : m->fds[i];
	run.before_exec = tty ? pty_take : NULL;
	return run_start(&run, &c->client, err);
}

static void refuse(struct remote_line *f, uint32_t id, const char *msg)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, EIO);
	wire_put_str(&b, msg);
	to_supervisor(f, WIRE_ERROR, id, &b, -1);
}

/* Content of the sealed memory file that came with the frame. */
static int read_program(const struct wire_msg *m, struct buf *ret)
{
	int fd = m->fds[m->n_fds - 1];

	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_read_all(fd, ret);
}

static void on_spawn(struct remote_line *f, const struct wire_msg *m)
{
	struct carried *c = xcalloc(1, sizeof(*c));
	cleanup_buf struct buf program;
	struct wire_reader rd;
	struct err err = {0};
	uint32_t flags;
	int r = 0;

	buf_init(&program, REMOTE_PROGRAM_MAX);
	wire_read(&rd, m);
	flags = wire_get_u32(&rd);
	*c = (struct carried){.id = m->id, .client = {-1, -1}, .pty = -1, .next = f->commands};
	wire_msg_init(&c->end);
	f->commands = c;
	if (m->n_fds != wire_exec_fds(flags))
		r = err_set(&err, EPROTO, "the command's streams did not come along");
	if (r == 0 && (flags & (WIRE_EXEC_PROGRAM | WIRE_EXEC_LOGIN)) &&
	    read_program(m, &program) < 0)
		r = err_set(&err, EIO, "the program is too large to be sent there");
	if (r == 0)
		r = start_client(f, c, m, flags & WIRE_EXEC_TTY, &err);
	if (r == 0)
		to_outpost(f, WIRE_SPAWN, m->id, &m->body, &program);
	if (program.data)
		explicit_bzero(program.data, program.cap); /* it may hold a login */
	if (r == 0)
		return;
	refuse(f, m->id, err.msg);
	drop(f, c);
}

static void on_supervisor(struct remote_line *f)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(f->line, &m);
	if (r <= 0)
		leave(EXIT_OK);
	if (m.type == WIRE_SPAWN)
		on_spawn(f, &m);
	else
		to_outpost(f, m.type, m.id, &m.body, NULL);
}

/* ---- from the outpost ---- */

/* Both of its ends are known: what the command wrote has arrived. */
static void finish(struct remote_line *f, struct carried *c)
{
	to_supervisor(f, c->end.type, c->id, &c->end.body, -1);
	drop(f, c);
}

static void on_outpost(struct remote_line *f)
{
	struct wire_msg m;
	cleanup_buf struct buf none;
	struct carried *c;

	if (remote_recv(f->out, &m, &none) <= 0)
		leave(EXIT_RALPH);
	c = m.id ? find(f, m.id) : NULL;
	if (c && (m.type == WIRE_ENDED || m.type == WIRE_ERROR)) {
		c->end = m; /* its buffer with it */
		c->ended = true;
		c->until = now_ms() + LEAVE_MS;
		if (c->client.pidfd < 0)
			finish(f, c);
		return;
	}
	to_supervisor(f, m.type, m.id, &m.body, c && m.type == WIRE_SPAWNED ? c->pty : -1);
	if (c && m.type == WIRE_SPAWNED)
		closep(&c->pty);
	wire_msg_done(&m);
}

static void on_client_end(struct remote_line *f, struct carried *c)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	(void)run_wait(&c->client);
	c->client = (struct child){-1, -1};
	if (c->ended) {
		finish(f, c);
		return;
	}
	/* Nobody carries its streams: it ends, and we hear of it. */
	wire_put_u32(&b, 0);
	to_outpost(f, WIRE_KILL, c->id, &b, NULL);
}

/* ---- both ---- */

#define POLL_MAX (3 + GUEST_COMMANDS_MAX)

static size_t gather(struct remote_line *f, struct pollfd *p, struct carried **whose, int *ret_ms)
{
	uint64_t now = now_ms();
	size_t n = 2;

	p[0] = (struct pollfd){.fd = f->line, .events = POLLIN};
	p[1] = (struct pollfd){.fd = f->out, .events = POLLIN};
	*ret_ms = -1;
	for (struct carried *c = f->commands; c && n < POLL_MAX; c = c->next) {
		if (c->client.pidfd < 0)
			continue;
		if (c->ended && c->until <= now)
			child_kill(&c->client, SIGKILL);
		else if (c->ended && (*ret_ms < 0 || c->until - now < (uint64_t)*ret_ms))
			*ret_ms = (int)(c->until - now);
		whose[n] = c;
		p[n++] = (struct pollfd){.fd = c->client.pidfd, .events = POLLIN};
	}
	return n;
}

static _Noreturn void carry(struct remote_line *f)
{
	struct pollfd p[POLL_MAX];
	struct carried *whose[POLL_MAX];

	for (;;) {
		int ms;
		size_t n = gather(f, p, whose, &ms);

		if (poll(p, n, ms) < 0 && errno != EINTR)
			leave(EXIT_RALPH);
		/* One thing at a time: what is handled may free what comes after it. */
		for (size_t i = 0; i < n; i++) {
			if (!p[i].revents)
				continue;
			if (i == 0)
				on_supervisor(f);
			else if (i == 1)
				on_outpost(f);
			else
				on_client_end(f, whose[i]);
			break;
		}
	}
}

static int attach(struct remote_line *f, struct err *err)
{
	char *const argv[] = {(char *)(uintptr_t)f->words->program,
			      (char *)"start",
			      (char *)"--attach",
			      (char *)"--interactive",
			      (char *)(uintptr_t)f->words->outpost,
			      NULL};
	cleanup_fd int theirs_in = -1, theirs_out = -1;
	struct run run = RUN_INIT;
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	theirs_in = in[0];
	f->in = in[1];
	f->out = out[0];
	theirs_out = out[1];
	run.argv = argv;
	run.env = f->words->client_env->v;
	run.dir = "/";
	run.stdio[0] = theirs_in;
	run.stdio[1] = theirs_out;
	run.flags = RUN_NEW_SESSION | RUN_DIE_WITH_US;
	return run_start(&run, &f->attached, err);
}

static _Noreturn void remote_main(const struct remote_words *w, int line)
{
	struct remote_line f = {.words = w, .line = line};
	struct err err = {0};

	fd_close_rest(&line, 1);
	(void)signal(SIGPIPE, SIG_IGN);
	if (attach(&f, &err) < 0) {
		refuse(&f, 0, err.msg);
		leave(EXIT_RALPH);
	}
	carry(&f);
}

int remote_start(const struct remote_words *w, int *ret_line, struct child *ret, struct err *err)
{
	int pair[2], r = wire_pair(pair, err);
	pid_t pid;

	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		remote_main(w, pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		r = err_sys(err, errno, "cannot fork");
		(void)close(pair[0]);
		return r;
	}
	*ret = (struct child){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	*ret_line = pair[0];
	return 0;
}
