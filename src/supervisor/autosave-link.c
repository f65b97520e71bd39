/* Conversations of the running sandbox, saved every few minutes and at its end. */
#include "supervisor/broker.h"

#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/autosave.h"

static void start(struct supervisor *s, const char *record, struct child *ret)
{
	struct err err = {0};
	int r = autosave_start(&s->places, record, s->spec, ret, &err);

	if (r < 0 && r != -ENOENT)
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
}

static char *record_dir(const struct supervisor *s)
{
	return store_record(&s->places, s->spec->name);
}

/* Tells whether the export still runs. An export that has ended is reaped here. */
static bool at_work(struct child *c)
{
	siginfo_t info = {0};

	if (c->pidfd < 0)
		return false;
	if (waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
		return true;
	closep(&c->pidfd);
	c->pid = -1;
	return false;
}

void autosave_link_now(struct supervisor *s)
{
	cleanup_free char *record = record_dir(s);

	if (s->broker >= 0)
		broker_save(s);
	else if (!at_work(&s->autosave.child))
		start(s, record, &s->autosave.child);
}

static void on_time(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, autosave.timer);

	autosave_link_now(s);
	ev_timer_set(ev, t, s->spec->inbox_every_ms);
}

/* Without a sandbox the environment is the user's own, and in no record. */
void autosave_link_remember(struct supervisor *s, const struct strv *env)
{
	cleanup_free char *record = record_dir(s);
	int r = engine_has(s->spec->engine, ENGINE_NO_WALL) ? 0
							    : values_remember(record, s->spec, env);

	if (r < 0)
		sup_event(s, "error",
			  json_pack("{ss}", "message",
				    "the values of a command cannot be remembered: an export may "
				    "show them"));
}

void autosave_link_start(struct supervisor *s)
{
	s->autosave.timer.fn = on_time;
	if (s->spec->inbox && s->spec->inbox_every_ms)
		ev_timer_set(s->ev, &s->autosave.timer, s->spec->inbox_every_ms);
}

void autosave_link_finish(struct supervisor *s)
{
	cleanup_free char *record = record_dir(s);

	child_done(&s->autosave.child);
	start(s, record, NULL);
}

void autosave_link_last(struct supervisor *s, const char *record)
{
	struct child child = {.pid = -1, .pidfd = -1};

	child_done(&s->autosave.child);
	start(s, record, &child);
	if (child.pidfd >= 0)
		(void)run_wait(&child);
}
