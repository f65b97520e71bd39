#include "supervisor/host-minder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pty.h"
#include "base/sweep.h"

#define COMMAND_ID 1
#define ID_BYTES 16
#define LEAVE_MS 3000  /* for the program to notice that its command is gone */
#define SWEEP_MS 10000 /* for everything below us to be gone */
#define SWEEP_PAUSE 10 /* between two looks, in ms */

struct state {
	const struct minder *m;
	char id[2 * ID_BYTES + 1];
	struct child program;
	int pty; /* master; -1: no terminal */
	bool sandbox_ends;
	bool suspended; /* the program was stopped, which was said; until it is continued by order */
};

static void send(const struct state *s, enum wire_type type, uint32_t id, uint32_t value,
		 const char *msg, int fd)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, value);
	if (msg)
		wire_put_str(&b, msg);
	(void)wire_send(s->m->line, type, id, &b, &fd, fd >= 0);
}

static int make_id(char *ret, struct err *err)
{
	unsigned char raw[ID_BYTES];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return err_sys(err, errno, "cannot get random bytes");
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

/* before_exec: the session is the minder's, which can continue the program after Ctrl-Z; so the
 * program has a group of its own. A group that takes the foreground gets SIGTTOU for it. */
static int lead_group(void *arg)
{
	pid_t self = getpid();
	sigset_t stop, before;
	int r;

	if (setpgid(0, 0) < 0)
		return -errno;
	if (!*(const bool *)arg)
		return 0;
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &stop, &before);
	r = ioctl(STDIN_FILENO, TIOCSPGRP, &self) < 0 ? -errno : 0;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

static int open_terminal(struct state *s, int *ret_slave, struct err *err)
{
	const struct exec_frame *f = s->m->frame;

	s->pty = pty_open(f->rows, f->cols, ret_slave, err);
	if (s->pty < 0)
		return s->pty;
	return ioctl(*ret_slave, TIOCSCTTY, 0) < 0 ? err_sys(err, errno, "cannot take the terminal")
						   : 0;
}

static int start(struct state *s, struct err *err)
{
	const struct exec_frame *f = s->m->frame;
	cleanup_strv struct strv env = {0}, secrets = {0};
	const struct engine_command command = {
		.id = s->id,
		.cwd = f->cwd,
		.argv = &f->argv,
		.env = &env,
		.secrets = &secrets,
		.tty = f->flags & WIRE_EXEC_TTY,
	};
	cleanup_engine_call struct engine_call call = {0};
	cleanup_fd int slave = -1;
	struct run run = RUN_INIT;
	bool tty = command.tty;
	int r = make_id(s->id, err);

	strv_extend(&env, &f->env);
	if (r == 0)
		r = s->m->complete(s->m->arg, &env, &secrets, err);
	if (r == 0)
		r = engine_exec(s->m->engine, &command, &call, err);
	if (r == 0 && tty)
		r = open_terminal(s, &slave, err);
	if (r < 0)
		return r;
	run.argv = call.argv.v;
	run.env = call.env.v;
	run.dir = call.dir;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	for (int i = 0; i < 3; i++)
		run.stdio[i] = tty ? slave : s->m->stdio[i];
	run.before_exec = lead_group;
	run.arg = &tty;
	return run_start(&run, &s->program, err);
}

/*
 * Signals the command's processes that are not below us. With an engine whose commands are all
 * below us it does nothing and returns 0.
 */
static int signal_inside(const struct state *s, int sig, struct err *err)
{
	if (!engine_can_signal(s->m->engine) || s->sandbox_ends)
		return 0;
	return engine_signal(s->m->engine, s->id, sig, err);
}

static void end_inside(struct state *s)
{
	struct err err = {0};

	if (signal_inside(s, SIGKILL, &err) < 0)
		send(s, WIRE_ERROR, 0, EIO, err.msg, -1);
}

/* Once, until it is continued by order: a program could stop and be continued at any rate. */
static void say_suspended(struct state *s)
{
	if (!s->suspended)
		send(s, WIRE_SUSPENDED, COMMAND_ID, 0, NULL, -1);
	s->suspended = true;
}

static void on_kill(struct state *s, uint32_t sig)
{
	struct pollfd p = {.fd = s->program.pidfd, .events = POLLIN};
	struct err ignored;

	if (sig == SIGCONT)
		s->suspended = false;
	if (sig != 0 && engine_can_signal(s->m->engine)) {
		/* Another machine does not tell that a command of its own was stopped. */
		if (signal_inside(s, (int)sig, &ignored) == 0 && sig == SIGTSTP)
			say_suspended(s);
		return;
	}
	if (sig != 0) {
		(void)kill(-s->program.pid, (int)sig);
		return;
	}
	end_inside(s);
	if (engine_can_signal(s->m->engine) && !s->sandbox_ends)
		(void)poll(&p, 1, LEAVE_MS);
	child_kill(&s->program, SIGKILL);
}

/* false: nobody is left to hear of the command. */
static bool on_frame(struct state *s)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader r;
	uint32_t sig = 0;

	wire_msg_init(&m);
	if (wire_recv(s->m->line, &m) <= 0)
		return false;
	wire_read(&r, &m);
	if (m.type == WIRE_KILL)
		sig = wire_get_u32(&r);
	s->sandbox_ends = s->sandbox_ends || m.type == WIRE_STOP;
	on_kill(s, sig);
	return true;
}

static void on_child(struct state *s, int signals)
{
	struct signalfd_siginfo ignored;
	siginfo_t si = {0};

	(void)!read(signals, &ignored, sizeof(ignored));
	if (waitid(P_PID, (id_t)s->program.pid, &si, WSTOPPED | WNOHANG) == 0 && si.si_pid != 0)
		say_suspended(s);
}

static int watch_children(void)
{
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void watch(struct state *s, int signals)
{
	struct pollfd p[] = {{.fd = s->program.pidfd, .events = POLLIN},
			     {.fd = s->m->line, .events = POLLIN},
			     {.fd = signals, .events = POLLIN}};

	for (;;) {
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			return;
		if (p[2].revents)
			on_child(s, signals);
		if (p[1].revents && !on_frame(s)) {
			p[1].fd = -1;
			s->sandbox_ends = true; /* the guardian ends the sandbox */
			on_kill(s, 0);
		}
	}
}

/* A command may be asked for while its sandbox still starts. false: it is not wanted any more. */
static bool await_up(const struct minder *m)
{
	for (;;) {
		struct pollfd p = {.fd = m->line, .events = POLLIN};
		cleanup_wire_msg struct wire_msg msg;
		int r;

		wire_msg_init(&msg);
		r = wire_recv(m->line, &msg);
		if (r > 0)
			return msg.type == WIRE_UP;
		if (r != -EAGAIN)
			return false;
		(void)poll(&p, 1, -1);
	}
}

/* Ends processes of the command that stayed behind: daemons come back to their subreaper. */
static bool sweep(void)
{
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t deadline = now_ms() + SWEEP_MS;
	enum sweep_result r = SWEEP_FOUND_NEW;

	sweep_start();
	while (proc >= 0 && r != SWEEP_EMPTY && now_ms() < deadline) {
		r = sweep_round(proc, NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (r == SWEEP_KILLED)
			(void)poll(NULL, 0, SWEEP_PAUSE);
		if (r == SWEEP_ENDLESS)
			sweep_start();
	}
	return r == SWEEP_EMPTY;
}

/*
 * If the program is not the command itself, its absence does not mean that the command is missing.
 */
static uint32_t errno_of(const struct state *s, int r)
{
	return engine_can_signal(s->m->engine) ? EIO : (uint32_t)-r;
}

void minder_main(const struct minder *m)
{
	const int keep[] = {m->line,	m->stdio[0], m->stdio[1], m->stdio[2],
			    m->keep[0], m->keep[1],  m->keep[2]};
	struct state s = {.m = m, .program = {.pid = -1, .pidfd = -1}, .pty = -1};
	struct err err = {0};
	uint32_t code;
	int signals, r;

	fd_close_rest(keep, ARRAY_SIZE(keep));
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Ctrl-Z stops a group of processes only if somebody of its session, but of another group,
	 * can continue it. */
	(void)setsid();
	signals = watch_children();
	if (!await_up(m)) {
		send(&s, WIRE_ERROR, COMMAND_ID, ECANCELED, "the command was ended", -1);
		_exit(0);
	}
	r = start(&s, &err);
	if (r < 0) {
		send(&s, WIRE_ERROR, COMMAND_ID, errno_of(&s, r), err.msg, -1);
		_exit(0);
	}
	/* A pipe's reader sees its end only when every writer has closed. */
	for (int i = 0; i < 3; i++)
		if (m->stdio[i] > 2)
			(void)close(m->stdio[i]);
	send(&s, WIRE_SPAWNED, COMMAND_ID, (uint32_t)s.program.pid, NULL, s.pty);
	closep(&s.pty);
	watch(&s, signals);
	code = (uint32_t)run_wait(&s.program);
	end_inside(&s);
	if (!sweep())
		send(&s, WIRE_ERROR, 0, EIO, "processes of a command cannot be ended", -1);
	send(&s, WIRE_ENDED, COMMAND_ID, code, NULL, -1);
	_exit(0);
}
