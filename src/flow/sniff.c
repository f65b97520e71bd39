#include "flow/sniff.h"

enum sniff sniff_protocol(const void *p, size_t len)
{
	const unsigned char *b = p;

	if (len == 0)
		return SNIFF_MORE;
	if (b[0] == 0x05)
		return SNIFF_SOCKS5;
	if (b[0] == 0x16) {
		if (len == 1)
			return SNIFF_MORE;
		return b[1] == 0x03 ? SNIFF_TLS : SNIFF_UNKNOWN;
	}
	/* A method may be any token, but every registered one begins with a letter. */
	if ((b[0] >= 'A' && b[0] <= 'Z') || (b[0] >= 'a' && b[0] <= 'z'))
		return SNIFF_HTTP;
	return SNIFF_UNKNOWN;
}
