#include "loop/notify/notify.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"

#define NOTIFY_MS 30000
#define NOTIFY_OUT_MAX (64 * KiB)
#define REASON_MAX 2000 /* bytes of a reason, which may be an agent's text */
#define QUESTIONS_MAX 16
#define URL_MAX 512

extern char **environ;

struct telling {
	enum notice event; /* NOTICE_N: none but the end itself */
	int code;	   /* exit code; -1: the loop goes on */
	const char *reason;
	const char *url; /* of the page about it; NULL: none */
};

/* ---- a command of the host ---- */

static int run_command(const struct loop *l, const struct telling *t, char *const argv[],
		       struct err *err)
{
	cleanup_strv struct strv env = {0};
	cleanup_free char *out = NULL, *path = tree_path(l);
	int ended = 0, r;

	for (char **e = environ; *e; e++)
		strv_push(&env, *e);
	strv_env_set(&env, "PATH", path);
	if (t->event < NOTICE_N)
		strv_pushf(&env, "RALPH_EVENT=%s", notice_name(t->event));
	if (t->code >= 0)
		strv_pushf(&env, "RALPH_EXIT_CODE=%d", t->code);
	strv_pushf(&env, "RALPH_REASON=%s", t->reason);
	strv_pushf(&env, "RALPH_WORKSPACE=%s", l->q.workspace);
	if (t->url)
		strv_pushf(&env, "RALPH_URL=%s", t->url);
	strv_pushf(&env, "RALPH_SUMMARY=%s/" WORK_DIR "/summary.json", l->q.workspace);
	r = run_capture(argv, env.v, NOTIFY_MS, NOTIFY_OUT_MAX, &out, &ended, err);
	if (r < 0 || ended == 0)
		return r;
	return err_set(err, EIO, "it ended with %d", ended);
}

static int tell_command(const struct loop *l, const struct telling *t, const char *command,
			struct err *err)
{
	char *argv[] = {"/bin/sh", "-c", (char *)(uintptr_t)command, NULL};

	return run_command(l, t, argv, err);
}

/* ---- the desktop ---- */

/* Desktops read markup in the text, and the text may be an agent's. */
static void put_plain(struct buf *b, const char *s)
{
	for (; *s; s++)
		(void)(*s == '&'   ? buf_puts(b, "&amp;")
		       : *s == '<' ? buf_puts(b, "&lt;")
		       : *s == '>' ? buf_puts(b, "&gt;")
				   : buf_append(b, s, 1));
}

static json_t *reason_json(const struct telling *t)
{
	cleanup_free char *cut = xasprintf("%.*s", REASON_MAX, t->reason);

	return json_text(cut);
}

static int tell_desktop(const struct loop *l, const struct telling *t, const char *rest,
			struct err *err)
{
	cleanup_json json_t *reason = reason_json(t);
	cleanup_free char *title = xasprintf("ralph: %s", notice_title(t->event));
	cleanup_buf struct buf body;
	/* A shell looks the program up on the PATH that the agent cannot write. */
	char *argv[] = {"/bin/sh", "-c", "exec notify-send --app-name=ralph -- \"$0\" \"$1\"",
			title,	   NULL, NULL};

	buf_init(&body, 64 * KiB);
	put_plain(&body, json_string_value(reason));
	(void)buf_puts(&body, "\n");
	put_plain(&body, l->q.workspace);
	argv[4] = (char *)(uintptr_t)buf_str(&body);
	return run_command(l, t, argv, err);
}

/* ---- a webhook ---- */

static int tell_webhook(const struct loop *l, const struct telling *t, const char *url,
			struct err *err)
{
	const struct loop_state *s = &l->state;
	cleanup_free char *text = xasprintf("ralph: %s: %.*s (%s)", notice_title(t->event),
					    REASON_MAX, t->reason, l->q.workspace);
	cleanup_json json_t *doc =
		json_pack("{si ss so so so ss* sI sI}", "version", 1, "event",
			  notice_name(t->event), "text", json_text(text), "reason", reason_json(t),
			  "workspace", json_text(l->q.workspace), "branch", s->branch, "iterations",
			  (json_int_t)s->iterations, "micro_usd", (json_int_t)s->micro_usd);

	if (doc && t->url)
		(void)json_object_set_new(doc, "url", json_text(t->url));
	if (doc && t->code >= 0)
		(void)json_object_set_new(doc, "exit_code", json_integer(t->code));
	return doc ? webhook_post(&l->q.places, url, doc, err)
		   : err_set(err, EINVAL, "the message is not text");
}

/* ---- all of them ---- */

/* A plain string, the last row, is a command for the end alone, whatever the exit code is. */
static const struct kind {
	const char *prefix, *name;
	int (*tell)(const struct loop *l, const struct telling *t, const char *rest,
		    struct err *err);
	bool end_only;
} kinds[] = {
	{NOTIFY_COMMAND, "the notify command", tell_command, false},
	{NOTIFY_WEBHOOK, "the webhook", tell_webhook, false},
	{NOTIFY_DESKTOP, "the desktop's notification", tell_desktop, false},
	{"", "the notify command", tell_command, true},
};

static void tell(const struct loop *l, const struct telling *t)
{
	const char *way = l->config->loop.notify;
	const struct kind *k = kinds;
	struct err err = {0};

	if (!way)
		return;
	while (strncmp(way, k->prefix, strlen(k->prefix)) != 0)
		k++;
	if (k->end_only ? t->code < 0 : t->event == NOTICE_N)
		return;
	if (k->tell(l, t, way + strlen(k->prefix), &err) < 0)
		log_warn("loop", "%s: %s", k->name, err.msg);
}

void notify_end(const struct loop *l, int code, const char *reason)
{
	const struct telling t = {notice_of_exit(code), code, reason, NULL};

	tell(l, &t);
}

void notify_question(struct loop *l, const char *task, const char *question)
{
	if (l->questions.n < QUESTIONS_MAX)
		strv_pushf(&l->questions, "%s: %s", task, question ? question : "a question");
}

/* NULL: no page is served. The file is the server's, and names its address alone. */
static char *page_url(const struct places *p, const char *id)
{
	cleanup_free char *path = path_join(p->state, "web/url");
	cleanup_buf struct buf b;

	buf_init(&b, URL_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0)
		return NULL;
	return xasprintf("%s#/ask/%s", buf_str(&b), id);
}

void notify_ask(struct loop *l, const char *id, const char *kind, const char *what, const char *why)
{
	cleanup_free char *url = page_url(&l->q.places, id);
	cleanup_free char *reason = xasprintf("an agent asks (%s) %s%s%s; see: ralph ask show %s",
					      kind, what, *what ? ": " : "", why, id);

	tell(l, &(struct telling){NOTICE_NEEDS_YOU, -1, reason, url});
}

static void tell_questions(struct loop *l)
{
	for (size_t i = 0; i < l->questions.n; i++)
		tell(l, &(struct telling){NOTICE_NEEDS_YOU, -1, l->questions.v[i], NULL});
	strv_done(&l->questions);
	strv_init(&l->questions);
}

void notify_look(struct loop *l)
{
	struct loop_state *s = &l->state;
	const struct notice_facts f = {s->micro_usd, l->limits.micro_usd, s->outage,
				       (uint64_t)time(NULL)};
	uint64_t due = notices_due(&f, &s->told);
	char when[SHOW_WHEN_SIZE];

	loop_asks_tell(l);
	tell_questions(l);
	if (due & (1U << NOTICE_BUDGET)) {
		cleanup_free char *reason =
			xasprintf(SHOW_USD " of " SHOW_USD " are spent", SHOW_USD_ARGS(f.spent),
				  SHOW_USD_ARGS(f.limit));

		tell(l, &(struct telling){NOTICE_BUDGET, -1, reason, NULL});
	}
	if (due & (1U << NOTICE_OUTAGE)) {
		cleanup_free char *reason =
			xasprintf("since %s; the loop waits", show_when(f.outage, when));

		tell(l, &(struct telling){NOTICE_OUTAGE, -1, reason, NULL});
	}
}
