#include "guest/netns.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78 /* of linux/in6.h, which musl's headers do not join with */
#endif

static int loopback_up(unsigned *ret_index, struct err *err)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {.ifr_name = "lo"};

	if (fd < 0)
		return err_sys(err, errno, "cannot open a socket in the sandbox");
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) < 0)
		return err_sys(err, errno, "cannot ask for the loopback device");
	ifr.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		return err_sys(err, errno, "cannot bring the loopback device up");
	if (ioctl(fd, SIOCGIFINDEX, &ifr) < 0)
		return err_sys(err, errno, "cannot find the loopback device");
	*ret_index = (unsigned)ifr.ifr_ifindex;
	return 0;
}

struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	char attrs[64];
};

static void put_attr(struct route_request *q, unsigned short type, const void *p, size_t n)
{
	struct rtattr *a = (struct rtattr *)(void *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), p, n);
	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

/* Sends one request and reads the kernel's verdict; 0 or -errno. */
static int netlink_do(const struct route_request *q)
{
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr head;
		struct nlmsgerr verdict;
		char echo[256];
	} answer;
	ssize_t n;

	if (fd < 0 || send(fd, q, q->head.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < offsetof(__typeof__(answer), echo) || answer.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return answer.verdict.error;
}

/* `local NET/BITS dev lo`: every address of it is ours, so connections to it stay here. */
static int add_local_route(int family, const char *net, unsigned char bits, unsigned lo,
			   struct err *err)
{
	struct route_request q = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.route = {.rtm_family = (unsigned char)family,
			  .rtm_dst_len = bits,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_BOOT,
			  .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			  .rtm_type = RTN_LOCAL},
	};
	unsigned char addr[16];
	int r;

	if (inet_pton(family, net, addr) != 1)
		return err_set(err, EINVAL, "'%s' is not an address", net);
	put_attr(&q, RTA_DST, addr, family == AF_INET ? 4 : 16);
	put_attr(&q, RTA_OIF, &lo, sizeof(lo));
	r = netlink_do(&q);
	if (r < 0)
		return err_sys(err, -r, "cannot route %s/%u to the sandbox itself", net, bits);
	return 0;
}

static bool has_ipv6(void)
{
	cleanup_fd int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0;
}

static int add_routes(unsigned lo, struct err *err)
{
	int r = add_local_route(AF_INET, GUEST_NET4, GUEST_NET4_BITS, lo, err);

	if (r < 0 || !has_ipv6())
		return r;
	return add_local_route(AF_INET6, GUEST_NET6, GUEST_NET6_BITS, lo, err);
}

static int bind_to(int fd, const struct guest_listener *l)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(l->port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(l->port)};

	if (l->family == AF_INET) {
		memcpy(&in4.sin_addr, l->addr, 4);
		return bind(fd, (const struct sockaddr *)&in4, sizeof(in4));
	}
	memcpy(&in6.sin6_addr, l->addr, 16);
	return bind(fd, (const struct sockaddr *)&in6, sizeof(in6));
}

static int set_options(int fd, const struct guest_listener *l)
{
	const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -1;
	/* A local route makes an IPv4 address one to bind to, an IPv6 address not quite. */
	if (l->family == AF_INET6 &&
	    (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0))
		return -1;
	if (!l->udp)
		return 0;
	/* The answer to a question must come from the address that was asked. */
	return l->family == AF_INET6
		       ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))
		       : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
}

static int open_listener(const struct guest_listener *l, int *ret, struct err *err)
{
	int type = (l->udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
	cleanup_fd int fd = socket(l->family, type, 0);

	if (fd < 0 || set_options(fd, l) < 0 || bind_to(fd, l) < 0 ||
	    (!l->udp && listen(fd, (int)l->backlog) < 0)) {
		int eno = errno;
		char text[INET6_ADDRSTRLEN] = "?";

		(void)inet_ntop(l->family, l->addr, text, sizeof(text));
		return err_sys(err, eno, "cannot listen on %s port %u (%s) in the sandbox", text,
			       l->port, l->udp ? "udp" : "tcp");
	}
	*ret = take_fd(fd);
	return 0;
}

int netns_enter(unsigned *ret_loopback, struct err *err)
{
	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(err, errno, "cannot make the sandbox's network namespace");
	return loopback_up(ret_loopback, err);
}

int netns_open(const struct guest_setup *s, unsigned loopback, int fds[GUEST_LISTENERS_MAX],
	       struct err *err)
{
	int r = s->routes ? add_routes(loopback, err) : 0;

	for (size_t i = 0; i < s->n_listeners && r == 0; i++)
		r = open_listener(&s->listeners[i], &fds[i], err);
	return r;
}
