#include "edge/parse/socks5.h"

enum { VERSION = 5, AUTH_VERSION = 1, COMMAND_CONNECT = 1 };

static const char *const reasons[SOCKS5_REASON_N] = {
	[SOCKS5_FINE] = "fine",
	[SOCKS5_VERSION] = "the message is not SOCKS version 5",
	[SOCKS5_NO_METHODS] = "the client offers no authentication method",
	[SOCKS5_AUTH] = "the user name message is malformed",
	[SOCKS5_COMMAND] = "only CONNECT is served",
	[SOCKS5_RESERVED] = "a reserved byte is not zero",
	[SOCKS5_ATYP] = "the address type is unknown",
	[SOCKS5_NAME] = "the host name is empty or has bytes no name has",
	[SOCKS5_PORT] = "the port is 0",
};

const char *socks5_reason_str(int reason)
{
	unsigned int i = reason < 0 ? -(unsigned int)reason : (unsigned int)reason;

	return i < SOCKS5_REASON_N ? reasons[i] : "unknown reason";
}

ssize_t socks5_parse_greeting(const void *p, size_t len, struct socks5_greeting *ret)
{
	const uint8_t *b = p;
	struct socks5_greeting g = {0};

	if (len >= 1 && b[0] != VERSION)
		return -SOCKS5_VERSION;
	if (len < 2)
		return 0;
	if (b[1] == 0)
		return -SOCKS5_NO_METHODS;
	if (len < 2 + (size_t)b[1])
		return 0;
	for (size_t i = 0; i < b[1]; i++) {
		if (b[2 + i] == SOCKS5_NO_AUTH)
			g.no_auth = true;
		else if (b[2 + i] == SOCKS5_USERPASS)
			g.userpass = true;
	}
	*ret = g;
	return 2 + b[1];
}

ssize_t socks5_parse_userpass(const void *p, size_t len, struct socks5_userpass *ret)
{
	const uint8_t *b = p;
	size_t user, pass;

	if (len >= 1 && b[0] != AUTH_VERSION)
		return -SOCKS5_AUTH;
	if (len < 2)
		return 0;
	user = b[1];
	if (user == 0)
		return -SOCKS5_AUTH;
	if (len < 2 + user + 1)
		return 0;
	pass = b[2 + user];
	if (len < 2 + user + 1 + pass)
		return 0;
	*ret = (struct socks5_userpass){
		.user = {(const char *)b + 2, user},
		.pass = {(const char *)b + 3 + user, pass},
	};
	return (ssize_t)(3 + user + pass);
}

/* Everything from version to address type, each judged as soon as it is there. */
static int check_front(const uint8_t *b, size_t len)
{
	if (len >= 1 && b[0] != VERSION)
		return -SOCKS5_VERSION;
	if (len >= 2 && b[1] != COMMAND_CONNECT)
		return -SOCKS5_COMMAND;
	if (len >= 3 && b[2] != 0)
		return -SOCKS5_RESERVED;
	if (len >= 4 && b[3] != SOCKS5_IP4 && b[3] != SOCKS5_DOMAIN && b[3] != SOCKS5_IP6)
		return -SOCKS5_ATYP;
	if (len >= 5 && b[3] == SOCKS5_DOMAIN && b[4] == 0)
		return -SOCKS5_NAME;
	return 0;
}

static bool name_is_printable(const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (b[i] <= ' ' || b[i] == 0x7f)
			return false;
	}
	return true;
}

ssize_t socks5_parse_request(const void *p, size_t len, struct socks5_request *ret)
{
	const uint8_t *b = p, *addr;
	struct socks5_request q = {0};
	size_t n;
	int r = check_front(b, len);

	if (r < 0)
		return r;
	if (len < 5)
		return 0;
	q.atyp = (enum socks5_atyp)b[3];
	addr = q.atyp == SOCKS5_DOMAIN ? b + 5 : b + 4;
	n = q.atyp == SOCKS5_DOMAIN ? b[4] : q.atyp == SOCKS5_IP4 ? 4 : 16;
	if (len < (size_t)(addr - b) + n + 2)
		return 0;
	if (q.atyp == SOCKS5_DOMAIN) {
		if (!name_is_printable(addr, n))
			return -SOCKS5_NAME;
		q.name = (struct slice){(const char *)addr, n};
	} else {
		memcpy(q.addr, addr, n);
	}
	q.port = (uint16_t)(addr[n] << 8 | addr[n + 1]);
	if (q.port == 0)
		return -SOCKS5_PORT;
	*ret = q;
	return (addr - b) + (ssize_t)n + 2;
}

void socks5_put_method(uint8_t out[static 2], enum socks5_method method)
{
	out[0] = VERSION;
	out[1] = (uint8_t)method;
}

void socks5_put_auth_status(uint8_t out[static 2], bool ok)
{
	out[0] = AUTH_VERSION;
	out[1] = ok ? 0 : 1;
}

size_t socks5_put_reply(uint8_t out[static SOCKS5_REPLY_MAX], enum socks5_code code)
{
	const uint8_t reply[] = {VERSION, (uint8_t)code, 0, SOCKS5_IP4, 0, 0, 0, 0, 0, 0};

	memcpy(out, reply, sizeof(reply));
	return sizeof(reply);
}

enum socks5_code socks5_reason_code(int reason)
{
	switch (reason < 0 ? -reason : reason) {
	case SOCKS5_COMMAND:
		return SOCKS5_COMMAND_UNKNOWN;
	case SOCKS5_ATYP:
		return SOCKS5_ATYP_UNKNOWN;
	case SOCKS5_NAME:
		return SOCKS5_HOST_UNREACHABLE;
	default:
		return SOCKS5_FAILURE;
	}
}
