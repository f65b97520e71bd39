/* resolves HOST PORT: asks 127.0.0.53 for HOST's A record with a datagram of its own making, then
 * sends an HTTP request to what it was told and prints the answer. Exit 3: there is no such name.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t question(unsigned char *q, const char *name)
{
	static const unsigned char head[12] = {0x12, 0x34, 1, 0, 0, 1};
	size_t n = sizeof(head);

	memcpy(q, head, n);
	while (*name) {
		size_t len = strcspn(name, ".");

		q[n++] = (unsigned char)len;
		memcpy(q + n, name, len);
		n += len;
		name += len + (name[len] == '.');
	}
	memcpy(q + n, "\0\0\1\0\1", 5);
	return n + 5;
}

static int resolve(const char *name, struct in_addr *ret)
{
	struct sockaddr_in dns = {.sin_family = AF_INET, .sin_port = htons(53)};
	unsigned char q[512], a[512];
	size_t n = question(q, name);
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	ssize_t got;

	inet_pton(AF_INET, "127.0.0.53", &dns.sin_addr);
	if (connect(s, (struct sockaddr *)&dns, sizeof(dns)) < 0 || send(s, q, n, 0) < 0)
		return -1;
	got = recv(s, a, sizeof(a), 0);
	close(s);
	if (got < (ssize_t)n + 16 || (a[3] & 15) != 0 || a[7] == 0)
		return -1;
	memcpy(ret, a + n + 12, 4);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char buf[4096];
	ssize_t n;
	int s;

	if (argc != 3)
		return 2;
	if (resolve(argv[1], &to.sin_addr) < 0)
		return 3;
	to.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	s = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(s, (struct sockaddr *)&to, sizeof(to)) < 0)
		return 4;
	dprintf(s, "GET /self HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", argv[1]);
	while ((n = read(s, buf, sizeof(buf))) > 0 && strstr(buf, " at ") == NULL)
		(void)!write(1, buf, (size_t)n);
	if (n > 0)
		(void)!write(1, buf, (size_t)n);
	return 0;
}
