/*
 * The supervisor's side of an engine without a guest.
 *
 * DOC: Theory of operation
 *
 * Forks of this process do the work that takes time or may hang. They speak over a wire socket:
 *
 *	guardian  engine_set_up(); WIRE_UP or WIRE_ERROR. Then it waits: when this process is
 *	          killed, it stops the sandbox, which nothing else would do
 *	minder    one per command, see host-minder.h
 *
 * Besides them the engine may have a keeper, a program of the host that runs as long as the sandbox
 * does. A command whose client is gone stays in the list here until its minder says that it has
 * ended. When the sandbox ends, minders are told so and waited for: the engine's own stop() ends
 * what is inside, they end what is on the host.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/host-minder.h"

#define END_MS 15000 /* for minders when the sandbox ends */

struct host_command {
	struct host_command *next;
	struct supervisor *sup;
	uint32_t id; /* of the client's command */
	struct child minder;
	int line;
	struct ev_io io;
	struct ev_defer free;
};

struct host_link {
	struct supervisor *sup;
	struct child guardian, keeper;
	int line;	 /* to the guardian */
	int keeper_line; /* our end of the keeper's stdin: it closes with us */
	int alive[2];	 /* a pipe: its end of file says that we and all minders are gone */
	struct ev_io io;
	struct host_command *commands;
};

static struct child no_child(void)
{
	return (struct child){.pid = -1, .pidfd = -1};
}

/* A copy of this process with the other end of *ret_line; 0 in the copy. */
static pid_t fork_line(int *ret_line, struct child *ret, struct err *err)
{
	int pair[2], r = wire_pair(pair, err);
	pid_t parent = getpid(), pid;

	if (r < 0)
		return r;
	pid = fork();
	if (pid < 0) {
		r = err_sys(err, errno, "cannot fork");
		(void)close(pair[0]);
		(void)close(pair[1]);
		return r;
	}
	if (pid == 0) {
		(void)close(pair[0]);
		*ret_line = pair[1];
		if (getppid() != parent)
			_exit(0);
		return 0;
	}
	(void)close(pair[1]);
	*ret_line = pair[0];
	ret->pid = pid;
	ret->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	(void)fd_set_nonblock(pair[0], true);
	return pid;
}

/* ---- the guardian ---- */

static _Noreturn void guardian_main(struct supervisor *s, int line)
{
	const int keep[] = {line, s->entry.live, s->host->alive[0]};
	struct pollfd p = {.fd = line, .events = POLLIN};
	struct pollfd alive = {.fd = s->host->alive[0], .events = POLLIN};
	cleanup_wire_msg struct wire_msg m;
	struct err err = {0};
	cleanup_buf struct buf b;
	int r;

	fd_close_rest(keep, ARRAY_SIZE(keep));
	wire_msg_init(&m);
	buf_init(&b, WIRE_BODY_MAX);
	r = engine_set_up(s->engine, &err);
	wire_put_u32(&b, r < 0 ? (uint32_t)-r : 0);
	wire_put_str(&b, r < 0 ? err.msg : "");
	(void)wire_send(line, r < 0 ? WIRE_ERROR : WIRE_UP, 0, &b, NULL, 0);
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	/* A word means that the supervisor sees to the end itself. */
	if (wire_recv(line, &m) > 0)
		_exit(0);
	/* A minder that is about to end its command inside would start the sandbox once more. */
	(void)poll(&alive, 1, END_MS);
	(void)engine_stop(s->engine, &err);
	_exit(0);
}

static int start_keeper(struct supervisor *s, struct err *err)
{
	cleanup_engine_call struct engine_call call = {0};
	cleanup_fd int theirs = -1;
	struct run run = RUN_INIT;
	int pair[2], r;

	if (!engine_keeper(s->engine, &call))
		return 0;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	theirs = pair[0];
	s->host->keeper_line = pair[1];
	run.stdio[0] = theirs;
	run.argv = call.argv.v;
	run.env = call.env.v;
	run.dir = "/";
	run.flags = RUN_SEARCH_PATH | RUN_NEW_SESSION | RUN_DIE_WITH_US;
	r = run_start(&run, &s->host->keeper, err);
	if (r == 0)
		sup_watch_process(s, s->host->keeper.pidfd);
	return r;
}

/* Dismisses the guardian: the supervisor ends the sandbox itself. */
static void end_guardian(struct host_link *h)
{
	if (h->line < 0)
		return;
	(void)ev_want(h->sup->ev, &h->io, 0);
	(void)wire_send(h->line, WIRE_STOP, 0, NULL, NULL, 0);
	closep(&h->line);
	child_done(&h->guardian);
}

/* Commands that were asked for meanwhile have waited. */
static void go(struct supervisor *s)
{
	sup_up(s, 0);
	for (struct host_command *k = s->host->commands; k; k = k->next)
		if (k->line >= 0)
			(void)wire_send(k->line, WIRE_UP, 0, NULL, NULL, 0);
}

static void on_guardian(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct host_link *h = ev_owner(io, struct host_link, io);
	struct supervisor *s = h->sup;
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	const char *msg = NULL;
	int r;

	wire_msg_init(&m);
	r = wire_recv(h->line, &m);
	if (r == -EAGAIN)
		return;
	if (r > 0) {
		wire_read(&rd, &m);
		(void)wire_get_u32(&rd);
		msg = wire_get_str(&rd);
	}
	if (r <= 0 && s->state != SUP_STARTING) {
		/* Killed, by whomever: the sandbox goes on without it as little as without us. */
		msg = "the sandbox's guardian was killed";
	}
	if (r > 0 && m.type == WIRE_UP && s->state == SUP_STARTING) {
		r = start_keeper(s, &s->why);
		if (r == 0)
			go(s);
		else
			sup_end(s);
	} else {
		(void)err_set(&s->why, EIO, "%s", msg ? msg : "the sandbox could not be set up");
		sup_end(s);
	}
	sup_reconsider(s);
}

static int start(struct supervisor *s, struct engine_launch *launch, struct err *err)
{
	struct host_link *h = xcalloc(1, sizeof(*h));
	int line = -1, r;

	/* Ports are taken before anything inside can look for who has them. */
	r = gateway_link_listen(s, err);
	h->sup = s;
	h->line = h->keeper_line = -1;
	h->guardian = h->keeper = no_child();
	s->host = h;
	if (pipe2(h->alive, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	if (r == 0)
		r = fork_line(&line, &h->guardian, err);
	if (r < 0)
		return r;
	if (r == 0)
		guardian_main(s, line);
	h->line = line;
	h->io = (struct ev_io){.fd = line, .fn = on_guardian};
	return ev_want(s->ev, &h->io, EPOLLIN);
}

/* ---- commands ---- */

static void command_free(struct ev *ev, struct ev_defer *d)
{
	struct host_command *k = ev_owner(d, struct host_command, free);
	struct host_command **p = &k->sup->host->commands;

	while (*p != k)
		p = &(*p)->next;
	*p = k->next;
	free(k);
}

/* Frees a command whose minder has nothing left to say. */
static void command_over(struct host_command *k)
{
	if (k->line < 0)
		return;
	(void)ev_want(k->sup->ev, &k->io, 0);
	closep(&k->line);
	child_done(&k->minder);
	ev_defer(k->sup->ev, &k->free);
}

static int handle(struct host_command *k, struct wire_msg *m)
{
	struct supervisor *s = k->sup;
	struct client *c = client_by_id(s, k->id);
	const char *msg = "";
	struct wire_reader r;
	uint32_t value;

	wire_read(&r, m);
	value = wire_get_u32(&r);
	if (m->type == WIRE_ERROR)
		msg = wire_get_str(&r);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	if (m->type == WIRE_ERROR && m->id == 0) {
		(void)err_set(&s->why, EIO, "%s", msg);
		sup_end(s);
	} else if (m->type == WIRE_ERROR) {
		sup_event(s, "exec-failed",
			  json_pack("{sI so}", "id", (json_int_t)k->id, "message", json_text(msg)));
		command_over(k);
		if (c)
			client_failed(c, exec_exit_code(value), msg);
	} else if (m->type == WIRE_SPAWNED) {
		if (c && c->state == CLIENT_SPAWNING)
			client_started(c, value, m->n_fds ? m->fds[0] : -1);
	} else if (m->type == WIRE_SUSPENDED) {
		if (c && c->state == CLIENT_RUNNING)
			client_suspended(c);
	} else if (m->type == WIRE_ENDED) {
		command_over(k);
		if (c && c->state == CLIENT_RUNNING)
			client_exited(c, value);
	}
	return 0;
}

static void on_minder(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct host_command *k = ev_owner(io, struct host_command, io);
	struct supervisor *s = k->sup;
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(k->line, &m);
	if (r == -EAGAIN)
		return;
	if (r > 0)
		r = handle(k, &m);
	else
		r = -EPIPE;
	if (r < 0) {
		/* Nobody knows what is left of the command: all of it goes with the sandbox. */
		command_over(k);
		(void)err_set(&s->why, EIO, "the process that minds a command was killed");
		sup_end(s);
	}
	sup_reconsider(s);
}

/*
 * Completes a command's environment and lists the variables whose values must not be shown. Values
 * that ralph sets in every sandbox may be seen by anybody; the user's values and phantoms may not.
 */
static int complete(void *arg, struct strv *env, struct strv *ret, struct err *err)
{
	struct supervisor *s = arg;

	for (size_t i = 0; i < env->n; i++) {
		cleanup_free char *name = xstrndup(env->v[i], strcspn(env->v[i], "="));
		const struct spec_env *e = spec_env_find(s->spec, name);

		if (!e || e->origin == SPEC_USER || e->credential)
			strv_push(ret, name);
	}
	return cred_link_has(s, SPEC_WAY_ENV) ? cred_link_variables(s, env, ret, err) : 0;
}

static int spawn(struct supervisor *s, struct client *c, const struct exec_frame *f,
		 struct wire_msg *m, struct err *err)
{
	struct host_command *k = xcalloc(1, sizeof(*k));
	int line = -1;
	pid_t r;

	if (f->flags & WIRE_EXEC_PROGRAM) {
		free(k);
		return err_set(err, EOPNOTSUPP, "engine %s runs no program out of memory",
			       s->spec->engine);
	}
	/* Only what was started with the blocklist runs without a sandbox. */
	if ((f->flags & WIRE_EXEC_INHERIT) && engine_has(s->spec->engine, ENGINE_NO_WALL)) {
		free(k);
		return err_set(err, EOPNOTSUPP, "'%s' is no sandbox that could be joined",
			       s->spec->name);
	}
	k->sup = s;
	k->id = c->id;
	k->minder = no_child();
	k->free.fn = command_free;
	r = fork_line(&line, &k->minder, err);
	if (r == 0) {
		struct minder minder = {
			.engine = s->engine,
			.frame = f,
			.line = line,
			.stdio = {-1, -1, -1},
			.keep = {s->entry.live, s->cred.env_fd, s->host->alive[1]},
			.complete = complete,
			.arg = s,
		};

		for (size_t i = 0; i < 3 && i < m->n_fds; i++)
			minder.stdio[i] = m->fds[i];
		minder_main(&minder);
	}
	if (r < 0) {
		free(k);
		return r;
	}
	k->line = line;
	k->io = (struct ev_io){.fd = line, .fn = on_minder};
	k->next = s->host->commands;
	s->host->commands = k;
	if (s->state != SUP_STARTING)
		(void)wire_send(line, WIRE_UP, 0, NULL, NULL, 0);
	return ev_want(s->ev, &k->io, EPOLLIN);
}

static void kill_command(struct supervisor *s, struct client *c, uint32_t sig)
{
	struct host_command *k = s->host ? s->host->commands : NULL;
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, sig);
	while (k && k->id != c->id)
		k = k->next;
	/* A minder that does not read is waiting for the engine: the end of its line reaches it. */
	if (k && k->line >= 0 && wire_send(k->line, WIRE_KILL, 1, &b, NULL, 0) < 0 && sig == 0)
		sup_end(s);
}

/* ---- the end ---- */

static void await(struct host_command *k, uint64_t deadline)
{
	struct pollfd p = {.fd = k->minder.pidfd, .events = POLLIN};
	uint64_t now = now_ms();

	if (k->minder.pid > 0 && now < deadline)
		(void)poll(&p, 1, (int)(deadline - now));
	child_done(&k->minder);
}

static void stop(struct supervisor *s)
{
	struct host_link *h = s->host;
	uint64_t deadline = now_ms() + END_MS;

	if (!h)
		return;
	end_guardian(h);
	for (struct host_command *k = h->commands; k; k = k->next)
		if (k->line >= 0)
			(void)wire_send(k->line, WIRE_STOP, 1, NULL, NULL, 0);
	for (struct host_command *k = h->commands; k; k = k->next)
		await(k, deadline);
	closep(&h->keeper_line);
	child_done(&h->keeper);
}

const struct runner runner_host = {
	.start_ms = 900 * 1000, /* an image may have to be fetched */
	.start = start,
	.spawn = spawn,
	.kill = kill_command,
	.stop = stop,
};
