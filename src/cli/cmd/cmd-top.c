#include "cli/commands.h"
#include "cli/show/top.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ev.h"
#include "base/fd.h"

#define INTERVAL_MS 2000
#define INTERVAL_LEAST_MS 500

struct top_args {
	bool all;
	uint64_t interval_ms;
	const char *from;
};

#define AT(member) offsetof(struct top_args, member)

static const struct opt top_opts[] = {
	{"all", 'a', OPT_BOOL, AT(all), NULL, "sandboxes that do not run, too"},
	{"interval", 0, OPT_DURATION, AT(interval_ms), "TIME", "how often to look; at least 500ms",
	 .def = "2s", .max = 3600000},
	{"from", 0, OPT_STR, AT(from), "FILE", "show the state in this file, not this machine's",
	 .complete = COMPLETE_FILE},
};

static bool has_sandbox(const struct survey *s, const struct survey_loop *l)
{
	for (size_t i = 0; i < s->n_sandboxes; i++)
		if (s->sandboxes[i]->loop == l)
			return true;
	return false;
}

static bool wants_a_look(const struct survey_loop *l)
{
	return l && (l->running || survey_loop_wants(l) || streq(survey_loop_state(l), "crashed"));
}

static const char *name_of(const struct top_item *it)
{
	return it->sandbox ? it->sandbox->name : it->loop->workspace;
}

static bool wants(const struct top_item *it)
{
	return it->loop && survey_loop_wants(it->loop);
}

/* Loops that wait for a person come first, then sandboxes before loops without one. */
static int by_need(const void *a, const void *b)
{
	const struct top_item *x = a, *y = b;

	if (wants(x) != wants(y))
		return wants(x) ? -1 : 1;
	if (!x->sandbox != !y->sandbox)
		return x->sandbox ? -1 : 1;
	return strcmp(name_of(x), name_of(y));
}

/* Fills the list and finds the selected item in it again. */
static void list_items(struct top *t)
{
	struct survey *s = &t->survey;
	size_t n = 0;

	t->items = xrealloc(t->items, s->n_sandboxes + s->n_loops + 1, sizeof(*t->items));
	for (size_t i = 0; i < s->n_sandboxes; i++)
		if (t->all || s->sandboxes[i]->live || s->sandboxes[i]->elsewhere ||
		    wants_a_look(s->sandboxes[i]->loop))
			t->items[n++] = (struct top_item){s->sandboxes[i], s->sandboxes[i]->loop};
	for (size_t i = 0; i < s->n_loops; i++)
		if (!has_sandbox(s, s->loops[i]) && (t->all || wants_a_look(s->loops[i])))
			t->items[n++] = (struct top_item){NULL, s->loops[i]};
	t->n_items = n;
	if (n)
		qsort(t->items, n, sizeof(*t->items), by_need);
	for (size_t i = 0; t->selected && i < n; i++)
		if (streq(name_of(&t->items[i]), t->selected))
			t->at = i;
	if (t->at >= n)
		t->at = n ? n - 1 : 0;
}

static void select_item(struct top *t, size_t at)
{
	if (!t->n_items)
		return;
	t->at = at < t->n_items ? at : t->n_items - 1;
	free(t->selected);
	t->selected = xstrdup(name_of(&t->items[t->at]));
	t->scroll = t->host = 0;
}

enum key {
	KEY_NONE,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_FIRST,
	KEY_LAST,
	KEY_ENTER,
	KEY_BACK, /* Escape */
	KEY_INTERRUPT,
};

/* Decodes one key of the typed bytes and moves *p behind it. */
static int next_key(const char **p, const char *end)
{
	static const struct {
		const char *text;
		int key;
	} sequences[] = {{"\x1b[A", KEY_UP},   {"\x1bOA", KEY_UP},    {"\x1b[B", KEY_DOWN},
			 {"\x1bOB", KEY_DOWN}, {"\x1b[H", KEY_FIRST}, {"\x1b[F", KEY_LAST},
			 {"\x1b[5~", KEY_UP},  {"\x1b[6~", KEY_DOWN}};
	char c = **p;

	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++) {
		size_t n = strlen(sequences[i].text);

		if ((size_t)(end - *p) >= n && memcmp(*p, sequences[i].text, n) == 0) {
			*p += n;
			return sequences[i].key;
		}
	}
	(*p)++;
	/* A sequence that is not known is skipped, not taken for keys. */
	if (c == '\x1b' && *p < end && (**p == '[' || **p == 'O')) {
		(*p)++;
		while (*p < end && !(**p >= '@' && **p <= '~'))
			(*p)++;
		*p += *p < end;
		return KEY_NONE;
	}
	switch (c) {
	case '\x1b':
		return KEY_BACK;
	case '\r':
	case '\n':
		return KEY_ENTER;
	case 3:
		return KEY_INTERRUPT;
	case 'k':
		return KEY_UP;
	case 'j':
		return KEY_DOWN;
	case 'g':
		return KEY_FIRST;
	case 'G':
		return KEY_LAST;
	default:
		return (unsigned char)c;
	}
}

static void on_list_key(struct top *t, int key)
{
	switch (key) {
	case KEY_UP:
		select_item(t, t->at ? t->at - 1 : 0);
		break;
	case KEY_DOWN:
		select_item(t, t->at + 1);
		break;
	case KEY_FIRST:
		select_item(t, 0);
		break;
	case KEY_LAST:
		select_item(t, SIZE_MAX);
		break;
	case 'p':
		top_pause(t);
		break;
	case 's':
		top_stop(t);
		break;
	case 'l':
	case KEY_ENTER:
		if (t->n_items)
			t->mode = TOP_LOG;
		break;
	case 'a':
		if (top_selected(t) && top_selected(t)->sandbox &&
		    top_selected(t)->sandbox->log.n_hosts) {
			t->mode = TOP_ALLOW;
			t->host = 0;
		} else {
			top_say(t, true, "no host was refused to it");
		}
		break;
	case '?':
	case 'h':
		t->mode = TOP_HELP;
		break;
	case 'q':
		t->over = true;
		break;
	default:
		break;
	}
}

/* The log's end is 0: up is further back. */
static void on_log_key(struct top *t, int key)
{
	const struct top_item *it = top_selected(t);
	size_t n = it && it->sandbox ? it->sandbox->log.n_events : 0;
	size_t most = n > t->rows - 4 ? n - (t->rows - 4) : 0;

	if (key == KEY_UP && t->scroll < most)
		t->scroll++;
	else if (key == KEY_DOWN && t->scroll)
		t->scroll--;
	else if (key == KEY_FIRST)
		t->scroll = most;
	else if (key == KEY_LAST)
		t->scroll = 0;
	else if (key == 'q' || key == KEY_BACK || key == 'l')
		t->mode = TOP_LIST;
}

static void on_allow_key(struct top *t, int key)
{
	const struct top_item *it = top_selected(t);
	size_t n = it && it->sandbox ? it->sandbox->log.n_hosts : 0;

	if (key == KEY_UP && t->host)
		t->host--;
	else if (key == KEY_DOWN && t->host + 1 < n)
		t->host++;
	else if (key == KEY_ENTER)
		top_allow(t);
	else if (key == 'q' || key == KEY_BACK || key == 'a')
		t->mode = TOP_LIST;
}

static void on_key(struct top *t, int key)
{
	if (key == KEY_NONE)
		return;
	if (key == KEY_INTERRUPT) {
		t->over = true;
		return;
	}
	if (t->mode == TOP_LIST) {
		free(t->message);
		t->message = NULL;
	}
	switch (t->mode) {
	case TOP_LIST:
		on_list_key(t, key);
		break;
	case TOP_LOG:
		on_log_key(t, key);
		break;
	case TOP_ALLOW:
		on_allow_key(t, key);
		break;
	case TOP_SCOPE:
		top_scope_key(t, key);
		break;
	case TOP_CONFIRM:
		if (key == 'y' || key == 'Y')
			top_confirmed(t);
		else
			t->mode = t->behind;
		break;
	case TOP_HELP:
		t->mode = TOP_LIST;
		break;
	}
}

static void read_keys(struct top *t)
{
	char keys[256];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
	const char *p = keys;

	if (n == 0)
		t->over = true; /* the terminal is gone */
	while (n > 0 && p < keys + n && !t->over)
		on_key(t, next_key(&p, keys + n));
}

static int refresh(struct top *t)
{
	int r;

	/* A state from a file does not change. */
	if (t->from && t->survey.at_ms)
		return 0;
	r = t->from ? survey_from_file(&t->survey, t->from, &t->cli->err)
		    : survey_refresh(&t->survey, &t->cli->err);
	if (r == 0)
		list_items(t);
	return r;
}

/* 0, or 128 + n for the signal that ended it. */
static int watch(struct top *t, int signals, uint64_t interval)
{
	uint64_t due = 0;

	while (!t->over) {
		struct pollfd fds[] = {
			{.fd = STDIN_FILENO, .events = POLLIN},
			{.fd = signals, .events = POLLIN},
			{.fd = t->child.pid > 0 ? t->child.pidfd : -1, .events = POLLIN},
		};
		uint64_t now = now_ms();
		int r, sig;

		if (now >= due) {
			r = refresh(t);
			if (r < 0)
				return r;
			due = now + interval;
		}
		top_draw(t);
		if (poll(fds, ARRAY_SIZE(fds), (int)(due - now)) < 0 && errno != EINTR)
			return err_sys(&t->cli->err, errno, "cannot wait");
		if (fds[0].revents)
			read_keys(t);
		if (fds[2].revents) {
			top_child_ended(t);
			due = 0;
		}
		while ((sig = ev_signal_read(signals)) > 0) {
			if (sig != SIGWINCH && sig != SIGCONT)
				return 128 + sig;
			screen_redraw(t->screen);
		}
	}
	return 0;
}

static void top_done(struct top *t)
{
	screen_close(t->screen);
	if (t->child.pid > 0)
		closep(&t->child.pidfd); /* the command goes on without us */
	closep(&t->child_out);
	survey_done(&t->survey);
	free(t->items);
	free(t->selected);
	free(t->target);
	free(t->rule);
	free(t->question);
	free(t->message);
	free(t->child_what);
}

static int cmd_top_run(struct cli *cli, void *args_, int argc, char **argv)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT};
	const struct top_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_(top_done) struct top t = {
		.cli = cli, .all = args->all, .from = args->from, .child_out = -1};
	cleanup_fd int signals = -1;
	int r = places_find(&p, &cli->err);

	t.child.pidfd = -1;
	t.places = &p;
	if (r == 0 && args->interval_ms < INTERVAL_LEAST_MS)
		return cli_usage(cli, "--interval is 500ms at least");
	if (r == 0)
		r = ev_signalfd(caught, ARRAY_SIZE(caught), &signals, &cli->err);
	if (r < 0)
		return r;
	survey_init(&t.survey, &p);
	/*
	 * The first survey runs before the screen opens, so that its error is on the ordinary
	 * screen.
	 */
	r = refresh(&t);
	if (r == 0)
		r = screen_open(STDIN_FILENO, STDOUT_FILENO, cli_color(cli, STDOUT_FILENO),
				&t.screen, &cli->err);
	return r < 0 ? r : watch(&t, signals, args->interval_ms);
}

const struct command cmd_top = {
	.name = "top",
	.summary = "watch sandboxes and loops in the terminal",
	.details = "Keys: j k select, p pause its loop, s stop, l its log, a allow a refused\n"
		   "host, ? help, q quit.",
	.group = GROUP_MANAGE,
	OPTIONS(top_opts, struct top_args),
	.run = cmd_top_run,
};
