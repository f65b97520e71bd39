#include "guest/guest.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "guest/dial-inside.h"
#include "guest/login.h"
#include "guest/minder.h"
#include "base/sweep.h"

/*
 * DOC: Theory of operation
 *
 * pid 1's only children are minders, one per command. A command is LIVE until its minder says
 * WIRE_ENDED (then LEAVING: the answer is out, the minder is about to exit) or dies without
 * having said so (then DYING: whatever it left behind has become our child, and is no minder).
 *
 * While `sweeping`, everything beneath us that is not a minder's is being ended, one round per
 * turn of the loop, so frames are served all the time. When nothing is left, the DYING commands
 * have ended. If new processes keep coming, kill(-1, SIGKILL) ends all at once, which the kernel
 * does without a gap; it takes the other commands along, and they are reported likewise.
 *
 * No wait here depends on a process of the sandbox: minder sockets are non-blocking, and a
 * minder that does not end its command in time is killed.
 */
#define ROUND_MS 20
#define DYING_MAX_MS 30000   /* killed processes that do not go away are left to the kernel */
#define KILL_GRACE_MS 3000   /* for a minder to end its command */
#define REAPS_PER_TURN 4096  /* of the loop: frames are served between */
#define FRAMES_PER_MINDER 16 /* a minder sends two; more is not from a minder */

enum state { FREE, LIVE, LEAVING, DYING, STATE_N };

struct slot {
	enum state state;
	uint32_t id;
	pid_t minder;	  /* -1 when there is none */
	int sock;	  /* to the minder, or -1 */
	bool spawned;	  /* WIRE_SPAWNED went out */
	bool login;	  /* needs the logins, which stay until it has ended */
	int code;	  /* of a DYING command */
	uint64_t kill_at; /* when the minder is killed; 0: it is not */
};

struct server {
	const struct guest *g;
	int sigfd;
	struct slot slots[GUEST_COMMANDS_MAX];
	bool sweeping, again;
	bool was_empty; /* the last round found nothing */
	uint64_t sweep_deadline, next_round;
};

void guest_send_u32(int sock, enum wire_type type, uint32_t id, uint32_t value, const int *fds,
		    size_t n_fds)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_u32(&b, value);
	(void)wire_send(sock, type, id, &b, fds, n_fds);
}

void guest_send_error(int sock, uint32_t id, int eno, const struct err *err)
{
	cleanup_buf struct buf b;

	buf_init(&b, sizeof(err->msg) + 64);
	wire_put_u32(&b, (uint32_t)eno);
	wire_put_str(&b, err->msg);
	(void)wire_send(sock, WIRE_ERROR, id, &b, NULL, 0);
}

static void slot_free(struct slot *s)
{
	closep(&s->sock);
	*s = (struct slot){.state = FREE, .minder = -1, .sock = -1};
}

/* The command of this id; its minder may still be LEAVING under another id's nose. */
static struct slot *slot_of(struct server *sv, uint32_t id)
{
	for (size_t i = 0; i < ARRAY_SIZE(sv->slots); i++)
		if ((sv->slots[i].state == LIVE || sv->slots[i].state == DYING) &&
		    sv->slots[i].id == id)
			return &sv->slots[i];
	return NULL;
}

static struct slot *slot_unused(struct server *sv)
{
	for (size_t i = 0; i < ARRAY_SIZE(sv->slots); i++)
		if (sv->slots[i].state == FREE)
			return &sv->slots[i];
	return NULL;
}

/* Before its end is told: whoever hears of it finds no login any more. */
static void let_login_go(struct server *sv, struct slot *s)
{
	bool had = s->login;

	s->login = false;
	for (size_t i = 0; had && i < ARRAY_SIZE(sv->slots); i++)
		if (sv->slots[i].login)
			return;
	if (had)
		login_wipe(sv->g);
}

static void sweep_begin(struct server *sv)
{
	if (!sv->sweeping)
		sweep_start();
	sv->sweeping = true;
	sv->was_empty = false;
	sv->next_round = 0;
	sv->sweep_deadline = now_ms() + DYING_MAX_MS;
}

/* The last word on a command that a minder did not end. */
static void report_dying(struct server *sv, struct slot *s)
{
	struct err err = {.msg = "the command was killed while it was being started"};

	let_login_go(sv, s);
	if (s->spawned)
		guest_send_u32(sv->g->sock, WIRE_ENDED, s->id, (uint32_t)s->code, NULL, 0);
	else
		guest_send_error(sv->g->sock, s->id, ECANCELED, &err);
	slot_free(s);
}

/* Passes a minder's frame on to the supervisor, in order. */
static void relay(struct server *sv, struct slot *s, struct wire_msg *msg)
{
	bool over = msg->type == WIRE_ENDED || msg->type == WIRE_ERROR;

	if (s->state != LIVE)
		return;
	if (!over && msg->type != WIRE_SPAWNED && msg->type != WIRE_SUSPENDED)
		return;
	if (over)
		let_login_go(sv, s);
	(void)wire_send(sv->g->sock, msg->type, s->id, &msg->body, msg->fds, msg->n_fds);
	if (msg->type == WIRE_SPAWNED)
		s->spawned = true;
	if (over)
		s->state = LEAVING;
}

static void hear_minder(struct server *sv, struct slot *s)
{
	for (int i = 0; i < FRAMES_PER_MINDER && s->sock >= 0; i++) {
		cleanup_wire_msg struct wire_msg msg;
		int r;

		wire_msg_init(&msg);
		r = wire_recv(s->sock, &msg);
		if (r == -EAGAIN)
			return;
		if (r == 1)
			relay(sv, s, &msg);
		else
			closep(&s->sock);
	}
}

static void minder_ended(struct server *sv, struct slot *s, int status)
{
	hear_minder(sv, s); /* the minder's last frame may still be in the socket */
	s->minder = -1;
	s->kill_at = 0;
	closep(&s->sock);
	if (s->state == LEAVING) {
		slot_free(s);
		return;
	}
	s->state = DYING;
	s->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + SIGKILL;
	sweep_begin(sv);
}

/* There may be more of its kind, and if a round saw none, it was behind the round's back. */
static void orphan_ended(struct server *sv)
{
	sv->was_empty = false;
	if (!sv->sweeping)
		sweep_begin(sv);
}

static void reap(struct server *sv)
{
	for (int i = 0; i < REAPS_PER_TURN; i++) {
		struct slot *s = NULL;
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);

		if (pid <= 0)
			return;
		for (size_t k = 0; k < ARRAY_SIZE(sv->slots) && !s; k++)
			if (sv->slots[k].minder == pid)
				s = &sv->slots[k];
		if (s && WIFSTOPPED(status))
			(void)kill(pid, SIGCONT); /* a payload's doing: minders do not stop */
		else if (s)
			minder_ended(sv, s, status);
		else
			orphan_ended(sv);
	}
	sv->again = true;
}

static void sweep_turn(struct server *sv)
{
	pid_t minders[GUEST_COMMANDS_MAX];
	enum sweep_result r;

	for (size_t i = 0; i < ARRAY_SIZE(minders); i++)
		minders[i] = sv->slots[i].minder;
	r = sweep_round(sv->g->proc_fd, minders, ARRAY_SIZE(minders));
	if (r == SWEEP_ENDLESS) {
		(void)kill(-1, SIGKILL);
		sweep_start();
	}
	sv->next_round = now_ms() + (r == SWEEP_KILLED || r == SWEEP_ENDLESS ? ROUND_MS : 0);
	/* Process numbers start over some time, and then a process can slip behind a round that
	 * goes up the numbers. It leaves its parent for us to reap: two rounds that find nothing,
	 * and nothing reaped between them, are proof. */
	if (r == SWEEP_EMPTY && !sv->was_empty) {
		sv->was_empty = true;
		return;
	}
	sv->was_empty = r == SWEEP_EMPTY;
	if (r != SWEEP_EMPTY && now_ms() < sv->sweep_deadline)
		return;
	sv->sweeping = false;
	for (size_t i = 0; i < ARRAY_SIZE(sv->slots); i++)
		if (sv->slots[i].state == DYING)
			report_dying(sv, &sv->slots[i]);
}

static void become_minder(struct server *sv, struct wire_msg *spawn, int sock)
{
	for (size_t i = 0; i < ARRAY_SIZE(sv->slots); i++)
		closep(&sv->slots[i].sock);
	closep(&sv->sigfd);
	(void)close(sv->g->sock);
	minder_run(sv->g, spawn, sock);
}

/* Forks the minder of a command into its slot, which has the command's id already. */
static int start_minder(struct server *sv, struct slot *s, struct wire_msg *msg, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1;
	int pair[2], r = wire_pair(pair, err);
	pid_t pid;

	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	r = fd_set_nonblock(ours, true);
	if (r < 0)
		return err_sys(err, -r, "cannot prepare a socket");
	pid = fork();
	if (pid < 0)
		return err_sys(err, errno, "cannot start a process in the sandbox");
	if (pid == 0) {
		closep(&ours);
		become_minder(sv, msg, theirs);
	}
	s->state = LIVE;
	s->minder = pid;
	s->sock = take_fd(ours);
	return 0;
}

static int spawn(struct server *sv, struct wire_msg *msg, struct err *err)
{
	struct slot *s = slot_unused(sv);
	int r = 0;

	if (msg->id == 0)
		return err_set(err, EINVAL, "0 does not name a command");
	if (slot_of(sv, msg->id))
		return err_set(err, EEXIST, "command %u is running already", msg->id);
	if (!s)
		return err_set(err, EAGAIN, "more than %d commands at once in one sandbox",
			       GUEST_COMMANDS_MAX);
	s->id = msg->id;
	s->login = login_is_needed(msg);
	if (s->login)
		r = login_fill(sv->g, msg, err);
	if (r == 0)
		r = start_minder(sv, s, msg, err);
	if (r < 0) {
		let_login_go(sv, s);
		slot_free(s);
	}
	return r;
}

static int pass_kill(struct server *sv, const struct wire_msg *msg, struct err *err)
{
	struct slot *s = slot_of(sv, msg->id);
	struct wire_reader r;
	uint32_t sig;

	wire_read(&r, msg);
	sig = wire_get_u32(&r);
	if (wire_read_end(&r) < 0 || sig >= _NSIG)
		return err_set(err, EINVAL, "that is not a signal");
	if (!s || s->state != LIVE)
		return 0; /* the command has just ended */
	/* A minder that is too busy to listen misses a signal, but not its end. */
	if (s->sock >= 0)
		(void)wire_send(s->sock, WIRE_KILL, s->id, &msg->body, NULL, 0);
	if (sig == 0 && s->kill_at == 0)
		s->kill_at = now_ms() + KILL_GRACE_MS;
	return 0;
}

/* To a minder alone: it has the terminal. */
static void pass_winch(struct server *sv, const struct wire_msg *msg)
{
	struct slot *s = slot_of(sv, msg->id);

	if (s && s->state == LIVE && s->sock >= 0)
		(void)wire_send(s->sock, WIRE_WINCH, s->id, &msg->body, NULL, 0);
}

/* False when the supervisor is gone. */
static bool hear_supervisor(struct server *sv)
{
	cleanup_wire_msg struct wire_msg msg;
	struct err err = {0};
	int r;

	wire_msg_init(&msg);
	r = wire_recv(sv->g->sock, &msg);
	if (r == -EAGAIN)
		return true;
	if (r < 0) {
		/* An unreadable frame has no id to answer to, and its sender is broken. */
		(void)err_sys(&err, -r, "the guest got a frame it cannot read");
		guest_send_error(sv->g->sock, 0, -r, &err);
	}
	if (r <= 0)
		return false;
	if (msg.type == WIRE_SPAWN)
		r = spawn(sv, &msg, &err);
	else if (msg.type == WIRE_KILL)
		r = pass_kill(sv, &msg, &err);
	else if (msg.type == WIRE_DIAL)
		dial_inside(sv->g->sock, &msg);
	else if (msg.type == WIRE_WINCH && sv->g->within)
		pass_winch(sv, &msg);
	else
		r = err_set(&err, EPROTO, "the guest does not know frame %u", (unsigned)msg.type);
	/* Id 0 would say that the guest ends; a frame that names no command gets no answer. */
	if (r < 0 && msg.id != 0)
		guest_send_error(sv->g->sock, msg.id, -r, &err);
	return true;
}

static int next_timeout(struct server *sv)
{
	uint64_t now = now_ms(), at = UINT64_MAX;

	if (sv->again)
		return 0;
	if (sv->sweeping)
		at = sv->next_round;
	for (size_t i = 0; i < ARRAY_SIZE(sv->slots); i++)
		if (sv->slots[i].kill_at && sv->slots[i].kill_at < at)
			at = sv->slots[i].kill_at;
	if (at == UINT64_MAX)
		return -1;
	return at <= now ? 0 : (int)(at - now);
}

static void act_on_time(struct server *sv)
{
	uint64_t now = now_ms();

	for (size_t i = 0; i < ARRAY_SIZE(sv->slots); i++) {
		struct slot *s = &sv->slots[i];

		if (s->kill_at && s->kill_at <= now && s->minder > 0) {
			(void)kill(s->minder, SIGKILL);
			s->kill_at = 0;
		}
	}
	if (sv->sweeping && sv->next_round <= now)
		sweep_turn(sv);
}

void serve(const struct guest *g)
{
	static struct server sv;
	static struct pollfd p[GUEST_COMMANDS_MAX + 2];
	struct signalfd_siginfo drop;
	sigset_t set;

	sv.g = g;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	sv.sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	for (size_t i = 0; i < ARRAY_SIZE(sv.slots); i++)
		sv.slots[i] = (struct slot){.minder = -1, .sock = -1};
	while (sv.sigfd >= 0) {
		p[0] = (struct pollfd){.fd = g->sock, .events = POLLIN};
		p[1] = (struct pollfd){.fd = sv.sigfd, .events = POLLIN};
		for (size_t i = 0; i < ARRAY_SIZE(sv.slots); i++)
			p[i + 2] = (struct pollfd){.fd = sv.slots[i].sock, .events = POLLIN};
		/*
		 * A guest that cannot wait cannot serve: no sandbox is better than one that answers
		 * nobody.
		 */
		if (poll(p, ARRAY_SIZE(p), next_timeout(&sv)) < 0 && errno != EINTR)
			return;
		sv.again = false;
		for (size_t i = 0; i < ARRAY_SIZE(sv.slots); i++)
			if (p[i + 2].revents)
				hear_minder(&sv, &sv.slots[i]);
		while (p[1].revents && read(sv.sigfd, &drop, sizeof(drop)) > 0)
			;
		reap(&sv);
		act_on_time(&sv);
		if (p[0].revents && !hear_supervisor(&sv))
			return;
	}
}
