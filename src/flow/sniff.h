#pragma once

#include <stddef.h>

/* The protocol of a connection to the proxy port, told by its first bytes. */
enum sniff {
	SNIFF_MORE, /* no byte yet, or one that two protocols share */
	SNIFF_HTTP,
	SNIFF_SOCKS5,
	SNIFF_TLS,
	SNIFF_UNKNOWN,
};

enum sniff sniff_protocol(const void *p, size_t len);
