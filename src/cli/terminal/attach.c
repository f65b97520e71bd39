/*
 * DOC: Theory of operation
 *
 * The command's frame goes out with three descriptors, or with none when it gets a terminal; then
 * one event loop waits for the supervisor's answers, for signals to pass on, and moves bytes for
 * whatever was not handed in:
 *
 *	no terminal            our 0, 1, 2 are the command's own; nothing to move
 *	stdin is a terminal    terminal → pipe, or nothing at all (no_typing)
 *	stdout or stderr is    pipe → filter → terminal
 *	-t                     terminal → pty master → filter → terminal, in raw mode
 *
 * Ctrl-Z stops the command, by the terminal inside or by the SIGTSTP that we pass on. The supervisor
 * tells us (WIRE_SUSPENDED), and only then do we stop as well, with a terminal as the shell left it: a
 * command that does not stop keeps us. When the shell continues us, the command is continued.
 *
 * The end of the connection after WIRE_EXITED is the sandbox's word that nothing is left; where the
 * sandbox stays, WIRE_EXITED is the last word.
 */
#include "cli/terminal/attach.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/ev.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/terminal/relay.h"
#include "wire/wire.h"

/* Below this ABI of Landlock a file handed in could be truncated through /proc/self/fd. */
#define LANDLOCK_ABI_FILES 3
#define LANDLOCK_VERSION_QUERY 1u

#define NOTICES_MAX 64 /* kept back; a supervisor sends no more than so many at a time */

static const int forwarded[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP,
};

struct session {
	const struct attach *a;
	struct ev *ev;
	struct err *err;
	int conn, signals, pty;
	int give[3];		/* descriptors for the command */
	int ours[3];		/* our end of a pipe that took a descriptor's place; -1: none */
	struct relay relays[3]; /* by stdin, stdout, stderr; with a pty: its two directions */
	struct ev_io conn_io, signal_io;
	struct strv notices, news; /* shown when the terminal is ours again */
	bool raw;
	struct termios saved;
	bool answered; /* the supervisor took the command */
	bool ended, stop_key;
	int code, result;
};

static bool file_needs_pipe(int fd)
{
	static long abi = -1;
	struct stat st;
	int flags;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	/*
	 * `>> file` means that what is there stays; a process with the descriptor could truncate
	 * the file and take the flag away.
	 */
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && (flags & O_APPEND) && (flags & O_ACCMODE) != O_RDONLY)
		return true;
	if (abi < 0)
		abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_QUERY);
	return abi < LANDLOCK_ABI_FILES;
}

static int check_fd(int i, struct err *err)
{
	static const char *const names[] = {"stdin", "stdout", "stderr"};
	struct stat st;

	if (fstat(i, &st) < 0)
		return 0; /* closed: the command gets /dev/null */
	if (S_ISDIR(st.st_mode))
		return err_set(
			err, EISDIR,
			"%s is a directory, which would open everything above it; give a file or "
			"a pipe",
			names[i]);
	return 0;
}

/* Decides what the command gets for descriptor i, and makes it. */
static int prepare_fd(struct session *s, int i, struct err *err)
{
	int fds[2], r = check_fd(i, err);

	if (r < 0)
		return r;
	if (fcntl(i, F_GETFD) < 0 || (i == 0 && s->a->no_typing && isatty(i))) {
		s->give[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		return s->give[i] < 0 ? err_sys(err, errno, "cannot open /dev/null") : 0;
	}
	if (!isatty(i) && !file_needs_pipe(i)) {
		s->give[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
		return s->give[i] < 0 ? err_sys(err, errno, "cannot copy a descriptor") : 0;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	s->give[i] = fds[i == 0 ? 0 : 1];
	s->ours[i] = fds[i == 0 ? 1 : 0];
	return fd_set_nonblock(s->ours[i], true);
}

static int prepare(struct session *s, struct err *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 3; i++)
		r = s->a->tty ? 0 : prepare_fd(s, i, err);
	return r;
}

static int send_exec(struct session *s, struct err *err)
{
	struct winsize ws = {.ws_row = 24, .ws_col = 80};
	cleanup_buf struct buf b;
	int r;

	if (s->a->tty)
		(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &ws);
	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u64(&b, s->a->timeout_ms);
	wire_put_str(&b, s->a->user ? s->a->user : "");
	wire_put_u32(&b, (s->a->tty ? WIRE_EXEC_TTY : 0) | (s->a->inherit ? WIRE_EXEC_INHERIT : 0) |
				 WIRE_EXEC_SUSPENDS | s->a->consent);
	wire_put_u32(&b, ws.ws_row);
	wire_put_u32(&b, ws.ws_col);
	wire_put_str(&b, s->a->cwd);
	wire_put_strv(&b, s->a->argv);
	wire_put_strv(&b, s->a->env);
	r = wire_send(s->conn, WIRE_EXEC, 0, &b, s->give, s->a->tty ? 0 : 3);
	if (r == -EMSGSIZE)
		return err_usage(err, "arguments and environment are longer than %zu bytes",
				 WIRE_BODY_MAX);
	/* Our copies must go: a pipe's reader sees the end only when every writer has closed. */
	for (int i = 0; i < 3; i++)
		closep(&s->give[i]);
	/* A supervisor that has ended may have said why: its answers are still read. */
	return r < 0 && r != -EPIPE ? err_sys(err, -r, "cannot reach the sandbox") : 0;
}

static void finish(struct session *s, int result)
{
	s->result = result;
	ev_stop(s->ev);
}

static void send_signal(const struct session *s, int sig)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, (uint32_t)sig);
	(void)wire_send(s->conn, WIRE_SIGNAL, 0, &b, NULL, 0);
}

static void raw_mode(struct session *s)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &s->saved) < 0)
		return;
	t = s->saved;
	cfmakeraw(&t);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &t) == 0)
		s->raw = true;
}

static void on_stop_key(struct relay *r)
{
	const struct session *s = ev_owner(r, struct session, relays[0]);

	send_signal(s, SIGTSTP);
}

static void start_relays(struct session *s)
{
	if (s->a->tty) {
		raw_mode(s);
		(void)fd_set_nonblock(s->pty, true);
		relay_start(&s->relays[0], s->ev, STDIN_FILENO, s->pty,
			    isatty(STDIN_FILENO) ? 0 : RELAY_TYPE_END, 0);
		if (s->stop_key)
			s->relays[0].on_stop = on_stop_key;
		relay_start(&s->relays[1], s->ev, s->pty, STDOUT_FILENO, RELAY_TO_TERMINAL,
			    s->a->allowed);
		return;
	}
	if (s->ours[0] >= 0)
		relay_start(&s->relays[0], s->ev, STDIN_FILENO, take_fd(s->ours[0]), RELAY_CLOSE_TO,
			    0);
	for (int i = 1; i < 3; i++)
		if (s->ours[i] >= 0)
			relay_start(&s->relays[i], s->ev, s->ours[i], i,
				    isatty(i) ? RELAY_TO_TERMINAL : 0, s->a->allowed);
}

static void on_started(struct session *s, struct wire_msg *m, struct wire_reader *r)
{
	s->answered = true;
	s->pty = wire_take_fd(m, 0);
	(void)wire_get_u32(r); /* its pid */
	/* A supervisor of an earlier version sends no flags. */
	s->stop_key = wire_get_u32(r) & WIRE_STARTED_STOP_KEY;
	if (s->a->tty && s->pty < 0) {
		finish(s, err_set(s->err, EPROTO, "the sandbox gave no terminal"));
		return;
	}
	start_relays(s);
}

/* A supervisor of an earlier version sends no hosts: the vector stays empty then. */
static void read_refused(const struct attach *a, struct wire_reader *r)
{
	if (!a->refused)
		return;
	wire_get_strv(r, a->refused);
	*a->refused_others = wire_get_u32(r);
}

static void on_exited(struct session *s, struct wire_reader *r)
{
	bool stays;

	s->code = (int)wire_get_u32(r);
	if (wire_get_u32(r))
		log_warn("attach", "the time limit was reached; the command was ended");
	s->ended = s->answered = true;
	/* The command's last output is still in the pipes. It cannot write any more. */
	for (int i = 1; i < 3; i++)
		relay_drain(&s->relays[i]);
	stays = wire_get_u32(r);
	read_refused(s->a, r);
	/* If the sandbox ends too, the end of the connection says when it has ended. */
	if (stays)
		ev_stop(s->ev);
}

static void on_failed(struct session *s, struct wire_reader *r)
{
	int code = (int)wire_get_u32(r);
	const char *msg = wire_get_str(r);

	(void)err_set(s->err, EIO, "%s", msg ? msg : "the sandbox failed");
	s->err->exit_code = code;
	s->answered = true;
	s->result = -EIO;
}

/* Notices wait until the command has ended: its output is not interrupted, on a terminal or in a
 * pipe, and all of them are one list. */
static void on_notice(struct strv *kept, struct wire_reader *r)
{
	const char *text = wire_get_str(r);

	if (text && kept->n < NOTICES_MAX && !strv_has(kept, text))
		strv_push(kept, text);
}

/* News are of what happens now. Only a command that has the terminal is not interrupted. */
static void on_news(struct session *s, struct wire_reader *r)
{
	const char *text = wire_get_str(r);

	if (text && s->raw && s->news.n < NOTICES_MAX)
		strv_push(&s->news, text);
	else if (text && !s->raw)
		log_info("workspace", "%s", text);
}

static void follow_size(const struct session *s)
{
	struct winsize ws;

	if (s->pty >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) == 0)
		(void)ioctl(s->pty, TIOCSWINSZ, &ws);
}

/* Stops this process and all of its job, as the terminal would have done, until it is continued. In
 * a job that no shell could continue the kernel stops nobody. */
static void stop_job(void)
{
	sigset_t stop, before;

	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)kill(0, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void on_suspended(struct session *s)
{
	bool raw = s->raw;

	for (int i = 1; i < 3; i++)
		relay_catch_up(&s->relays[i]);
	if (raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &s->saved);
	stop_job();
	if (raw)
		raw_mode(s);
	follow_size(s);
	send_signal(s, SIGCONT);
}

static void on_frame(struct session *s, struct wire_msg *m)
{
	struct wire_reader r;

	wire_read(&r, m);
	switch ((unsigned)m->type) {
	case WIRE_STARTED:
		on_started(s, m, &r);
		break;
	case WIRE_EXITED:
		on_exited(s, &r);
		break;
	case WIRE_FAILED:
		on_failed(s, &r);
		break;
	case WIRE_NOTICE:
		on_notice(&s->notices, &r);
		break;
	case WIRE_NEWS:
		on_news(s, &r);
		break;
	case WIRE_SUSPENDED:
		on_suspended(s);
		break;
	default:
		finish(s, err_set(s->err, EPROTO,
				  "the supervisor speaks another language; is it of "
				  "another version?"));
		break;
	}
}

static void on_conn(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct session *s = ev_owner(io, struct session, conn_io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(s->conn, &m);
	if (r > 0) {
		on_frame(s, &m);
	} else if (s->ended || s->result < 0) {
		ev_stop(ev);
	} else if (!s->answered) {
		finish(s, err_set(s->err, EAGAIN, "the sandbox ended just now"));
	} else {
		finish(s, err_set(s->err, EIO,
				  "the sandbox's supervisor was killed; the command with it"));
	}
}

static void on_signal(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct session *s = ev_owner(io, struct session, signal_io);
	int sig = ev_signal_read(io->fd);

	if (sig == SIGWINCH)
		follow_size(s);
	else if (sig > 0)
		send_signal(s, sig);
}

static int run(struct session *s, struct err *err)
{
	int r = ev_new(&s->ev, err);

	if (r == 0)
		r = ev_signalfd(forwarded, ARRAY_SIZE(forwarded), &s->signals, err);
	if (r == 0)
		r = prepare(s, err);
	if (r == 0)
		r = send_exec(s, err);
	if (r < 0)
		return r;
	s->conn_io = (struct ev_io){.fd = s->conn, .fn = on_conn};
	s->signal_io = (struct ev_io){.fd = s->signals, .fn = on_signal};
	(void)ev_want(s->ev, &s->conn_io, EPOLLIN);
	(void)ev_want(s->ev, &s->signal_io, EPOLLIN);
	r = ev_run(s->ev, err);
	return r < 0 ? r : s->result;
}

static void tell_missed(enum filter_wish missed)
{
	if (missed & FILTER_CLIPBOARD)
		log_warn("terminal",
			 "the command wanted to write your clipboard, which was left out; to let "
			 "it, set terminal.clipboard: write");
	if (missed & FILTER_NOTIFY)
		log_warn("terminal", "the command wanted to show a notification, which was left "
				     "out; to let it, set terminal.notify: on");
}

static void session_done(struct session *s)
{
	for (int i = 0; i < 3; i++) {
		relay_stop(&s->relays[i]);
		closep(&s->give[i]);
		closep(&s->ours[i]);
	}
	if (s->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &s->saved);
	for (size_t i = 0; i < s->news.n; i++)
		log_info("workspace", "%s", s->news.v[i]);
	if (s->a->warnings)
		strv_extend(s->a->warnings, &s->notices);
	for (size_t i = 0; !s->a->warnings && i < s->notices.n; i++)
		log_warn("workspace", "%s", s->notices.v[i]);
	if (s->a->tail)
		(void)buf_append(s->a->tail, s->relays[1].tail, s->relays[1].n_tail);
	tell_missed(s->relays[1].missed | s->relays[2].missed);
	strv_done(&s->news);
	strv_done(&s->notices);
	closep(&s->pty);
	closep(&s->signals);
	ev_free(s->ev);
}

int attach_run(int conn, const struct attach *a, int *ret_code, struct err *err)
{
	struct session s = {
		.a = a,
		.err = err,
		.conn = conn,
		.signals = -1,
		.pty = -1,
		.give = {-1, -1, -1},
		.ours = {-1, -1, -1},
	};
	int r = run(&s, err);

	if (r == 0)
		*ret_code = s.code;
	session_done(&s);
	return r;
}
