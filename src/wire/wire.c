#include "wire/wire.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

#define WIRE_MAGIC 0x52414c31u /* "RAL1" */

enum head_flags {
	HEAD_MEMFD = 1 << 0, /* the body is in the last descriptor, not in the packet */
};

struct head {
	uint32_t magic, type, id, flags;
	uint32_t len; /* of the body, wherever it is */
	uint32_t n_fds;
};

void wire_msg_init(struct wire_msg *m)
{
	*m = (struct wire_msg){.type = WIRE_NONE};
	buf_init(&m->body, WIRE_BODY_MAX);
}

void wire_msg_done(struct wire_msg *m)
{
	for (size_t i = 0; i < m->n_fds; i++)
		closep(&m->fds[i]);
	m->n_fds = 0;
	buf_done(&m->body);
}

int wire_take_fd(struct wire_msg *m, size_t i)
{
	return i < m->n_fds ? take_fd(m->fds[i]) : -1;
}

int wire_pair(int ret[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return err_sys(err, errno, "cannot create a socket pair");
	return 0;
}

union control {
	char buf[CMSG_SPACE(sizeof(int) * (WIRE_FDS_MAX + 1))];
	struct cmsghdr align;
};

static void attach_fds(struct msghdr *mh, union control *c, const int *fds, size_t n)
{
	struct cmsghdr *cm;

	if (n == 0)
		return;
	memset(c, 0, sizeof(*c));
	mh->msg_control = c->buf;
	mh->msg_controllen = CMSG_SPACE(sizeof(int) * n);
	cm = CMSG_FIRSTHDR(mh);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(cm), fds, sizeof(int) * n);
}

/* body: NULL where the last of the descriptors is a memory file with it. */
static int send_frame(int sock, const struct head *head, const struct buf *body, const int *fds,
		      size_t n_fds)
{
	struct iovec iov[2] = {{(void *)head, sizeof(*head)}, {0}};
	struct msghdr mh = {.msg_iov = iov, .msg_iovlen = 1};
	union control c;
	ssize_t n;

	if (body && body->len) {
		iov[1] = (struct iovec){body->data, body->len};
		mh.msg_iovlen = 2;
	}
	attach_fds(&mh, &c, fds, n_fds);
	do
		n = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno; /* gone is gone */
	return 0;
}

int wire_send_file(int sock, enum wire_type type, uint32_t id, int file, uint32_t len,
		   const int *fds, size_t n_fds)
{
	const struct head head = {.magic = WIRE_MAGIC,
				  .type = type,
				  .id = id,
				  .n_fds = (uint32_t)n_fds,
				  .len = len,
				  .flags = HEAD_MEMFD};
	int all[WIRE_FDS_MAX + 1];

	if (n_fds > WIRE_FDS_MAX)
		return -EMSGSIZE;
	if (n_fds)
		memcpy(all, fds, sizeof(int) * n_fds);
	all[n_fds++] = file;
	return send_frame(sock, &head, NULL, all, n_fds);
}

int wire_send(int sock, enum wire_type type, uint32_t id, const struct buf *body, const int *fds,
	      size_t n_fds)
{
	struct head head = {.magic = WIRE_MAGIC, .type = type, .id = id, .n_fds = (uint32_t)n_fds};
	cleanup_fd int memfd = -1;

	if (n_fds > WIRE_FDS_MAX || (body && body->full))
		return -EMSGSIZE;
	head.len = body ? (uint32_t)body->len : 0;
	if (head.len <= WIRE_INLINE_MAX)
		return send_frame(sock, &head, body, fds, n_fds);
	memfd = fd_memfd("ralph-frame", body->data, body->len);
	if (memfd < 0)
		return memfd;
	return wire_send_file(sock, type, id, memfd, head.len, fds, n_fds);
}

/* Everything that came with the packet; the kernel cuts what does not fit (MSG_CTRUNC). */
static void collect_fds(struct msghdr *mh, struct wire_msg *m)
{
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(mh); cm; cm = CMSG_NXTHDR(mh, cm)) {
		size_t count;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		count = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count && m->n_fds < ARRAY_SIZE(m->fds); i++)
			memcpy(&m->fds[m->n_fds++], CMSG_DATA(cm) + i * sizeof(int), sizeof(int));
	}
}

/* The body of a large frame. pread() and not mmap(): a peer that shrinks the file gets an error
 * on its frame, not a signal in our process. */
static int read_memfd(int fd, uint32_t len, struct buf *body)
{
	struct stat st;

	if (len > WIRE_BODY_MAX || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != len)
		return -EPROTO;
	(void)buf_reserve(body, len);
	while (body->len < len) {
		ssize_t n = pread(fd, body->data + body->len, len - body->len, (off_t)body->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPROTO;
		body->len += (size_t)n;
	}
	body->data[len] = '\0';
	return 0;
}

static int accept_frame(struct wire_msg *m, const struct head *head, const char *inline_body,
			size_t inline_len)
{
	bool in_memfd = head->flags & HEAD_MEMFD;
	int r;

	if (head->magic != WIRE_MAGIC || head->n_fds > WIRE_FDS_MAX ||
	    (head->flags & ~(uint32_t)HEAD_MEMFD) || m->n_fds != head->n_fds + (in_memfd ? 1u : 0u))
		return -EPROTO;
	m->type = (enum wire_type)head->type;
	m->id = head->id;
	if (!in_memfd)
		return inline_len == head->len ? buf_append(&m->body, inline_body, inline_len)
					       : -EPROTO;
	r = inline_len ? -EPROTO : read_memfd(m->fds[m->n_fds - 1], head->len, &m->body);
	closep(&m->fds[--m->n_fds]);
	return r;
}

int wire_recv(int sock, struct wire_msg *m)
{
	char packet[sizeof(struct head) + WIRE_INLINE_MAX];
	struct iovec iov = {packet, sizeof(packet)};
	union control c;
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.buf,
		.msg_controllen = sizeof(c.buf),
	};
	struct head head;
	ssize_t n;
	int r = -EPROTO;

	/* A peer that closed with frames of ours unread gives ECONNRESET, once and first: what it
	 * sent before is still there. */
	do
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	collect_fds(&mh, m);
	if (n == 0 && m->n_fds == 0)
		return 0;
	if ((size_t)n >= sizeof(head) && !(mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		memcpy(&head, packet, sizeof(head));
		r = accept_frame(m, &head, packet + sizeof(head), (size_t)n - sizeof(head));
	}
	if (r < 0)
		wire_msg_done(m);
	return r < 0 ? r : 1;
}

/* A field that does not fit marks the buffer as full; wire_send() refuses such a body. */
static void put(struct buf *b, const void *p, size_t n)
{
	(void)buf_append(b, p, n);
}

void wire_put_u32(struct buf *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

void wire_put_u64(struct buf *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

void wire_put_bytes(struct buf *b, const void *p, size_t n)
{
	wire_put_u32(b, (uint32_t)n);
	put(b, p, n);
}

void wire_put_str(struct buf *b, const char *s)
{
	wire_put_bytes(b, s, strlen(s) + 1);
}

void wire_put_strv(struct buf *b, const struct strv *s)
{
	wire_put_u32(b, (uint32_t)s->n);
	for (size_t i = 0; i < s->n; i++)
		wire_put_str(b, s->v[i]);
}

void wire_read(struct wire_reader *r, const struct wire_msg *m)
{
	*r = (struct wire_reader){.p = m->body.data, .end = m->body.data + m->body.len};
}

static const char *get(struct wire_reader *r, size_t n)
{
	const char *p = r->p;

	if (r->bad || n > (size_t)(r->end - r->p)) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	return p;
}

uint32_t wire_get_u32(struct wire_reader *r)
{
	const char *p = get(r, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t wire_get_u64(struct wire_reader *r)
{
	const char *p = get(r, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

const char *wire_get_bytes(struct wire_reader *r, size_t *ret_len)
{
	uint32_t n = wire_get_u32(r);
	const char *p = get(r, n);

	*ret_len = p ? n : 0;
	return p;
}

const char *wire_get_str(struct wire_reader *r)
{
	size_t n;
	const char *p = wire_get_bytes(r, &n);

	if (!p || n == 0 || memchr(p, '\0', n) != p + n - 1) {
		r->bad = true;
		return NULL;
	}
	return p;
}

void wire_get_strv(struct wire_reader *r, struct strv *out)
{
	uint32_t n = wire_get_u32(r);

	if (n > WIRE_STRV_MAX)
		r->bad = true;
	for (uint32_t i = 0; i < n && !r->bad; i++) {
		const char *s = wire_get_str(r);

		if (s)
			strv_push(out, s);
	}
}

int wire_read_end(const struct wire_reader *r)
{
	return !r->bad && r->p == r->end ? 0 : -EPROTO;
}
