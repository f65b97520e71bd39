#include "wire/remote.h"

#include <string.h>

static const char magic[8] = "RALPHfar";

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void remote_hello_put(uint8_t *out, const struct remote_hello *h)
{
	memcpy(out, magic, sizeof(magic));
	out += sizeof(magic);
	memcpy(out, h->token, REMOTE_TOKEN_LEN);
	out += REMOTE_TOKEN_LEN;
	put16(out, h->row);
	out[2] = h->v6;
	memcpy(out + 3, h->addr, sizeof(h->addr));
	put16(out + 3 + sizeof(h->addr), h->port);
}

bool remote_hello_may(const uint8_t *in, size_t n)
{
	return memcmp(in, magic, n < sizeof(magic) ? n : sizeof(magic)) == 0;
}

int remote_hello_get(const uint8_t *in, struct remote_hello *ret)
{
	if (memcmp(in, magic, sizeof(magic)) != 0)
		return -EPROTO;
	in += sizeof(magic);
	memcpy(ret->token, in, REMOTE_TOKEN_LEN);
	in += REMOTE_TOKEN_LEN;
	if (in[2] > 1)
		return -EPROTO;
	ret->row = (uint16_t)(in[0] << 8 | in[1]);
	ret->v6 = in[2];
	memcpy(ret->addr, in + 3, sizeof(ret->addr));
	in += 3 + sizeof(ret->addr);
	ret->port = (uint16_t)(in[0] << 8 | in[1]);
	return 0;
}
