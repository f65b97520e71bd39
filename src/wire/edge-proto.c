#include "wire/edge-proto.h"

#include "wire/proto-fields.h"

void edge_put_conn(struct buf *b, const struct edge_conn_frame *f)
{
	wire_put_u32(b, f->first);
	wire_put_u32(b, f->verb);
	wire_put_u32(b, f->kind);
	wire_put_u32(b, f->listen_port);
	wire_put_u32(b, f->row);
	wire_put_str(b, f->host);
	wire_put_u32(b, f->port);
	wire_put_bytes(b, f->bytes, f->n_bytes);
}

int edge_get_conn(const struct wire_msg *m, struct edge_conn_frame *ret)
{
	struct edge_conn_frame f = {0};
	struct wire_reader r;

	wire_read(&r, m);
	f.first = (enum edge_first)get_below(&r, EDGE_FIRST_N);
	f.verb = (enum gw_verb)get_below(&r, GW_VERB_N);
	f.kind = (enum gw_listen_kind)get_below(&r, GW_LISTEN_N);
	f.listen_port = (uint16_t)get_below(&r, 65536);
	f.row = (uint16_t)get_below(&r, GW_LISTENERS_MAX);
	f.host = get_text(&r, GW_NAME_MAX);
	f.port = (uint16_t)get_below(&r, 65536);
	f.bytes = wire_get_bytes(&r, &f.n_bytes);
	if (wire_read_end(&r) < 0 || f.n_bytes > EDGE_BYTES_MAX || m->n_fds != 1)
		return -EPROTO;
	*ret = f;
	return 0;
}

void edge_put_dial(struct buf *b, const struct edge_dial_frame *f)
{
	wire_put_str(b, f->host);
	wire_put_u32(b, f->port);
	wire_put_u32(b, f->plain);
	wire_put_u32(b, f->route);
}

int edge_get_dialled(const struct wire_msg *m, struct edge_dialled_frame *ret)
{
	struct edge_dialled_frame f = {0};
	struct wire_reader r;

	wire_read(&r, m);
	f.status = get_below(&r, 600);
	f.verdict = (enum gw_verdict)get_below(&r, GW_VERDICT_N);
	f.final = get_below(&r, 2) != 0;
	f.reason = get_text(&r, GW_TEXT_MAX);
	f.remedy = get_text(&r, GW_TEXT_MAX);
	f.rule = get_text(&r, GW_TEXT_MAX);
	if (wire_read_end(&r) < 0 || (f.status == 0) != (m->n_fds == 1) || m->n_fds > 1 ||
	    (f.status && f.verdict == GW_ALLOW))
		return -EPROTO;
	*ret = f;
	return 0;
}
