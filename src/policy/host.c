#include "policy/host.h"

#include <stdio.h>
#include <string.h>

#define LABEL_MAX 63

/* Input as it may stand in a sentence: short, and printable whatever it was. */
struct shown {
	char text[64];
};

static struct shown show(const char *p, size_t n)
{
	struct shown s;
	size_t max = sizeof(s.text) - 4, len = n < max ? n : max;

	for (size_t i = 0; i < len; i++)
		s.text[i] = p[i] > 0x20 && p[i] < 0x7f ? p[i] : '?';
	memcpy(s.text + len, "...", 4);
	if (len == n)
		s.text[len] = '\0';
	return s;
}

#define refuse(err, p, n, why) err_set(err, EINVAL, "host '%s': %s", show(p, n).text, why)

static bool is_label_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static const char *bad_byte(unsigned char c)
{
	if (c == '\0')
		return "it holds a NUL byte";
	if (c < 0x20 || c == 0x7f)
		return "it holds a control byte";
	if (c == ' ')
		return "it holds a blank";
	if (c == '@')
		return "it carries user information ('@')";
	if (c == '%')
		return "it holds a percent escape or a zone id";
	if (c == '*')
		return "'*' belongs into patterns only";
	if (c >= 0x80)
		return "it is not ASCII; write it in its 'xn--' form";
	return "it holds a character that no host name has";
}

static const char *check_label(const char *p, size_t n)
{
	if (n == 0)
		return "it has an empty label";
	if (n > LABEL_MAX)
		return "one of its labels is longer than 63 bytes";
	if (p[0] == '-' || p[n - 1] == '-')
		return "one of its labels begins or ends with '-'";
	return NULL;
}

/* The WHATWG rule for "ends in a number": digits, or 0x and hex digits (0x alone as well). */
static bool is_number(const char *p, size_t n)
{
	size_t digits = 0;

	if (n >= 2 && p[0] == '0' && p[1] == 'x') {
		for (size_t i = 2; i < n; i++)
			if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
				return false;
		return true;
	}
	while (digits < n && p[digits] >= '0' && p[digits] <= '9')
		digits++;
	return digits == n;
}

static const char *check_labels(const char *p, size_t n, size_t *ret_last)
{
	size_t start = 0;
	const char *why;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && p[i] != '.')
			continue;
		why = check_label(p + start, i - start);
		if (why)
			return why;
		*ret_last = start;
		start = i + 1;
	}
	return NULL;
}

static int parse_name(const char *p, size_t n, struct host *ret, struct err *err)
{
	bool dotted = p[n - 1] == '.';
	struct host h = {.kind = HOST_NAME};
	size_t len = n - dotted, last = 0;
	const char *why;

	for (size_t i = 0; i < n; i++)
		if (p[i] != '.' && !is_label_char((unsigned char)p[i]))
			return refuse(err, p, n, bad_byte((unsigned char)p[i]));
	if (len > HOST_TEXT_SIZE - 1)
		return refuse(err, p, n, "it is longer than 253 bytes");
	for (size_t i = 0; i < len; i++)
		h.name[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 : p[i]);
	why = check_labels(h.name, len, &last);
	if (why)
		return refuse(err, p, n, why);
	h.len = (uint8_t)len;
	if (is_number(h.name + last, len - last)) {
		if (dotted || ip_parse(h.name, len, &h.ip) < 0)
			return refuse(err, p, n,
				      "an ambiguous spelling of an address; write "
				      "a.b.c.d in plain decimal");
		h.kind = HOST_IP4;
	}
	*ret = h;
	return 0;
}

static int parse_ip6(const char *p, size_t n, struct host *ret, struct err *err)
{
	struct ip ip;

	if (memchr(p, '%', n))
		return refuse(err, p, n, "an address with a zone id is not reachable from here");
	if (!memchr(p, ':', n) || ip_parse(p, n, &ip) < 0)
		return refuse(err, p, n, "not an IPv6 address");
	host_from_ip(&ip, ret);
	return 0;
}

int host_parse(const char *p, size_t n, struct host *ret, struct err *err)
{
	if (n == 0)
		return err_set(err, EINVAL, "the host is empty");
	if (n > HOST_TEXT_SIZE)
		return refuse(err, p, n, "it is longer than 253 bytes");
	if (p[0] == '[') {
		if (p[n - 1] != ']' || n < 3)
			return refuse(err, p, n, "the bracket is not closed around an address");
		return parse_ip6(p + 1, n - 2, ret, err);
	}
	if (memchr(p, ':', n))
		return parse_ip6(p, n, ret, err);
	return parse_name(p, n, ret, err);
}

void host_from_ip(const struct ip *ip, struct host *ret)
{
	struct host h = {.kind = ip->v6 ? HOST_IP6 : HOST_IP4, .ip = *ip};

	ip_format(ip, h.name);
	h.len = (uint8_t)strlen(h.name);
	*ret = h;
}

int port_parse(const char *p, size_t n, uint16_t *ret)
{
	unsigned v = 0;

	if (n == 0 || n > 5 || p[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -EINVAL;
		v = v * 10 + (unsigned)(p[i] - '0');
	}
	if (v > UINT16_MAX)
		return -ERANGE;
	*ret = (uint16_t)v;
	return 0;
}

int host_parse_authority(const char *p, size_t n, uint16_t default_port, struct host *ret,
			 uint16_t *ret_port, struct err *err)
{
	const char *end, *colon;
	uint16_t port = default_port;
	size_t host_n;
	int r;

	if (n == 0)
		return err_set(err, EINVAL, "the host is empty");
	end = memchr(p, p[0] == '[' ? ']' : ':', n);
	if (memchr(p, '@', n))
		return refuse(err, p, n, bad_byte('@'));
	if (p[0] == '[' && !end)
		return refuse(err, p, n, "the bracket is not closed around an address");
	colon = p[0] == '[' ? end + 1 : end;
	host_n = colon ? (size_t)(colon - p) : n;
	if (host_n < n) {
		if (*colon != ':')
			return refuse(err, p, n, "something other than a port follows the bracket");
		if (p[0] != '[' && memchr(colon + 1, ':', n - host_n - 1))
			return refuse(err, p, n, "an IPv6 address with a port needs brackets");
		if (port_parse(colon + 1, n - host_n - 1, &port) < 0)
			return refuse(err, p, n, "the port must be a number from 1 to 65535");
	}
	if (port == 0)
		return refuse(err, p, n, "the port is missing");
	r = host_parse(p, host_n, ret, err);
	if (r == 0)
		*ret_port = port;
	return r;
}

bool host_equal(const struct host *a, const struct host *b)
{
	return a->kind == b->kind && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

void host_format(const struct host *h, uint16_t port, char ret[static HOST_PORT_TEXT_SIZE])
{
	bool v6 = h->kind == HOST_IP6;

	(void)snprintf(ret, HOST_PORT_TEXT_SIZE, "%s%s%s:%u", v6 ? "[" : "", h->name, v6 ? "]" : "",
		       port);
}

static bool in_table(const struct host *h, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (h->name[0] == names[i][0] && streq(h->name, names[i]))
			return true;
	return false;
}

bool host_is_loopback_name(const struct host *h)
{
	static const char *const names[] = {
		"localhost",   "localhost.localdomain",	  "localhost4",
		"localhost6",  "localhost6.localdomain6", "ip6-localhost",
		"ip6-loopback"};
	static const char below[] = ".localhost";
	size_t n = sizeof(below) - 1;

	if (h->kind != HOST_NAME)
		return false;
	return in_table(h, names, ARRAY_SIZE(names)) ||
	       (h->len > n && streq(h->name + h->len - n, below));
}

bool host_is_metadata_name(const struct host *h)
{
	static const char *const names[] = {"metadata",
					    "metadata.google.internal",
					    "metadata.goog",
					    "instance-data",
					    "instance-data.ec2.internal",
					    "metadata.azure.internal",
					    "metadata.tencentyun.com"};

	return h->kind == HOST_NAME && in_table(h, names, ARRAY_SIZE(names));
}

#define HTTPS "https://"
#define HTTPS_PORT 443

int origin_split(const char *origin, struct host *ret, uint16_t *ret_port, const char **ret_path,
		 struct err *err)
{
	const char *at = origin + strlen(HTTPS), *path;

	if (strncmp(origin, HTTPS, strlen(HTTPS)) != 0)
		return err_usage(err, "'%.100s' does not begin with " HTTPS, origin);
	path = strchrnul(at, '/');
	*ret_path = path;
	return host_parse_authority(at, (size_t)(path - at), HTTPS_PORT, ret, ret_port, err);
}
