#include "vm/vm.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

void vm_wake_put(struct buf *b, const struct vm_wake *w)
{
	wire_put_u64(b, w->seconds);
	wire_put_u32(b, w->nanoseconds);
	wire_put_bytes(b, w->random, VM_RANDOM);
	wire_put_u64(b, w->pids);
	wire_put_u64(b, w->memory);
}

int vm_wake_get(const struct wire_msg *m, struct vm_wake *ret)
{
	struct wire_reader r;
	size_t n;

	wire_read(&r, m);
	ret->seconds = wire_get_u64(&r);
	ret->nanoseconds = wire_get_u32(&r);
	ret->random = wire_get_bytes(&r, &n);
	ret->pids = wire_get_u64(&r);
	ret->memory = wire_get_u64(&r);
	return wire_read_end(&r) < 0 || n != VM_RANDOM ? -EPROTO : 0;
}

void vm_address_put(struct buf *b, const void *sockaddr)
{
	const struct sockaddr *sa = sockaddr;
	const struct sockaddr_in *v4 = sockaddr;
	const struct sockaddr_in6 *v6 = sockaddr;
	bool six = sa->sa_family == AF_INET6;

	wire_put_u32(b, six);
	wire_put_bytes(b, six ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr,
		       six ? 16 : 4);
	wire_put_u32(b, ntohs(six ? v6->sin6_port : v4->sin_port));
}

int vm_address_get(struct wire_reader *r, void *ret_sockaddr, unsigned *ret_len)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	uint32_t six = wire_get_u32(r), port;
	size_t n;
	const char *p = wire_get_bytes(r, &n);

	port = wire_get_u32(r);
	if (r->bad || six > 1 || n != (six ? 16 : 4) || port == 0 || port > UINT16_MAX)
		return -EPROTO;
	v4.sin_port = v6.sin6_port = htons((uint16_t)port);
	if (six)
		memcpy(&v6.sin6_addr, p, n);
	else
		memcpy(&v4.sin_addr, p, n);
	*ret_len = six ? sizeof(v6) : sizeof(v4);
	memcpy(ret_sockaddr, six ? (const void *)&v6 : (const void *)&v4, *ret_len);
	return 0;
}
