#pragma once

#include "http/slice.h"

/*
 * DOC: Theory of operation
 *
 * Client and server take turns: greeting, method choice, (user and password, status), request,
 * reply. Each parser below reads one client message from the front of the buffer (http/slice.h says
 * how it answers); the builders write what is sent back. CONNECT is the only command.
 */
enum {
	SOCKS5_REPLY_MAX = 22,	  /* with an IPv6 address */
	SOCKS5_REQUEST_MAX = 262, /* 4 + 1 + 255 + 2 */
	SOCKS5_USERPASS_MAX = 513,
};

enum socks5_reason {
	SOCKS5_FINE,
	SOCKS5_VERSION,	   /* first byte is not 5 */
	SOCKS5_NO_METHODS, /* an empty method list */
	SOCKS5_AUTH,	   /* not RFC 1929 version 1, or an empty user name */
	SOCKS5_COMMAND,	   /* BIND, UDP ASSOCIATE or unknown: answer 07 */
	SOCKS5_RESERVED,   /* the reserved byte is not 0 */
	SOCKS5_ATYP,	   /* unknown address type: answer 08 */
	SOCKS5_NAME,	   /* empty name or one with a control byte */
	SOCKS5_PORT,	   /* port 0 */
	SOCKS5_REASON_N,
};

enum socks5_method { SOCKS5_NO_AUTH = 0x00, SOCKS5_USERPASS = 0x02, SOCKS5_NONE = 0xff };

enum socks5_code {
	SOCKS5_SUCCEEDED = 0,
	SOCKS5_FAILURE = 1,
	SOCKS5_NOT_ALLOWED = 2,
	SOCKS5_NET_UNREACHABLE = 3,
	SOCKS5_HOST_UNREACHABLE = 4,
	SOCKS5_REFUSED = 5,
	SOCKS5_TTL_EXPIRED = 6,
	SOCKS5_COMMAND_UNKNOWN = 7,
	SOCKS5_ATYP_UNKNOWN = 8,
};

enum socks5_atyp { SOCKS5_IP4 = 1, SOCKS5_DOMAIN = 3, SOCKS5_IP6 = 4 };

struct socks5_greeting {
	bool no_auth, userpass; /* offered by the client */
};

struct socks5_userpass {
	struct slice user, pass; /* pass may be empty */
};

struct socks5_request {
	enum socks5_atyp atyp;
	struct slice name; /* SOCKS5_DOMAIN: the bytes as sent, for the host canonicaliser */
	uint8_t addr[16];  /* SOCKS5_IP4: the first 4; SOCKS5_IP6: all */
	uint16_t port;
};

ssize_t socks5_parse_greeting(const void *p, size_t len, struct socks5_greeting *ret);
ssize_t socks5_parse_userpass(const void *p, size_t len, struct socks5_userpass *ret);
ssize_t socks5_parse_request(const void *p, size_t len, struct socks5_request *ret);

void socks5_put_method(uint8_t out[static 2], enum socks5_method method);
void socks5_put_auth_status(uint8_t out[static 2], bool ok);
/* The bound address is always 0.0.0.0:0: it would tell the sandbox about the host. */
size_t socks5_put_reply(uint8_t out[static SOCKS5_REPLY_MAX], enum socks5_code code);
/* The reply a refused request gets. */
enum socks5_code socks5_reason_code(int reason);
const char *socks5_reason_str(int reason);
