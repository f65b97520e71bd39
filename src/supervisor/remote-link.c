/*
 * The gateway's port for a sandbox on another machine: see wire/remote.h. It is open as long as the
 * sandbox, on the one address its engine reaches this machine by, and the token is made anew at
 * each start.
 */
#include "supervisor/supervisor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "wire/remote.h"

#define BACKLOG 1024

static int make_token(char *ret, struct err *err)
{
	unsigned char raw[REMOTE_TOKEN_LEN / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return err_sys(err, errno, "cannot get random bytes");
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

static int listen_on(const char *address, uint16_t *ret_port, struct err *err)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	bool is4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
	struct sockaddr *sa = is4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t len = is4 ? sizeof(v4) : sizeof(v6);
	cleanup_fd int fd = -1;

	if (!is4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
		return err_set(err, EINVAL, "'%s' is no address to listen on", address);
	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, sa, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, sa, &len) < 0)
		return err_sys(err, errno, "cannot listen on %s for the sandbox", address);
	*ret_port = ntohs(is4 ? v4.sin_port : v6.sin6_port);
	return take_fd(fd);
}

int remote_link_open(struct supervisor *s, struct err *err)
{
	struct gateway_link *g = &s->gateway;
	const char *address = s->spec->container.remote_listen;
	int fd, r = make_token(g->token, err);

	if (r < 0)
		return r;
	g->gate = (struct gw_listener){.kind = GW_LISTEN_OUTPOST};
	fd = listen_on(address, &g->gate.port, err);
	if (fd < 0)
		return fd;
	(void)snprintf(g->gate.addr, sizeof(g->gate.addr), "%s", address);
	g->fds[0] = fd;
	g->n_fds = 1;
	return 0;
}

int remote_link_tell(struct supervisor *s, struct err *err)
{
	cleanup_buf struct buf b = {0};
	int r;

	buf_init(&b, WIRE_INLINE_MAX);
	if (!s->gateway.gate.port)
		return 0;
	wire_put_str(&b, s->spec->container.remote_dial);
	wire_put_u32(&b, s->gateway.gate.port);
	wire_put_str(&b, s->gateway.token);
	r = wire_send(s->guest, WIRE_REMOTE_GATE, 0, &b, NULL, 0);
	return r < 0 ? err_sys(err, -r, "cannot reach the outpost") : 0;
}
