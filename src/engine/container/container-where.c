#include "engine/container/container.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/proc.h"

/* Docker Desktop's name for the machine it runs on; it leads to that machine's loopback. */
#define DESKTOP_NAME "host.docker.internal"
#define ANY_PORT 9 /* nothing is sent */
#define LOOKUP_MS 10000
#define ANSWER_MAX (16 * KiB)

/* The host of "tcp://[user@]HOST[:PORT]" or "ssh://…"; NULL: it is no such thing. */
static char *host_of(const char *endpoint)
{
	const char *p = strncmp(endpoint, "tcp://", 6) == 0 || strncmp(endpoint, "ssh://", 6) == 0
				? endpoint + 6
				: NULL,
		   *at;
	size_t n;

	if (!p)
		return NULL;
	at = strchr(p, '@');
	p = at ? at + 1 : p;
	if (*p == '[') {
		n = strcspn(++p, "]");
		return xstrndup(p, n);
	}
	n = strcspn(p, ":/");
	return n ? xstrndup(p, n) : NULL;
}

static bool is_loopback(const char *host)
{
	return streq(host, "localhost") || streq(host, "::1") || strncmp(host, "127.", 4) == 0;
}

bool container_endpoint_is_remote(const char *endpoint)
{
	cleanup_free char *host = endpoint ? host_of(endpoint) : NULL;

	return host && !is_loopback(host);
}

/* A name's first address, by the system's own program: what looks names up needs shared libraries.
 */
static char *address_of(const char *host)
{
	struct in6_addr any;
	char *const argv[] = {(char *)"/usr/bin/getent", (char *)"ahosts", (char *)(uintptr_t)host,
			      NULL};
	struct err ignored;
	char *out = NULL;
	int code = 0;

	if (inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1)
		return xstrdup(host);
	if (host[0] == '-' ||
	    run_capture(argv, NULL, LOOKUP_MS, ANSWER_MAX, &out, &code, &ignored) < 0)
		return NULL;
	out[strcspn(out, " \t\n")] = '\0';
	return out;
}

/* Our own address on the way there. */
static int own_address(const char *host, char **ret)
{
	cleanup_free char *address = address_of(host);
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(ANY_PORT)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(ANY_PORT)};
	bool is4 = address && inet_pton(AF_INET, address, &v4.sin_addr) == 1;
	socklen_t len = is4 ? sizeof(v4) : sizeof(v6);
	struct sockaddr *sa = is4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	char text[INET6_ADDRSTRLEN];
	cleanup_fd int fd = -1;

	if (!address || (!is4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1))
		return -ENOENT;
	fd = socket(sa->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, sa, len) < 0 || getsockname(fd, sa, &len) < 0 ||
	    !inet_ntop(sa->sa_family, is4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr, text,
		       sizeof(text)))
		return -errno;
	*ret = xstrdup(text);
	return 0;
}

int container_where(const char *endpoint, bool desktop, char **ret_listen, char **ret_dial,
		    struct err *err)
{
	cleanup_free char *host = endpoint ? host_of(endpoint) : NULL;

	if (desktop) {
		*ret_listen = xstrdup("127.0.0.1");
		*ret_dial = xstrdup(DESKTOP_NAME);
		return 0;
	}
	if (!host || is_loopback(host) || own_address(host, ret_listen) < 0)
		return err_set(err, ENOTSUP,
			       "it runs its containers elsewhere, and '%s' does not tell by which "
			       "address they reach this machine; name it with DOCKER_HOST=tcp://… "
			       "or ssh://…, or use an engine of this machine",
			       endpoint ? endpoint : "its endpoint");
	*ret_dial = xstrdup(*ret_listen);
	return 0;
}
