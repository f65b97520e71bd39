#pragma once

#include "live.h"

enum server_kind {
	SERVER_HTTP,
	SERVER_HTTPS,
	SERVER_BANNER, /* speaks first, as ssh does, then echoes */
	SERVER_ECHO,
	SERVER_TLS_ECHO,
	SERVER_PROXY,
	SERVER_BULK, /* sends without end, once it was asked to */
};

/* In the caller's network namespace; lives as long as the test program. */
void server_start(enum server_kind kind, const char *addr, uint16_t port, SSL_CTX *ctx);
/* An address at which connections are neither accepted nor refused. */
int server_deaf(const char *addr, uint16_t port);
