#include "worker/node.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

static const int caught[] = {SIGTERM, SIGINT, SIGHUP};

static uint64_t real_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- the end ---- */

static bool is_idle(const struct node *n)
{
	for (size_t i = 0; i < FLEET_SLOTS_MAX; i++)
		if (n->slots[i])
			return false;
	return true;
}

static void finish_if_idle(struct node *n)
{
	if (n->ending && is_idle(n) && (n->deaf || !fleet_out_pending(&n->out)))
		ev_stop(n->ev);
}

void node_end(struct node *n, int code, const char *fmt, ...)
{
	va_list ap;

	if (!n->ending) {
		n->ending = true;
		n->code = code;
		va_start(ap, fmt);
		n->why = xvasprintf(fmt, ap);
		va_end(ap);
		ev_timer_set(n->ev, &n->kill, NODE_KILL_MS + NODE_LAST_MS);
	}
	for (size_t i = 0; i < FLEET_SLOTS_MAX; i++)
		if (n->slots[i])
			slot_stop(n->slots[i], true);
	finish_if_idle(n);
}

/* Nothing comes or goes any more: a slot does not wait for home. */
static void go_deaf(struct node *n)
{
	n->deaf = true;
	(void)ev_want(n->ev, &n->in_io, 0);
	(void)ev_want(n->ev, &n->out_io, 0);
	ev_timer_stop(n->ev, &n->ping);
	ev_timer_stop(n->ev, &n->lease);
}

void node_slot_gone(struct node *n, struct slot *s)
{
	bool acked = s->code >= 0;

	n->slots[s->id] = NULL;
	ev_defer(n->ev, &s->gone);
	if (n->max_slots == 1 && !n->ending) {
		n->ending = true;
		n->code = acked ? 0 : NODE_NO_ACK;
	}
	finish_if_idle(n);
}

static void on_kill(struct ev *ev, struct ev_timer *t)
{
	ev_stop(ev);
}

/* ---- out ---- */

static void on_out(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct node *n = ev_owner(io, struct node, out_io);
	bool was_full = !node_has_room(n);
	int r = fleet_out_write(&n->out, n->out_fd);

	if (r < 0) {
		go_deaf(n);
		node_end(n, NODE_STREAM, "the stream ended: %s", strerror(-r));
		return;
	}
	(void)ev_want(ev, io, r == 0 ? EPOLLOUT : 0);
	for (size_t i = 0; was_full && node_has_room(n) && i < FLEET_SLOTS_MAX; i++)
		if (n->slots[i])
			slot_resume(n->slots[i]);
	finish_if_idle(n);
}

void node_flush(struct node *n)
{
	if (!n->deaf && fleet_out_pending(&n->out))
		(void)ev_want(n->ev, &n->out_io, EPOLLOUT);
}

bool node_has_room(const struct node *n)
{
	return n->deaf || fleet_out_pending(&n->out) < FLEET_QUEUE_LOW;
}

static void on_ping(struct ev *ev, struct ev_timer *t)
{
	struct node *n = ev_owner(t, struct node, ping);

	(void)fleet_ping_put(&n->out, FLEET_PING, ++n->pings, 0);
	node_flush(n);
	ev_timer_set(ev, t, fleet_ping_ms(n->lease_ms));
}

/* ---- in ---- */

static void on_lease(struct ev *ev, struct ev_timer *t)
{
	struct node *n = ev_owner(t, struct node, lease);
	uint64_t max = n->lease_ms ? n->lease_ms : NODE_START_MS, now = now_ms();

	if (now - n->heard < max) {
		ev_timer_set(ev, t, max - (now - n->heard));
		return;
	}
	go_deaf(n);
	node_end(n, NODE_LEASE, "nothing was heard of home for %llu s",
		 (unsigned long long)(max / 1000));
}

static int on_start(struct node *n, const struct fleet_msg *m, struct err *err)
{
	struct fleet_start s;
	int r;

	if (n->started)
		return err_set(err, EPROTO, "START came twice");
	r = fleet_start_read(m, &s, err);
	if (r < 0)
		return r;
	n->started = true;
	n->lease_ms = s.lease_ms >= 1000 && s.lease_ms <= 3600000 ? s.lease_ms : FLEET_LEASE_MS;
	hold_tell(n->hold, "home is there");
	ev_timer_set(n->ev, &n->lease, n->lease_ms);
	ev_timer_set(n->ev, &n->ping, fleet_ping_ms(n->lease_ms));
	r = fleet_put_json(&n->out, FLEET_HELLO, 0, node_hello(&s, n->max_slots));
	if (r < 0)
		r = err_sys(err, -r, "cannot greet home");
	/* Home has our version by now, and says it to its user. */
	if (r == 0 && fleet_same_version(s.protocol, s.version, "home", err) < 0) {
		node_end(n, EXIT_USAGE, "%s", err->msg);
	} else if (r == 0) {
		r = node_dir_make(n, err);
	}
	node_flush(n);
	fleet_done(&s);
	return r;
}

static int on_ping_of_home(struct node *n, const struct fleet_msg *m)
{
	uint64_t number, time_ms;
	int r = fleet_ping_read(m, &number, &time_ms);

	if (r == 0 && m->type == FLEET_PING) {
		r = fleet_ping_put(&n->out, FLEET_PONG, number, real_ms());
		node_flush(n);
	}
	return r;
}

static int take(struct node *n, const struct fleet_msg *m, struct err *err)
{
	if (m->type == FLEET_START)
		return on_start(n, m, err);
	if (!n->started)
		return err_set(err, EPROTO, "home's first word is not START");
	if (m->type == FLEET_PING || m->type == FLEET_PONG)
		return on_ping_of_home(n, m) < 0 ? err_set(err, EPROTO, "a ping is malformed") : 0;
	if (n->ending && !n->slots[m->id])
		return 0;
	if (m->id >= n->max_slots)
		return err_set(err, EPROTO, "there is no slot %u", m->id);
	if (m->type == FLEET_TASK)
		return slot_new(n, m, err);
	/* What was on its way when a task ended. */
	return n->slots[m->id] ? slot_take(n->slots[m->id], m, err) : 0;
}

static void on_in(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct node *n = ev_owner(io, struct node, in_io);
	struct fleet_msg m;
	struct err err = {0};
	int r = fleet_in_read(&n->in, n->in_fd);

	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		bool idle = is_idle(n) && n->started;

		go_deaf(n);
		/* A hub that has nothing to do is let go like this. */
		node_end(n, idle && n->max_slots > 1 ? 0 : NODE_STREAM, "the stream ended%s%s",
			 r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
		return;
	}
	n->heard = now_ms();
	while (!n->deaf && (r = fleet_next(&n->in, &m)) == 1) {
		r = take(n, &m, &err);
		if (r < 0)
			break;
	}
	if (r < 0) {
		go_deaf(n);
		node_end(n, NODE_STREAM, "home sends what is no stream of this protocol%s%s",
			 err.msg[0] ? ": " : "", err.msg);
	}
}

static void on_signals(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct node *n = ev_owner(io, struct node, signals_io);
	int sig;

	while ((sig = ev_signal_read(n->signals)) > 0) {
		if (sig != SIGHUP) {
			node_end(n, 128 + sig, "stopped by signal %d", sig);
			continue;
		}
		/* `srun -u` gives a terminal for standard output, which ends with a killed srun, before or
		 * after the input does. */
		go_deaf(n);
		node_end(n, NODE_STREAM, "the stream ended: its terminal is gone");
	}
}

/* The container's own process was told to end. */
static void on_hold(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct node *n = ev_owner(io, struct node, hold_io);

	(void)ev_want(ev, io, 0);
	node_end(n, 128 + SIGTERM, "the container is to end");
}

/* ---- all of it ---- */

static int open_node(struct node *n, struct err *err)
{
	int r = ev_new(&n->ev, err);

	if (r == 0)
		r = ev_signalfd(caught, ARRAY_SIZE(caught), &n->signals, err);
	if (r < 0)
		return r;
	/* What a killed loop leaves is ours to wait for. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)fd_set_nonblock(n->in_fd, true);
	(void)fd_set_nonblock(n->out_fd, true);
	fleet_in_init(&n->in, FLEET_HOME);
	fleet_out_init(&n->out);
	n->in_io = (struct ev_io){.fd = n->in_fd, .fn = on_in};
	n->out_io = (struct ev_io){.fd = n->out_fd, .fn = on_out};
	n->signals_io = (struct ev_io){.fd = n->signals, .fn = on_signals};
	n->ping.fn = on_ping;
	n->lease.fn = on_lease;
	n->kill.fn = on_kill;
	n->heard = now_ms();
	ev_timer_set(n->ev, &n->lease, NODE_START_MS);
	(void)ev_want(n->ev, &n->signals_io, EPOLLIN);
	n->hold = hold_join();
	n->hold_io = (struct ev_io){.fd = n->hold, .fn = on_hold};
	if (n->hold >= 0)
		(void)ev_want(n->ev, &n->hold_io, EPOLLIN);
	r = ev_want(n->ev, &n->in_io, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot read standard input") : 0;
}

static void close_node(struct node *n)
{
	for (size_t i = 0; i < FLEET_SLOTS_MAX; i++)
		if (n->slots[i])
			slot_free(n->slots[i]);
	node_dir_remove(n);
	fleet_in_done(&n->in);
	fleet_out_done(&n->out);
	closep(&n->signals);
	closep(&n->in_fd);
	closep(&n->out_fd);
	free(n->why);
	if (n->ev)
		ev_free(n->ev);
}

int node_run(struct node *n, struct err *err)
{
	int r = open_node(n, err);

	if (r == 0)
		r = ev_run(n->ev, err);
	if (r == 0 && n->why && n->code != 0)
		log_warn("worker", "%s", n->why);
	if (r == 0)
		r = n->code < 0 ? EXIT_RUNTIME : n->code;
	hold_done(n->hold, r);
	n->hold = -1;
	close_node(n);
	/* Without a lease nobody would end the job that this process is in. Slurm itself ends a step whose
	 * srun was killed by SIGTERM, and leaves the job. */
	if ((r == NODE_LEASE || r == NODE_STREAM || r > 128) && !n->keep_job)
		node_cancel_job();
	return r;
}
