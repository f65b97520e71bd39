/* The stream: frames to messages and back. */
#include "wire/fleet.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define READ_MAX (64 * KiB)
#define SENT_MAX (256 * KiB) /* of a queue that is moved to its front */

enum from { HOME = 1 << FLEET_HOME, NODE = 1 << FLEET_NODE, BOTH = HOME | NODE };

/* clang-format off */
static const struct {
	const char *name;
	enum from from;
	size_t max;  /* of a message; 0: it may have one frame only */
	bool pieces; /* handed out frame by frame */
} types[FLEET_TYPE_N] = {
	[FLEET_START]	   = {"START",	    HOME, 0,		     false},
	[FLEET_TASK]	   = {"TASK",	    HOME, FLEET_MESSAGE_MAX, false},
	[FLEET_GO]	   = {"GO",	    HOME, 0,		     false},
	[FLEET_ANSWER]	   = {"ANSWER",	    HOME, FLEET_MESSAGE_MAX, false},
	[FLEET_ACK]	   = {"ACK",	    HOME, 0,		     false},
	[FLEET_STOP]	   = {"STOP",	    HOME, 0,		     false},
	[FLEET_LIMIT]	   = {"LIMIT",	    HOME, 0,		     false},
	[FLEET_RULES]	   = {"RULES",	    HOME, FLEET_MESSAGE_MAX, false},
	[FLEET_REPLY]	   = {"REPLY",	    HOME, FLEET_MESSAGE_MAX, false},
	[FLEET_HELLO]	   = {"HELLO",	    NODE, 0,		     false},
	[FLEET_LINE]	   = {"LINE",	    NODE, 0,		     false},
	[FLEET_EVENT]	   = {"EVENT",	    NODE, 0,		     false},
	[FLEET_RECORD]	   = {"RECORD",	    NODE, FLEET_MESSAGE_MAX, false},
	[FLEET_CHECKPOINT] = {"CHECKPOINT", NODE, 0,		     false},
	[FLEET_VERDICT]	   = {"VERDICT",    NODE, FLEET_MESSAGE_MAX, false},
	[FLEET_ASK]	   = {"ASK",	    NODE, FLEET_MESSAGE_MAX, false},
	[FLEET_LOG]	   = {"LOG",	    NODE, 0,		     true},
	[FLEET_QUESTION]   = {"QUESTION",   NODE, FLEET_MESSAGE_MAX, false},
	[FLEET_PACK]	   = {"PACK",	    BOTH, 0,		     true},
	[FLEET_PING]	   = {"PING",	    BOTH, 0,		     false},
	[FLEET_PONG]	   = {"PONG",	    BOTH, 0,		     false},
	[FLEET_OPEN]	   = {"OPEN",	    NODE, 0,		     false},
	[FLEET_OPENED]	   = {"OPENED",	    HOME, 0,		     false},
	[FLEET_DATA]	   = {"DATA",	    BOTH, 0,		     false},
	[FLEET_CLOSE]	   = {"CLOSE",	    BOTH, 0,		     false},
	[FLEET_WINDOW]	   = {"WINDOW",	    BOTH, 0,		     false},
};
/* clang-format on */

struct head {
	uint32_t type, id, len;
};
static_assert(sizeof(struct head) == FLEET_HEAD, "the head has no holes");

const char *fleet_type_name(enum fleet_type t)
{
	return (unsigned)t < FLEET_TYPE_N ? types[t].name : NULL;
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}

/* ---- in ---- */

void fleet_in_init(struct fleet_in *in, enum fleet_side from)
{
	*in = (struct fleet_in){.from = from};
	buf_init(&in->in, FLEET_HEAD + FLEET_BODY_MAX + 1 + READ_MAX);
	buf_init(&in->whole, FLEET_MESSAGE_MAX);
}

void fleet_in_done(struct fleet_in *in)
{
	wipe(&in->in);
	wipe(&in->whole);
}

/* Makes room in front: what was handed out is not needed any more, and may hold a value. */
static void drop(struct fleet_in *in)
{
	if (in->used == 0)
		return;
	explicit_bzero(in->in.data, in->used);
	buf_consume(&in->in, in->used);
	explicit_bzero(in->in.data + in->in.len, in->used);
	in->used = 0;
}

int fleet_in_add(struct fleet_in *in, const void *p, size_t n)
{
	drop(in);
	return buf_append(&in->in, p, n);
}

int fleet_in_read(struct fleet_in *in, int fd)
{
	ssize_t n;

	drop(in);
	if (buf_room(&in->in) < READ_MAX)
		return -ENOBUFS; /* fleet_next() was not called to its end */
	(void)buf_reserve(&in->in, READ_MAX);
	do
		n = read(fd, in->in.data + in->in.len, READ_MAX);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	in->in.len += (size_t)n;
	in->in.data[in->in.len] = '\0';
	return 1;
}

/* May this frame follow what came before it? */
static int check(const struct fleet_in *in, const struct head *h)
{
	uint32_t type = h->type & ~FLEET_MORE;
	bool more = h->type & FLEET_MORE;

	if (type >= FLEET_TYPE_N || !types[type].name || !(types[type].from & 1 << in->from))
		return -EPROTO;
	if (h->len > FLEET_BODY_MAX || h->id >= FLEET_SLOTS_MAX)
		return -EPROTO;
	if (types[type].pieces)
		return 0;
	if (more && !types[type].max)
		return -EPROTO;
	if (in->type != FLEET_NONE && (in->type != type || in->id != h->id))
		return -EPROTO;
	return 0;
}

/* Adds a frame to the message: 1 when that is all of it. */
static int join(struct fleet_in *in, const struct head *h, const char *body, struct fleet_msg *ret)
{
	uint32_t type = h->type & ~FLEET_MORE;
	bool more = h->type & FLEET_MORE;

	ret->more = more;
	if (types[type].pieces || (!more && in->type == FLEET_NONE))
		return 1;
	/* An empty frame with more to come would cost its sender nothing, for ever. */
	if ((more && h->len == 0) || buf_append(&in->whole, body, h->len) < 0)
		return -EPROTO;
	explicit_bzero((char *)(uintptr_t)body, h->len);
	in->type = more ? type : FLEET_NONE;
	in->id = h->id;
	if (more)
		return 0;
	in->given = true;
	ret->data = in->whole.data;
	ret->len = in->whole.len;
	return 1;
}

void fleet_wipe(const struct fleet_msg *m)
{
	if (m->len)
		explicit_bzero((char *)(uintptr_t)m->data, m->len);
}

int fleet_next(struct fleet_in *in, struct fleet_msg *ret)
{
	int r;

	if (in->given) {
		explicit_bzero(in->whole.data, in->whole.len);
		buf_clear(&in->whole);
		in->given = false;
	}
	do {
		const char *at = in->in.data + in->used;
		struct head h;

		if (in->in.len - in->used < sizeof(h))
			return 0;
		memcpy(&h, at, sizeof(h));
		h = (struct head){le32toh(h.type), le32toh(h.id), le32toh(h.len)};
		r = check(in, &h);
		if (r < 0)
			return r;
		if (in->in.len - in->used < sizeof(h) + h.len + 1)
			return 0;
		at += sizeof(h);
		if (at[h.len] != '\n')
			return -EPROTO;
		in->used += sizeof(h) + h.len + 1;
		*ret = (struct fleet_msg){
			.type = (enum fleet_type)(h.type & ~FLEET_MORE),
			.id = h.id,
			.data = at,
			.len = h.len,
		};
		r = join(in, &h, at, ret);
	} while (r == 0);
	return r;
}

/* ---- out ---- */

void fleet_out_init(struct fleet_out *out)
{
	*out = (struct fleet_out){0};
	buf_init(&out->queue, FLEET_QUEUE_MAX + SENT_MAX);
}

void fleet_out_done(struct fleet_out *out)
{
	wipe(&out->queue);
}

static size_t frames_of(size_t n)
{
	return n ? (n + FLEET_BODY_MAX - 1) / FLEET_BODY_MAX : 1;
}

static void put_frame(struct fleet_out *out, uint32_t type, uint32_t id, const void *p, size_t n)
{
	const struct head h = {htole32(type), htole32(id), htole32((uint32_t)n)};

	(void)buf_append(&out->queue, &h, sizeof(h));
	(void)buf_append(&out->queue, p, n);
	(void)buf_putc(&out->queue, '\n');
}

static int room_for(const struct fleet_out *out, size_t n)
{
	size_t need = n + frames_of(n) * (FLEET_HEAD + 1);

	return need <= FLEET_QUEUE_MAX && fleet_out_pending(out) <= FLEET_QUEUE_MAX - need
		       ? 0
		       : -ENOBUFS;
}

int fleet_put(struct fleet_out *out, enum fleet_type type, uint32_t id, const void *p, size_t n)
{
	const char *at = p;

	if (n > (types[type].max ? types[type].max : FLEET_BODY_MAX) || room_for(out, n) < 0)
		return -ENOBUFS;
	while (n > FLEET_BODY_MAX) {
		put_frame(out, type | FLEET_MORE, id, at, FLEET_BODY_MAX);
		at += FLEET_BODY_MAX;
		n -= FLEET_BODY_MAX;
	}
	put_frame(out, type, id, at, n);
	return 0;
}

int fleet_put_piece(struct fleet_out *out, enum fleet_type type, uint32_t id, const void *p,
		    size_t n, bool more)
{
	if (n > FLEET_BODY_MAX || room_for(out, n) < 0)
		return -ENOBUFS;
	put_frame(out, type | (more ? FLEET_MORE : 0), id, p, n);
	return 0;
}

int fleet_put_json(struct fleet_out *out, enum fleet_type type, uint32_t id, json_t *j)
{
	cleanup_json json_t *doc = j;
	cleanup_free char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	return text ? fleet_put(out, type, id, text, strlen(text)) : -EINVAL;
}

int fleet_out_write(struct fleet_out *out, int fd)
{
	while (fleet_out_pending(out)) {
		ssize_t n = write(fd, out->queue.data + out->sent, fleet_out_pending(out));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -errno;
		/* An answer of home's has a value in it. */
		explicit_bzero(out->queue.data + out->sent, (size_t)n);
		out->sent += (size_t)n;
	}
	if (!fleet_out_pending(out)) {
		buf_clear(&out->queue);
		out->sent = 0;
		return 1;
	}
	if (out->sent >= SENT_MAX) {
		buf_consume(&out->queue, out->sent);
		out->sent = 0;
	}
	return 0;
}
