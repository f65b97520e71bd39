#include "web/hand-own.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/fd.h"
#include "live/live.h"
#include "record/loops.h"
#include "record/store.h"

extern char **environ;

/*
 * One act: the session's level, then desk's word for what the id stands for and what it looks like
 * now, then the command. Nothing of desk's words is run unchecked: verbs.c has the grammar of each,
 * and a workspace must be one that ralph has written down itself.
 */

static void act_free(struct act *a)
{
	ev_timer_stop(a->hand->ev, &a->limit);
	if (a->ended.fd > 0)
		(void)ev_want(a->hand->ev, &a->ended, 0);
	closep(&a->out);
	free(a->seen);
	free(a->text);
	free(a->line);
	*a = (struct act){.hand = a->hand, .out = -1};
}

static void act_fail(struct act *a, unsigned status, const char *why)
{
	if (a->id)
		hand_error(a->hand, a->id, status, why);
	act_free(a);
}

static bool is_nonce(const char *s)
{
	size_t n = strlen(s);

	return n >= 8 && n <= NONCE_MAX && strspn(s, "0123456789abcdef-") == n;
}

static struct act *free_act(struct hand *h)
{
	for (size_t i = 0; i < HAND_ACTS_MAX; i++)
		if (h->acts[i].state == ACT_FREE)
			return &h->acts[i];
	return NULL;
}

/* Of sessions every level may end its own, and grant may end any. */
static void end_session(struct hand *h, uint32_t id, const struct session *s, const char *which)
{
	cleanup_free char *name = xstrdup(which);

	if (s->level < LEVEL_GRANT && !streq(s->id, name))
		hand_error(h, id, 403, "this session may not end others");
	else if (!sessions_end(&h->sessions, name))
		hand_error(h, id, 404, "there is no such session");
	else {
		hand_answer(h, id, 200, json_pack("{si ss}", "code", 0, "said", "ended"));
		hand_sessions_changed(h);
	}
}

static void ask_desk(struct act *a, const char *verb, const char *id)
{
	struct hand *h = a->hand;
	cleanup_free char *path = xasprintf("%s/%s", verb, id);

	if (h->desk.sock.fd < 0 ||
	    web_send_ask(h->desk.sock.fd, a->own,
			 &(struct web_ask){.kind = WEB_RESOLVE, .path = path}) < 0)
		act_fail(a, 503, "desk is not there; try again");
}

static void begin(struct hand *h, uint32_t id, struct session *s, const json_t *j)
{
	const char *verb = NULL, *what = NULL, *seen = NULL, *nonce = NULL, *text = NULL;
	const struct verb *v;
	struct err err = {0};
	struct act *a;

	if (json_get_str(j, "verb", &verb, &err) < 0 || json_get_str(j, "id", &what, &err) < 0 ||
	    json_get_str(j, "nonce", &nonce, &err) < 0 || !is_nonce(nonce) || strlen(what) > 100) {
		hand_error(h, id, 400, "an act needs a verb, an id and a nonce");
		return;
	}
	if (streq(verb, "revoke")) {
		end_session(h, id, s, what);
		return;
	}
	v = verb_find(verb);
	if (!v || json_get_str(j, "seen", &seen, &err) < 0 ||
	    json_opt_str(j, "text", &text, &err) < 0 || (text != NULL) != verb_takes_text(v)) {
		hand_error(h, id, 400, "there is no such act");
		return;
	}
	a = free_act(h);
	if (s->level < v->level)
		hand_error(h, id, 403, "this session may not do that");
	else if (!session_new_nonce(s, nonce))
		hand_error(h, id, 409, "this was done already");
	else if (!a || !session_may_act(s, now_ms()))
		hand_error(h, id, 429, "too many acts at once; wait a moment");
	else {
		a->state = ACT_ASKED;
		a->id = id;
		a->own = ++h->last_own;
		a->verb = v;
		a->seen = xstrdup(seen);
		a->text = xstrdup_or_null(text);
		memcpy(a->session, s->id, sizeof(a->session));
		ask_desk(a, verb, what);
	}
}

void act_begin(struct hand *h, uint32_t id, struct session *s, const struct web_ask *ask)
{
	cleanup_json json_t *j = json_loadb(ask->body, ask->n_body, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(j))
		begin(h, id, s, j);
	else
		hand_error(h, id, 400, "the body is no JSON object");
}

static bool is_ours(const struct places *p, const char *workspace, const char *sandbox)
{
	cleanup_strv struct strv known = {0};
	cleanup_free char *owner = sandbox ? store_owner(p, sandbox) : NULL;
	struct err ignored;

	return (owner && streq(owner, workspace)) ||
	       (loops_each(p, &known, &ignored) == 0 && strv_has(&known, workspace));
}

/* In our own log always, and in the sandbox's, where it has one. */
static void write_down(struct act *a, const char *sandbox)
{
	struct hand *h = a->hand;
	json_t *j = json_pack("{ss ss so}", "verb", a->verb->name, "session", a->session, "command",
			      json_text(a->line));
	struct err ignored = {0};

	(void)json_array_append_new(h->last,
				    json_pack("{sI so ss}", "at", (json_int_t)time(NULL), "command",
					      json_text(a->line), "session", a->session));
	if (json_array_size(h->last) > HAND_LAST_MAX)
		(void)json_array_remove(h->last, 0);
	if (h->log.fd >= 0)
		(void)events_add(&h->log, "web-act", json_deep_copy(j));
	if (sandbox && *sandbox && !h->o->from)
		(void)live_event(h->o->places, sandbox, "web-act", json_incref(j), &ignored);
	json_decref(j);
}

static char *said(int fd)
{
	cleanup_buf struct buf b;

	buf_init(&b, HAND_SAID_MAX);
	(void)lseek(fd, 0, SEEK_SET);
	(void)fd_read_all(fd, &b);
	return xstrdup(buf_str(&b));
}

static void tell(struct act *a, int code, const char *text)
{
	if (a->id)
		hand_answer(a->hand, a->id, 200,
			    json_pack("{si so so}", "code", code, "said", json_text(text), "cmd",
				      json_text(a->line)));
	a->id = 0;
}

static void on_ended(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct act *a = ev_owner(io, struct act, ended);
	cleanup_free char *text = a->out >= 0 ? said(a->out) : xstrdup("");
	int code;

	(void)events;
	(void)ev_want(ev, io, 0);
	io->fd = -1;
	code = run_wait(&a->child);
	tell(a, code, *text ? text : code ? "it failed; see: ralph status" : "done");
	act_free(a);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	struct act *a = ev_owner(t, struct act, limit);

	(void)ev;
	tell(a, 0, a->verb->detached ? "it runs" : "it still runs");
}

static int run_words(struct act *a, const struct strv *words, const char *dir, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;
	int r;

	strv_take(&argv, places_program(a->hand->o->places, "cli"));
	strv_extend(&argv, words);
	/* A command that goes on for hours writes to nobody. */
	a->out = a->verb->detached ? -1 : memfd_create("said", MFD_CLOEXEC);
	run.argv = argv.v;
	run.env = environ;
	run.dir = dir;
	run.stdio[1] = run.stdio[2] = a->out;
	run.flags = RUN_NEW_SESSION;
	r = run_start(&run, &a->child, err);
	if (r < 0)
		return r;
	a->state = ACT_RUNS;
	a->ended = (struct ev_io){.fd = a->child.pidfd, .fn = on_ended};
	a->limit.fn = on_limit;
	ev_timer_set(a->hand->ev, &a->limit, a->verb->detached ? HAND_BEGUN_MS : HAND_ACT_MS);
	return ev_want(a->hand->ev, &a->ended, EPOLLIN);
}

static void perform(struct act *a, const json_t *args)
{
	const struct verb *v = a->verb;
	struct verb_args given = {
		.workspace = json_string_value(json_object_get(args, "workspace")),
		.task = json_string_value(json_object_get(args, "task")),
		.sandbox = json_string_value(json_object_get(args, "sandbox")),
		.host = json_string_value(json_object_get(args, "host")),
		.quarantine = json_string_value(json_object_get(args, "quarantine")),
		.ask = json_string_value(json_object_get(args, "ask")),
		.text = a->text,
	};
	cleanup_strv struct strv words = {0};
	struct err err = {0};

	if (given.workspace && !is_ours(a->hand->o->places, given.workspace, given.sandbox)) {
		act_fail(a, 403, "that is no workspace of ralph's");
		return;
	}
	if (verb_words(v, &given, &words, &err) < 0) {
		act_fail(a, 400, err.msg);
		return;
	}
	a->line = verb_line(v, &given);
	write_down(a, given.sandbox);
	if (run_words(a, &words, v->in_workspace ? given.workspace : NULL, &err) < 0)
		act_fail(a, 503, err.msg);
}

void act_resolved(struct hand *h, uint32_t own, const struct web_answer *answer)
{
	cleanup_json json_t *j = json_loadb(answer->body, answer->n_body, 0, NULL);
	const char *seen = json_string_value(json_object_get(j, "seen"));
	struct act *a = NULL;

	for (size_t i = 0; i < HAND_ACTS_MAX; i++)
		if (h->acts[i].state == ACT_ASKED && h->acts[i].own == own)
			a = &h->acts[i];
	if (!a)
		return;
	if (answer->status != 200 || !seen || !streq(seen, a->seen))
		act_fail(a, 409, "it has changed since it was shown; look again");
	else
		perform(a, json_object_get(j, "args"));
}

/* The commands that still run go on by themselves. */
void acts_end(struct hand *h)
{
	for (size_t i = 0; i < HAND_ACTS_MAX; i++)
		if (h->acts[i].state != ACT_FREE) {
			if (h->acts[i].state == ACT_RUNS)
				closep(&h->acts[i].child.pidfd);
			h->acts[i].ended.fd = -1;
			act_free(&h->acts[i]);
		}
}
