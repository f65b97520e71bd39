/* Patterns as people write them. */
#include "policy/pattern.h"

#include "policy/suffix.h"

#include <string.h>

#define PATTERN_TEXT_MAX 300

/* Splits "host:port" where the host may be a bare or bracketed IPv6 address or range. */
static int split(const char *text, const char **ret_host, size_t *ret_n, const char **ret_port,
		 struct err *err)
{
	const char *colon = strchr(text, ':'), *end;

	*ret_port = NULL;
	*ret_host = text;
	*ret_n = strlen(text);
	if (text[0] == '[') {
		end = strchr(text, ']');
		if (!end || !colon || colon > end || (end[1] != '\0' && end[1] != ':'))
			return err_usage(err,
					 "'%s': brackets stand around an IPv6 address or "
					 "range, as in '[2001:db8::1]:443'",
					 text);
		*ret_host = text + 1;
		*ret_n = (size_t)(end - text - 1);
		*ret_port = end[1] == ':' ? end + 2 : NULL;
		return 0;
	}
	if (colon && !strchr(colon + 1, ':')) {
		*ret_n = (size_t)(colon - text);
		*ret_port = colon + 1;
	}
	return 0;
}

static int parse_ports(const char *text, const char *port, bool deny, struct pattern *p,
		       struct err *err)
{
	if (!port) {
		p->ports = deny ? PORTS_ANY : PORTS_WEB;
		return 0;
	}
	if (streq(port, "*")) {
		p->ports = PORTS_ANY;
		return 0;
	}
	p->ports = PORTS_ONE;
	if (port_parse(port, strlen(port), &p->port) < 0)
		return err_usage(err, "'%s': the port must be a number from 1 to 65535, or '*'",
				 text);
	return 0;
}

/* The mistakes people make, each with what to write instead. */
static int teach(const char *text, struct err *err)
{
	const char *scheme = strstr(text, "://"), *host;

	if (text[0] == '\0')
		return err_usage(err, "an empty pattern; write a host, as in 'example.com'");
	if (strlen(text) > PATTERN_TEXT_MAX)
		return err_usage(err, "'%.40s...' is too long for a pattern", text);
	for (const char *s = text; *s; s++)
		if ((unsigned char)*s <= 0x20 || *s == 0x7f)
			return err_usage(err, "'%s' holds a blank or control byte", text);
	if (text[0] == '@')
		return err_usage(err, "'%s' is a group and cannot stand here", text);
	if (scheme) {
		host = scheme + 3;
		return err_usage(err, "'%s' is a URL; write the host alone, as in '%.*s'", text,
				 (int)strcspn(host, "/?#"), host);
	}
	if (strchr(text, '@'))
		return err_usage(err, "'%s' carries a user name; write the host alone", text);
	if (streq(text, "*") || streq(text, "**") || strncmp(text, "*:", 2) == 0)
		return err_usage(err, "'%s' is too broad; name hosts, or choose the tier 'inet'",
				 text);
	if (strncmp(text, "**.", 3) == 0)
		return err_usage(err, "'%s': write '%s', it means any depth", text, text + 1);
	if (text[0] == '.')
		return err_usage(err, "'%s': write '*%s'", text, text);
	return 0;
}

static int parse_cidr(const char *text, const char *host, size_t n, bool deny, struct pattern *p,
		      struct err *err)
{
	enum addr_class class;
	const char *why;

	p->kind = PATTERN_CIDR;
	if (cidr_parse(host, n, &p->cidr, err) < 0) {
		err->exit_code = EXIT_USAGE;
		return -EINVAL;
	}
	class = addr_class(&p->cidr.ip);
	if (cidr_is_single(&p->cidr) && pattern_is_loopback(&p->cidr.ip)) {
		p->kind = PATTERN_SERVICE;
		return 0;
	}
	if (deny)
		return 0;
	why = suffix_too_wide(&p->cidr);
	if (why)
		return err_usage(err, "'%s' is too broad; %s", text, why);
	if (class == ADDR_LOOPBACK)
		return err_usage(err,
				 "'%s': the host's loopback is reached one port at a time; "
				 "write 'localhost:PORT'",
				 text);
	if (class == ADDR_UNSPECIFIED || class == ADDR_MULTICAST || class == ADDR_BROADCAST)
		return err_usage(err, "'%s' is %s address, which cannot be allowed", text,
				 addr_class_name(class));
	return 0;
}

static int parse_name(const char *text, const char *host, size_t n, bool deny, struct pattern *p,
		      struct err *err)
{
	bool below = n > 2 && host[0] == '*' && host[1] == '.';
	const char *slash = memchr(host, '/', n), *why;
	struct host h;

	if (slash)
		return err_usage(err,
				 "'%s' holds a path; write the host alone and put paths "
				 "into network.rules",
				 text);
	if (below) {
		host += 2;
		n -= 2;
	}
	if (memchr(host, '*', n))
		return err_usage(err,
				 "'%s': '*' stands for whole labels at the front only, as in "
				 "'*.example.com'",
				 text);
	if (host_parse(host, n, &h, err) < 0) {
		err->exit_code = EXIT_USAGE;
		return -EINVAL;
	}
	if (h.kind != HOST_NAME)
		return err_usage(err, "'%s': '*' cannot stand before an address", text);
	p->kind = below ? PATTERN_BELOW : PATTERN_NAME;
	if (!below && streq(h.name, "localhost")) {
		p->kind = PATTERN_SERVICE;
		return 0;
	}
	if (!deny && (host_is_loopback_name(&h) || (below && streq(h.name, "localhost"))))
		return err_usage(err, "'%s' is this machine; write 'localhost:PORT'", text);
	why = below && !deny ? suffix_too_broad(h.name) : NULL;
	if (why)
		return err_usage(err, "'%s' is too broad; %s", text, why);
	memcpy(p->name, h.name, sizeof(p->name));
	p->len = h.len;
	return 0;
}

/* An address or range, as opposed to a name: what has a ':' left, or digits and dots up to a '/'.
 */
static bool looks_like_address(const char *host, size_t n)
{
	const char *slash = memchr(host, '/', n);
	size_t len = slash ? (size_t)(slash - host) : n;
	struct err ignored;
	struct host h;

	if (memchr(host, ':', n))
		return true;
	return len > 0 && host_parse(host, len, &h, &ignored) == 0 && h.kind == HOST_IP4;
}

int pattern_parse(const char *text, bool deny, struct pattern *ret, struct err *err)
{
	struct pattern p = {0};
	const char *host = text, *port = NULL;
	size_t n = 0;
	int r = teach(text, err);

	if (r == 0)
		r = split(text, &host, &n, &port, err);
	if (r == 0)
		r = parse_ports(text, port, deny, &p, err);
	if (r < 0)
		return r;
	if (looks_like_address(host, n))
		r = parse_cidr(text, host, n, deny, &p, err);
	else
		r = parse_name(text, host, n, deny, &p, err);
	if (r < 0)
		return r;
	if (p.kind == PATTERN_SERVICE && !deny && p.ports != PORTS_ONE)
		return err_usage(err,
				 "'%s': name the one port of this machine that is meant, as "
				 "in 'localhost:5432'",
				 text);
	*ret = p;
	return 0;
}
