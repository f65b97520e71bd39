#include "supervisor/broker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "confine/syscalls.h"
#include "confine/filters.h"
#include "record/runtime.h"
#include "spec/of-loop.h"

#define FRONT "front" /* as the kernel shows it: the command line names both processes alike */
#define HELPERS_MAX 16
#define LISTEN_SHARED ((uint32_t)1 << 16) /* beside a port: on 127.0.0.1 */

/* The frames; id: a number that the act knows. The answer to each but KILL is one IS. */
enum act {
	SPAWN = WIRE_NONE + 1, /* id: place in `programs` → fds: its socket, its pidfd */
	REAP,		       /* id: a pid that SPAWN gave → its exit code */
	LISTEN,		       /* id: port, 0: any; LISTEN_SHARED → fd */
	LOOK,		       /* id: enum sup_state */
	KILL,
	COMPLAINT,
	INIT,
	SAVE,
	GIT_IMPORT, /* id: 1: HEAD may follow → a pid; fds: for git inside, and the answer */
	GIT_MOVED,  /* id: 1: all of it once more → fd: what the user moved, if there is any */
	END,	    /* id: 1: remove the record as well */
	IS,	    /* u32 errno, u32 value, str text, strv what was told; fds */
};

#define ANSWER_FDS GIT_IMPORT_FDS

static const char *const programs[] = {"edge", "gateway", "reader", "cred", "ports"};

struct answer {
	uint32_t value;
	char text[512];
	int fds[ANSWER_FDS];
};

#define ANSWER_INIT                                                                                \
	{                                                                                          \
		.fds = {-1, -1, -1},                                                               \
	}

/* ---- the broker ---- */

struct broker {
	struct supervisor *sup;
	int sock;
	pid_t front;
	bool ended;   /* the sandbox was taken down in order */
	char *doomed; /* its record, which is to be destroyed */
	struct child helpers[HELPERS_MAX];
	struct {
		pid_t pid;
		int code;
	} last[HELPERS_MAX]; /* the last program of each place */
};

static struct child *free_place(struct broker *b)
{
	for (size_t i = 0; i < HELPERS_MAX; i++)
		if (b->helpers[i].pid <= 0)
			return &b->helpers[i];
	return NULL;
}

static void reap(struct broker *b, size_t i)
{
	b->last[i].pid = b->helpers[i].pid;
	b->last[i].code = run_wait(&b->helpers[i]);
}

static int do_reap(struct broker *b, uint32_t pid, struct answer *a, struct err *err)
{
	for (size_t i = 0; i < HELPERS_MAX; i++) {
		if (b->helpers[i].pid > 0 && (uint32_t)b->helpers[i].pid == pid) {
			child_kill(&b->helpers[i], SIGKILL);
			reap(b, i);
		}
		if (b->last[i].pid > 0 && (uint32_t)b->last[i].pid == pid) {
			a->value = (uint32_t)b->last[i].code;
			return 0;
		}
	}
	return err_set(err, ECHILD, "no such program was started");
}

static int do_spawn(struct broker *b, uint32_t i, struct answer *a, struct err *err)
{
	struct child *c = free_place(b);
	int r;

	if (i >= ARRAY_SIZE(programs) || !c)
		return err_set(err, EPERM, "no such program is started, or too many are");
	r = sup_spawn(b->sup, programs[i], c, &a->fds[0], err);
	if (r == 0) {
		a->value = (uint32_t)c->pid;
		a->fds[1] = fcntl(c->pidfd, F_DUPFD_CLOEXEC, 3);
	}
	return r;
}

static int do_listen(struct broker *b, uint32_t port, struct answer *a, struct err *err)
{
	uint16_t got = 0;
	const char *name = port & LISTEN_SHARED ? NULL : b->sup->spec->name;
	int r;

	port &= ~LISTEN_SHARED;
	r = port > UINT16_MAX ? err_set(err, EINVAL, "that is no port")
			      : ports_listen(name, (uint16_t)port, &got, &a->fds[0], err);

	a->value = got;
	return r;
}

static struct git_import import_of(const struct broker *b, char *program, bool may_switch)
{
	return (struct git_import){.program = program,
				   .name = b->sup->spec->name,
				   .record = b->sup->entry.dir,
				   .may_switch = may_switch,
				   .holds = spec_is_loops(b->sup->spec)};
}

static int do_import(struct broker *b, bool may_switch, struct answer *a, struct err *err)
{
	cleanup_free char *program = places_program(&b->sup->places, "repo");
	struct git_import i = import_of(b, program, may_switch);
	struct child *c = free_place(b);
	int r = !b->sup->git_host || !c ? err_set(err, EPERM, "there is nothing to import into")
					: git_host_import(b->sup->git_host, &i, c, a->fds, err);

	if (r == 0)
		a->value = (uint32_t)c->pid;
	return r;
}

static int do_moved(struct broker *b, bool again, struct answer *a, struct err *err)
{
	struct git_import i = import_of(b, NULL, false);

	return b->sup->git_host ? git_host_moved(b->sup->git_host, &i, again, &a->fds[0], err) : 0;
}

static void do_end(struct broker *b, bool removes, struct answer *a)
{
	b->sup->state = SUP_ENDED;
	b->sup->remove = removes;
	b->ended = true;
	sup_take_down(b->sup, &b->doomed);
	a->value = b->doomed != NULL;
}

static int act(struct broker *b, const struct wire_msg *m, struct answer *a, struct err *err)
{
	struct supervisor *s = b->sup;

	switch ((unsigned)m->type) {
	case SPAWN:
		return do_spawn(b, m->id, a, err);
	case REAP:
		return do_reap(b, m->id, a, err);
	case LISTEN:
		return do_listen(b, m->id, a, err);
	case LOOK:
		s->state = m->id < SUP_ENDED ? (enum sup_state)m->id : SUP_ENDED;
		watch_look(s);
		return 0;
	case COMPLAINT:
		engine_complaint(s->engine, a->text, sizeof(a->text));
		return 0;
	case INIT:
		a->value = (uint32_t)engine_init_pid(s->engine);
		return 0;
	case SAVE:
		autosave_link_now(s);
		return 0;
	case GIT_IMPORT:
		return do_import(b, m->id == 1, a, err);
	case GIT_MOVED:
		return do_moved(b, m->id == 1, a, err);
	case END:
		do_end(b, m->id == 1, a);
		return 0;
	default:
		return err_set(err, EPERM, "that is not the broker's to do");
	}
}

static void answer(struct broker *b, const struct wire_msg *m)
{
	struct answer a = ANSWER_INIT;
	struct err err = {0};
	cleanup_buf struct buf body;
	size_t n_fds = 0;
	int r = act(b, m, &a, &err);

	buf_init(&body, WIRE_BODY_MAX);
	wire_put_u32(&body, r < 0 ? (uint32_t)-r : 0);
	wire_put_u32(&body, a.value);
	wire_put_str(&body, r < 0 ? err.msg : a.text);
	wire_put_strv(&body, b->sup->told);
	while (n_fds < ANSWER_FDS && a.fds[n_fds] >= 0)
		n_fds++;
	(void)wire_send(b->sock, (enum wire_type)IS, 0, &body, a.fds, n_fds);
	for (size_t i = 0; i < n_fds; i++)
		closep(&a.fds[i]);
	strv_done(b->sup->told);
	strv_init(b->sup->told);
}

/* The front has these, and this process has no use for them. The watch stays: it is one for both,
 * and the broker adds directories to it. Memory that nobody writes to is one
 * for both, so as little as possible is freed. */
static void let_go(struct supervisor *s)
{
	for (const struct client *c = s->clients; c; c = c->next)
		(void)close(c->fd);
	for (size_t i = 0; i < s->gateway.n_fds; i++)
		(void)close(s->gateway.fds[i]);
	ev_free(s->ev);
	closep(&s->guest);
	closep(&s->listener);
	closep(&s->signals);
	git_flow_let_go(s);
	closep(&s->ca.sock);
	events_close(&s->events);
}

/* What became of the front's line: 1 after a frame, 0 at its end. */
static int take_frame(struct broker *b)
{
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	if (wire_recv(b->sock, &m) <= 0)
		return 0;
	if ((unsigned)m.type == KILL)
		engine_kill(b->sup->engine);
	else
		answer(b, &m);
	return 1;
}

static void serve(struct broker *b, int signals)
{
	for (;;) {
		struct pollfd p[2 + HELPERS_MAX] = {{.fd = b->sock, .events = POLLIN},
						    {.fd = signals, .events = POLLIN}};

		for (size_t i = 0; i < HELPERS_MAX; i++)
			p[2 + i] = (struct pollfd){b->helpers[i].pidfd, POLLIN, 0};
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < HELPERS_MAX; i++)
			if (p[2 + i].revents)
				reap(b, i);
		if (p[1].revents && ev_signal_read(signals) > 0)
			(void)kill(b->front, SIGTERM);
		if (p[0].revents && take_frame(b) == 0)
			return;
	}
}

static _Noreturn void broker_main(struct broker *b)
{
	static const int caught[] = {SIGTERM, SIGINT, SIGHUP};
	struct supervisor *s = b->sup;
	struct strv told = {0};
	struct err err = {0};
	int signals = -1, status = 0;

	strv_init(&told);
	for (size_t i = 0; i < HELPERS_MAX; i++)
		b->helpers[i] = (struct child){.pid = -1, .pidfd = -1};
	b->helpers[0] = s->ca.child;
	let_go(s);
	s->told = &told;
	if (ev_signalfd(caught, ARRAY_SIZE(caught), &signals, &err) == 0)
		serve(b, signals);
	(void)waitpid(b->front, &status, 0);
	if (b->ended)
		sup_finish(s, b->doomed);
	else
		sup_take_down(s, NULL);
	_exit(b->ended ? run_status(status) : EXIT_RUNTIME);
}

/* ---- the front ---- */

static void replay_file(struct supervisor *s, const char *text)
{
	cleanup_json json_t *j = json_loads(text, 0, NULL);
	const char *path = json_string_value(json_array_get(j, 0));
	const char *said = json_string_value(json_array_get(j, 1));

	if (path && said)
		client_file_all(s, path, said);
}

static void replay(struct supervisor *s, const struct strv *told)
{
	for (size_t i = 0; i + 1 < told->n; i += 2) {
		const char *what = told->v[i], *text = told->v[i + 1];
		json_t *j = NULL;

		if (streq(what, CLIENT_NOTICE))
			client_notice_all(s, text);
		else if (streq(what, CLIENT_FILE))
			replay_file(s, text);
		else if (streq(what, CLIENT_FAIL))
			client_fail_all(s, text);
		else if ((j = json_loads(text, 0, NULL)))
			sup_event(s, what, j);
	}
}

static int ask(struct supervisor *s, enum act what, uint32_t number, struct answer *ret,
	       struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_strv struct strv told = {0};
	struct wire_reader rd;
	const char *text;
	uint32_t eno;

	wire_msg_init(&m);
	*ret = (struct answer)ANSWER_INIT;
	if (wire_send(s->broker, (enum wire_type)what, number, NULL, NULL, 0) < 0 ||
	    wire_recv(s->broker, &m) <= 0)
		return err_set(err, EIO, "the supervisor's broker is gone");
	wire_read(&rd, &m);
	eno = wire_get_u32(&rd);
	ret->value = wire_get_u32(&rd);
	text = wire_get_str(&rd);
	wire_get_strv(&rd, &told);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "the supervisor's broker answers nonsense");
	replay(s, &told);
	if (eno)
		return err_set(err, (int)eno, "%s", text);
	(void)snprintf(ret->text, sizeof(ret->text), "%s", text);
	for (size_t i = 0; i < ANSWER_FDS; i++)
		ret->fds[i] = wire_take_fd(&m, i);
	return 0;
}

int broker_spawn(struct supervisor *s, const char *program, struct child *ret, int *ret_sock,
		 struct err *err)
{
	struct answer a;
	uint32_t i = 0;
	int r;

	while (i < ARRAY_SIZE(programs) && !streq(programs[i], program))
		i++;
	r = ask(s, SPAWN, i, &a, err);
	if (r < 0)
		return r;
	*ret_sock = a.fds[0];
	*ret = (struct child){.pid = (pid_t)a.value, .pidfd = a.fds[1]};
	return 0;
}

int broker_reap(struct supervisor *s, pid_t pid)
{
	struct err ignored;
	struct answer a;

	return ask(s, REAP, (uint32_t)pid, &a, &ignored) < 0 ? -ECHILD : (int)a.value;
}

int broker_listen(struct supervisor *s, bool shared, uint16_t port, uint16_t *ret_port, int *ret,
		  struct err *err)
{
	struct answer a;
	int r = ask(s, LISTEN, port | (shared ? LISTEN_SHARED : 0), &a, err);

	if (r < 0)
		return r;
	*ret_port = (uint16_t)a.value;
	*ret = a.fds[0];
	return 0;
}

void broker_look(struct supervisor *s)
{
	struct err ignored;
	struct answer a;

	(void)ask(s, LOOK, s->state, &a, &ignored);
}

void broker_kill(struct supervisor *s)
{
	(void)wire_send(s->broker, (enum wire_type)KILL, 0, NULL, NULL, 0);
}

void broker_complaint(struct supervisor *s, char *ret, size_t size)
{
	struct err ignored;
	struct answer a;

	if (ask(s, COMPLAINT, 0, &a, &ignored) == 0)
		(void)snprintf(ret, size, "%s", a.text);
}

pid_t broker_init_pid(struct supervisor *s)
{
	struct err ignored;
	struct answer a;

	return ask(s, INIT, 0, &a, &ignored) < 0 ? 0 : (pid_t)a.value;
}

void broker_save(struct supervisor *s)
{
	struct err ignored;
	struct answer a;

	(void)ask(s, SAVE, 0, &a, &ignored);
}

int broker_import(struct supervisor *s, bool may_switch, pid_t *ret, int ret_fds[GIT_IMPORT_FDS],
		  struct err *err)
{
	struct answer a;
	int r = ask(s, GIT_IMPORT, may_switch, &a, err);

	if (r < 0)
		return r;
	*ret = (pid_t)a.value;
	memcpy(ret_fds, a.fds, sizeof(a.fds));
	return 0;
}

int broker_moved(struct supervisor *s, bool again, int *ret, struct err *err)
{
	struct answer a;
	int r = ask(s, GIT_MOVED, again, &a, err);

	*ret = r < 0 ? -1 : a.fds[0];
	return r;
}

bool broker_end(struct supervisor *s)
{
	struct err ignored;
	struct answer a;

	return ask(s, END, s->remove, &a, &ignored) == 0 && a.value;
}

/* The record is all that is left of the files. The rest goes through the broker. */
static int confine(const struct supervisor *s)
{
	struct landlock l;
	int r = landlock_begin(&l, landlock_abi(),
			       LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_TCP_LISTENING);

	if (r == 0)
		r = landlock_allow_fd(&l, s->entry.dir, LANDLOCK_WRITE);
	r = r < 0 ? r : landlock_enforce(&l);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? r : confine_calls(supervisor);
}

static int become_front(struct supervisor *s, int sock, pid_t broker, struct err *err)
{
	int r;

	s->broker = sock;
	closep(&s->cred.env_fd);
	private_spare_done(&s->git_spare);
	(void)prctl(PR_SET_NAME, FRONT);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != broker)
		_exit(EXIT_RUNTIME);
	r = confine(s);
	return r < 0 ? err_sys(err, -r, "the supervisor cannot give up what it does not need") : 0;
}

int broker_fork(struct supervisor *s, struct err *err)
{
	struct broker b = {.sup = s};
	pid_t us = getpid();
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	b.sock = pair[1];
	b.front = fork();
	if (b.front < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return err_sys(err, errno, "cannot fork");
	}
	(void)close(b.front == 0 ? pair[1] : pair[0]);
	if (b.front > 0)
		broker_main(&b);
	return become_front(s, pair[0], us, err);
}
