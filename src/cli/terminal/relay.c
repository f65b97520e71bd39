#include "cli/terminal/relay.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static void finish(struct relay *r)
{
	if (!r->active)
		return;
	relay_stop(r);
	if (r->close_to)
		closep(&r->out.fd);
	if (r->on_end)
		r->on_end(r);
}

/* Writes what is pending. True when all of it is out. */
static bool flush(struct relay *r)
{
	while (r->pending.len) {
		ssize_t n = write(r->out.fd, r->pending.data, r->pending.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0) {
			finish(r);
			return false;
		}
		buf_consume(&r->pending, (size_t)n);
	}
	return true;
}

/* A person types Ctrl-D at the end: once to finish a begun line, once for the end of input. */
static const char end_of_input[] = {'D' & 0x1f, 'D' & 0x1f};

static void keep_tail(struct relay *r, const char *text, size_t n)
{
	size_t keep = n < RELAY_TAIL ? RELAY_TAIL - n : 0;

	if (n > RELAY_TAIL) {
		text += n - RELAY_TAIL;
		n = RELAY_TAIL;
	}
	keep = keep < r->n_tail ? keep : r->n_tail;
	memmove(r->tail, r->tail + r->n_tail - keep, keep);
	memcpy(r->tail + keep, text, n);
	r->n_tail = keep + n;
}

static void feed_terminal(struct relay *r, const char *chunk, size_t n)
{
	size_t before = r->pending.len;

	filter_feed(r->filter, chunk, n, &r->pending);
	keep_tail(r, r->pending.data + before, r->pending.len - before);
}

/* Ctrl-Z as a terminal sends it, and as it does in the keyboard protocol that agents turn on. */
static const char *const stop_keys[] = {"\x1a", "\x1b[122;5u"};

/* Takes the first stop key out of what was typed. */
static size_t take_stop_key(struct relay *r, char *chunk, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(stop_keys); i++) {
		size_t len = strlen(stop_keys[i]);
		char *at = memmem(chunk, n, stop_keys[i], len);

		if (!at)
			continue;
		memmove(at, at + len, (size_t)(chunk + n - at) - len);
		r->on_stop(r);
		return n - len;
	}
	return n;
}

/* Reads once. False at the end, or when there is nothing now. */
static bool fill(struct relay *r)
{
	char chunk[RELAY_CHUNK];
	ssize_t n = read(r->in.fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (n == 0 && r->types_end) {
		r->types_end = false;
		return buf_append(&r->pending, end_of_input, sizeof(end_of_input)) == 0;
	}
	if (n <= 0) { /* EIO: the last holder of a pty has closed it */
		finish(r);
		return false;
	}
	if (r->on_stop)
		n = (ssize_t)take_stop_key(r, chunk, (size_t)n);
	if (r->filter)
		feed_terminal(r, chunk, (size_t)n);
	else
		(void)buf_append(&r->pending, chunk, (size_t)n);
	return true;
}

static void wait_for(struct relay *r, bool reading)
{
	if (!r->active)
		return;
	if (r->always_ready)
		reading = false;
	else
		(void)ev_want(r->ev, &r->in, reading ? EPOLLIN : 0);
	(void)ev_want(r->ev, &r->out, reading ? 0 : EPOLLOUT);
}

static void on_in(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct relay *r = ev_owner(io, struct relay, in);

	if (fill(r))
		wait_for(r, flush(r));
}

static void on_out(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct relay *r = ev_owner(io, struct relay, out);

	if (!flush(r))
		return;
	if (r->always_ready) {
		if (fill(r))
			(void)flush(r);
		return;
	}
	wait_for(r, true);
}

void relay_start(struct relay *r, struct ev *ev, int from, int to, enum relay_flags flags,
		 enum filter_wish allowed)
{
	*r = (struct relay){.ev = ev,
			    .active = true,
			    .close_to = flags & RELAY_CLOSE_TO,
			    .types_end = flags & RELAY_TYPE_END};
	r->in = (struct ev_io){.fd = from, .fn = on_in};
	r->out = (struct ev_io){.fd = to, .fn = on_out};
	r->always_ready = ev_want(ev, &r->in, EPOLLIN) == -EPERM;
	buf_init(&r->pending, RELAY_CHUNK + 2 * FILTER_OVERHEAD);
	if (flags & RELAY_TO_TERMINAL) {
		r->filter = xmalloc(sizeof(*r->filter));
		filter_init(r->filter, allowed);
	}
	wait_for(r, true);
}

/* The terminal is the user's again. */
static void undo(const struct relay *r)
{
	cleanup_buf struct buf b;

	buf_init(&b, MODES_UNDO_MAX);
	filter_undo(r->filter, &b);
	(void)fd_write_all(r->out.fd, b.data, b.len);
}

void relay_stop(struct relay *r)
{
	if (!r->active)
		return;
	r->active = false;
	if (r->filter) {
		undo(r);
		r->missed = r->filter->missed;
	}
	(void)ev_want(r->ev, &r->in, 0);
	(void)ev_want(r->ev, &r->out, 0);
	buf_done(&r->pending);
	free(r->filter);
	r->filter = NULL;
}

void relay_drain(struct relay *r)
{
	while (r->active && flush(r) && fill(r))
		;
}

void relay_catch_up(struct relay *r)
{
	for (int i = 0; i < RELAY_CHUNKS_MAX && r->active && flush(r) && fill(r); i++)
		;
	if (r->active)
		(void)flush(r);
}
