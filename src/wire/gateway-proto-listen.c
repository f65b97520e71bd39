/* Rows of listeners, which supervisor and edge have. */
#include "wire/gateway-proto.h"

#include <assert.h>
#include <string.h>

#include "wire/proto-fields.h"

static const char *const kinds[] = {
	[GW_LISTEN_PROXY] = "proxy",	     [GW_LISTEN_DNS_UDP] = "dns-udp",
	[GW_LISTEN_DNS_TCP] = "dns-tcp",     [GW_LISTEN_PORT] = "port",
	[GW_LISTEN_STANDIN] = "standin",     [GW_LISTEN_SERVICE] = "service",
	[GW_LISTEN_ENDPOINTS] = "endpoints", [GW_LISTEN_OUTPOST] = "outpost",
	[GW_LISTEN_NODE] = "node",
};
static_assert(ARRAY_SIZE(kinds) == GW_LISTEN_N, "one name per kind of listener");

const char *gw_listen_kind_name(enum gw_listen_kind k)
{
	return k < GW_LISTEN_N ? kinds[k] : "?";
}

int gw_get_listeners(const struct wire_msg *m, struct gw_listener **ret, size_t *ret_n)
{
	cleanup_free struct gw_listener *l = NULL;
	struct wire_reader r;
	uint32_t n;

	wire_read(&r, m);
	n = get_below(&r, WIRE_FDS_MAX + 1);
	l = xcalloc(n ? n : 1, sizeof(*l));
	for (uint32_t i = 0; i < n && !r.bad; i++) {
		l[i].kind = get_below(&r, GW_LISTEN_N);
		strncpy(l[i].addr, get_text(&r, sizeof(l[i].addr) - 1), sizeof(l[i].addr) - 1);
		l[i].port = (uint16_t)get_below(&r, 65536);
		l[i].optional = get_below(&r, 2);
		strncpy(l[i].host, get_text(&r, GW_NAME_MAX), GW_NAME_MAX);
	}
	/* Rows of a sandbox elsewhere have no descriptors: all of a frame or none. */
	if (wire_read_end(&r) < 0 || (m->n_fds != n && m->n_fds != 0))
		return -EPROTO;
	*ret = take_ptr(l);
	*ret_n = n;
	return 0;
}
