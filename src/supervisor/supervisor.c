/*
 * The supervisor: one process per live sandbox, no daemon.
 *
 * DOC: Theory of operation
 *
 * A command line that finds no live sandbox starts this program with its own connection, while it
 * still makes the spec, which is its first frame (WIRE_SPEC; none: it needs no sandbox after all).
 * What is to be started is planned by it, and nothing starts before the next one (WIRE_START).
 * With that come the record and both of its locks, held: the live lock for as long as this process
 * lives, the other until the control socket is there, so that a command line which waits for it
 * finds the socket and not a second start.
 * The engine is started first, since that takes longest; while the guest mounts, the control socket
 * and the event log are opened. The guest then asks for its set-up and says when it is up. From
 * there on:
 *
 *	connection → WIRE_EXEC → guest WIRE_SPAWN → WIRE_SPAWNED → WIRE_STARTED
 *	                         guest WIRE_ENDED → WIRE_EXITED → connection closed
 *
 * A connection has at most one command, and a command lives no longer than its connection: when
 * the command line is killed, the kernel closes its socket, and the guest is told to end the
 * command's whole tree. The sandbox ends when nobody holds it any more: no command runs, none is
 * about to, and nobody asked to keep it. A connection whose command was the last one is closed
 * only after the teardown, so that who waits for end of file knows that nothing is left.
 *
 * The descriptors of a command's stdin, stdout and stderr pass through here to the guest; no byte
 * of theirs does. This process reads nothing from the network and nothing the agent wrote but the
 * guest's frames, which it takes for hostile: broker.h says what it gave up before the first.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/proc.h"
#include "events/usage-kept.h"
#include "live/git-repo.h"
#include "live/home-keep.h"
#include "live/prestart.h"
#include "compose/no-sandbox.h"
#include "spec/host-env.h"
#include "supervisor/broker.h"
#include "supervisor/git-host.h"
#include "record/runtime.h"
#include "spec/of-loop.h"

void sup_event(struct supervisor *s, const char *type, json_t *details)
{
	int r;

	if (s->told) {
		strv_push(s->told, type);
		strv_take(s->told, json_dumps(details, JSON_COMPACT));
		json_decref(details);
		return;
	}
	r = events_add(&s->events, type, details);
	if (r < 0)
		log_debug("supervisor", "cannot write an event: %s", strerror(-r));
}

void sup_end(struct supervisor *s)
{
	s->state = SUP_ENDED;
	ev_stop(s->ev);
}

static bool anybody_holds(const struct supervisor *s)
{
	for (const struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_WAITING || c->state == CLIENT_SPAWNING ||
		    c->state == CLIENT_RUNNING || c->state == CLIENT_LEAVING ||
		    (c->holds && c->state == CLIENT_FRESH))
			return true;
	return false;
}

bool sup_stays(const struct supervisor *s)
{
	return s->state == SUP_UP && (s->keep || anybody_holds(s) || git_flow_is_busy(s));
}

void sup_reconsider(struct supervisor *s)
{
	if (s->state == SUP_ENDED || (s->state != SUP_UP && anybody_holds(s)))
		return;
	/* Commits of a command whose command line is gone are imported all the same. */
	if (!sup_stays(s))
		git_flow_close(s);
	if (s->state == SUP_ENDED)
		return;
	if (!sup_stays(s) && !git_flow_is_busy(s)) {
		sup_end(s);
		return;
	}
	/* The sandbox stays: whoever has got its answer need not wait for more. */
	for (struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_ENDED && !c->waits_stopped)
			client_drop(c);
}

static void on_deadline(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, deadline);

	if (s->state == SUP_STARTING)
		(void)err_set(&s->why, ETIMEDOUT, "the sandbox did not come up within %d s",
			      (int)(s->runner->start_ms / 1000));
	sup_end(s);
}

void sup_stop(struct supervisor *s, uint64_t grace_ms)
{
	if (s->state != SUP_UP || grace_ms == 0) {
		sup_end(s);
		return;
	}
	s->state = SUP_STOPPING;
	for (struct client *c = s->clients; c; c = c->next)
		if (c->state == CLIENT_RUNNING)
			s->runner->kill(s, c, SIGTERM);
	ev_timer_set(s->ev, &s->deadline, grace_ms);
	/* Where nobody holds the sandbox, only an import or a sync is waited for. */
	sup_reconsider(s);
}

static void on_signal(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, signal_io);

	if (ev_signal_read(io->fd) > 0)
		sup_stop(s, 2000);
}

static void on_connection(struct ev *ev, struct ev_io *io, uint32_t events)
{
	client_accept_all(ev_owner(io, struct supervisor, listen_io));
}

/* The process that stands for the sandbox ended by itself: everything inside is gone. */
static void on_process(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, process_io);
	char said[256] = "";

	if (s->state == SUP_STARTING) {
		if (s->broker >= 0)
			broker_complaint(s, said, sizeof(said));
		else
			engine_complaint(s->engine, said, sizeof(said));
		(void)err_set(&s->why, EIO, "the sandbox could not be set up%s%s",
			      said[0] ? ": " : "", said);
	} else {
		(void)err_set(&s->why, EIO, "the sandbox ended by itself");
	}
	sup_end(s);
}

static int place_socket(void *arg)
{
	return dup2(*(const int *)arg, 3) < 0 ? -errno : 0;
}

void sup_kill(struct supervisor *s)
{
	if (s->broker >= 0)
		broker_kill(s);
	else if (s->engine)
		engine_kill(s->engine);
}

/* What answers for the credentials in place of a helper of this machine's: a worker. */
static int dial(const char *path, int *ret_sock, struct err *err)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(sa.sun_path))
		return err_set(err, ENAMETOOLONG, "the path '%s' is too long for a socket", path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return err_sys(err, errno, "cannot reach the worker");
	*ret_sock = take_fd(fd);
	return 0;
}

/* The credential helper's first word is not the front's to say: it names commands to be run. */
static int spawn(struct supervisor *s, const char *program, struct child *ret, int *ret_sock,
		 struct err *err)
{
	cleanup_free char *path = places_program(&s->places, program);
	cleanup_fd int theirs = -1, ours = -1;
	char *argv[] = {path, NULL};
	struct run run = RUN_INIT;
	int pair[2], r;

	if (s->spec->cred_line && streq(program, "cred")) {
		*ret = (struct child){.pid = -1, .pidfd = -1};
		return dial(s->spec->cred_line, ret_sock, err);
	}
	r = wire_pair(pair, err);
	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	run.argv = argv;
	run.dir = "/";
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run.before_exec = place_socket;
	run.arg = &theirs;
	r = run_start(&run, ret, err);
	if (r == 0 && streq(program, "cred"))
		r = cred_link_introduce(s, ours, err);
	if (r < 0)
		child_done(ret);
	else
		*ret_sock = take_fd(ours);
	return r;
}

int sup_spawn(struct supervisor *s, const char *program, struct child *ret, int *ret_sock,
	      struct err *err)
{
	return s->broker >= 0 ? broker_spawn(s, program, ret, ret_sock, err)
			      : spawn(s, program, ret, ret_sock, err);
}

int sup_reap(struct supervisor *s, struct child *c)
{
	int code;

	if (c->pid <= 0)
		return -ECHILD;
	if (s->broker < 0) {
		child_kill(c, SIGKILL);
		return run_wait(c);
	}
	code = broker_reap(s, c->pid);
	closep(&c->pidfd);
	c->pid = -1;
	return code;
}

/* Its text stays in the frame, for the record. */
static int take_spec(struct supervisor *s, const struct wire_msg *m, const char **ret_text,
		     struct err *err)
{
	cleanup_strv struct strv values = {0};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_json json_t *j = NULL;
	struct wire_reader rd;
	const char *text;
	int r;

	wire_read(&rd, m);
	text = wire_get_str(&rd);
	wire_get_strv(&rd, &values);
	if (m->type != WIRE_SPEC || wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "the supervisor was not told what to start");
	r = json_parse(text, strlen(text), &j, err);
	if (r == 0)
		r = spec_from_json(j, &spec, err);
	if (r == 0)
		r = spec_take_values(spec, &values, err);
	if (r < 0)
		return r;
	s->spec = take_ptr(spec);
	*ret_text = text;
	return 0;
}

/* What a supervisor holds. */
static int take_start(struct supervisor *s, struct wire_msg *m, struct err *err)
{
	unsigned next = 3;

	if (m->type != WIRE_START || m->n_fds < 3 || m->body.len)
		return err_set(err, EPROTO, "the supervisor was not told to start");
	s->entry = (struct store_entry){
		.live = wire_take_fd(m, 0), .dir = wire_take_fd(m, 1), .lock = wire_take_fd(m, 2)};
	s->cred.env_fd = m->id & WIRE_START_ENV ? wire_take_fd(m, next++) : -1;
	s->home_lock = m->id & WIRE_START_HOME ? wire_take_fd(m, next) : -1;
	store_mark(&s->entry, true);
	return 0;
}

/* Programs are looked for where the sandbox cannot have put one. */
static void trim_path(const struct sandbox_spec *spec)
{
	const char *path = getenv("PATH");
	cleanup_free char *kept = host_path(spec, path ? path : "");

	(void)setenv("PATH", kept, 1);
}

void sup_watch_process(struct supervisor *s, int pidfd)
{
	s->process_io = (struct ev_io){.fd = pidfd, .fn = on_process};
	(void)ev_want(s->ev, &s->process_io, EPOLLIN);
}

void sup_up(struct supervisor *s, uint32_t landlock_abi)
{
	s->state = SUP_UP;
	s->landlock_abi = landlock_abi;
	ev_timer_stop(s->ev, &s->deadline);
	sup_event(s, "sandbox-up",
		  json_pack("{sI sI}", "ms", (json_int_t)(now_ms() - s->born_ms), "landlock",
			    (json_int_t)landlock_abi));
	gateway_link_watch(s);
	net_update_ends(s);
	git_cover_check(s); /* nobody looked while it started */
	if (git_link_first(s))
		return;
	client_watch_all(s);
	git_flow_up(s);
}

static int plan_engine(struct supervisor *s, struct err *err)
{
	int r = engine_new(s->spec->engine, &s->engine, err);

	if (r < 0)
		return r;
	s->runner = engine_has(s->spec->engine, ENGINE_NO_GUEST)  ? &runner_host
		    : engine_has(s->spec->engine, ENGINE_MACHINE) ? &runner_machine
								  : &runner_guest;
	return engine_plan(s->engine, s->spec, err);
}

static int open_control(struct supervisor *s, struct err *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	int r = runtime_listen(&s->places, s->spec->name, &s->listener, err);

	if (r == 0)
		r = ev_signalfd(signals, ARRAY_SIZE(signals), &s->signals, err);
	if (r < 0)
		return r;
	s->listen_io = (struct ev_io){.fd = s->listener, .fn = on_connection};
	s->signal_io = (struct ev_io){.fd = s->signals, .fn = on_signal};
	(void)ev_want(s->ev, &s->listen_io, EPOLLIN);
	(void)ev_want(s->ev, &s->signal_io, EPOLLIN);
	return 0;
}

/* Everything that needs no lock: the command line takes them meanwhile. */
static int plan(struct supervisor *s, const struct wire_msg *m, const char **ret_text,
		struct err *err)
{
	int r = take_spec(s, m, ret_text, err);

	if (r < 0)
		return r;
	trim_path(s->spec);
	return plan_engine(s, err);
}

/* planned: what became of that; err says why. */
static int set_up(struct supervisor *s, struct wire_msg *start, const char *text, int planned,
		  struct err *err)
{
	cleanup_launch struct engine_launch launch;
	int r, written;

	prestart_take_launch(&launch);
	r = s->spec ? take_start(s, start, err) : planned;
	if (r < 0) {
		launch_drop(&launch);
		return r;
	}
	r = planned;
	if (r == 0)
		r = cred_link_prepare(s, err);
	if (r == 0)
		r = ca_link_start(s, err);
	if (r == 0)
		r = git_link_place(s, err);
	if (r == 0)
		r = git_cover_start(s, err);
	if (r == 0)
		r = watch_start(s, err);
	if (r == 0)
		r = s->runner->start(s, &launch, err);
	launch_drop(&launch); /* if nobody had a use for it */
	/* The guest mounts meanwhile; no command runs there before its client is read. */
	if (r == 0)
		r = git_link_fill(s, err);
	if (r == 0)
		r = watch_stock(s, err);
	if (r == 0)
		r = git_flow_start(s, err);
	/* The spec is written after a failure too, so that the record says what was tried. */
	written = store_write_spec_text(&s->entry, text, strlen(text));
	if (r == 0 && written < 0)
		r = err_sys(err, -written, "cannot write the spec");
	if (r == 0)
		r = events_open(s->entry.dir, &s->events, err);
	if (r == 0)
		r = budget_link_start(s, err);
	if (r == 0)
		r = open_control(s, err);
	if (r < 0)
		return r;
	closep(&s->entry.lock);
	sup_event(s, "sandbox-start",
		  json_pack("{ss ss ss}", "name", s->spec->name, "engine", s->spec->engine,
			    "workspace", s->spec->workspace));
	if (engine_has(s->spec->engine, ENGINE_NO_WALL))
		sup_event(s, "no-sandbox", json_pack("{ss}", "message", direct_warning));
	/*
	 * The client's command is read and checked while the guest starts, and waits in the guest's
	 * socket when the guest is up: this saves a round trip.
	 */
	if (!git_link_waits(s))
		client_watch(s->clients);
	autosave_link_start(s);
	s->deadline.fn = on_deadline;
	ev_timer_set(s->ev, &s->deadline, s->runner->start_ms);
	return 0;
}

/* Answers the clients that still wait, once nothing of the sandbox is left. */
static void farewell(struct supervisor *s)
{
	for (struct client *c = s->clients; c; c = c->next) {
		if (c->waits_stopped)
			(void)wire_send(c->fd, WIRE_STOPPED, 0, NULL, NULL, 0);
		else if (c->state == CLIENT_RUNNING || c->state == CLIENT_LEAVING)
			client_exited(c, c->state == CLIENT_LEAVING ? c->code : 128 + SIGKILL);
		else if (c->state == CLIENT_SPAWNING || c->state == CLIENT_WAITING ||
			 (c->state == CLIENT_FRESH && s->why.msg[0]))
			client_failed(c, EXIT_RALPH,
				      s->why.msg[0] ? s->why.msg : "the sandbox ended");
		/*
		 * A client that came too late for an ordinary end sees the connection close, and
		 * starts the sandbox again.
		 */
	}
}

/*
 * Detaches the record before destroying it: the name is free at once, and no client waits for the
 * files.
 */
static char *detach(struct supervisor *s)
{
	struct err err = {0};
	char *doomed = NULL;

	if (git_repo_is_behind(&s->entry, s->spec)) {
		cleanup_free char *text =
			xasprintf("sandbox '%s' is kept: its commits were not imported; try again: "
				  "ralph run -n %s -- true",
				  s->spec->name, s->spec->name);

		client_notice_all(s, text);
		return NULL;
	}
	/* Imports leave notes. */
	if (!s->git_is_new || (s->git_host && git_host_has_imported(s->git_host)))
		git_repo_forget(&s->places, s->spec);
	/* A loop keeps the logs of its sandboxes, and usage is read from those. */
	if (!spec_is_loops(s->spec) &&
	    usage_keep(s->places.state, s->spec->name, s->entry.dir, &err) < 0)
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
	if (engine_remove(s->spec->engine, s->spec->name, &err) < 0 ||
	    store_detach(&s->places, s->spec->name, &doomed, &err) < 0)
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
	return doomed;
}

void sup_take_down(struct supervisor *s, char **ret_doomed)
{
	struct err err = {0};

	if (s->spec && s->places.runtime)
		runtime_remove(&s->places, s->spec->name);
	s->is_stopped = s->engine && engine_stop(s->engine, &err) == 0;
	if (s->engine && !s->is_stopped)
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
	/* Nothing inside can change anything any more. */
	watch_finish(s);
	if (ret_doomed && s->remove && s->spec)
		*ret_doomed = detach(s);
}

void sup_finish(struct supervisor *s, const char *doomed)
{
	struct err ignored;

	if (!doomed && s->spec)
		autosave_link_finish(s);
	if (!doomed)
		return;
	git_link_keep_spare(s);
	autosave_link_last(s, doomed);
	if (home_keep_last(&s->places, doomed, s->spec, &ignored) < 0)
		return; /* a home that could not be kept is not destroyed either */
	(void)store_destroy(&s->places, doomed, &ignored);
}

static void tear_down(struct supervisor *s)
{
	cleanup_free char *doomed = NULL;
	bool gone;

	/* The kernel needs a while to clear a sandbox away; the rest is done meanwhile. */
	sup_kill(s);
	if (s->runner)
		s->runner->stop(s);
	closep(&s->listener);
	gateway_link_stop(s);
	events_link_stop(s);
	ca_link_stop(s);
	ports_link_stop(s);
	cred_link_stop(s);
	usage_link_stop(s);
	if (s->broker < 0)
		sup_take_down(s, &doomed);
	gone = s->broker >= 0 ? broker_end(s) : doomed != NULL;
	if (!gone) { /* else its log and its mark are gone too */
		sup_event(s, "sandbox-stop",
			  json_pack("{ss*}", "why", s->why.msg[0] ? s->why.msg : NULL));
		store_mark(&s->entry, false);
	}
	farewell(s);
	for (struct client *c = s->clients; c; c = c->next)
		closep(&c->fd);
	if (s->broker < 0)
		sup_finish(s, doomed);
}

/* Does the work that takes time and does not depend on the sandbox, before its spec arrives. */
static int get_ready(struct supervisor *s, struct err *err)
{
	int r = ev_new(&s->ev, err);

	return r < 0 ? r : places_find(&s->places, err);
}

int main(void)
{
	struct supervisor *s = xcalloc(1, sizeof(*s));
	cleanup_wire_msg struct wire_msg spec, start;
	const char *text = NULL;
	struct err err = {0};
	int r;

	s->guest = s->listener = s->signals = s->watch = s->broker = s->home_lock = -1;
	s->events = (struct events)EVENTS_INIT;
	s->gateway.edge = s->gateway.gateway = s->reader.half =
		(struct gateway_half){.child = {.pid = -1, .pidfd = -1}, .sock = -1};
	s->reader.line = s->gateway.vmstat = s->gateway.lines[0] = s->gateway.lines[1] = -1;
	s->ca.sock = s->ca.child.pidfd = -1;
	s->ports.sock = s->ports.child.pidfd = s->ports.child.pid = -1;
	s->cred.sock = s->cred.line = s->cred.child.pidfd = s->cred.env_fd = -1;
	s->ca.child.pid = s->autosave.child.pid = -1;
	s->autosave.child.pidfd = -1;
	s->git_cover.parent = s->git_spare.dir = -1;
	s->entry = (struct store_entry)STORE_ENTRY_INIT;
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)fd_set_cloexec(SUPERVISOR_FD, true);
	r = get_ready(s, &err);
	wire_msg_init(&spec);
	wire_msg_init(&start);
	if (wire_recv(SUPERVISOR_FD, &spec) <= 0)
		return EXIT_OK; /* a prestarted supervisor that nobody needed */
	s->born_ms = now_ms();
	if (r == 0)
		r = plan(s, &spec, &text, &err);
	if (wire_recv(SUPERVISOR_FD, &start) <= 0)
		return EXIT_OK; /* somebody else was faster, or has the locks */
	(void)client_new(s, SUPERVISOR_FD, true);
	r = set_up(s, &start, text, r, &err);
	wire_msg_done(&spec); /* before there are two to write to this memory */
	wire_msg_init(&spec);
	/* Frames of the guest are read from here on. */
	if (r == 0 && !engine_has(s->spec->engine, ENGINE_NO_GUEST))
		r = broker_fork(s, &err);
	if (r == 0)
		r = ev_run(s->ev, &err);
	if (r < 0)
		s->why = err;
	s->state = SUP_ENDED;
	tear_down(s);
	/* Everything else is the kernel's to free; the live lock is released with this process. */
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
