#include "gateway/inject.h"

#include <string.h>

#include "gateway/http.h"
#include "gateway/refuse.h"

struct injected {
	char *credential;
	struct host host;
	uint16_t port;
	struct gw_header header;
	uint64_t until;
};

static void forget(struct injected *i)
{
	free(i->credential);
	gw_header_done(&i->header);
	*i = (struct injected){0};
}

void inject_forget(struct gw *gw)
{
	for (size_t i = 0; gw->injected && i < HEADERS_KEPT; i++)
		forget(&gw->injected[i]);
	free(gw->injected);
	gw->injected = NULL;
}

static struct injected *find(const struct conn *c)
{
	struct gw *gw = c->gw;

	for (size_t i = 0; gw->injected && i < HEADERS_KEPT; i++) {
		struct injected *in = &gw->injected[i];

		if (!in->credential)
			continue;
		if (in->until <= ev_now(gw->ev))
			forget(in);
		else if (in->port == c->port && streq(in->credential, c->x->credential) &&
			 host_equal(&in->host, &c->host))
			return in;
	}
	return NULL;
}

/* Takes the header's content. */
static void keep(const struct conn *c, struct gw_header *h)
{
	struct gw *gw = c->gw;
	uint32_t ms = h->keep_ms < HEADER_KEEP_MS ? h->keep_ms : HEADER_KEEP_MS;
	struct injected *slot;

	if (!gw->injected)
		gw->injected = xcalloc(HEADERS_KEPT, sizeof(*gw->injected));
	slot = &gw->injected[0];
	for (size_t i = 1; i < HEADERS_KEPT; i++)
		if (gw->injected[i].until < slot->until)
			slot = &gw->injected[i];
	forget(slot);
	*slot = (struct injected){
		.credential = xstrdup(c->x->credential),
		.host = c->host,
		.port = c->port,
		.header = *h,
		.until = ev_now(gw->ev) + ms,
	};
	*h = (struct gw_header){0};
}

static void on_header(struct ask *a, const struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct gw_header h;

	if (!m || gw_get_header(m, &h) < 0) {
		http_credential(c, NULL, 0);
		return;
	}
	if (h.keep_ms && !h.error) {
		keep(c, &h);
		http_credential(c, &find(c)->header, 0);
		return;
	}
	http_credential(c, &h, 0);
	gw_header_done(&h);
}

void inject_ask(struct conn *c, size_t head_len)
{
	struct injected *known = find(c);
	struct gw_header_ask ask = {
		.credential = c->x->credential,
		.host = c->host.name,
		.port = c->port,
		.method = c->x->method,
		.target = c->x->target ? c->x->target : "/",
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (known) {
		http_credential(c, &known->header, (ssize_t)head_len);
		return;
	}
	gw_put_header_ask(&b, &ask);
	conn_go(c, CONN_CREDENTIAL, "allowed");
	if (ask_send(c->gw, &c->ask, GW_HEADER, &b, on_header) < 0)
		refuse_as(c, GW_ERROR, 503, "no credential can be asked for");
}
