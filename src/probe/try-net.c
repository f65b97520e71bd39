#include "probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int interfaces(int argc, char **argv)
{
	struct if_nameindex *all = if_nameindex();
	int n = 0;

	if (!all)
		broken("if_nameindex");
	for (struct if_nameindex *i = all; i->if_index; i++)
		if (strcmp(i->if_name, "lo") != 0)
			n += out("interface %s", i->if_name);
	return n;
}

static void address(const char *text, unsigned port, struct sockaddr_storage *sa, socklen_t *len)
{
	struct sockaddr_in *in = (struct sockaddr_in *)sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

	memset(sa, 0, sizeof(*sa));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		*len = sizeof(*in);
		return;
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) != 1)
		broken(text);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)port);
	*len = sizeof(*in6);
}

/* `reach PORT ADDRESS…`: by a connection and by a datagram. */
static int reach(int argc, char **argv)
{
	int n = 0;

	for (int i = 1; i < argc; i++) {
		const struct timeval limit = {.tv_sec = 2};
		struct sockaddr_storage sa;
		socklen_t len;
		int tcp, udp;

		address(argv[i], (unsigned)number(argv[0]), &sa, &len);
		tcp = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		udp = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		(void)setsockopt(tcp, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (connect(tcp, (struct sockaddr *)&sa, len) == 0 || errno == EINPROGRESS)
			n += out("a connection to %s: %m", argv[i]);
		/* Loopback is ours: a datagram to it goes nowhere. */
		if (strncmp(argv[i], "127.", 4) != 0 && strcmp(argv[i], "::1") != 0 &&
		    sendto(udp, "x", 1, 0, (struct sockaddr *)&sa, len) == 1)
			n += out("a datagram to %s", argv[i]);
		(void)close(tcp);
		(void)close(udp);
	}
	return n;
}

static int known(int family, int type, int protocol)
{
	switch (family) {
	case AF_UNIX:
		return type == SOCK_STREAM || type == SOCK_SEQPACKET;
	case AF_INET:
	case AF_INET6:
		return (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
		       (type == SOCK_DGRAM &&
			(protocol == 0 || protocol == IPPROTO_UDP || protocol == IPPROTO_ICMP ||
			 protocol == IPPROTO_ICMPV6));
	case AF_NETLINK:
		return protocol == NETLINK_ROUTE;
	default:
		return 0;
	}
}

/* Whatever else a family of the kernel's has, it has a protocol below ten. */
static int protocols_of(int family)
{
	int filtered = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		       family == AF_NETLINK;

	return filtered ? 40 : 10;
}

/*
 * Every family, type and protocol, also with bits above those the kernel looks at. A kernel in user
 * space takes its time for each call.
 */
static int families(int argc, char **argv)
{
	static const unsigned long highs[] = {0, 1UL << 32, 1UL << 63};
	int n = 0;

	for (int family = 0; family < 64; family++)
		for (int type = 0; type < 11; type++)
			for (int protocol = 0; protocol < protocols_of(family); protocol++)
				for (size_t h = 0; h < ARRAY_SIZE(highs); h++) {
					long fd = syscall(SYS_socket,
							  highs[h] | (unsigned long)family, type,
							  highs[h] | (unsigned long)protocol);

					if (fd < 0)
						continue;
					(void)close((int)fd);
					if (!known(family, type, protocol))
						n += out("socket(%d, %d, %d)", family, type,
							 protocol);
				}
	return n;
}

static socklen_t unix_address(const char *name, struct sockaddr_un *sa)
{
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(sa->sun_path, sizeof(sa->sun_path), "%s", name);
	if (name[0] != '@')
		return sizeof(*sa);
	sa->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

/* `unix NAME…`: @ for the abstract ones. */
static int unix_sockets(int argc, char **argv)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
	int n = 0;

	for (int i = 0; i < argc; i++)
		for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
			struct sockaddr_un sa;
			socklen_t len = unix_address(argv[i], &sa);
			int fd = socket(AF_UNIX, types[t] | SOCK_CLOEXEC, 0);

			if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, len) == 0)
				n += out("a connection to %s", argv[i]);
			if (fd >= 0)
				(void)close(fd);
		}
	return n;
}

/* `datagram PATH`: from one of a pair, to somebody else. */
static int datagram(int argc, char **argv)
{
	struct sockaddr_un sa;
	socklen_t len = unix_address(argv[0], &sa);
	int n = 0, pair[2];

	for (int type = 1; type < 11; type++) {
		struct iovec v = {"x", 1};
		struct msghdr m = {
			.msg_name = &sa, .msg_namelen = len, .msg_iov = &v, .msg_iovlen = 1};

		if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
			continue;
		if (sendto(pair[0], "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&sa, len) > 0 &&
		    type == SOCK_DGRAM)
			n += out("sendto(%s)", argv[0]);
		if (type == SOCK_DGRAM && sendmsg(pair[0], &m, 0) > 0)
			n += out("sendmsg(%s)", argv[0]);
	}
	return n;
}

/* `listen NAME`: the host's own socket, for the test to make; one line when it is there. */
static int listen_at(int argc, char **argv)
{
	struct sockaddr_un sa;
	socklen_t len = unix_address(argv[0], &sa);
	int type = argc > 1 ? SOCK_DGRAM : SOCK_STREAM,
	    fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	char c;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 || (argc == 1 && listen(fd, 9) < 0))
		broken(argv[0]);
	(void)puts("ready");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return recv(fd, &c, 1, MSG_DONTWAIT) > 0 ? out("a datagram came") : 0;
}

/* `serve`: a service of the host on its loopback; prints the port. */
static int serve(int argc, char **argv)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char c;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, 9) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		broken("serve");
	(void)printf("%u\n", ntohs(sa.sin6_port));
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

/* `with-socket KIND PROGRAM ARG…`: runs it with such a socket of the host as its stdin. */
static int with_socket(int argc, char **argv)
{
	int inet = strncmp(argv[0], "inet", 4) == 0;
	int type = strstr(argv[0], "datagram") ? SOCK_DGRAM : SOCK_STREAM;
	int fd = socket(inet ? AF_INET : AF_UNIX, type, 0);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		broken("socket");
	(void)execv(argv[1], argv + 1);
	broken(argv[1]);
}

/* `stdin-socket`: what a socket of the host's network would do for us. */
static int stdin_socket(int argc, char **argv)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(1)};
	int n = 0;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)connect(STDIN_FILENO, &none, sizeof(none));
	if (connect(STDIN_FILENO, (struct sockaddr *)&sa, sizeof(sa)) == 0 || errno == ECONNREFUSED)
		n += out("stdin is a socket of the host's network");
	return n;
}

const struct attack net_attacks[] = {
	{"interfaces", interfaces},
	{"reach", reach},
	{"families", families},
	{"unix", unix_sockets},
	{"datagram", datagram},
	{"listen", listen_at},
	{"serve", serve},
	{"with-socket", with_socket},
	{"stdin-socket", stdin_socket},
	{0},
};
