/* Addresses of sockets: policy/addr.h. */
#include "policy/addr.h"

#include <arpa/inet.h>
#include <string.h>

int ip_from_sockaddr(const struct sockaddr *sa, struct ip *ret, uint16_t *ret_port)
{
	struct sockaddr_in6 s6;
	struct sockaddr_in s4;

	if (sa->sa_family == AF_INET) {
		memcpy(&s4, sa, sizeof(s4));
		*ret_port = ntohs(s4.sin_port);
		return ip_from_bytes(&s4.sin_addr, 4, ret);
	}
	if (sa->sa_family != AF_INET6)
		return -EINVAL;
	memcpy(&s6, sa, sizeof(s6));
	*ret_port = ntohs(s6.sin6_port);
	return ip_from_bytes(&s6.sin6_addr, 16, ret);
}

socklen_t ip_to_sockaddr(const struct ip *ip, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 s6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in s4 = {.sin_family = AF_INET, .sin_port = htons(port)};

	memset(ret, 0, sizeof(*ret));
	if (ip->v6) {
		memcpy(&s6.sin6_addr, ip->b, 16);
		memcpy(ret, &s6, sizeof(s6));
		return sizeof(s6);
	}
	memcpy(&s4.sin_addr, ip->b, 4);
	memcpy(ret, &s4, sizeof(s4));
	return sizeof(s4);
}
