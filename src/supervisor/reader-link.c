/*
 * The supervisor's side of the reader.
 *
 * DOC: Theory of operation
 *
 * The gateway gets its end of a line to the reader when it starts. The other end is watched here, and the
 * first frame starts the reader, which gets that end. A reader that has ended is followed by another in
 * the same way, but not in a tight circle. What was reserved for requests is spent when the reader ends:
 * nobody can say any more what became of them. The reader ends with the gateway, after the frames that
 * are still in its line; so their usage is heard when a sandbox ends.
 */
#include "supervisor/supervisor.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/reader-proto.h"

#define RESTART_MS 1000 /* between two starts */
#define HEAR_MS 200	/* for a reader to read what it has */

static void drop(struct supervisor *s)
{
	struct reader_link *l = &s->reader;

	if (l->half.sock >= 0 && s->ev)
		(void)ev_want(s->ev, &l->half.io, 0);
	if (l->line >= 0 && s->ev)
		(void)ev_want(s->ev, &l->line_io, 0);
	closep(&l->half.sock);
	closep(&l->line);
	asks_link_end(s); /* nobody hears an answer any more */
}

static void on_again(struct ev *ev, struct ev_timer *t);

static void on_end(struct supervisor *s)
{
	struct err ignored;

	drop(s);
	sup_event(s, "reader-end",
		  json_pack("{sI}", "code", (json_int_t)sup_reap(s, &s->reader.half.child)));
	budget_link_end(s);
	s->reader.again.fn = on_again;
	if (reader_link_line(s, &ignored) < 0)
		ev_timer_set(s->ev, &s->reader.again, RESTART_MS);
}

/* Takes one frame; false: there is none. */
static bool take_frame(struct supervisor *s)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(s->reader.half.sock, &m);
	if (r == -EAGAIN)
		return false;
	if (r > 0 && (unsigned)m.type == GW_SPEND)
		budget_link_ask(s, &m);
	else if (r > 0 && (unsigned)m.type == GW_USAGE)
		usage_link_report(s, &m);
	else if (r > 0 && (unsigned)m.type == GW_ASK)
		asks_link_take(s, &m);
	else if (r > 0 && (unsigned)m.type == GW_HEALTH)
		s->reader.asked = false;
	else
		on_end(s);
	return s->reader.half.sock >= 0;
}

static void on_frame(struct ev *ev, struct ev_io *io, uint32_t events)
{
	(void)take_frame(ev_owner(io, struct supervisor, reader.half.io));
}

static int send_setup(struct supervisor *s)
{
	struct reader_setup setup = {.budget = usage_link_has_budget(s),
				     .tools = s->spec->provider_tools};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	reader_put_setup(&b, &setup);
	r = wire_send(s->reader.half.sock, (enum wire_type)READER_SETUP, 0, &b, &s->reader.line, 1);
	closep(&s->reader.line);
	return r;
}

static int start(struct supervisor *s, struct err *err)
{
	struct reader_link *l = &s->reader;
	int r = sup_spawn(s, "reader", &l->half.child, &l->half.sock, err);

	l->started_ms = now_ms();
	if (r == 0)
		r = send_setup(s);
	return r;
}

static void start_and_watch(struct supervisor *s)
{
	struct reader_link *l = &s->reader;
	struct err err = {0};

	if (start(s, &err) < 0) {
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
		on_end(s);
		return;
	}
	l->half.io = (struct ev_io){.fd = l->half.sock, .fn = on_frame};
	(void)fd_set_nonblock(l->half.sock, true);
	if (ev_want(s->ev, &l->half.io, EPOLLIN) < 0)
		on_end(s);
}

static bool has_frame(int line)
{
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	return line >= 0 && recvmsg(line, &mh, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/*
 * What the gateway has handed over so far is read and reported before the reader answers this. A
 * reader that takes too long is not waited for.
 */
void reader_link_hear(struct supervisor *s)
{
	struct reader_link *l = &s->reader;
	uint64_t deadline = now_ms() + HEAR_MS;

	if (!s->ev)
		return;
	if (l->half.sock < 0 && has_frame(l->line) && !l->started_ms)
		start_and_watch(s);
	if (l->half.sock < 0 ||
	    wire_send(l->half.sock, (enum wire_type)GW_HEALTH, 0, NULL, NULL, 0) < 0)
		return;
	l->asked = true;
	for (uint64_t now = now_ms(); l->asked && l->half.sock >= 0 && now < deadline;
	     now = now_ms()) {
		struct pollfd p = {.fd = l->half.sock, .events = POLLIN};

		if (poll(&p, 1, (int)(deadline - now)) > 0)
			(void)take_frame(s);
	}
}

/* The first frame, which is the reader's to read. */
static void on_line(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, reader.line_io);
	struct reader_link *l = &s->reader;
	uint64_t now = now_ms();

	(void)ev_want(ev, io, 0);
	if (l->started_ms && now - l->started_ms < RESTART_MS) {
		l->again.fn = on_again;
		ev_timer_set(ev, &l->again, RESTART_MS - (now - l->started_ms));
		return;
	}
	start_and_watch(s);
}

/* The wait after the last start, or after a line that could not be made, is over. */
static void on_again(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, reader.again);
	struct err ignored;

	if (s->reader.line >= 0)
		(void)ev_want(ev, &s->reader.line_io, EPOLLIN);
	else if (s->reader.half.sock < 0 && reader_link_line(s, &ignored) < 0)
		ev_timer_set(ev, t, RESTART_MS);
}

int reader_link_line(struct supervisor *s, struct err *err)
{
	struct reader_link *l = &s->reader;
	cleanup_fd int theirs = -1;
	int pair[2], r;

	if (s->gateway.gateway.sock < 0)
		return 0;
	r = wire_pair(pair, err);
	if (r < 0)
		return r;
	theirs = pair[0];
	l->line = pair[1];
	r = wire_send(s->gateway.gateway.sock, (enum wire_type)GW_READER, 0, NULL, &theirs, 1);
	if (r < 0) {
		closep(&l->line);
		return err_sys(err, -r, "cannot reach the gateway");
	}
	l->line_io = (struct ev_io){.fd = l->line, .fn = on_line};
	return ev_want(s->ev, &l->line_io, EPOLLIN);
}

/* Reads what the reader still has to say; it ends by itself when the gateway's line has ended. */
static void hear_out(struct supervisor *s, uint64_t deadline)
{
	int sock = s->reader.half.sock;

	for (uint64_t now = now_ms(); sock >= 0 && now < deadline; now = now_ms()) {
		struct pollfd p = {.fd = sock, .events = POLLIN};
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		if (poll(&p, 1, (int)(deadline - now)) <= 0)
			return;
		r = wire_recv(sock, &m);
		if (r == 0 || (r < 0 && r != -EAGAIN))
			return;
		if (r > 0 && (unsigned)m.type == GW_USAGE)
			usage_link_report(s, &m);
	}
}

void reader_link_stop(struct supervisor *s, uint64_t deadline)
{
	struct reader_link *l = &s->reader;
	struct err ignored;

	if (s->ev)
		ev_timer_stop(s->ev, &l->again);
	/* Frames that came when nobody looked any more; the line's end alone is no reason to start. */
	if (deadline && has_frame(l->line))
		(void)start(s, &ignored);
	if (deadline)
		hear_out(s, deadline);
	drop(s);
	child_done(&l->half.child);
	l->half.child = (struct child){.pid = -1, .pidfd = -1};
	l->started_ms = 0;
}
