#include "live/live.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "engine/engine.h"
#include "events/usage-kept.h"
#include "spec/host-env.h"
#include "compose/no-guest.h"
#include "record/loops.h"
#include "live/autosave.h"
#include "live/dead.h"
#include "live/git-repo.h"
#include "live/home-keep.h"
#include "live/home-ready.h"
#include "live/net-change.h"
#include "netrules/net-rules.h"
#include "netrules/spec-net.h"
#include "record/home.h"
#include "record/runtime.h"
#include "record/store.h"
#include "wire/wire.h"

extern char **environ;

#define LOCK_MS 20000 /* for another command to finish starting or removing */
#define ANSWER_S 60   /* for a supervisor to answer */
#define STOP_S 300    /* for one to end */
#define UP_S 960      /* for a sandbox to come up: some engines fetch an image */
#define STALE_TRIES 10
#define BEYOND_MAX (4 * KiB) /* of a line that names hosts and mounts */

static int place_connection(void *arg)
{
	return dup2(*(const int *)arg, SUPERVISOR_FD) < 0 ? -errno : 0;
}

static int spawn_supervisor(const struct places *p, const char *name, int conn, struct err *err)
{
	cleanup_free char *program = places_program(p, "supervisor");
	char *argv[] = {program, (char *)(uintptr_t)name, NULL};
	cleanup_strv struct strv env;
	struct run run = RUN_INIT;
	struct child child;
	int r;

	strv_init(&env);
	prestart_supervisor_env(&env);
	run.argv = argv;
	run.env = env.v;
	run.dir = "/";
	run.flags = RUN_NEW_SESSION;
	run.before_exec = place_connection;
	run.arg = &conn;
	r = run_start(&run, &child, err);
	if (r < 0)
		return r;
	closep(&child.pidfd); /* the supervisor outlives us; init reaps it */
	return 0;
}

/* A supervisor that waits to be told what for; the connection is all that keeps it. */
static int new_supervisor(const struct places *p, const char *name, int *ret, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1;
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	r = spawn_supervisor(p, name, theirs, err);
	if (r == 0)
		*ret = take_fd(ours);
	return r;
}

static int send_name(int conn, const char *name)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_str(&b, name);
	return wire_send(conn, WIRE_NAME, 0, &b, NULL, 0);
}

/* Clears away what a killed sandbox NAME left, before the spec says what is there. 0: nothing of NAME
 * runs; -EBUSY: something does, and is not joined. Its processes may take a moment to be gone. */
static int make_free(const struct places *p, const char *name)
{
	cleanup_fd int live = -1;
	struct err ignored;
	bool cleaned = false;

	if (!runtime_exists(p, name))
		return 0;
	if (live_connect(p, name, &live, &ignored) < 0 || live >= 0)
		return -EBUSY;
	return dead_clean(p, name, LOCK_MS, &cleaned, &ignored) == 0 && cleaned ? 0 : -EBUSY;
}

void live_prestart(int *conn, const struct places *p, const char *name)
{
	struct err ignored;

	if (make_free(p, name) < 0)
		closep(conn);
	else if (*conn < 0)
		(void)new_supervisor(p, name, conn, &ignored);
	else if (send_name(*conn, name) < 0)
		closep(conn);
}

/* What the supervisor can plan by, while this process takes the locks. */
static int send_spec(int conn, const struct sandbox_spec *spec, struct err *err)
{
	cleanup_json json_t *j = spec_to_json(spec);
	cleanup_free char *text = json_dumps(j, JSON_COMPACT);
	cleanup_strv struct strv values = {0};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	if (!text)
		return err_set(err, EINVAL, "the spec cannot be written as JSON");
	wire_put_str(&b, text);
	spec_values(spec, &values);
	wire_put_strv(&b, &values);
	r = wire_send(conn, WIRE_SPEC, 0, &b, NULL, 0);
	return r < 0 ? err_sys(err, -r, "cannot tell the supervisor what to start") : 0;
}

static int send_start(int conn, const struct store_entry *e, int home_lock_,
		      const struct sandbox_spec *spec, struct err *err)
{
	int fds[5] = {e->live, e->dir, e->lock}, r;
	size_t n_fds = 3;
	uint32_t has = 0;
	cleanup_fd int user_env = -1;

	/* For the credential helper alone: the supervisor hands it on without a look. */
	if (spec->n_credentials) {
		user_env = host_environ_memfd(spec, environ);
		if (user_env < 0)
			return err_sys(err, -user_env, "cannot create a memory file");
		has |= WIRE_START_ENV;
		fds[n_fds++] = user_env;
	}
	/* The home is the sandbox's as long as its supervisor lives. */
	if (home_lock_ >= 0) {
		has |= WIRE_START_HOME;
		fds[n_fds++] = home_lock_;
	}
	r = wire_send(conn, WIRE_START, has, NULL, fds, n_fds);
	return r < 0 ? err_sys(err, -r, "cannot tell the supervisor to start") : 0;
}

/* An engine that keeps its sandboxes cannot change the image or the limits of an existing one. */
static int check_made(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *was = NULL;
	const char *what = NULL;
	struct err ignored;

	if (store_is_placed(e))
		return err_usage(err,
				 "'%s' stands for a worker on another machine; name another with "
				 "-n NAME",
				 spec->name);
	if (!no_guest(spec) || no_guest_without_wall(spec) ||
	    store_read_spec(e, &was, &ignored) < 0 || !streq(was->engine, spec->engine))
		return 0;
	if (!streq(was->template ? was->template : "", spec->template ? spec->template : ""))
		what = "from another image";
	else if (was->limits.memory != spec->limits.memory || was->limits.cpu != spec->limits.cpu)
		what = "with other limits";
	return what ? err_usage(err,
				"sandbox '%s' was made %s; remove it first, with what is in it: "
				"ralph rm %s",
				spec->name, what, spec->name)
		    : 0;
}

/* The lock of the project's home; fd -1: the sandbox has another home. */
struct home_hold {
	int fd;
	bool alone;
};

static void let_go_home(struct home_hold *h)
{
	closep(&h->fd);
}

/*
 * Comes before the locks of the record: who holds the home alone may wait for records, and who
 * holds a record for no home.
 */
static int hold_home(const struct places *p, const struct sandbox_spec *spec, struct home_hold *ret,
		     struct err *err)
{
	if (!spec->home_key || spec->home_of != SPEC_HOME_PROJECT)
		return 0;
	return home_lock(p, spec->home_key, LOCK_MS, &ret->fd, &ret->alone, err);
}

static int prepare_home(const struct places *p, const struct store_entry *e,
			const struct sandbox_spec *spec, const struct home_hold *home,
			struct err *err)
{
	int r;

	if (no_guest(spec))
		return 0;
	r = home_ready(p, e, spec, home->alone, err);
	return r == 0 && home->alone ? home_share(p, spec->home_key, home->fd, err) : r;
}

static int tell_supervisor(const struct places *p, const struct sandbox_spec *spec,
			   const struct store_entry *e, const struct home_hold *home,
			   int *prestarted, struct err *err)
{
	int r = *prestarted < 0 ? -EPIPE : send_start(*prestarted, e, home->fd, spec, err);

	/* None was started ahead, or it was killed meanwhile. */
	if (r != -EPIPE)
		return r;
	closep(prestarted);
	r = new_supervisor(p, e->name, prestarted, err);
	if (r == 0)
		r = send_spec(*prestarted, spec, err);
	return r < 0 ? r : send_start(*prestarted, e, home->fd, spec, err);
}

static int start(const struct places *p, const struct sandbox_spec *spec, struct store_entry *e,
		 const struct home_hold *home, int *prestarted, int *ret, struct err *err)
{
	int r;

	if (store_was_killed(e))
		dead_clear(p, e);
	r = check_made(e, spec, err);
	/*
	 * Without a guest the loop's state cannot be masked, so it is moved out of the workspace.
	 */
	if (r == 0)
		r = no_guest(spec) ? loops_set_apart(p, spec->workspace, false, err) : 0;
	if (r == 0)
		r = store_write_owner(e, spec->workspace, err);
	if (r == 0)
		r = prepare_home(p, e, spec, home, err);
	if (r == 0 && spec->clone && mkdirat(e->dir, "clone", 0700) < 0 && errno != EEXIST)
		r = err_sys(err, errno, "cannot make the clone of sandbox '%s'", e->name);
	if (r == 0)
		r = tell_supervisor(p, spec, e, home, prestarted, err);
	if (r == 0)
		*ret = take_fd(*prestarted);
	closep(prestarted);
	return r;
}

/* A worker begins with an empty home, or not at all. Everybody else takes the home that is there. */
static int check_home(const struct sandbox_spec *live, const struct sandbox_spec *spec,
		      struct err *err)
{
	if (spec->home_of != SPEC_HOME_WORKER || live->home_of == SPEC_HOME_WORKER)
		return 0;
	return err_usage(err,
			 "sandbox '%s' is live with a home that others wrote to, and a loop needs "
			 "its own; run: ralph stop %s",
			 spec->name, spec->name);
}

/* A command that gets more than it asked for is told so. */
static void tell_beyond(const struct sandbox_spec *spec, const struct strv *beyond)
{
	cleanup_buf struct buf list;

	buf_init(&list, BEYOND_MAX);
	for (size_t i = 0; i < beyond->n; i++)
		if (buf_printf(&list, "%s%s", i ? ", " : "", beyond->v[i]) < 0)
			break;
	if (beyond->n)
		log_warn("live", "sandbox '%s' is live with more than this command asks for: %s",
			 spec->name, buf_str(&list));
}

/* Rules of `ralph net` are no setting of one command: a live sandbox that has others gets them. */
static int check_same(const struct places *p, const struct store_entry *e,
		      const struct sandbox_spec *spec, enum live_flags flags, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *live = NULL;
	cleanup_free char *difference = NULL, *other = NULL;
	cleanup_strv struct strv more = {0};
	int r = store_read_spec(e, &live, err);

	if (r == -ENOENT)
		return err_set(err, ESTALE, "sandbox '%s' was removed meanwhile", e->name);
	if (r == 0)
		r = check_home(live, spec, err);
	if (r < 0)
		return r;
	difference = spec_difference(live, spec, NULL);
	if (!difference)
		return 0;
	net_rules_take_files(live, spec);
	other = spec_difference(live, spec, flags & LIVE_WIDER ? &more : NULL);
	if (!other) {
		tell_beyond(spec, &more);
		return net_catch_up(p, environ, spec->name, err);
	}
	return err_usage(err, "sandbox '%s' is live with other settings: %s; run: ralph stop %s",
			 spec->name, other, spec->name);
}

/* Connects to a sandbox that is live or being started. *ret is -1 when it is neither, which stays
 * so while the lock is held. */
static int connect_or_lock(const struct places *p, struct store_entry *e, runtime_connect_fn *reach,
			   int *ret, struct err *err)
{
	int r = reach(p, e->name, ret, err);

	if (r < 0 || *ret >= 0)
		return r;
	r = store_lock(p, e, LOCK_MS, err);
	return r < 0 ? r : reach(p, e->name, ret, err); /* somebody was faster */
}

static int connect_or_start(const struct places *p, const struct sandbox_spec *spec,
			    enum live_flags flags, int *prestarted, int *ret, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_(let_go_home) struct home_hold home = {.fd = -1};
	int r = store_open(p, spec->name, true, &e, err);

	if (r == 0)
		r = hold_home(p, spec, &home, err);
	if (r == 0)
		r = connect_or_lock(p, &e, runtime_join, ret, err);
	if (r == 0 && *ret >= 0) {
		r = check_same(p, &e, spec, flags, err);
		if (r != -ENOENT)
			return r;
		/*
		 * A sandbox has its spec before anybody can connect to it, so this one was removed
		 * just now.
		 */
		closep(ret);
		return -ESTALE;
	}
	if (r == 0)
		r = store_lock_live(p, &e, LOCK_MS, err);
	return r < 0 ? r : start(p, spec, &e, &home, prestarted, ret, err);
}

static_assert(((LIVE_KEEP | LIVE_REMOVE | LIVE_WIDER) & WIRE_EXEC_CONSENT) == 0,
	      "they travel as they are");

static int send_flags(int conn, enum live_flags flags)
{
	cleanup_buf struct buf b;
	int r = 0;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, 1U | ((uint32_t)flags & WIRE_EXEC_CONSENT));
	if (flags & LIVE_KEEP)
		r = wire_send(conn, WIRE_KEEP, 0, &b, NULL, 0);
	if (r == 0 && (flags & LIVE_REMOVE))
		r = wire_send(conn, WIRE_REMOVE, 0, NULL, NULL, 0);
	return r;
}

int live_start(const struct places *p, const struct sandbox_spec *spec, enum live_flags flags,
	       int *prestarted, int *ret, struct err *err)
{
	cleanup_fd int conn = -1;
	int r = -ESTALE;

	if (*prestarted >= 0 && send_spec(*prestarted, spec, err) < 0)
		closep(prestarted);
	for (int i = 0; r == -ESTALE && i < STALE_TRIES; i++) {
		closep(&conn);
		r = connect_or_start(p, spec, flags, prestarted, &conn, err);
	}
	/* It has a spec, and takes no other: where the sandbox was live, the next try starts anew. */
	closep(prestarted);
	if (r < 0)
		return r;
	/* A supervisor that has ended may have said why: the caller reads that from its answers. */
	r = send_flags(conn, flags);
	if (r < 0 && r != -EPIPE)
		return err_sys(err, -r, "cannot reach sandbox '%s'", spec->name);
	*ret = take_fd(conn);
	return 0;
}

/* Waits for one frame of that type; end of stream or another frame: -EPIPE, -EPROTO. */
static int await(int conn, enum wire_type type, int limit_s, struct wire_msg *m)
{
	const struct timeval limit = {.tv_sec = limit_s};
	int r;

	(void)setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = wire_recv(conn, m);
	if (r == 0)
		return -EPIPE;
	return r < 0 ? r : m->type == type ? 0 : -EPROTO;
}

int live_wait_up(int conn, const char *name, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	const char *msg;
	int r = wire_send(conn, WIRE_INSPECT, 0, NULL, NULL, 0);

	wire_msg_init(&m);
	if (r == 0)
		r = await(conn, WIRE_INFO, UP_S, &m);
	if (r == 0)
		return 0;
	if (r != -EPROTO || m.type != WIRE_FAILED)
		return err_set(err, EAGAIN, "sandbox '%s' ended just now", name);
	wire_read(&rd, &m);
	(void)wire_get_u32(&rd);
	msg = wire_get_str(&rd);
	return err_set(err, EIO, "%s", msg ? msg : "the sandbox failed");
}

int live_start_up(const struct places *p, const struct sandbox_spec *spec, enum live_flags flags,
		  int *ret, struct err *err)
{
	cleanup_fd int conn = -1;
	int r = -EAGAIN, none = -1;

	for (int i = 0; r == -EAGAIN && i < STALE_TRIES; i++) {
		closep(&conn);
		r = live_start(p, spec, flags, &none, &conn, err);
		if (r == 0)
			r = live_wait_up(conn, spec->name, err);
	}
	if (r == 0)
		*ret = take_fd(conn);
	return r;
}

int live_keep(int conn, const char *name, uint32_t consent, struct err *err)
{
	int r = send_flags(conn, LIVE_KEEP | consent);

	/* An answer to the next question says that it was heard. */
	return r < 0 ? err_sys(err, -r, "cannot reach sandbox '%s'", name)
		     : live_wait_up(conn, name, err);
}

/* Shows the supervisor's notice of what the agent left in the workspace. */
static bool show_notice(const struct wire_msg *m)
{
	struct wire_reader rd;
	const char *text;

	if (m->type != WIRE_NOTICE && m->type != WIRE_NEWS)
		return false;
	wire_read(&rd, m);
	text = wire_get_str(&rd);
	if (text)
		log_msg(m->type == WIRE_NEWS ? LOG_INFO : LOG_WARN, "workspace", "%s", text);
	return text != NULL;
}

static int ask_stop(int conn, const char *name, uint32_t grace_ms, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf b;
	int r;

	wire_msg_init(&m);
	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, grace_ms);
	r = wire_send(conn, WIRE_STOP, 0, &b, NULL, 0);
	while (r == 0) {
		r = await(conn, WIRE_STOPPED, STOP_S, &m);
		/* One that fails just now says so to everybody who comes, and ends all the same. */
		if (r != -EPROTO || (m.type != WIRE_FAILED && !show_notice(&m)))
			break;
		wire_msg_done(&m);
		wire_msg_init(&m);
		r = 0;
	}
	/* End of stream: it was ending already. */
	return r < 0 && r != -EPIPE ? err_sys(err, -r, "sandbox '%s' does not answer", name) : 0;
}

int live_stop(const struct places *p, const char *name, uint32_t grace_ms, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_fd int conn = -1;
	int r = store_open(p, name, false, &e, err);

	if (r == 0)
		r = connect_or_lock(p, &e, runtime_connect, &conn, err);
	if (r == 0 && conn >= 0)
		r = ask_stop(conn, name, grace_ms, err);
	/* A supervisor that is still ending has ended once the live lock is free. */
	if (r == 0)
		r = store_lock_live(p, &e, LOCK_MS, err);
	if (r == 0 && store_was_killed(&e))
		dead_clear(p, &e);
	return r == -ESTALE ? 0 : r; /* the sandbox removed itself */
}

/* Saves the conversations, also those of a home that goes with the sandbox, and removes what the engine keeps of the
 * sandbox. On failure the record stays, to try again. */
/* Commits that no import took over are lost with the sandbox. */
static int check_imported(const struct store_entry *e, const struct sandbox_spec *spec, bool force,
			  struct err *err)
{
	if (!git_repo_is_behind(e, spec))
		return 0;
	if (!force)
		return err_set(err, ENOTEMPTY,
			       "commits in sandbox '%s' were not imported; import them by a start "
			       "in '%s': ralph run -n %s -- true; or without them: ralph rm -f %s",
			       e->name, spec->workspace, e->name, e->name);
	log_warn("rm", "commits in sandbox '%s' were not imported and are lost", e->name);
	return 0;
}

static int remove_of_engine(const struct places *p, const struct store_entry *e, bool force,
			    struct err *err)
{
	cleanup_free char *record = store_record(p, e->name);
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	struct err ignored;
	int r;

	if (store_read_spec(e, &spec, &ignored) < 0)
		return 0;
	r = check_imported(e, spec, force, err);
	if (r == 0)
		r = home_keep_last(p, record, spec, err);
	if (r < 0)
		return r;
	git_repo_forget(p, spec);
	(void)values_settle(p, record, spec);
	r = autosave_wait(p, record, spec, err);
	if (r < 0 && !force)
		return err_wrap(err, r,
				"the conversations of '%s' cannot be saved (ralph export %s; or "
				"without them: ralph rm -f %s)",
				e->name, e->name, e->name);
	if (r < 0)
		log_warn("rm", "conversations of '%s' may be lost: %s", e->name, err->msg);
	return engine_remove(spec->engine, spec->name, err);
}

int live_remove(const struct places *p, const char *name, bool force, bool usage, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_fd int conn = -1;
	int r = store_open(p, name, false, &e, err);

	if (r == 0)
		r = connect_or_lock(p, &e, runtime_connect, &conn, err);
	if (r == 0 && conn >= 0 && !force)
		return err_set(err, EBUSY,
			       "sandbox '%s' is running; stop it first, or use: ralph rm -f %s",
			       name, name);
	if (r == 0 && conn >= 0)
		r = ask_stop(conn, name, 0, err);
	if (r == 0 && e.lock < 0)
		r = store_lock(p, &e, LOCK_MS, err);
	if (r == 0)
		r = store_lock_live(p, &e, LOCK_MS, err);
	if (r == -ESTALE)
		return 0;
	if (r < 0)
		return r;
	if (store_was_killed(&e))
		dead_clear(p, &e);
	r = remove_of_engine(p, &e, force, err);
	if (r < 0 && !force)
		return r;
	if (r < 0)
		log_warn("rm", "sandbox '%s' may be left with its engine: %s", name, err->msg);
	r = usage ? usage_keep(p->state, name, e.dir, err) : 0;
	if (r < 0 && !force)
		return r;
	if (r < 0)
		log_warn("rm", "what sandbox '%s' used is not kept: %s", name, err->msg);
	return store_remove(p, name, err);
}

/* The words of a WIRE_FAILED. */
static int failure(const struct wire_msg *m, const char *name, struct err *err)
{
	struct wire_reader rd;
	const char *msg;
	uint32_t code;

	wire_read(&rd, m);
	code = wire_get_u32(&rd);
	msg = wire_get_str(&rd);
	(void)err_set(err, EIO, "sandbox '%s': %s", name, msg ? msg : "it failed");
	err->exit_code = code > 0 && code < 256 ? (int)code : EXIT_RUNTIME;
	return -EIO;
}

int live_ask(const struct places *p, const char *name, enum wire_type type, const struct buf *body,
	     json_t **ret, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_fd int conn = -1;
	struct wire_reader rd;
	const char *text;
	int r;

	wire_msg_init(&m);
	r = type == WIRE_INSPECT ? live_connect_any(p, name, &conn, err)
				 : live_connect(p, name, &conn, err);
	*ret = NULL;
	if (r < 0 || conn < 0)
		return r;
	r = wire_send(conn, type, 0, body, NULL, 0);
	if (r == 0)
		r = await(conn, WIRE_INFO, ANSWER_S, &m);
	if (r == -EPROTO && m.type == WIRE_FAILED)
		return failure(&m, name, err);
	if (r < 0)
		return r == -EPIPE ? 0 : err_sys(err, -r, "sandbox '%s' does not answer", name);
	wire_read(&rd, &m);
	text = wire_get_str(&rd);
	return text ? json_parse(text, strlen(text), ret, err)
		    : err_set(err, EPROTO, "sandbox '%s' answers nonsense", name);
}

int live_inspect(const struct places *p, const char *name, json_t **ret, struct err *err)
{
	return live_ask(p, name, WIRE_INSPECT, NULL, ret, err);
}

int live_net(const struct places *p, const char *name, const struct net_policy *net, json_t **ret,
	     struct err *err)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_policy(&b, net);
	return live_ask(p, name, WIRE_NET, &b, ret, err);
}

int live_ports(const struct places *p, const char *name, enum wire_ports_verb verb, uint16_t host,
	       uint16_t inside, json_t **ret, struct err *err)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_u32(&b, verb);
	wire_put_u32(&b, host);
	wire_put_u32(&b, inside);
	return live_ask(p, name, WIRE_PORTS, &b, ret, err);
}
