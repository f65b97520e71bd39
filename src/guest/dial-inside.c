#include "guest/dial-inside.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"

static int connect_to(int family, uint16_t port)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const void *addr = family == AF_INET ? (const void *)&in4 : &in6;
	socklen_t len = family == AF_INET ? sizeof(in4) : sizeof(in6), error_len = sizeof(int);
	cleanup_fd int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0;

	in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -errno;
	if (connect(fd, addr, len) < 0 && errno != EINPROGRESS)
		return -errno;
	/* On loopback a refusal is there by now. */
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len) == 0 && error)
		return -error;
	return take_fd(fd);
}

void dial_inside(int sock, const struct wire_msg *msg)
{
	cleanup_fd int fd = -1;
	cleanup_buf struct buf b;
	struct wire_reader r;
	uint32_t port;

	buf_init(&b, 64);
	wire_read(&r, msg);
	port = wire_get_u32(&r);
	if (wire_read_end(&r) < 0 || port == 0 || port > UINT16_MAX)
		fd = -EINVAL;
	else
		fd = connect_to(AF_INET, (uint16_t)port);
	if (fd == -ECONNREFUSED)
		fd = connect_to(AF_INET6, (uint16_t)port);
	wire_put_u32(&b, fd < 0 ? (uint32_t)-fd : 0);
	(void)wire_send(sock, WIRE_DIALLED, msg->id, &b, &fd, fd >= 0);
}
