/* The process of a placement, its three descriptors, and the lease. */
#include "loop/placed/placed.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define PACK_PIECE ((size_t)FLEET_BODY_MAX)
#define ERRORS_AT_ONCE 16		   /* reads of the command's stderr in one turn */
#define CLOCK_MAX_MS ((int64_t)1000 << 32) /* 136 years: no node's clock is further away */

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
	struct fleet_out *to = &p->s->to;

	while (p->pack >= 0 && fleet_out_pending(to) < FLEET_QUEUE_LOW) {
		ssize_t n = pread(p->pack, piece, sizeof(piece), p->pack_at);

		if (n < 0)
			return -errno;
		p->pack_at += n;
		if (n == 0 || (uint64_t)p->pack_at >= p->pack_bytes) {
			int r = fleet_put_piece(to, FLEET_PACK, p->slot, piece, (size_t)n, false);

			closep(&p->pack);
			if (r == 0)
				r = placed_go(p);
			return r;
		}
		if (fleet_put_piece(to, FLEET_PACK, p->slot, piece, (size_t)n, true) < 0)
			return -ENOBUFS;
	}
	return 0;
}

/* Slot by slot: a task is put together when the one before it is on its way. */
static int feed(struct placed_stream *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && s->state == STREAM_OPEN && i < s->n_slots; i++) {
		struct placed *p = s->slots[i].p;

		if (fleet_out_pending(&s->to) >= FLEET_QUEUE_LOW)
			break;
		if (p && p->state == PLACED_WAITS)
			placed_begin(p);
		if (p && p->state == PLACED_SENDS)
			r = feed_pack(p);
	}
	return r;
}

static bool has_more(const struct placed_stream *s)
{
	for (size_t i = 0; s->state == STREAM_OPEN && i < s->n_slots; i++)
		if (s->slots[i].p && s->slots[i].p->state < PLACED_WORKS)
			return true;
	return false;
}

void stream_flush(struct placed_stream *s)
{
	int r = s->out < 0 ? 0 : 1;

	while (r == 1) {
		r = feed(s);
		if (r == 0)
			r = fleet_out_write(&s->to, s->out);
		if (r < 0 || fleet_out_pending(&s->to) || !has_more(s))
			break;
	}
	/* A stream that cannot be written ends by itself, or by its lease: what it still says counts. */
	if (r == -EAGAIN)
		r = 0;
	if (s->out >= 0)
		(void)ev_want(s->l->ev, &s->out_io,
			      r >= 0 && fleet_out_pending(&s->to) ? EPOLLOUT : 0);
}

static void on_writable(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_stream *s = ev_owner(io, struct placed_stream, out_io);

	stream_flush(s);
	for (size_t k = 0; k < s->n_slots && fleet_out_pending(&s->to) < FLEET_QUEUE_LOW; k++)
		if (s->slots[k].p)
			placed_tunnels_resume(s->slots[k].p);
}

/* ---- the lease ---- */

/* Several fit into a lease, however short it is: a worker whose agent thinks says nothing else. */
static void on_ping(struct ev *ev, struct ev_timer *t)
{
	struct placed_stream *s = ev_owner(t, struct placed_stream, ping);

	s->asked_ms = real_ms();
	(void)fleet_ping_put(&s->to, FLEET_PING, ++s->pings, 0);
	ev_timer_set(ev, t, fleet_ping_ms(s->l->config->fleet.lease_ms));
	stream_flush(s);
}

static void on_silence(struct ev *ev, struct ev_timer *t)
{
	struct placed_stream *s = ev_owner(t, struct placed_stream, lease);

	stream_lost(s, "nothing was heard of it for %llu s",
		    (unsigned long long)(s->l->config->fleet.lease_ms / 1000));
}

static void heard(struct placed_stream *s)
{
	if (s->state == STREAM_OPEN && !s->takes)
		ev_timer_set(s->l->ev, &s->lease, s->l->config->fleet.lease_ms);
}

void stream_open(struct placed_stream *s)
{
	s->state = STREAM_OPEN;
	heard(s);
	on_ping(s->l->ev, &s->ping);
}

void stream_pong(struct placed_stream *s, uint64_t number, uint64_t time_ms)
{
	uint64_t now = real_ms();

	if (number != s->pings || now < s->asked_ms)
		return;
	if (time_ms > (uint64_t)CLOCK_MAX_MS)
		time_ms = (uint64_t)CLOCK_MAX_MS;
	/* The answer was given in between. */
	s->clock_ms = (int64_t)time_ms - (int64_t)(s->asked_ms + (now - s->asked_ms) / 2);
}

/* ---- in ---- */

static void read_errors(struct placed_stream *s)
{
	char piece[PLACE_STDERR_MAX];
	ssize_t n = 1;

	/* ssh passes on what the node writes there, which may never end. */
	for (int i = 0; i < ERRORS_AT_ONCE && (n = read(s->errors, piece, sizeof(piece))) > 0;
	     i++) {
		size_t over = s->tail.len + (size_t)n;

		if (over > PLACE_STDERR_MAX)
			buf_consume(&s->tail, over - PLACE_STDERR_MAX < s->tail.len
						      ? over - PLACE_STDERR_MAX
						      : s->tail.len);
		(void)buf_append(&s->tail, piece, (size_t)n);
	}
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	(void)ev_want(s->l->ev, &s->errors_io, 0);
	s->errors_eof = true;
}

static void on_errors(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_stream *s = ev_owner(io, struct placed_stream, errors_io);

	read_errors(s);
	if (s->errors_eof && s->eof)
		stream_ended(s);
}

const char *stream_said(struct placed_stream *s)
{
	char *text, *line;

	if (s->errors >= 0)
		read_errors(s);
	text = s->tail.len ? s->tail.data : NULL;
	while (text && s->tail.len && strchr("\r\n ", text[s->tail.len - 1]))
		text[--s->tail.len] = '\0';
	line = text ? strrchr(text, '\n') : NULL;
	return line ? line + 1 : text;
}

/* All that came, until commits are to be taken over. */
static void drain(struct placed_stream *s)
{
	struct fleet_msg m;
	int r = 0;

	while (s->state < STREAM_OVER && !s->takes && (r = fleet_next(&s->from, &m)) > 0)
		if (s->state < STREAM_ENDING)
			placed_message(s, &m);
	if (s->state < STREAM_OVER && r < 0)
		stream_lost(s, "what it sends cannot be understood");
	if (s->state < STREAM_OVER)
		stream_flush(s);
}

void stream_pause(struct placed_stream *s)
{
	(void)ev_want(s->l->ev, &s->in_io, 0);
	/* It is not heard, so its silence means nothing. */
	ev_timer_stop(s->l->ev, &s->lease);
}

void stream_go_on(struct placed_stream *s)
{
	if (s->takes || s->state == STREAM_OVER || s->eof)
		return;
	(void)ev_want(s->l->ev, &s->in_io, EPOLLIN);
	heard(s);
	drain(s);
}

static void on_bytes(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_stream *s = ev_owner(io, struct placed_stream, in_io);
	int r;

	drain(s);
	if (s->state >= STREAM_OVER || s->takes)
		return;
	r = fleet_in_read(&s->from, s->in);

	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		stream_ended(s);
		return;
	}
	heard(s);
	drain(s);
}

/* ---- the process ---- */

static int make_pipes(int in[2], int out[2], int errors[2], struct err *err)
{
	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
	    pipe2(errors, O_CLOEXEC) == 0)
		return 0;
	return err_sys(err, errno, "cannot create a pipe");
}

static int begin(struct placed_stream *s, const struct place_words *words, struct err *err)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
	struct run run = RUN_INIT;
	int r = make_pipes(in, out, errors, err);

	place_argv(&s->place->command, words, &argv);
	place_env(s->l->config, s->place, environ, &env);
	run.argv = argv.v;
	run.env = env.v;
	run.stdio[0] = in[0];
	run.stdio[1] = out[1];
	run.stdio[2] = errors[1];
	/* Ctrl-C reaches the loop only, which tells the worker. */
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US | RUN_NEW_SESSION;
	if (r == 0)
		r = run_start(&run, &s->child, err);
	closep(&in[0]);
	closep(&out[1]);
	closep(&errors[1]);
	s->out = in[1];
	s->in = out[0];
	s->errors = errors[0];
	return r;
}

int stream_start(struct placed_stream *s, const struct place_words *words, struct err *err)
{
	struct ev *ev = s->l->ev;
	int r = begin(s, words, err);

	if (r < 0)
		return r;
	(void)fd_set_nonblock(s->in, true);
	(void)fd_set_nonblock(s->out, true);
	(void)fd_set_nonblock(s->errors, true);
	s->in_io = (struct ev_io){.fd = s->in, .fn = on_bytes};
	s->out_io = (struct ev_io){.fd = s->out, .fn = on_writable};
	s->errors_io = (struct ev_io){.fd = s->errors, .fn = on_errors};
	s->ping.fn = on_ping;
	s->lease.fn = on_silence;
	(void)ev_want(ev, &s->in_io, EPOLLIN);
	(void)ev_want(ev, &s->errors_io, EPOLLIN);
	return 0;
}

void stream_stop(struct placed_stream *s)
{
	struct ev *ev = s->l->ev;

	s->state = STREAM_OVER;
	ev_timer_stop(ev, &s->ping);
	ev_timer_stop(ev, &s->lease);
	ev_timer_stop(ev, &s->end);
	ev_timer_stop(ev, &s->idle);
	if (s->in >= 0)
		(void)ev_want(ev, &s->in_io, 0);
	if (s->out >= 0)
		(void)ev_want(ev, &s->out_io, 0);
	if (s->errors >= 0)
		(void)ev_want(ev, &s->errors_io, 0);
	closep(&s->out);
	closep(&s->in);
	closep(&s->errors);
	if (s->child.pid > 0)
		child_done(&s->child);
	s->child = (struct child){.pid = -1, .pidfd = -1};
}
