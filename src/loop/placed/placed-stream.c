/* The process of a placement, its three descriptors, and the lease. */
#include "loop/placed/placed.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define PACK_PIECE ((size_t)FLEET_BODY_MAX)

extern char **environ;

static uint64_t real_ms(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- out ---- */

/* Packs wait while the queue is long, so that a ping is never far behind. */
static int feed_pack(struct placed *p)
{
	static char piece[PACK_PIECE];

	while (p->pack >= 0 && fleet_out_pending(&p->to) < FLEET_QUEUE_LOW) {
		ssize_t n = pread(p->pack, piece, sizeof(piece), p->pack_at);

		if (n < 0)
			return -errno;
		p->pack_at += n;
		if (n == 0 || (uint64_t)p->pack_at >= p->pack_bytes) {
			int r = fleet_put_piece(&p->to, FLEET_PACK, 0, piece, (size_t)n, false);

			closep(&p->pack);
			if (r == 0)
				r = placed_go(p);
			return r;
		}
		if (fleet_put_piece(&p->to, FLEET_PACK, 0, piece, (size_t)n, true) < 0)
			return -ENOBUFS;
	}
	return 0;
}

void placed_flush(struct placed *p)
{
	int r = p->out < 0 ? 0 : 1;

	while (r == 1) {
		r = feed_pack(p);
		if (r == 0)
			r = fleet_out_write(&p->to, p->out);
		if (r < 0 || fleet_out_pending(&p->to) || p->pack < 0)
			break;
	}
	/* A stream that cannot be written ends by itself, or by its lease: what it still says counts. */
	if (r == -EAGAIN)
		r = 0;
	if (p->out >= 0)
		(void)ev_want(p->w->l->ev, &p->out_io,
			      r >= 0 && fleet_out_pending(&p->to) ? EPOLLOUT : 0);
}

static void on_writable(struct ev *ev, struct ev_io *io, uint32_t events)
{
	placed_flush(ev_owner(io, struct placed, out_io));
}

/* ---- the lease ---- */

static void on_ping(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, ping);

	p->asked_ms = real_ms();
	(void)fleet_ping_put(&p->to, FLEET_PING, ++p->pings, 0);
	placed_flush(p);
	ev_timer_set(ev, t, FLEET_PING_MS);
}

static void on_silence(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, lease);

	placed_lost(p, "nothing was heard of it for %llu s",
		    (unsigned long long)(p->w->l->config->fleet.lease_ms / 1000));
}

void placed_heard(struct placed *p)
{
	if (p->state != PLACED_WAITS && p->state < PLACED_CLOSING)
		ev_timer_set(p->w->l->ev, &p->lease, p->w->l->config->fleet.lease_ms);
}

void placed_begin_lease(struct placed *p)
{
	placed_heard(p);
	on_ping(p->w->l->ev, &p->ping);
}

void placed_pong(struct placed *p, uint64_t number, uint64_t time_ms)
{
	uint64_t now = real_ms();

	if (number != p->pings || now < p->asked_ms)
		return;
	/* The answer was given in between. */
	p->clock_ms = (int64_t)time_ms - (int64_t)(p->asked_ms + (now - p->asked_ms) / 2);
}

/* ---- in ---- */

static void on_errors(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed *p = ev_owner(io, struct placed, errors_io);
	char piece[1024];
	ssize_t n;

	while ((n = read(p->errors, piece, sizeof(piece))) > 0) {
		size_t over = p->tail.len + (size_t)n;

		if (over > PLACE_STDERR_MAX)
			buf_consume(&p->tail, over - PLACE_STDERR_MAX < p->tail.len
						      ? over - PLACE_STDERR_MAX
						      : p->tail.len);
		(void)buf_append(&p->tail, piece, (size_t)n);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	(void)ev_want(ev, io, 0);
	p->errors_eof = true;
}

static void on_errors_event(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed *p = ev_owner(io, struct placed, errors_io);

	on_errors(ev, io, events);
	if (p->errors_eof && p->eof)
		placed_ended(p);
}

void placed_read_errors(struct placed *p)
{
	if (p->errors >= 0)
		on_errors(p->w->l->ev, &p->errors_io, 0);
}

static void on_bytes(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed *p = ev_owner(io, struct placed, in_io);
	int r = fleet_in_read(&p->from, p->in);
	struct fleet_msg m;

	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		placed_ended(p);
		return;
	}
	placed_heard(p);
	while (p->state < PLACED_OVER && (r = fleet_next(&p->from, &m)) > 0)
		placed_message(p, &m);
	if (p->state < PLACED_OVER && r < 0)
		placed_lost(p, "what it sends cannot be understood");
	if (p->state < PLACED_OVER)
		placed_flush(p);
}

/* ---- the process ---- */

static int make_pipes(int in[2], int out[2], int errors[2], struct err *err)
{
	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
	    pipe2(errors, O_CLOEXEC) == 0)
		return 0;
	return err_sys(err, errno, "cannot create a pipe");
}

static int begin(struct placed *p, const struct config_place *place, struct err *err)
{
	struct loop *l = p->w->l;
	cleanup_strv struct strv argv = {0}, env = {0};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
	struct place_words words;
	struct run run = RUN_INIT;
	int r = make_pipes(in, out, errors, err);

	placed_words(p->w, place, &words);
	place_argv(&place->command, &words, &argv);
	place_env(l->config, place, environ, &env);
	run.argv = argv.v;
	run.env = env.v;
	run.stdio[0] = in[0];
	run.stdio[1] = out[1];
	run.stdio[2] = errors[1];
	/* Ctrl-C reaches the loop only, which tells the worker. */
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US | RUN_NEW_SESSION;
	if (r == 0)
		r = run_start(&run, &p->child, err);
	closep(&in[0]);
	closep(&out[1]);
	closep(&errors[1]);
	p->out = in[1];
	p->in = out[0];
	p->errors = errors[0];
	return r;
}

int placed_open(struct placed *p, const struct config_place *place, struct err *err)
{
	struct ev *ev = p->w->l->ev;
	int r = begin(p, place, err);

	if (r < 0)
		return r;
	(void)fd_set_nonblock(p->in, true);
	(void)fd_set_nonblock(p->out, true);
	(void)fd_set_nonblock(p->errors, true);
	p->in_io = (struct ev_io){.fd = p->in, .fn = on_bytes};
	p->out_io = (struct ev_io){.fd = p->out, .fn = on_writable};
	p->errors_io = (struct ev_io){.fd = p->errors, .fn = on_errors_event};
	p->ping.fn = on_ping;
	p->lease.fn = on_silence;
	(void)ev_want(ev, &p->in_io, EPOLLIN);
	(void)ev_want(ev, &p->errors_io, EPOLLIN);
	return 0;
}

void placed_close(struct placed *p)
{
	struct ev *ev = p->w->l->ev;

	placed_cred_forget(p);
	placed_logs_end(p);
	placed_people_end(p);
	ev_timer_stop(ev, &p->ping);
	ev_timer_stop(ev, &p->lease);
	ev_timer_stop(ev, &p->end);
	if (p->in >= 0)
		(void)ev_want(ev, &p->in_io, 0);
	if (p->out >= 0)
		(void)ev_want(ev, &p->out_io, 0);
	if (p->errors >= 0)
		(void)ev_want(ev, &p->errors_io, 0);
	closep(&p->out);
	closep(&p->in);
	closep(&p->errors);
	closep(&p->pack);
	if (p->child.pid > 0)
		child_done(&p->child);
	p->child = (struct child){.pid = -1, .pidfd = -1};
}
