#include "loop/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "loop/notify/notify.h"

#define TELL_MS 1000
#define TOLD_MAX 32

struct waiting {
	struct loop *l;
	uint64_t until;
	const char *what;
	bool told; /* by home, which may change its mind */
	struct ev_timer timer;
};

static void on_timer(struct ev *ev, struct ev_timer *t)
{
	struct waiting *w = ev_owner(t, struct waiting, timer);
	uint64_t now = (uint64_t)time(NULL), left;

	if (w->told)
		w->until = wait_told(w->l);
	left = w->until > now ? w->until - now : 0;
	if (left == 0) {
		ev_stop(ev);
		return;
	}
	show_over(&w->l->show, "%s: %llu:%02llu:%02llu left", w->what,
		  (unsigned long long)(left / 3600), (unsigned long long)(left / 60 % 60),
		  (unsigned long long)(left % 60));
	notify_look(w->l);
	ev_timer_set(ev, t, TELL_MS);
}

/* No agent runs during a wait, so a pause takes effect at once. */
static void on_control(void *arg)
{
	struct waiting *w = arg;

	ev_stop(w->l->ev);
}

/* The file has a time of the monotonic clock, which all programs of a machine have in common. */
uint64_t wait_told(const struct loop *l)
{
	cleanup_buf struct buf b;
	uint64_t at = 0, now = now_ms();

	buf_init(&b, TOLD_MAX);
	if (!l->q.limit || path_read(AT_FDCWD, l->q.limit, &b) < 0 ||
	    parse_uint(buf_str(&b), 0, UINT64_MAX, &at) < 0 || at <= now)
		return 0;
	return (uint64_t)time(NULL) + (at - now + 999) / 1000;
}

static int wait_for(struct loop *l, uint64_t until, const char *what, bool told)
{
	struct waiting w = {
		.l = l, .until = until, .what = what, .told = told, .timer.fn = on_timer};
	struct err err = {0};
	char text[SHOW_WHEN_SIZE];

	show_line(&l->show, STYLE_YELLOW, "%s: waiting until %s", what, show_when(until, text));
	status_write(l, "waiting", until);
	l->control.changed = on_control;
	l->control.arg = &w;
	control_look(&l->control);
	if (!control_wants_end(&l->control)) {
		ev_timer_set(l->ev, &w.timer, 0);
		(void)ev_run(l->ev, &err);
	}
	ev_timer_stop(l->ev, &w.timer);
	l->control.changed = NULL;
	if (l->control.stop)
		return 128 + l->control.stop;
	return l->control.pause ? LOOP_PAUSED : 0;
}

int wait_until(struct loop *l, uint64_t until, const char *what)
{
	return wait_for(l, until, what, false);
}

int wait_while_told(struct loop *l, const char *what)
{
	return wait_for(l, wait_told(l), what, true);
}
