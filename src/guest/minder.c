#include "guest/minder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "guest/between.h"
#include "guest/payload.h"
#include "guest/terminal.h"
#include "base/sweep.h"

#define ROUND_MS 20	    /* between looks at a tree that is dying */
#define DYING_MAX_MS 30000  /* killed processes that do not go away are left to the kernel */
#define REAPS_PER_TURN 1024 /* processes may end faster than they can be reaped */

struct minder {
	const struct guest *g;
	uint32_t id;
	int sock;
	pid_t payload; /* 0 once it is reaped */
	int code;
	bool ending;
	bool suspended; /* the payload was stopped, which was said; until it is continued by order */
	struct between between;
	struct terminal_carry carry; /* of the inner half's */
};

/* Forks the payload and waits until it has become the command, or says why not. */
static int fork_payload(struct minder *m, struct wire_reader *r, struct payload_fds *fds,
			struct err *err)
{
	cleanup_fd int pipe_r = -1, pipe_w = -1;
	struct payload_failure f;
	int pipe[2];
	ssize_t n;

	if (pipe2(pipe, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	pipe_r = pipe[0];
	pipe_w = pipe[1];
	m->payload = fork();
	if (m->payload < 0)
		return err_sys(err, errno, "cannot start a process in the sandbox");
	fds->pipe = pipe_w;
	if (m->payload == 0)
		payload_run(m->g, r, fds);
	closep(&pipe_w);
	do
		n = read(pipe_r, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(f))
		return 0;
	*err = f.err;
	return f.eno ? -f.eno : -EIO;
}

/* The terminal becomes ours. One that is outside of this kernel came along: see guest/kernel/outer.h. */
static int start_terminal(struct minder *m, const int *outside, uint32_t rows, uint32_t cols,
			  int *ret_master, int *ret_slave, struct err *err)
{
	int r = terminal_open(m->g, rows, cols, ret_master, ret_slave, err);

	if (r < 0)
		return r;
	if (ioctl(*ret_slave, TIOCSCTTY, 0) < 0)
		return err_sys(err, errno, "cannot take the terminal");
	if (!m->g->within)
		return 0;
	r = terminal_carry_begin(&m->carry, *outside, *ret_master);
	if (r < 0)
		return err_sys(err, -r, "cannot copy a terminal");
	*ret_master = -1;
	return 0;
}

static size_t fds_of(const struct guest *g, uint32_t flags)
{
	return wire_exec_fds(flags) + (g->within && (flags & WIRE_EXEC_TTY));
}

static int start(struct minder *m, struct wire_msg *spawn, int *ret_master, struct err *err)
{
	cleanup_fd int slave = -1;
	struct payload_fds fds = {{spawn->fds[0], spawn->fds[1], spawn->fds[2]}, .program = -1};
	uint32_t flags, rows, cols;
	struct wire_reader reader;
	int r;

	wire_read(&reader, spawn);
	flags = wire_get_u32(&reader);
	rows = wire_get_u32(&reader);
	cols = wire_get_u32(&reader);
	fds.terminal = flags & WIRE_EXEC_TTY;
	if (reader.bad || (flags & ~WIRE_SPAWN_FLAGS) || spawn->n_fds != fds_of(m->g, flags) ||
	    ((flags & WIRE_EXEC_PROGRAM) && (flags & WIRE_EXEC_LOGIN)))
		return err_set(err, EPROTO, "the request to run a command is malformed");
	if (flags & WIRE_EXEC_PROGRAM)
		fds.program = spawn->fds[spawn->n_fds - 1];
	if (fds.terminal) {
		r = start_terminal(m, spawn->fds, rows, cols, ret_master, &slave, err);
		if (r < 0)
			return r;
		fds.stdio[0] = fds.stdio[1] = fds.stdio[2] = slave;
	} else if (!m->g->within && m->g->domain.abi < GUEST_LANDLOCK_FILES) {
		r = between_open(&m->between, fds.stdio, err);
		if (r < 0)
			return r;
	}
	r = fork_payload(m, &reader, &fds, err);
	between_started(&m->between);
	return r;
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Tells of a payload that was stopped. Once, until it is continued by order: it could stop and be
 * continued at any rate. Of others nobody wants to know, and a sweep stops them all. */
static void look_stopped(struct minder *m)
{
	siginfo_t info = {0};

	if (m->payload <= 0 || m->suspended || m->ending ||
	    waitid(P_PID, (id_t)m->payload, &info, WSTOPPED | WNOHANG) < 0 || info.si_pid == 0)
		return;
	m->suspended = true;
	guest_send_u32(m->sock, WIRE_SUSPENDED, m->id, 0, NULL, 0);
}

/* Reaps what has ended; true when no process is left beneath us. Having no child means having no
 * descendant: orphans would be our children. */
static bool reap(struct minder *m)
{
	for (int i = 0; i < REAPS_PER_TURN; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
			return false;
		if (pid < 0)
			return errno == ECHILD;
		if (pid == m->payload) {
			m->payload = 0;
			m->code = exit_code(status);
			m->ending = true;
		}
	}
	return false;
}

/* The group in the foreground of a terminal that is carried. */
static void signal_front(const struct minder *m, int sig)
{
	pid_t front = 0;

	if (ioctl(m->carry.fds[TERMINAL_INSIDE], TIOCGPGRP, &front) < 0 || front <= 1)
		front = m->payload;
	if (front > 1)
		(void)kill(-front, sig);
}

static void resize(struct minder *m, const struct wire_msg *msg)
{
	struct wire_reader r;
	uint32_t rows, cols;

	wire_read(&r, msg);
	rows = wire_get_u32(&r);
	cols = wire_get_u32(&r);
	if (wire_read_end(&r) < 0 || !m->carry.on ||
	    terminal_resize(m->carry.fds[TERMINAL_INSIDE], rows, cols) < 0)
		return;
	/* gVisor tells nobody. */
	signal_front(m, SIGWINCH);
}

static void obey(struct minder *m, const struct wire_msg *msg)
{
	struct wire_reader r;
	uint32_t sig;

	if (msg->type == WIRE_WINCH) {
		resize(m, msg);
		return;
	}
	wire_read(&r, msg);
	sig = wire_get_u32(&r);
	if (msg->type != WIRE_KILL || wire_read_end(&r) < 0)
		return;
	if (sig == SIGCONT)
		m->suspended = false;
	/* The payload was made the leader of its group. If it joins another, it misses signals. */
	if (sig == 0)
		m->ending = true;
	else if (m->payload > 0 && sig < _NSIG)
		(void)kill(-m->payload, (int)sig);
}

static void take_orders(struct minder *m)
{
	cleanup_wire_msg struct wire_msg msg;
	int r;

	wire_msg_init(&msg);
	r = wire_recv(m->sock, &msg);
	if (r == 1)
		obey(m, &msg);
	else if (r == 0)
		_exit(EXIT_RALPH); /* pid 1 let go of us: the tree is its own now */
}

/* The user is gone. The kernel would tell the group in the foreground, and so do we. */
static void hang_up(struct minder *m)
{
	signal_front(m, SIGHUP);
	for (int i = 0; i < 2; i++)
		closep(&m->carry.fds[i]);
	m->carry.on = false;
}

static void wait_for_news(struct minder *m, int sigfd, int timeout)
{
	struct pollfd p[4 + BETWEEN_MAX] = {{.fd = sigfd, .events = POLLIN},
					    {.fd = m->sock, .events = POLLIN}};
	struct signalfd_siginfo drop;

	terminal_carry_poll(&m->carry, p + 2);
	if (poll(p, 4 + between_poll(&m->between, p + 4), timeout) <= 0)
		return;
	between_copy(&m->between);
	if (!terminal_carry_copy(&m->carry))
		hang_up(m);
	if (p[0].revents)
		(void)!read(sigfd, &drop, sizeof(drop)); /* it only says that a signal came */
	if (p[1].revents)
		take_orders(m);
}

/* Everything that descends from us, until nothing does. */
static void end_tree(struct minder *m, int sigfd)
{
	uint64_t deadline = now_ms() + DYING_MAX_MS;

	sweep_start();
	while (!reap(m)) {
		enum sweep_result r = sweep_round(m->g->proc_fd, NULL, 0);

		if (r == SWEEP_ENDLESS || now_ms() > deadline)
			_exit(m->code);
		if (r != SWEEP_FOUND_NEW)
			wait_for_news(m, sigfd, ROUND_MS);
	}
}

/* A payload may signal us, being of the same user: what can be blocked is. */
static int block_signals(void)
{
	sigset_t set;

	(void)sigfillset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void minder_run(const struct guest *g, struct wire_msg *spawn, int sock)
{
	struct minder m = {.g = g,
			   .id = spawn->id,
			   .sock = sock,
			   .code = 128 + SIGKILL,
			   .carry = {.fds = {-1, -1}}};
	cleanup_fd int sigfd = block_signals(), master = -1;
	struct err err = {0};
	int r;

	if (sigfd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) < 0)
		_exit(EXIT_RALPH);
	/* Ctrl-Z stops a group of processes only if somebody of its session, but of another group,
	 * can continue it: the minder leads the session, the payload a group of its own. */
	if (setsid() < 0)
		_exit(EXIT_RALPH);
	r = start(&m, spawn, &master, &err);
	/* From here on the command's descriptors are only the command's: its pipes must close
	 * when it closes them. */
	wire_msg_done(spawn);
	if (r < 0) {
		guest_send_error(sock, m.id, -r, &err);
		end_tree(&m, sigfd);
		_exit(0);
	}
	guest_send_u32(sock, WIRE_SPAWNED, m.id, (uint32_t)m.payload, &master, master >= 0);
	closep(&master);
	while (!reap(&m) && !m.ending) {
		look_stopped(&m);
		wait_for_news(&m, sigfd, -1);
	}
	end_tree(&m, sigfd);
	between_drain(&m.between);
	terminal_carry_end(&m.carry);
	guest_send_u32(sock, WIRE_ENDED, m.id, (uint32_t)m.code, NULL, 0);
	_exit(0);
}
