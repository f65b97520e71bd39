#include "cli/show/top.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text/quote-word.h"
#include "view/log-view.h"
#include "record/loops.h"

extern char **environ;

#define SAID_MAX (16 * KiB) /* of a command of ours */

static void printf_like(2, 0) set_text(char **at, const char *fmt, va_list ap)
{
	free(*at);
	*at = xvasprintf(fmt, ap);
}

void top_say(struct top *t, bool bad, const char *fmt, ...)
{
	va_list ap;

	t->message_bad = bad;
	va_start(ap, fmt);
	set_text(&t->message, fmt, ap);
	va_end(ap);
}

void top_ask(struct top *t, enum top_action action, const char *target, const char *fmt, ...)
{
	va_list ap;

	t->action = action;
	t->behind = t->mode;
	t->mode = TOP_CONFIRM;
	free(t->target);
	t->target = xstrdup(target);
	va_start(ap, fmt);
	set_text(&t->question, fmt, ap);
	va_end(ap);
}

static int signal_loop(const struct places *p, const char *workspace, int sig)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	struct err ignored;
	struct loop_active a;
	int r = loops_find(p, workspace, &at, &ignored);

	if (r == 0)
		r = loops_read_active(at.active, &a);

	return r < 0 ? r : loops_signal(&a, sig);
}

void top_pause(struct top *t)
{
	const struct top_item *it = top_selected(t);
	int r;

	if (!it)
		return;
	if (!it->loop || !it->loop->running) {
		top_say(t, true, "no loop runs there; s stops the sandbox");
		return;
	}
	r = signal_loop(t->places, it->loop->workspace, SIGINT);
	if (r < 0)
		top_say(t, true, "the loop cannot be reached: %s", strerror(-r));
	else
		top_say(t, false, "it pauses after this iteration; go on with: ralph resume %s",
			it->loop->workspace);
}

void top_stop(struct top *t)
{
	const struct top_item *it = top_selected(t);

	if (!it)
		return;
	if (it->loop && it->loop->running)
		top_ask(t, TOP_STOP_LOOP, it->loop->workspace, "stop the loop in %s now? [y/N]",
			it->loop->workspace);
	else if (it->sandbox && it->sandbox->live)
		top_ask(t, TOP_STOP_SANDBOX, it->sandbox->name,
			"end everything in %s now? Its home stays. [y/N]", it->sandbox->name);
	else
		top_say(t, true, "it does not run");
}

/* Runs the command line that is shown, which the user could type as well. dir NULL: here. */
static void run_command(struct top *t, const char *dir, const char *const *words, const char *what)
{
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;
	struct err err = {0};
	int r;

	if (t->child.pid > 0) {
		top_say(t, true, "%s; wait for it", t->child_what);
		return;
	}
	strv_take(&argv, places_program(t->places, "cli"));
	for (size_t i = 0; words[i]; i++)
		strv_push(&argv, words[i]);
	t->child_out = memfd_create("said", MFD_CLOEXEC);
	run.argv = argv.v;
	run.dir = dir;
	run.env = environ;
	run.stdio[1] = run.stdio[2] = t->child_out;
	r = run_start(&run, &t->child, &err);
	if (r < 0) {
		closep(&t->child_out);
		t->child.pid = 0;
		top_say(t, true, "%s", err.msg);
		return;
	}
	free(t->child_what);
	t->child_what = xstrdup(what);
	top_say(t, false, "%s …", what);
}

static const struct {
	char key;
	bool project;
	const char *loop, *alone; /* alone: where the sandbox has no loop */
	const char *options;
} scopes[] = {
	{'o', false, "once, until this sandbox stops", "once, until this sandbox stops",
	 "--once --sandbox"},
	{'l', false, "this loop", "this sandbox", "--sandbox"},
	{'p', true, "this project", "this project", "--project"},
};

void top_allow(struct top *t)
{
	const struct top_item *it = top_selected(t);
	const struct sandbox_log *l = it && it->sandbox ? &it->sandbox->log : NULL;

	if (!l || t->host >= l->n_hosts)
		return;
	free(t->rule);
	t->rule = top_pattern(&l->hosts[l->n_hosts - 1 - t->host]);
	free(t->target);
	t->target = xstrdup(it->sandbox->name);
	t->mode = TOP_SCOPE;
}

void top_scopes(struct top *t, struct strv *ret)
{
	const struct top_item *it = top_selected(t);
	const char *dir = it && it->sandbox ? it->sandbox->workspace : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		cleanup_buf struct buf b;

		buf_init(&b, 64 * KiB);
		(void)buf_printf(&b, "%c  %s: ", scopes[i].key,
				 it && it->loop ? scopes[i].loop : scopes[i].alone);
		if (scopes[i].project) {
			(void)buf_puts(&b, "cd ");
			quote_word(&b, dir ? dir : "?");
			(void)buf_puts(&b, " && ");
		}
		(void)buf_printf(&b, "ralph net allow %s ", scopes[i].options);
		if (!scopes[i].project)
			(void)buf_printf(&b, "%s ", t->target);
		(void)buf_puts(&b, "-- ");
		quote_word(&b, t->rule);
		strv_push(ret, buf_str(&b));
	}
}

static void allow_in(struct top *t, char key, const char *dir)
{
	cleanup_free char *what = xasprintf("allowing %s", t->rule);

	if (key == 'o')
		run_command(t, dir,
			    (const char *const[]){"net", "allow", "--once", "--sandbox", t->target,
						  "--", t->rule, NULL},
			    what);
	else if (key == 'l')
		run_command(t, dir,
			    (const char *const[]){"net", "allow", "--sandbox", t->target, "--",
						  t->rule, NULL},
			    what);
	else
		run_command(t, dir,
			    (const char *const[]){"net", "allow", "--project", "--", t->rule, NULL},
			    what);
}

void top_scope_key(struct top *t, int key)
{
	const struct top_item *it = top_selected(t);

	t->mode = TOP_ALLOW;
	/* The list may have changed since the host was chosen. */
	if (!it || !it->sandbox || !streq(it->sandbox->name, t->target))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (scopes[i].key == key) {
			t->mode = TOP_LIST;
			allow_in(t, scopes[i].key,
				 scopes[i].project ? it->sandbox->workspace : NULL);
		}
}

void top_confirmed(struct top *t)
{
	cleanup_free char *what = NULL;
	int r;

	t->mode = t->behind;
	switch (t->action) {
	case TOP_STOP_LOOP:
		r = signal_loop(t->places, t->target, SIGTERM);
		if (r < 0)
			top_say(t, true, "the loop cannot be reached: %s", strerror(-r));
		else
			top_say(t, false, "the loop in %s was told to stop", t->target);
		break;
	case TOP_STOP_SANDBOX:
		what = xasprintf("stopping %s", t->target);
		run_command(t, NULL, (const char *const[]){"stop", t->target, NULL}, what);
		break;
	case TOP_NOTHING:
		break;
	}
}

/* Returns the last line of a command's output: its error, or what it has done. */
static char *last_line(int fd)
{
	cleanup_buf struct buf b;
	char *text, *line;

	buf_init(&b, SAID_MAX);
	(void)lseek(fd, 0, SEEK_SET);
	(void)fd_read_all(fd, &b);
	text = xstrdup(buf_str(&b));
	for (size_t n = strlen(text); n && text[n - 1] == '\n'; n--)
		text[n - 1] = '\0';
	line = strrchr(text, '\n');
	if (line)
		memmove(text, line + 1, strlen(line));
	return text;
}

void top_child_ended(struct top *t)
{
	int code = run_wait(&t->child);
	cleanup_free char *said = last_line(t->child_out);

	t->child = (struct child){.pidfd = -1};
	closep(&t->child_out);
	if (said[0] && (code || strncmp(said, "ralph: ", 7) == 0))
		top_say(t, code != 0, "%s", said);
	else
		top_say(t, code != 0, "%s: %s", t->child_what, code ? "failed" : "done");
}
