#include <dirent.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <string.h>

#include "gateway/tls-own.h"

/* The protocol that was chosen for a client, as the data of its SSL; NULL: none was yet. */
static char chose_h2, chose_http1;

static bool offers(const unsigned char *p, size_t n, const char *name)
{
	size_t len = strlen(name);

	while (n > 0 && (size_t)p[0] + 1 <= n) {
		if (p[0] == len && memcmp(p + 1, name, len) == 0)
			return true;
		n -= (size_t)p[0] + 1;
		p += (size_t)p[0] + 1;
	}
	return false;
}

/* A client that speaks nothing but HTTP/2 has it; one that speaks both waits for tls_choose(). */
static int on_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *p;
	size_t n;

	if (SSL_get_app_data(ssl) ||
	    !SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &p,
				       &n) ||
	    n < 2 || !offers(p + 2, n - 2, "h2"))
		return SSL_CLIENT_HELLO_SUCCESS;
	if (offers(p + 2, n - 2, "http/1.1"))
		return SSL_CLIENT_HELLO_RETRY;
	(void)SSL_set_app_data(ssl, &chose_h2);
	return SSL_CLIENT_HELLO_SUCCESS;
}

void tls_choose(struct stream *s, bool h2)
{
	(void)SSL_set_app_data(s->tls, h2 ? &chose_h2 : &chose_http1);
}

bool tls_is_h2(const struct stream *s)
{
	const unsigned char *p;
	unsigned int n;

	SSL_get0_alpn_selected(s->tls, &p, &n);
	return n == 2 && memcmp(p, "h2", 2) == 0;
}

int tls_offer_h2(struct stream *s)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1";

	return SSL_set_alpn_protos(s->tls, both, sizeof(both) - 1) == 0 ? 0 : -EINVAL;
}

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
		       const unsigned char *in, unsigned int in_len, void *arg)
{
	static const unsigned char h2[] = "\x02h2", http1[] = "\x08http/1.1";
	bool is_h2 = SSL_get_app_data(ssl) == &chose_h2;

	if (SSL_select_next_proto((unsigned char **)out, out_len, is_h2 ? h2 : http1,
				  is_h2 ? sizeof(h2) - 1 : sizeof(http1) - 1, in,
				  in_len) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *new_ctx(const SSL_METHOD *m)
{
	SSL_CTX *ctx = SSL_CTX_new(m);

	if (!ctx)
		return NULL;
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	(void)SSL_CTX_set_mode(ctx,
			       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	return ctx;
}

SSL_CTX *tls_server_context(struct tls *t)
{
	if (t->server)
		return t->server;
	t->server = new_ctx(TLS_server_method());
	if (!t->server)
		return NULL;
	SSL_CTX_set_alpn_select_cb(t->server, choose_alpn, NULL);
	SSL_CTX_set_client_hello_cb(t->server, on_hello, NULL);
	/* Leaves live as long as the sandbox at most; resuming would save little. */
	(void)SSL_CTX_set_session_cache_mode(t->server, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_options(t->server, SSL_OP_NO_TICKET);
	(void)SSL_CTX_set_num_tickets(t->server, 0);
	return t->server;
}

static bool is_hashed(const char *dir)
{
	DIR *d = opendir(dir);
	bool found = false;

	for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d)) {
		size_t n = strlen(e->d_name);

		found = n == 10 && streq(e->d_name + 8, ".0");
	}
	if (d)
		(void)closedir(d);
	return found;
}

/* `all`: now or never; the directory is read lazily and would stay empty. */
static bool load_trust(SSL_CTX *ctx, const struct gw_config *c, bool all)
{
	const char *dir = c->ca_dir ? c->ca_dir : c->ca_file ? NULL : X509_get_default_cert_dir();
	const char *file = c->ca_file  ? c->ca_file
			   : c->ca_dir ? NULL
				       : X509_get_default_cert_file();
	bool found = false;

	if (dir && !all && is_hashed(dir))
		found = SSL_CTX_load_verify_dir(ctx, dir) == 1;
	if (file && (!found || c->ca_file))
		found |= SSL_CTX_load_verify_file(ctx, file) == 1;
	ERR_clear_error();
	return found;
}

/* Keeps the newest session of each host. */
static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const char *host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct session *slot = NULL;

	if (!host)
		return 0;
	for (size_t i = 0; i < SESSIONS_MAX && !slot; i++)
		if (t->sessions[i].host && t->sessions[i].ctx == SSL_get_SSL_CTX(ssl) &&
		    streq(t->sessions[i].host, host))
			slot = &t->sessions[i];
	if (!slot)
		slot = &t->sessions[t->next_session++ % SESSIONS_MAX];
	SSL_SESSION_free(slot->session);
	free(slot->host);
	*slot = (struct session){SSL_get_SSL_CTX(ssl), xstrdup(host), session};
	return 1;
}

SSL_SESSION *tls_session(const struct tls *t, const SSL_CTX *ctx, const char *host)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (t->sessions[i].host && t->sessions[i].ctx == ctx &&
		    streq(t->sessions[i].host, host))
			return t->sessions[i].session;
	return NULL;
}

/* For servers; trust is what the caller loads into it. */
static SSL_CTX *new_client_ctx(struct tls *t)
{
	static const unsigned char http1[] = "\x08http/1.1";
	SSL_CTX *ctx = new_ctx(TLS_client_method());

	if (!ctx)
		return NULL;
	if (SSL_CTX_set_alpn_protos(ctx, http1, sizeof(http1) - 1) != 0) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_app_data(ctx, t);
	(void)SSL_CTX_set_session_cache_mode(ctx,
					     SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, on_new_session);
	return ctx;
}

static SSL_CTX *client_ctx(struct gw *gw, struct tls *t, bool all)
{
	SSL_CTX *ctx = t->client;

	if (ctx)
		return ctx;
	ctx = new_client_ctx(t);
	if (ctx && !load_trust(ctx, gw->config, all)) {
		SSL_CTX_free(ctx);
		ctx = NULL;
	}
	t->client = ctx;
	return ctx;
}

/* The context for a route, which never falls back to the trust of others. */
SSL_CTX *tls_route_context(struct gw *gw, struct tls *t, const struct gw_route *route)
{
	if (!route || !route->ca_file)
		return client_ctx(gw, t, false);
	return t->routes[route - gw->config->routes];
}

int tls_load_routes(struct gw *gw, struct err *err)
{
	for (size_t i = 0; i < gw->config->n_routes; i++) {
		const char *file = gw->config->routes[i].ca_file;
		struct tls *t = file ? tls_get(gw) : NULL;
		SSL_CTX *ctx;

		if (!file)
			continue;
		ctx = t ? new_client_ctx(t) : NULL;
		if (!ctx)
			return err_set(err, EIO, "OpenSSL cannot be set up");
		if (SSL_CTX_load_verify_file(ctx, file) == 1) {
			t->routes[i] = ctx;
			continue;
		}
		SSL_CTX_free(ctx);
		ERR_clear_error();
	}
	return 0;
}

int tls_preload(struct gw *gw, struct err *err)
{
	struct tls *t = tls_get(gw);

	if (!t || !tls_server_context(t))
		return err_set(err, EIO, "OpenSSL cannot be set up");
	return client_ctx(gw, t, true) ? 0
				       : err_set(err, EIO, "no trusted certificates can be read");
}
