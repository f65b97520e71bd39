#pragma once

#include "gateway/tls.h"

#include <openssl/ssl.h>

/* Private declarations of the tls-*.c files; no other file includes this header. */
#define SESSIONS_MAX 32 /* of servers, for resumption */

struct leaf {
	char *host;
	X509 *cert;
	EVP_PKEY *key;
	uint64_t used;
};

struct session {
	const SSL_CTX *ctx; /* trust is a context's own: one does not resume another's */
	char *host;
	SSL_SESSION *session;
};

#define READ_AHEAD (16 * 1024 + 512) /* one whole record with its head */

/* What the last recv() of any stream brought, until the call that read it is over. */
struct ahead {
	const void *of; /* whose it is; NULL: nobody's */
	size_t at, len;
	char data[READ_AHEAD];
};

struct tls {
	SSL_CTX *client, *server;
	SSL_CTX *routes[GW_ROUTES_MAX]; /* of those with trust of their own */
	BIO_METHOD *bio;
	struct leaf leaves[LEAVES_MAX];
	size_t n_leaves;
	struct session sessions[SESSIONS_MAX];
	size_t next_session;
	uint64_t clock;
	struct ahead ahead;
};

/* tls.c: set up with the first use; NULL when OpenSSL cannot be. */
struct tls *tls_get(struct gw *gw);

/* tls-stream.c: the socket below TLS, and TLS put over a plain stream. ahead is taken. */
BIO_METHOD *tls_bio_new(void);
int tls_put_over(struct gw *gw, struct stream *s, SSL_CTX *ctx, struct buf *ahead);

/* tls-context.c: for clients inside; for servers, with the trust that counts on a route. Made with
 * the first use; NULL when they cannot be. */
SSL_CTX *tls_server_context(struct tls *t);
SSL_CTX *tls_route_context(struct gw *gw, struct tls *t, const struct gw_route *route);
/* The newest of that host; NULL for none. */
SSL_SESSION *tls_session(const struct tls *t, const SSL_CTX *ctx, const char *host);
