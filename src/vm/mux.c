#include "vm/mux.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"

#define HEAD (4 * sizeof(uint32_t))
#define FRAME_MAX (HEAD + WIRE_BODY_MAX + REMOTE_PROGRAM_MAX)
#define PIECE (16 * KiB)
#define TELL (16 * KiB) /* bytes written out before the other end hears of them */
#define LINE_READ (64 * KiB)

void mux_init(struct mux *m, int line)
{
	*m = (struct mux){.line = line};
	buf_init(&m->in, FRAME_MAX + LINE_READ);
	buf_init(&m->out, MUX_QUEUE_MAX);
}

static void channel_free(struct mux *m, struct mux_channel **at)
{
	struct mux_channel *c = *at;

	*at = c->next;
	m->n_channels--;
	closep(&c->fd);
	buf_done(&c->out);
	free(c);
}

void mux_done(struct mux *m)
{
	while (m->channels)
		channel_free(m, &m->channels);
	while (m->held) {
		struct mux_held *h = m->held;

		m->held = h->next;
		buf_done(&h->body);
		free(h);
	}
	buf_done(&m->in);
	buf_done(&m->out);
	closep(&m->line);
}

struct mux_channel *mux_find(const struct mux *m, uint32_t id, enum mux_which which)
{
	for (struct mux_channel *c = m->channels; c; c = c->next)
		if (c->id == id && c->which == which && c->ways)
			return c;
	return NULL;
}

struct mux_channel *mux_add(struct mux *m, uint32_t id, enum mux_which which, int fd, unsigned ways)
{
	struct mux_channel *c;
	struct stat st;

	if (m->n_channels == MUX_CHANNELS_MAX || mux_find(m, id, which) || fstat(fd, &st) < 0) {
		closep(&fd);
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	*c = (struct mux_channel){.next = m->channels,
				  .id = id,
				  .which = which,
				  .fd = fd,
				  .ways = ways,
				  .credit = MUX_CREDIT,
				  .socket = S_ISSOCK(st.st_mode),
				  .waits = !(fcntl(fd, F_GETFL) & O_NONBLOCK) &&
					   !S_ISREG(st.st_mode)};
	buf_init(&c->out, MUX_CREDIT);
	m->channels = c;
	m->n_channels++;
	return c;
}

int mux_send(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body,
	     const struct buf *program)
{
	const uint32_t head[] = {type, id, body ? (uint32_t)body->len : 0,
				 program ? (uint32_t)program->len : 0};

	if ((body && body->full) || head[2] > WIRE_BODY_MAX || head[3] > REMOTE_PROGRAM_MAX ||
	    buf_append(&m->out, head, sizeof(head)) < 0 ||
	    (head[2] && buf_append(&m->out, body->data, head[2]) < 0) ||
	    (program && head[3] && buf_append(&m->out, program->data, head[3]) < 0))
		return -EMSGSIZE;
	return 0;
}

static int send_numbers(struct mux *m, enum wire_type type, const struct mux_channel *c,
			uint32_t number)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_u32(&b, c->which);
	wire_put_u32(&b, number);
	return mux_send(m, type, c->id, &b, NULL);
}

/* ---- the ends of commands ---- */

static bool has_output(const struct mux *m, uint32_t id)
{
	return mux_find(m, id, MUX_OUT) || mux_find(m, id, MUX_ERR) || mux_find(m, id, MUX_TTY);
}

static void end_channels(struct mux *m, uint32_t id)
{
	for (struct mux_channel *c = m->channels; c; c = c->next)
		if (c->id == id && c->which <= MUX_TTY)
			c->ways = 0;
}

void mux_drop(struct mux *m, uint32_t id)
{
	end_channels(m, id);
}

int mux_hold(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body)
{
	struct mux_held *h;

	if (!has_output(m, id)) {
		end_channels(m, id);
		return m->over(m, type, id, body);
	}
	if (m->n_held == MUX_HELD_MAX)
		return -EPROTO;
	h = xcalloc(1, sizeof(*h));
	*h = (struct mux_held){.next = m->held, .type = type, .id = id};
	buf_init(&h->body, WIRE_BODY_MAX);
	(void)buf_append(&h->body, body->data, body->len);
	m->held = h;
	m->n_held++;
	return 0;
}

static int let_go(struct mux *m)
{
	struct mux_held **at = &m->held;
	int r = 0;

	while (*at && r == 0) {
		struct mux_held *h = *at;

		if (has_output(m, h->id)) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		m->n_held--;
		end_channels(m, h->id);
		r = m->over(m, h->type, h->id, &h->body);
		buf_done(&h->body);
		free(h);
	}
	return r;
}

/* ---- one channel ---- */

static bool may_read(const struct mux *m, const struct mux_channel *c)
{
	return (c->ways & MUX_READS) && c->credit > 0 && !mux_is_full(m);
}

static int read_channel(struct mux *m, struct mux_channel *c)
{
	char piece[PIECE];
	size_t room = c->credit < sizeof(piece) ? c->credit : sizeof(piece);
	ssize_t n = c->socket ? recv(c->fd, piece, room, MSG_DONTWAIT) : read(c->fd, piece, room);
	cleanup_buf struct buf b;

	buf_init(&b, sizeof(piece) + 64);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		/* A terminal whose other side is gone takes nothing either. */
		c->ways &= c->which == MUX_TTY ? 0 : ~(unsigned)MUX_READS;
		return send_numbers(m, WIRE_FAR_SHUT, c, 0);
	}
	c->credit -= (uint32_t)n;
	wire_put_u32(&b, c->which);
	wire_put_bytes(&b, piece, (size_t)n);
	return mux_send(m, WIRE_FAR_DATA, c->id, &b, NULL);
}

/* Nobody takes what comes: the sender is to hear of it, or it would wait for ever. */
static int refuse_more(struct mux *m, struct mux_channel *c)
{
	c->ways &= ~(unsigned)MUX_WRITES;
	buf_clear(&c->out);
	return send_numbers(m, WIRE_FAR_SHUT, c, 1);
}

static void end_writing(struct mux_channel *c)
{
	if (!c->ending || c->out.len > 0 || !(c->ways & MUX_WRITES))
		return;
	c->ways &= ~(unsigned)MUX_WRITES;
	if (c->socket)
		(void)shutdown(c->fd, SHUT_WR);
	if (c->which == MUX_TTY) /* a terminal whose other side is gone has nothing to say */
		c->ways = 0;
}

static int write_channel(struct mux *m, struct mux_channel *c)
{
	size_t most = c->waits && !c->socket && c->out.len > PIPE_BUF ? PIPE_BUF : c->out.len;
	ssize_t n = c->socket ? send(c->fd, c->out.data, most, MSG_NOSIGNAL | MSG_DONTWAIT)
			      : write(c->fd, c->out.data, most);
	int r = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return refuse_more(m, c);
	buf_consume(&c->out, (size_t)n);
	c->taken += (uint32_t)n;
	if (c->taken >= TELL) {
		r = send_numbers(m, WIRE_FAR_SPACE, c, c->taken);
		c->taken = 0;
	}
	end_writing(c);
	return r;
}

static int turn_channel(struct mux *m, struct mux_channel *c, short events)
{
	int r = 0;

	if ((c->ways & MUX_WRITES) && c->out.len > 0 && (events & (POLLOUT | POLLERR | POLLHUP)))
		r = write_channel(m, c);
	else if ((c->ways & MUX_WRITES) && !c->socket && (events & POLLERR))
		r = refuse_more(m, c);
	if (r == 0 && may_read(m, c) && (events & (POLLIN | POLLERR | POLLHUP)))
		r = read_channel(m, c);
	return r;
}

/* ---- frames ---- */

static int on_data(struct mux_channel *c, struct wire_reader *r)
{
	size_t n;
	const char *p = wire_get_bytes(r, &n);

	if (wire_read_end(r) < 0)
		return -EPROTO;
	if (!c || !(c->ways & MUX_WRITES))
		return 0; /* it ended here while this was on its way */
	return c->ending || buf_append(&c->out, p, n) < 0 ? -EPROTO : 0;
}

static int on_space(struct mux_channel *c, struct wire_reader *r)
{
	uint32_t n = wire_get_u32(r);

	if (wire_read_end(r) < 0 || n > MUX_CREDIT)
		return -EPROTO;
	if (c && c->credit + n > MUX_CREDIT)
		return -EPROTO;
	if (c)
		c->credit += n;
	return 0;
}

static int on_shut(struct mux_channel *c, struct wire_reader *r)
{
	uint32_t takes_none = wire_get_u32(r);

	if (wire_read_end(r) < 0 || takes_none > 1)
		return -EPROTO;
	if (!c)
		return 0;
	if (takes_none) {
		c->ways &= ~(unsigned)MUX_READS;
		return 0;
	}
	c->ending = true;
	end_writing(c);
	return 0;
}

static int on_frame(struct mux *m, struct wire_msg *msg, struct buf *program)
{
	struct mux_channel *c;
	struct wire_reader r;
	uint32_t which;

	if (msg->type != WIRE_FAR_DATA && msg->type != WIRE_FAR_SPACE && msg->type != WIRE_FAR_SHUT)
		return m->frame(m, msg, program);
	wire_read(&r, msg);
	which = wire_get_u32(&r);
	if (r.bad || which >= MUX_WHICH_N)
		return -EPROTO;
	c = mux_find(m, msg->id, (enum mux_which)which);
	if (msg->type == WIRE_FAR_DATA)
		return on_data(c, &r);
	return msg->type == WIRE_FAR_SPACE ? on_space(c, &r) : on_shut(c, &r);
}

/* 1: a frame was taken out of what has come; 0: there is none yet. */
static int take_frame(struct mux *m)
{
	cleanup_wire_msg struct wire_msg msg;
	cleanup_buf struct buf program;
	uint32_t head[4];
	int r;

	wire_msg_init(&msg);
	buf_init(&program, REMOTE_PROGRAM_MAX);
	if (m->in.len < HEAD)
		return 0;
	memcpy(head, m->in.data, HEAD);
	if (head[2] > WIRE_BODY_MAX || head[3] > REMOTE_PROGRAM_MAX)
		return -EPROTO;
	if (m->in.len < HEAD + head[2] + head[3])
		return 0;
	msg.type = (enum wire_type)head[0];
	msg.id = head[1];
	(void)buf_append(&msg.body, m->in.data + HEAD, head[2]);
	if (head[3])
		(void)buf_append(&program, m->in.data + HEAD + head[2], head[3]);
	buf_consume(&m->in, HEAD + head[2] + head[3]);
	r = on_frame(m, &msg, &program);
	if (program.data)
		explicit_bzero(program.data, program.cap); /* it may hold a login */
	return r < 0 ? r : 1;
}

static int read_line(struct mux *m)
{
	ssize_t n;
	int r;

	if (buf_reserve(&m->in, LINE_READ) < 0)
		return -EPROTO;
	n = read(m->line, m->in.data + m->in.len, LINE_READ);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPIPE;
	m->in.len += (size_t)n;
	do
		r = take_frame(m);
	while (r > 0);
	return r;
}

static int write_line(struct mux *m)
{
	ssize_t n = write(m->line, m->out.data, m->out.len);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	buf_consume(&m->out, (size_t)n);
	return 0;
}

/* ---- turns ---- */

static short wanted(const struct mux *m, const struct mux_channel *c)
{
	short events = 0;

	if (may_read(m, c))
		events |= POLLIN;
	if ((c->ways & MUX_WRITES) && c->out.len > 0)
		events |= POLLOUT;
	return events;
}

size_t mux_gather(struct mux *m, struct pollfd *p)
{
	size_t n = 1;

	p[0] = (struct pollfd){.fd = m->line, .events = POLLIN};
	for (struct mux_channel *c = m->channels; c; c = c->next) {
		short events = wanted(m, c);

		c->slot = 0;
		/* A pipe that nobody reads any more says so without being asked. */
		if (!events && !((c->ways & MUX_WRITES) && !c->socket && c->which != MUX_TTY))
			continue;
		c->slot = n;
		p[n++] = (struct pollfd){.fd = c->fd, .events = events};
	}
	if (m->out.len > 0)
		p[0].events |= POLLOUT;
	return n;
}

int mux_turn(struct mux *m, const struct pollfd *p)
{
	int r = 0;

	for (struct mux_channel *c = m->channels; c && r == 0; c = c->next)
		if (c->slot && p[c->slot].revents)
			r = turn_channel(m, c, p[c->slot].revents);
	if (r == 0 && (p[0].revents & (POLLIN | POLLHUP | POLLERR)))
		r = read_line(m);
	if (r == 0)
		r = let_go(m);
	for (struct mux_channel **at = &m->channels; *at;) {
		if ((*at)->ways)
			at = &(*at)->next;
		else
			channel_free(m, at);
	}
	if (r == 0 && m->out.len > 0)
		r = write_line(m);
	return r;
}
