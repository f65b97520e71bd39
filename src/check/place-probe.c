#include "check/place-probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/log.h"
#include "build-config.h"
#include "compose/place.h"
#include "wire/fleet.h"

#define END_MS 5000  /* for the worker to end when its input did */
#define LAST_MS 2000 /* for the last words of a command whose stream has ended */
#define REAP_MS 60000
#define REAP_OUT_MAX (64 * KiB)

struct probe {
	struct child child;
	int in, out, errors; /* of the command: written, read, read */
	struct fleet_in from;
	struct buf said;
};

/* ---- rows ---- */

static void add(struct place_offer *o, const char *what, bool ok, char *found, char *remedy)
{
	o->rows = xrealloc(o->rows, o->n + 1, sizeof(*o->rows));
	o->rows[o->n++] = (struct place_row){what, ok, found, remedy};
	o->ok = o->ok && ok;
}

/* Its words are escaped: they go to a terminal. */
static char *escaped(const char *s)
{
	struct buf b;

	buf_init(&b, 4 * KiB);
	(void)buf_put_escaped(&b, s);
	return buf_take(&b);
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static void add_agents(const struct config *c, struct place_offer *o, const struct fleet_hello *h)
{
	const struct agent *wanted = c->agent ? agent_find(c->agent) : NULL;
	bool found = !wanted || !wanted->program;
	json_t *row;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)h->agents, i, row) {
		const struct agent *a = agent_find(text_of(row, "name"));
		cleanup_free char *version = escaped(text_of(row, "version")),
				  *path = escaped(text_of(row, "path"));

		if (!a)
			continue;
		found = found || a == wanted;
		add(o, a->name, true, xasprintf("%s%s%s", version, *version ? ", " : "", path),
		    NULL);
	}
	if (!found)
		add(o, wanted->name, false, xasprintf("not on the PATH of the worker"),
		    xasprintf("install %s on the node, or in its image", wanted->program));
}

static void add_hello(const struct config *c, const struct config_place *p, struct place_offer *o,
		      const struct fleet_hello *h)
{
	struct err err = {0};
	const uint64_t slots = p->slots ? p->slots : 1;
	bool same = fleet_same_version(h->protocol, h->version, h->node, &err) == 0;
	cleanup_free char *node = escaped(h->node), *job = escaped(h->job), *why = escaped(h->why);

	add(o, "node", true, xasprintf("%s%s%s%s", node, *job ? " (" : "", job, *job ? ")" : ""),
	    NULL);
	add(o, "ralph", same, same ? escaped(h->version) : xstrdup(err.msg), NULL);
	add(o, "engine", h->usable, *why ? xasprintf("%s: %s", h->engine, why) : escaped(h->engine),
	    h->usable ? NULL : xstrdup("run ralph doctor on the node"));
	if (slots > 1 || h->slots > 1)
		add(o, "slots", h->slots >= slots,
		    xasprintf("%llu, and the placement says %llu", (unsigned long long)h->slots,
			      (unsigned long long)slots),
		    h->slots >= slots
			    ? NULL
			    : xasprintf("add '--slots %llu' after 'worker' in its command",
					(unsigned long long)slots));
	add_agents(c, o, h);
}

/* ---- the stream ---- */

static int start(struct probe *b, const struct config *c, const struct config_place *p,
		 const struct place_words *words, char *const *environ, struct err *err)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1}, r = 0;
	struct run run = RUN_INIT;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
		r = err_sys(err, errno, "cannot create a pipe");
	place_argv(&p->command, words, &argv);
	place_env(c, p, environ, &env);
	run.argv = argv.v;
	run.env = env.v;
	run.stdio[0] = in[0];
	run.stdio[1] = out[1];
	run.stdio[2] = errors[1];
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	if (r == 0)
		r = run_start(&run, &b->child, err);
	closep(&in[0]);
	closep(&out[1]);
	closep(&errors[1]);
	b->in = in[1];
	b->out = out[0];
	b->errors = errors[0];
	(void)fd_set_nonblock(b->out, true);
	(void)fd_set_nonblock(b->errors, true);
	return r;
}

static int greet(struct probe *b, const struct config *c, const struct config_place *p)
{
	const struct fleet_start s = {
		.protocol = FLEET_PROTOCOL,
		.version = RALPH_VERSION,
		.engine = c->engine,
		.lease_ms = c->fleet.lease_ms,
		.slots = p->slots ? p->slots : 1,
		.probe = true,
	};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	struct fleet_out out;
	int r;

	/* A command that has ended already is an error, and not the end of this process. */
	(void)sigaction(SIGPIPE, &ignore, &before);
	fleet_out_init(&out);
	r = fleet_put_json(&out, FLEET_START, 0, fleet_start_json(&s));
	if (r == 0)
		r = fleet_out_write(&out, b->in);
	fleet_out_done(&out);
	(void)sigaction(SIGPIPE, &before, NULL);
	return r < 0 ? r : 0;
}

static void read_errors(struct probe *b)
{
	char piece[512];
	ssize_t n = read(b->errors, piece, sizeof(piece));

	if (n > 0 && b->said.len + (size_t)n <= PLACE_STDERR_MAX)
		(void)buf_append(&b->said, piece, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		closep(&b->errors);
}

/* The first message: 1. 0: the stream ended, or the time did. -EPROTO: it is none. */
static int hear(struct probe *b, struct fleet_msg *ret)
{
	uint64_t end = now_ms() + PLACE_PROBE_MS, now;
	int r = 0;

	while (b->out >= 0 && (now = now_ms()) < end) {
		struct pollfd fds[] = {{.fd = b->out, .events = POLLIN},
				       {.fd = b->errors, .events = POLLIN}};

		if (poll(fds, ARRAY_SIZE(fds), (int)(end - now)) < 0 && errno != EINTR)
			return -errno;
		if (b->errors >= 0 && fds[1].revents)
			read_errors(b);
		if (!fds[0].revents)
			continue;
		r = fleet_in_read(&b->from, b->out);
		if (r == -EAGAIN)
			continue;
		if (r <= 0)
			closep(&b->out);
		else
			r = fleet_next(&b->from, ret);
		if (r != 0)
			return r;
	}
	return 0;
}

static void add_silence(struct probe *b, struct place_offer *o, int r, const char *what)
{
	cleanup_free char *said = NULL;
	struct pollfd fd = {.fd = b->errors, .events = POLLIN};
	char *line;

	/* Its last words come with its end. */
	while (b->errors >= 0 && b->out < 0 && poll(&fd, 1, LAST_MS) > 0)
		read_errors(b);
	while (b->said.len && strchr("\r\n ", b->said.data[b->said.len - 1]))
		b->said.data[--b->said.len] = '\0';
	line = b->said.len ? strrchr(b->said.data, '\n') : NULL;
	said = b->said.len ? escaped(line ? line + 1 : b->said.data) : NULL;
	add(o, "node", false,
	    xasprintf("%s%s%s",
		      what	    ? what
		      : r < 0	    ? "what the command prints is no worker's"
		      : b->out >= 0 ? "no worker has answered in ten minutes"
				    : "its stream has ended",
		      said ? "; it says: " : "", said ? said : ""),
	    xstrdup("type its command by yourself and see what it prints"));
}

static void end(struct probe *b)
{
	struct pollfd fd = {.fd = b->child.pidfd, .events = POLLIN};

	closep(&b->in);
	if (b->child.pid > 0) {
		(void)poll(&fd, 1, END_MS);
		child_done(&b->child);
	}
	closep(&b->out);
	closep(&b->errors);
	fleet_in_done(&b->from);
	buf_done(&b->said);
}

static void reap(const struct config *c, const struct config_place *p,
		 const struct place_words *words, char *const *environ)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	cleanup_free char *out = NULL;
	struct run run = RUN_INIT;
	struct err err = {0};
	int code = 0;

	if (p->reap.n == 0)
		return;
	place_argv(&p->reap, words, &argv);
	place_env(c, p, environ, &env);
	run.argv = argv.v;
	run.env = env.v;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	if (run_collect(&run, REAP_MS, REAP_OUT_MAX, &out, &code, &err) < 0)
		log_warn("check", "reap of '%s': %s", p->name, err.msg);
}

static void ask(struct probe *b, const struct config *c, const struct config_place *p,
		struct place_offer *o)
{
	struct fleet_msg m = {0};
	struct fleet_hello h;
	struct err err = {0};
	int r;

	/* A command that takes nothing may still say why. */
	(void)greet(b, c, p);
	r = hear(b, &m);
	if (r == 1 && m.type == FLEET_HELLO && fleet_hello_read(&m, &h, &err) == 0) {
		o->hello = json_incref(h.doc);
		add_hello(c, p, o, &h);
		fleet_done(&h);
	} else {
		add_silence(b, o, r == 1 ? -EPROTO : r, NULL);
	}
}

int place_probe(const struct config *c, const char *name, const char *workspace,
		char *const *environ, struct place_offer *ret, struct err *err)
{
	const struct config_place *p = config_place(c, name);
	struct probe b = {.in = -1, .out = -1, .errors = -1};
	struct place_words words;
	struct err why = {0};

	if (!p)
		return err_usage(err,
				 "there is no placement '%s'; describe it in fleet.places of your "
				 "own config.yaml",
				 name);
	*ret = (struct place_offer){.ok = true};
	b.child = (struct child){.pid = -1, .pidfd = -1};
	fleet_in_init(&b.from, FLEET_NODE);
	buf_init(&b.said, PLACE_STDERR_MAX);
	/* Nobody else's worker has this name at the same time. */
	place_words("probe", workspace, "probe", (unsigned)getpid(), &words);
	words.host = p->hosts.n ? p->hosts.v[0] : NULL;
	if (start(&b, c, p, &words, environ, &why) < 0)
		add_silence(&b, ret, 0, why.msg);
	else
		ask(&b, c, p, ret);
	end(&b);
	reap(c, p, &words, environ);
	return 0;
}

void place_offer_done(struct place_offer *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->rows[i].found);
		free(o->rows[i].remedy);
	}
	free(o->rows);
	json_decref(o->hello);
	*o = (struct place_offer){0};
}

json_t *place_offer_to_json(const struct place_offer *o, const char *name)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < o->n; i++)
		(void)json_array_append_new(
			rows,
			json_pack("{ss sb so so*}", "name", o->rows[i].what, "ok", o->rows[i].ok,
				  "found", json_text(o->rows[i].found), "remedy",
				  o->rows[i].remedy ? json_text(o->rows[i].remedy) : NULL));
	return json_pack("{ss sb so so*}", "place", name, "ok", o->ok, "checks", rows, "node",
			 o->hello ? json_deep_copy(o->hello) : NULL);
}
