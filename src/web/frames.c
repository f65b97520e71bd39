#include "web/frames.h"

#include <errno.h>
#include <string.h>

#include "web/web.h"

#define ASK_PATH_MAX 512

static enum wire_type as_wire(enum web_frame f)
{
	return (enum wire_type)(unsigned)f;
}

int web_send_ask(int sock, uint32_t id, const struct web_ask *a)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, a->kind);
	wire_put_str(&b, a->cookie ? a->cookie : "");
	wire_put_str(&b, a->key ? a->key : "");
	wire_put_str(&b, a->path ? a->path : "");
	wire_put_bytes(&b, a->body ? a->body : "", a->n_body);
	return wire_send(sock, as_wire(WEB_ASK), id, &b, NULL, 0);
}

int web_send_answer(int sock, uint32_t id, const struct web_answer *a)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, a->status);
	wire_put_str(&b, a->cookie ? a->cookie : "");
	wire_put_bytes(&b, a->body ? a->body : "", a->n_body);
	return wire_send(sock, as_wire(WEB_ANSWER), id, &b, NULL, 0);
}

int web_get_ask(const struct wire_msg *m, struct web_ask *ret)
{
	struct wire_reader r;
	uint32_t kind;

	if (m->type != as_wire(WEB_ASK))
		return -EPROTO;
	wire_read(&r, m);
	kind = wire_get_u32(&r);
	ret->cookie = wire_get_str(&r);
	ret->key = wire_get_str(&r);
	ret->path = wire_get_str(&r);
	ret->body = wire_get_bytes(&r, &ret->n_body);
	if (wire_read_end(&r) < 0 || kind >= WEB_KIND_N || strlen(ret->path) > ASK_PATH_MAX ||
	    ret->n_body > WEB_BODY_MAX)
		return -EPROTO;
	ret->kind = (enum web_kind)kind;
	return 0;
}

int web_get_answer(const struct wire_msg *m, struct web_answer *ret)
{
	struct wire_reader r;

	if (m->type != as_wire(WEB_ANSWER))
		return -EPROTO;
	wire_read(&r, m);
	ret->status = wire_get_u32(&r);
	ret->cookie = wire_get_str(&r);
	ret->body = wire_get_bytes(&r, &ret->n_body);
	if (wire_read_end(&r) < 0 || ret->status < 200 || ret->status > 599 ||
	    ret->n_body > WEB_ANSWER_MAX)
		return -EPROTO;
	return 0;
}
