#include "wire/remote.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"

struct head {
	uint32_t type, id, len, program;
};

int remote_send(int fd, enum wire_type type, uint32_t id, const struct buf *body,
		const struct buf *program)
{
	struct head head = {.type = type,
			    .id = id,
			    .len = body ? (uint32_t)body->len : 0,
			    .program = program ? (uint32_t)program->len : 0};
	int r;

	if ((body && body->full) || head.program > REMOTE_PROGRAM_MAX)
		return -EMSGSIZE;
	r = fd_write_all(fd, &head, sizeof(head));
	if (r == 0 && head.len)
		r = fd_write_all(fd, body->data, head.len);
	if (r == 0 && head.program)
		r = fd_write_all(fd, program->data, head.program);
	return r;
}

/* 1, 0 when not one byte came, -EPROTO when it ends in between. */
static int read_exactly(int fd, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = read(fd, (char *)p + got, n - got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r == 0 && got == 0 ? 0 : -EPROTO;
		got += (size_t)r;
	}
	return 1;
}

static int read_into(int fd, struct buf *b, uint32_t n)
{
	int r = 1;

	(void)buf_reserve(b, n);
	if (n)
		r = read_exactly(fd, b->data, n);
	if (r <= 0)
		return -EPROTO;
	b->len = n;
	return 1;
}

int remote_recv(int fd, struct wire_msg *m, struct buf *program)
{
	struct head head;
	int r = read_exactly(fd, &head, sizeof(head));

	wire_msg_init(m);
	buf_init(program, REMOTE_PROGRAM_MAX);
	if (r <= 0)
		return r;
	if (head.len > WIRE_BODY_MAX || head.program > REMOTE_PROGRAM_MAX)
		return -EPROTO;
	m->type = (enum wire_type)head.type;
	m->id = head.id;
	r = read_into(fd, &m->body, head.len);
	if (r > 0)
		r = read_into(fd, program, head.program);
	return r;
}
