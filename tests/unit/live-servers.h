#pragma once

#include "live.h"

enum server_kind {
	SERVER_HTTP,
	SERVER_HTTPS,
	SERVER_BANNER, /* speaks first, as ssh does, then echoes */
	SERVER_ECHO,
	SERVER_TLS_ECHO,
	SERVER_PROXY,
	SERVER_BULK,   /* sends without end, once it was asked to */
	SERVER_SCRIPT, /* see live-script.c */
	SERVER_SCRIPT_TLS,
};

struct peer {
	int fd;
	SSL *ssl;
};

/* What the servers are made of. */
ssize_t peer_read(struct peer *p, void *b, size_t n);
void peer_write(struct peer *p, const void *b, size_t n);
void peer_puts(struct peer *p, const char *s);
void peer_respond(struct peer *p, const char *extra, const char *body, size_t n);
void peer_wait_go(void);

/* live-echo.c: what a provider may do with the credential it was sent; false: no such path. */
bool answer_credential(struct peer *p, const char *path, const char *head, const char *body,
		       size_t n);

/* live-script.c: before the servers start; then one of its connections. */
void script_init(void);
void serve_script(struct peer *p);

/* In the caller's network namespace; lives as long as the test program. */
void server_start(enum server_kind kind, const char *addr, uint16_t port, SSL_CTX *ctx);
/* An address at which connections are neither accepted nor refused. */
int server_deaf(const char *addr, uint16_t port);
