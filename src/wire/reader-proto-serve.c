/* The reader's side, and the supervisor's. */
#include "wire/reader-proto.h"

#include "wire/proto-fields.h"

static void get_body(struct wire_reader *r, const struct wire_msg *m, struct reader_body *ret)
{
	size_t in_file = get_below(r, READER_FILE_MAX + 1), n;

	*ret = (struct reader_body){.p = wire_get_bytes(r, &n), .fd = -1};
	ret->n = n;
	if (m->n_fds > 1 || (m->n_fds == 1) != (in_file > 0) || (in_file && n))
		r->bad = true;
	if (in_file && !r->bad)
		*ret = (struct reader_body){.n = in_file, .fd = m->fds[0]};
}

int reader_get_request(const struct wire_msg *m, struct reader_request *ret)
{
	struct reader_request q = {0};
	struct wire_reader r;

	wire_read(&r, m);
	q.credential = get_text(&r, GW_TEXT_MAX);
	q.target = get_text(&r, WIRE_BODY_MAX);
	q.kind = (enum request_kind)get_below(&r, REQUEST_KIND_N);
	q.head = wire_get_bytes(&r, &q.n_head);
	get_body(&r, m, &q.body);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = q;
	return 0;
}

int reader_get_ask(const struct wire_msg *m, struct reader_ask *ret)
{
	struct reader_ask q = {0};
	struct wire_reader r;

	wire_read(&r, m);
	q.method = get_text(&r, GW_NAME_MAX);
	q.target = get_text(&r, WIRE_BODY_MAX);
	q.body = wire_get_bytes(&r, &q.n);
	if (wire_read_end(&r) < 0 || q.n > GW_ASK_BODY_MAX || m->n_fds)
		return -EPROTO;
	*ret = q;
	return 0;
}

int reader_get_answer(const struct wire_msg *m, struct reader_answer *ret)
{
	struct reader_answer a = {0};
	struct wire_reader r;

	wire_read(&r, m);
	a.credential = get_text(&r, GW_TEXT_MAX);
	a.target = get_text(&r, WIRE_BODY_MAX);
	a.reservation = wire_get_u32(&r);
	a.status = get_below(&r, 1000);
	a.cost = (enum gw_cost)get_below(&r, GW_COST_N);
	a.head = wire_get_bytes(&r, &a.n_head);
	get_body(&r, m, &a.body);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = a;
	return 0;
}

void reader_put_verdict(struct buf *b, const struct reader_verdict *v)
{
	wire_put_u32(b, v->status);
	wire_put_str(b, v->why);
	wire_put_u32(b, v->reserved);
}

int reader_get_setup(const struct wire_msg *m, struct reader_setup *ret)
{
	struct reader_setup s = {0};
	struct wire_reader r;

	wire_read(&r, m);
	s.budget = get_below(&r, 2) != 0;
	wire_get_strv(&r, &s.tools);
	if (wire_read_end(&r) < 0 || m->n_fds != 1) {
		strv_done(&s.tools);
		return -EPROTO;
	}
	*ret = s;
	return 0;
}

void reader_put_setup(struct buf *b, const struct reader_setup *s)
{
	wire_put_u32(b, s->budget);
	wire_put_strv(b, &s->tools);
}

void gw_put_ask(struct buf *b, const struct gw_ask *a)
{
	wire_put_u32(b, a->verb);
	wire_put_str(b, a->kind ? a->kind : "");
	wire_put_str(b, a->what ? a->what : "");
	wire_put_str(b, a->why ? a->why : "");
	wire_put_strv(b, &a->choices);
	wire_put_u32(b, a->wait_s);
	wire_put_u64(b, a->since);
}

void gw_put_spend(struct buf *b, const struct gw_spend *s)
{
	wire_put_str(b, s->credential);
	wire_put_str(b, s->model);
	wire_put_u64(b, s->input);
	wire_put_u64(b, s->output);
	wire_put_u64(b, s->answers);
}

void gw_put_usage(struct buf *b, const struct gw_usage *u)
{
	wire_put_str(b, u->credential);
	wire_put_str(b, u->model);
	wire_put_u32(b, u->reservation);
	wire_put_u32(b, u->cost);
	wire_put_u32(b, u->status);
	wire_put_u64(b, u->input);
	wire_put_u64(b, u->output);
	wire_put_u64(b, u->cache_read);
	wire_put_u64(b, u->cache_write);
	wire_put_str(b, u->limits ? u->limits : "");
}
