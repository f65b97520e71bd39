#include "loop/control.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "record/loops.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static int write_active(int dir, const char *text)
{
	return dir < 0 ? 0 : path_write_atomic(dir, "active", text, strlen(text), 0600, 0);
}

int control_take(struct control *c, int dir, int state, bool apart, struct err *err)
{
	cleanup_free char *text = NULL;
	cleanup_json json_t *j = NULL;
	struct loop_active other = {0};
	int r;

	c->lock = openat(state, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->lock < 0)
		return err_sys(err, errno, "cannot open the lock of the loop's state");
	r = fd_lock(c->lock, 0);
	if (r < 0 && loops_read_active(apart ? state : dir, &other) == 0)
		return err_set(err, EBUSY,
			       "a loop runs in this workspace already (process %d); see: ralph "
			       "status, ralph pause, ralph stop",
			       (int)other.pid);
	if (r < 0)
		return err_set(err, EBUSY, "a loop runs in this workspace already");
	c->dir = dir;
	c->apart = apart ? state : -1;
	j = json_pack("{sI sI}", "pid", (json_int_t)getpid(), "start",
		      (json_int_t)loops_start_time(getpid()));
	text = json_dumps(j, JSON_COMPACT);
	r = write_active(c->apart, text);
	if (r == 0)
		r = write_active(dir, text);
	return r < 0 ? err_sys(err, -r, "cannot write .ralph/active") : 0;
}

static void on_signals(struct ev *ev, struct ev_io *io, uint32_t events)
{
	control_look(ev_owner(io, struct control, io));
}

int control_listen(struct control *c, struct ev *ev, struct err *err)
{
	int r = ev_signalfd(signals, ARRAY_SIZE(signals), &c->fd, err);

	if (r < 0)
		return r;
	c->ev = ev;
	c->io = (struct ev_io){.fd = c->fd, .fn = on_signals};
	(void)ev_want(ev, &c->io, EPOLLIN);
	return 0;
}

void control_look(struct control *c)
{
	int sig;

	while (c->fd >= 0 && (sig = ev_signal_read(c->fd)) > 0) {
		if (sig == SIGINT && !c->pause)
			c->pause = true;
		else if (!c->stop)
			c->stop = sig;
		if (c->changed)
			c->changed(c->arg);
		if (c->workers)
			c->workers(c->workers_arg);
	}
}

void control_release(struct control *c)
{
	if (c->fd >= 0 && c->ev)
		(void)ev_want(c->ev, &c->io, 0);
	closep(&c->fd);
	/* The file goes before the lock: the next loop to take the lock writes its own file. */
	if (c->dir >= 0)
		(void)unlinkat(c->dir, "active", 0);
	if (c->apart >= 0)
		(void)unlinkat(c->apart, "active", 0);
	c->dir = c->apart = -1;
	closep(&c->lock);
}
