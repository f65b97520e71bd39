#include "web/hand-own.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "record/loops.h"
#include "web/web-route.h"
#include "web/web.h"

/*
 * What desk may not read, the repositories and the specs of sandboxes, is read by a command. The
 * commands are these; a browser chooses none of their words, but the number of an iteration, the
 * name of a sandbox, and a loop by the key that desk made of its workspace.
 */
extern char **environ;

#define VIEW_WORDS_MAX 6
#define VIEW_SAID_MAX (4 * KiB)

/* clang-format off */
static const struct {
	enum route_id id;
	const char *words[VIEW_WORDS_MAX]; /* "%N": the number, "%S": the sandbox, "%W": the workspace */
} views[] = {
	{ROUTE_DIFF, {"diff", "--json", "--iteration", "%N", "--", "%W"}},
	{ROUTE_AUDIT, {"inspect", "--json", "--", "%S"}},
};
/* clang-format on */

static void view_free(struct view *v)
{
	ev_timer_stop(v->hand->ev, &v->limit);
	if (v->ended.fd >= 0)
		(void)ev_want(v->hand->ev, &v->ended, 0);
	closep(&v->out);
	closep(&v->said);
	*v = (struct view){.hand = v->hand, .out = -1, .said = -1, .ended.fd = -1};
}

static char *workspace_of(const struct hand *h, const char *key)
{
	cleanup_strv struct strv known = {0};
	struct err ignored;

	if (loops_each(h->o->places, &known, &ignored) < 0)
		return NULL;
	for (size_t i = 0; i < known.n; i++) {
		char own[ROUTE_KEY_LEN + 1];

		web_key(known.v[i], own);
		if (streq(own, key))
			return xstrdup(known.v[i]);
	}
	return NULL;
}

static bool fill_words(const struct hand *h, const struct route *r, struct strv *ret)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(views) && views[i].id != r->id)
		i++;
	for (size_t k = 0; i < ARRAY_SIZE(views) && k < VIEW_WORDS_MAX && views[i].words[k]; k++) {
		const char *word = views[i].words[k];

		if (streq(word, "%N"))
			strv_take(ret, xasprintf("%llu", (unsigned long long)r->number));
		else if (streq(word, "%S"))
			strv_push(ret, r->word);
		else if (streq(word, "%W"))
			strv_take(ret, workspace_of(h, r->word));
		else
			strv_push(ret, word);
		if (!ret->v[ret->n - 1])
			return false;
	}
	return i < ARRAY_SIZE(views);
}

/* A memfd, and not a pipe: nobody has to read along. */
static json_t *result_of(int fd)
{
	cleanup_buf struct buf b;

	buf_init(&b, WEB_ANSWER_MAX);
	return lseek(fd, 0, SEEK_SET) == 0 && fd_read_all(fd, &b) == 0
		       ? json_loadb(b.data, b.len, 0, NULL)
		       : NULL;
}

/* "ralph: what: why" of the last line of stderr, without the name of the program. */
static char *reason_of(int fd)
{
	static const char name[] = "ralph: ";
	cleanup_buf struct buf b;
	const char *text;
	size_t n;

	buf_init(&b, VIEW_SAID_MAX);
	(void)lseek(fd, 0, SEEK_SET);
	(void)fd_read_all(fd, &b);
	text = buf_str(&b);
	if (strncmp(text, name, strlen(name)) == 0)
		text += strlen(name);
	n = strcspn(text, "\n");
	return n ? xstrndup(text, n) : xstrdup("it cannot be shown");
}

static void on_ended(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct view *v = ev_owner(io, struct view, ended);
	int code;

	(void)events;
	(void)ev_want(ev, io, 0);
	io->fd = -1;
	code = run_wait(&v->child);
	if (code == 0) {
		json_t *j = result_of(v->out);

		if (j)
			hand_answer(v->hand, v->id, 200, j);
		else
			hand_error(v->hand, v->id, 404, "it is too large for the page");
	} else {
		cleanup_free char *why = reason_of(v->said);

		hand_error(v->hand, v->id, 404, why);
	}
	view_free(v);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	struct view *v = ev_owner(t, struct view, limit);

	(void)ev;
	child_kill(&v->child, SIGKILL);
}

static int run_words(struct view *v, struct strv *words, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;
	int r;

	strv_take(&argv, places_program(v->hand->o->places, "cli"));
	strv_extend(&argv, words);
	v->out = memfd_create("view", MFD_CLOEXEC);
	v->said = memfd_create("said", MFD_CLOEXEC);
	if (v->out < 0 || v->said < 0)
		return err_sys(err, errno, "cannot make a file in memory");
	run.argv = argv.v;
	run.env = environ;
	run.stdio[1] = v->out;
	run.stdio[2] = v->said;
	run.flags = RUN_NEW_SESSION | RUN_DIE_WITH_US;
	r = run_start(&run, &v->child, err);
	if (r < 0)
		return r;
	v->ended = (struct ev_io){.fd = v->child.pidfd, .fn = on_ended};
	v->limit.fn = on_limit;
	ev_timer_set(v->hand->ev, &v->limit, HAND_VIEW_MS);
	return ev_want(v->hand->ev, &v->ended, EPOLLIN);
}

void view_begin(struct hand *h, uint32_t id, const char *path)
{
	cleanup_strv struct strv words = {0};
	struct view *v = NULL;
	struct err err = {0};
	struct route r;

	for (size_t i = 0; i < HAND_VIEWS_MAX; i++)
		if (!h->views[i].id)
			v = &h->views[i];
	if (route_find(false, path, strlen(path), &r) != 0 || !fill_words(h, &r, &words)) {
		hand_error(h, id, 404, "there is no such page");
	} else if (!v || !id) {
		hand_error(h, id, 429, "too many at once; wait a moment");
	} else {
		v->id = id;
		if (run_words(v, &words, &err) < 0) {
			hand_error(h, id, 503, err.msg);
			view_free(v);
		}
	}
}

void views_end(struct hand *h)
{
	for (size_t i = 0; i < HAND_VIEWS_MAX; i++)
		if (h->views[i].id) {
			child_done(&h->views[i].child);
			h->views[i].ended.fd = -1;
			view_free(&h->views[i]);
		}
}
