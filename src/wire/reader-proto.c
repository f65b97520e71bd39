/* The gateway's side. */
#include "wire/reader-proto.h"

#include "wire/proto-fields.h"

static void put_body(struct buf *b, const struct reader_body *body)
{
	wire_put_u32(b, body->fd < 0 ? 0 : (uint32_t)body->n);
	wire_put_bytes(b, body->p, body->fd < 0 ? body->n : 0);
}

void reader_put_request(struct buf *b, const struct reader_request *q)
{
	wire_put_str(b, q->credential);
	wire_put_str(b, q->target);
	wire_put_u32(b, q->kind);
	wire_put_bytes(b, q->head, q->n_head);
	put_body(b, &q->body);
}

void reader_put_answer(struct buf *b, const struct reader_answer *a)
{
	wire_put_str(b, a->credential);
	wire_put_str(b, a->target);
	wire_put_u32(b, a->reservation);
	wire_put_u32(b, a->status);
	wire_put_u32(b, a->cost);
	wire_put_bytes(b, a->head, a->n_head);
	put_body(b, &a->body);
}

void reader_put_ask(struct buf *b, const struct reader_ask *q)
{
	wire_put_str(b, q->method);
	wire_put_str(b, q->target);
	wire_put_bytes(b, q->body, q->n);
}

int reader_get_verdict(const struct wire_msg *m, struct reader_verdict *ret)
{
	struct reader_verdict v = {0};
	struct wire_reader r;

	wire_read(&r, m);
	v.status = get_below(&r, 600);
	v.why = get_text(&r, GW_TEXT_MAX);
	v.reserved = get_below(&r, 2) != 0;
	if (wire_read_end(&r) < 0 || m->n_fds || (v.status && (v.status < 400 || v.reserved)))
		return -EPROTO;
	*ret = v;
	return 0;
}
