#pragma once

#include "base/proc.h"
#include "base/strv.h"
#include "cli/frame/command.h"
#include "cli/terminal/screen.h"
#include "view/survey.h"

#include <stdbool.h>

/* `ralph top`: cmd-top.c has the loop and the keys, top-view.c and
 * top-list.c draw, top-act.c does. */
enum top_mode {
	TOP_LIST,
	TOP_LOG,     /* of the selected one */
	TOP_ALLOW,   /* a choice among its refused hosts */
	TOP_SCOPE,   /* for how long, and for what, the chosen host is allowed */
	TOP_CONFIRM, /* y does what was asked for */
	TOP_HELP,
};

enum top_action { TOP_NOTHING, TOP_STOP_LOOP, TOP_STOP_SANDBOX };

/* A line of the list: a sandbox, or a loop that has none here. */
struct top_item {
	struct survey_sandbox *sandbox; /* NULL: only a loop */
	const struct survey_loop *loop;
};

struct top {
	struct cli *cli;
	const struct places *places;
	struct screen *screen;
	struct survey survey;
	const char *from; /* a state to show instead of this machine's; NULL */
	bool all;
	enum top_mode mode, behind; /* behind: what a question came from */
	struct top_item *items;
	size_t n_items;
	size_t at;		/* the selected one */
	char *selected;		/* its name, to find it again */
	size_t first;		/* the first one that is shown */
	size_t scroll;		/* of the log: lines from its end */
	size_t host;		/* of the refused hosts */
	enum top_action action; /* TOP_CONFIRM */
	char *target;		/* of it */
	char *rule;		/* TOP_SCOPE: the pattern */
	char *question, *message;
	bool message_bad;
	unsigned rows, columns;
	bool over;
	/* a command of ours that runs */
	struct child child;
	int child_out;
	char *child_what;
};

/* top-view.c */
void top_draw(struct top *t);
/* Returns the rule for a refused host. The two web ports need not be named in it. */
char *top_pattern(const struct sandbox_log_refused *r);

/* top-list.c: the sandboxes and loops; the row behind them is the result */
void top_draw_head(struct top *t, unsigned row);
unsigned top_draw_list(struct top *t, unsigned row, unsigned room);
char *top_count(uint64_t n); /* "812", "12.3k", "4.5M": five columns at most */

/* top-act.c */
void top_say(struct top *t, bool bad, const char *fmt, ...) printf_like(3, 4);
void top_ask(struct top *t, enum top_action action, const char *target, const char *fmt, ...)
	printf_like(4, 5);
void top_pause(struct top *t);
void top_stop(struct top *t);
void top_allow(struct top *t); /* the host that is chosen: asks for the scope */
/* The scopes of a rule for the chosen host, with the command of each, a line each. */
void top_scopes(struct top *t, struct strv *ret);
void top_scope_key(struct top *t, int key); /* a key that stands for no scope: none of them */
void top_confirmed(struct top *t);
void top_child_ended(struct top *t);

static inline struct top_item *top_selected(struct top *t)
{
	return t->at < t->n_items ? &t->items[t->at] : NULL;
}
