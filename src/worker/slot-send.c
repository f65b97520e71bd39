/*
 * What goes home: after an iteration its record, logs and commits, at the end the rest of both and the
 * verdict. A file goes once, and again only when it has changed. One pack is made at a time, by a program of ours (slot-git.c): first a line
 * with the branch's commit, then the pack of what home does not have.
 */
#include "worker/node.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/strv.h"
#include "engine/launch.h"

#define PIECE (60 * KiB)
#define OID_LEN 40
#define LOGS_MAX 2000 /* files */
#define STATE_OF_SLOT "home/.local/state/ralph"
#define SANDBOXES STATE_OF_SLOT "/sandboxes"
#define HOMES STATE_OF_SLOT "/homes"
#define WORKER_HOME "worker-home" /* see record/home.h, which this program does not use */

struct slot_send {
	struct slot *s;
	bool packs; /* the program runs */
	bool again; /* another iteration ended meanwhile */
	bool ends;  /* the loop is over */
	bool sent;  /* the verdict */
	/* the pack */
	SHA2_CTX sum;
	uint64_t bytes;
	char head[OID_LEN + 2];
	size_t n_head;
	char *since;
	/* the logs */
	bool listed;
	json_t *gone;	  /* what home has: path and state of each file */
	struct strv logs; /* paths below the slot's directory */
	size_t at;
	int log;
	uint64_t log_bytes;
	char *name; /* of the log that is being sent */
};

struct slot_send *slot_send_new(struct slot *s)
{
	struct slot_send *x = xcalloc(1, sizeof(*x));

	x->s = s;
	x->log = -1;
	strv_init(&x->logs);
	x->gone = json_object();
	return x;
}

struct slot_send *slot_send_free(struct slot_send *x)
{
	if (!x)
		return NULL;
	if (x->packs)
		(void)ev_want(x->s->n->ev, &x->s->work_out_io, 0);
	strv_done(&x->logs);
	json_decref(x->gone);
	closep(&x->log);
	free(x->since);
	free(x->name);
	free(x);
	return NULL;
}

/* ---- the pack ---- */

static void advance(struct slot_send *x);

static bool has_head(const struct slot_send *x)
{
	return x->n_head == OID_LEN + 1;
}

static struct fleet_pack_end pack_end(struct slot_send *x, char sha256[])
{
	(void)SHA256End(&x->sum, sha256);
	return (struct fleet_pack_end){.lease = x->s->task.lease,
				       .head = x->head,
				       .since = x->since,
				       .sha256 = sha256,
				       .bytes = x->bytes};
}

static void send_verdict(struct slot_send *x, const struct fleet_pack_end *pack)
{
	struct slot *s = x->s;
	const struct fleet_verdict v = {.pack = *pack,
					.code = (uint64_t)s->code,
					.why = s->why ? s->why : "",
					.summary = s->summary};
	json_t *j = fleet_verdict_json(&v);
	int r = fleet_put_json(&s->n->out, FLEET_VERDICT, s->id, json_incref(j));

	/* A summary that is too long for a message is left behind, and the verdict is not. */
	if (r < 0) {
		(void)json_object_del(j, "summary");
		r = fleet_put_json(&s->n->out, FLEET_VERDICT, s->id, json_incref(j));
	}
	json_decref(j);
	x->sent = true;
	if (r < 0)
		log_warn("worker", "the verdict cannot be sent: %s", strerror(-r));
	node_flush(s->n);
	slot_sent(s);
}

/* No pack: the commit is one that home has. */
static void send_bare_verdict(struct slot_send *x)
{
	char sha256[SHA256_DIGEST_STRING_LENGTH];
	struct fleet_pack_end pack;

	SHA256Init(&x->sum);
	x->bytes = 0;
	pack = pack_end(x, sha256);
	pack.head = pack.since = x->s->acked;
	send_verdict(x, &pack);
}

static void pack_over(struct slot_send *x)
{
	struct slot *s = x->s;
	char sha256[SHA256_DIGEST_STRING_LENGTH];
	struct fleet_pack_end pack;
	int code;

	(void)ev_want(s->n->ev, &s->work_out_io, 0);
	closep(&s->work_out);
	code = run_wait(&s->work);
	x->packs = false;
	if (x->bytes)
		(void)fleet_put_piece(&s->n->out, FLEET_PACK, s->id, "", 0, false);
	if (code != 0 || !has_head(x)) {
		log_warn("worker", "no pack could be made of the commits (%d)", code);
		if (x->ends) {
			free(s->why);
			s->why = xstrdup("no pack could be made of the commits");
			s->code = s->code ? s->code : EXIT_RUNTIME;
			send_bare_verdict(x);
		} else {
			node_flush(s->n);
		}
		return;
	}
	x->head[OID_LEN] = '\0';
	pack = pack_end(x, sha256);
	if (x->ends && !x->again) {
		send_verdict(x, &pack);
		return;
	}
	if (x->bytes) {
		free(s->head);
		s->head = xstrdup(x->head);
		(void)fleet_put_json(&s->n->out, FLEET_CHECKPOINT, s->id,
				     fleet_pack_end_json(&pack));
	}
	node_flush(s->n);
	advance(x);
}

static void take_bytes(struct slot_send *x, const char *p, size_t n)
{
	size_t want = OID_LEN + 1 - x->n_head, head = n < want ? n : want;

	memcpy(x->head + x->n_head, p, head);
	x->n_head += head;
	if (n == head)
		return;
	SHA256Update(&x->sum, (const uint8_t *)p + head, n - head);
	x->bytes += n - head;
	(void)fleet_put_piece(&x->s->n->out, FLEET_PACK, x->s->id, p + head, n - head, true);
	node_flush(x->s->n);
}

static void on_pack(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct slot *s = ev_owner(io, struct slot, work_out_io);
	char piece[PIECE];
	ssize_t n;

	if (!node_has_room(s->n)) {
		(void)ev_want(ev, io, 0);
		return;
	}
	n = read(s->work_out, piece, sizeof(piece));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		take_bytes(s->send, piece, (size_t)n);
	else
		pack_over(s->send);
}

static int start_pack(struct slot_send *x, struct err *err)
{
	struct slot *s = x->s;
	cleanup_free char *libexec = launch_programs(), *path = path_join(libexec, "worker");
	char *argv[] = {path,	  (char *)(uintptr_t) "pack",
			s->dir,	  (char *)(uintptr_t)s->task.branch,
			s->acked, NULL};
	cleanup_strv struct strv env = {0};
	struct run run = RUN_INIT;
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	slot_environ(s, &env);
	run.argv = argv;
	run.env = env.v;
	run.dir = s->dir;
	run.stdio[1] = fds[1];
	run.stdio[2] = STDERR_FILENO;
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	r = run_start(&run, &s->work, err);
	(void)close(fds[1]);
	s->work_out = fds[0];
	if (r < 0) {
		closep(&s->work_out);
		return r;
	}
	(void)fd_set_nonblock(s->work_out, true);
	SHA256Init(&x->sum);
	x->bytes = 0;
	x->n_head = 0;
	x->packs = true;
	free(x->since);
	x->since = xstrdup(s->acked);
	s->work_out_io = (struct ev_io){.fd = s->work_out, .fn = on_pack};
	return ev_want(s->n->ev, &s->work_out_io, EPOLLIN);
}

/* ---- the logs ---- */

/* Conversations lie in the home of a sandbox, and of the project when that has ended. */
static void list_said(struct slot_send *x, const char *below, const char *home)
{
	cleanup_strv struct strv found = {0};

	path_glob_beneath(x->s->root, below, "*", LOGS_MAX, &found);
	for (size_t i = 0; i < found.n; i++) {
		cleanup_free char *at = home ? path_join(found.v[i], home) : xstrdup(found.v[i]);

		for (size_t k = 0; k < agent_count(); k++)
			for (const char *const *p = agent_at(k)->sessions; *p; p++)
				path_glob_beneath(x->s->root, at, *p, LOGS_MAX, &x->logs);
	}
}

static void list_logs(struct slot_send *x)
{
	static const char *const patterns[] = {"iteration-*", "verify-*"};

	strv_done(&x->logs);
	strv_init(&x->logs);
	x->at = 0;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		path_glob_beneath(x->s->root, "ws/.ralph/logs", patterns[i], LOGS_MAX, &x->logs);
	list_said(x, SANDBOXES, WORKER_HOME);
	list_said(x, HOMES, NULL);
	x->listed = true;
}

/* As home calls it: the part below an agent's home, else the name. The caller frees it. */
static char *name_of(const char *path)
{
	const char *at = NULL;

	if (strncmp(path, SANDBOXES "/", strlen(SANDBOXES "/")) == 0)
		at = strstr(path, "/" WORKER_HOME "/");
	else if (strncmp(path, HOMES "/", strlen(HOMES "/")) == 0)
		return xasprintf(FLEET_LOG_HOME "%s", strchrnul(path + strlen(HOMES "/"), '/') + 1);
	return at ? xasprintf(FLEET_LOG_HOME "%s", at + strlen("/" WORKER_HOME "/"))
		  : xstrdup(path_base(path));
}

/* False: home has it as it is. A copy of a conversation has the time of what it was made of. */
static bool is_news(struct slot_send *x, const struct stat *st)
{
	cleanup_free char *now = xasprintf("%lld %lld.%09ld", (long long)st->st_size,
					   (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	const char *was = json_string_value(json_object_get(x->gone, x->name));

	if (was && streq(was, now))
		return false;
	(void)json_object_set_new(x->gone, x->name, json_text(now));
	return true;
}

/* Opens the next file that there is. */
static bool open_log(struct slot_send *x)
{
	while (x->at < x->logs.n) {
		const char *path = x->logs.v[x->at++];
		struct stat st;

		free(x->name);
		x->name = name_of(path);
		x->log = path_open_beneath(x->s->root, path, O_RDONLY | O_NONBLOCK, 0);
		x->log_bytes = 0;
		if (x->log >= 0 && fstat(x->log, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size > 0 && fleet_log_path_valid(x->name, strlen(x->name)) &&
		    is_news(x, &st) &&
		    fleet_put_piece(&x->s->n->out, FLEET_LOG, x->s->id, x->name, strlen(x->name),
				    true) == 0)
			return true;
		closep(&x->log);
	}
	return false;
}

/* Sends until the stream is full; true: nothing is left. */
static bool send_logs(struct slot_send *x)
{
	char piece[PIECE];

	if (!x->listed)
		list_logs(x);
	while (node_has_room(x->s->n)) {
		ssize_t n;

		if (x->log < 0 && !open_log(x)) {
			x->listed = false;
			return true;
		}
		n = read(x->log, piece, sizeof(piece));
		if (n > 0 && x->log_bytes + (size_t)n <= FLEET_LOG_MAX) {
			x->log_bytes += (size_t)n;
			(void)fleet_put_piece(&x->s->n->out, FLEET_LOG, x->s->id, piece, (size_t)n,
					      true);
			continue;
		}
		(void)fleet_put_piece(&x->s->n->out, FLEET_LOG, x->s->id, "", 0, false);
		closep(&x->log);
	}
	return false;
}

/* ---- in order ---- */

static void advance(struct slot_send *x)
{
	struct slot *s = x->s;
	struct err err = {0};
	int r = 0;

	if (x->packs || x->sent)
		return;
	if (x->ends && s->why) { /* no loop ran */
		send_bare_verdict(x);
		return;
	}
	if (!x->ends && !x->again)
		return;
	if (!send_logs(x)) {
		node_flush(s->n);
		return;
	}
	x->again = false;
	r = start_pack(x, &err);
	if (r == 0)
		return;
	log_warn("worker", "%s", err.msg);
	if (x->ends) {
		s->why = xstrndup(err.msg, 500);
		send_bare_verdict(x);
	}
}

void slot_send_checkpoint(struct slot *s)
{
	const struct fleet_record r = {.lease = s->task.lease, .summary = s->summary};

	(void)fleet_put_json(&s->n->out, FLEET_RECORD, s->id, fleet_record_json(&r));
	node_flush(s->n);
	s->send->again = true;
	advance(s->send);
}

void slot_send_end(struct slot *s)
{
	/* A pack that is under way is still a checkpoint; the last one follows it. */
	s->send->again = s->send->packs;
	s->send->ends = true;
	advance(s->send);
}

void slot_send_more(struct slot *s)
{
	if (s->send->packs)
		(void)ev_want(s->n->ev, &s->work_out_io, EPOLLIN);
	else
		advance(s->send);
}
