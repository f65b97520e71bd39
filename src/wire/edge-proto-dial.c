/* The edge's side of a dial. */
#include "wire/edge-proto.h"

#include "wire/proto-fields.h"

int edge_get_dial(const struct wire_msg *m, struct edge_dial_frame *ret)
{
	struct edge_dial_frame f = {0};
	struct wire_reader r;

	wire_read(&r, m);
	f.host = get_text(&r, GW_NAME_MAX);
	f.port = (uint16_t)get_below(&r, 65536);
	f.plain = get_below(&r, 2) != 0;
	f.route = get_below(&r, 2) != 0;
	if (wire_read_end(&r) < 0 || m->n_fds != 0)
		return -EPROTO;
	*ret = f;
	return 0;
}

void edge_put_dialled(struct buf *b, const struct edge_dialled_frame *f)
{
	wire_put_u32(b, f->status);
	wire_put_u32(b, f->verdict);
	wire_put_u32(b, f->final);
	wire_put_str(b, f->reason);
	wire_put_str(b, f->remedy);
	wire_put_str(b, f->rule);
}
