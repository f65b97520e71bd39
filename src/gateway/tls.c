#include "gateway/tls.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SESSIONS_MAX 32		     /* of servers, for resumption */
#define READ_AHEAD (16 * 1024 + 512) /* one whole record with its head */

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

struct tls {
	SSL_CTX *client, *server;
	SSL_CTX *routes[GW_ROUTES_MAX]; /* of those with trust of their own */
	BIO_METHOD *bio;
	struct leaf leaves[LEAVES_MAX];
	size_t n_leaves;
	struct session sessions[SESSIONS_MAX];
	size_t next_session;
	uint64_t clock;
};

/*
 * The socket below TLS. OpenSSL asks for a record's head and then for the rest; one recv() brings
 * both, and what was read before TLS began comes first. A short read has emptied the socket: no
 * second call is made until an event says that there is more. send() and not write(): no SIGPIPE.
 */
struct below {
	int fd;
	struct buf ahead;
	size_t at;
	bool dry;
};

static int take_ahead(struct below *w, char *p, size_t n)
{
	size_t left = w->ahead.len - w->at;

	n = left < n ? left : n;
	memcpy(p, w->ahead.data + w->at, n);
	w->at += n;
	if (w->at == w->ahead.len) {
		buf_done(&w->ahead);
		w->at = 0;
	}
	return (int)n;
}

static int below_read(BIO *b, char *p, int n)
{
	struct below *w = BIO_get_data(b);
	ssize_t r = -1;

	BIO_clear_retry_flags(b);
	if (w->ahead.len)
		return take_ahead(w, p, (size_t)n);
	if (!w->dry) {
		w->ahead.max = READ_AHEAD;
		(void)buf_reserve(&w->ahead, READ_AHEAD);
		r = recv(w->fd, w->ahead.data, READ_AHEAD, 0);
		w->dry = r < 0 ? errno == EAGAIN : r < READ_AHEAD && r > 0;
		if (r > 0) {
			w->ahead.len = (size_t)r;
			return take_ahead(w, p, (size_t)n);
		}
		buf_done(&w->ahead);
		if (r == 0 || (errno != EAGAIN && errno != EINTR))
			return (int)r;
	}
	BIO_set_retry_read(b);
	return -1;
}

static int below_write(BIO *b, const char *p, int n)
{
	struct below *w = BIO_get_data(b);
	ssize_t r = send(w->fd, p, (size_t)n, MSG_NOSIGNAL);

	BIO_clear_retry_flags(b);
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(b);
	return (int)r;
}

static long below_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

static int below_destroy(BIO *b)
{
	struct below *w = BIO_get_data(b);

	if (w)
		buf_done(&w->ahead);
	free(w);
	BIO_set_data(b, NULL);
	return 1;
}

static ssize_t result(struct stream *s, int r, bool writing)
{
	int e = SSL_get_error(s->tls, r);

	s->read_wants_out = s->write_wants_in = false;
	ERR_clear_error();
	switch (e) {
	case SSL_ERROR_WANT_READ:
		s->write_wants_in = writing;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		s->read_wants_out = !writing;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		/* An end without close_notify is no end of a message: who needs a length has one.
		 */
		return -ECONNRESET;
	}
}

static bool tls_holds(const struct stream *s)
{
	const struct below *w = s->below;

	return SSL_pending(s->tls) > 0 || w->ahead.len > 0;
}

/* What an event said of the socket, for the layer that reads it. */
static void note_event(struct stream *s)
{
	struct below *w = s->below;

	if (s->event)
		w->dry = false;
	s->event = false;
}

static ssize_t tls_read(struct stream *s, void *p, size_t n)
{
	int r;

	note_event(s);
	r = SSL_read(s->tls, p, n > INT32_MAX ? INT32_MAX : (int)n);
	s->read_wants_out = false;
	if (r <= 0)
		return result(s, r, false);
	/* All that came has been given out: what comes later brings another event. */
	if (((struct below *)s->below)->dry && !tls_holds(s))
		s->readable = false;
	return r;
}

static ssize_t tls_write(struct stream *s, const void *p, size_t n)
{
	ssize_t e;
	int r;

	note_event(s);
	r = SSL_write(s->tls, p, n > INT32_MAX ? INT32_MAX : (int)n);
	s->write_wants_in = false;
	if (r > 0)
		return r;
	e = result(s, r, true);
	return e == 0 ? -EPIPE : e;
}

static int tls_shutdown(struct stream *s)
{
	(void)SSL_shutdown(s->tls);
	ERR_clear_error();
	(void)shutdown(s->io.fd, SHUT_WR);
	return 0;
}

static void tls_done(struct stream *s)
{
	/* Frees the BIO and what was read ahead; the descriptor is the stream's. */
	if (SSL_is_init_finished(s->tls) && !s->eof)
		(void)SSL_shutdown(s->tls);
	SSL_free(s->tls);
	ERR_clear_error();
	s->tls = s->below = NULL;
}

static const struct stream_ops tls_ops = {tls_read, tls_write, tls_shutdown, tls_done, tls_holds};

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
		       const unsigned char *in, unsigned int in_len, void *arg)
{
	static const unsigned char http1[] = "\x08http/1.1";

	if (SSL_select_next_proto((unsigned char **)out, out_len, http1, sizeof(http1) - 1, in,
				  in_len) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static struct tls *get(struct gw *gw)
{
	struct tls *t = gw->tls;

	if (t)
		return t;
	if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
		return NULL;
	t = xcalloc(1, sizeof(*t));
	t->bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gateway socket");
	if (t->bio) {
		(void)BIO_meth_set_read(t->bio, below_read);
		(void)BIO_meth_set_write(t->bio, below_write);
		(void)BIO_meth_set_ctrl(t->bio, below_ctrl);
		(void)BIO_meth_set_destroy(t->bio, below_destroy);
	}
	gw->tls = t;
	return t->bio ? t : NULL;
}

static SSL_CTX *new_ctx(const SSL_METHOD *m)
{
	SSL_CTX *ctx = SSL_CTX_new(m);

	if (!ctx)
		return NULL;
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
					    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					    SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	return ctx;
}

static SSL_CTX *server_ctx(struct tls *t)
{
	if (t->server)
		return t->server;
	t->server = new_ctx(TLS_server_method());
	if (!t->server)
		return NULL;
	SSL_CTX_set_alpn_select_cb(t->server, choose_alpn, NULL);
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
static SSL_CTX *route_ctx(struct gw *gw, struct tls *t, const struct gw_route *route)
{
	if (!route || !route->ca_file)
		return client_ctx(gw, t, false);
	return t->routes[route - gw->config->routes];
}

int tls_load_routes(struct gw *gw, struct err *err)
{
	for (size_t i = 0; i < gw->config->n_routes; i++) {
		const char *file = gw->config->routes[i].ca_file;
		struct tls *t = file ? get(gw) : NULL;
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
	struct tls *t = get(gw);

	if (!t || !server_ctx(t))
		return err_set(err, EIO, "OpenSSL cannot be set up");
	return client_ctx(gw, t, true) ? 0
				       : err_set(err, EIO, "no trusted certificates can be read");
}

static void leaf_done(struct leaf *l)
{
	free(l->host);
	X509_free(l->cert);
	EVP_PKEY_free(l->key);
	*l = (struct leaf){0};
}

struct tls *tls_free(struct tls *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n_leaves; i++)
		leaf_done(&t->leaves[i]);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		free(t->sessions[i].host);
		SSL_SESSION_free(t->sessions[i].session);
	}
	SSL_CTX_free(t->client);
	for (size_t i = 0; i < GW_ROUTES_MAX; i++)
		SSL_CTX_free(t->routes[i]);
	SSL_CTX_free(t->server);
	BIO_meth_free(t->bio);
	free(t);
	return NULL;
}

const struct leaf *tls_leaf_find(struct gw *gw, const char *host)
{
	struct tls *t = gw->tls;

	for (size_t i = 0; t && i < t->n_leaves; i++) {
		struct leaf *l = &t->leaves[i];

		if (!streq(l->host, host))
			continue;
		/* Short-lived on purpose: ask for a new one a minute before the end. */
		if (X509_cmp_time(X509_get0_notAfter(l->cert), &(time_t){time(NULL) + 60}) <= 0)
			return NULL;
		l->used = ++t->clock;
		return l;
	}
	return NULL;
}

static struct leaf *leaf_slot(struct tls *t, const char *host)
{
	struct leaf *oldest = &t->leaves[0];

	for (size_t i = 0; i < t->n_leaves; i++)
		if (streq(t->leaves[i].host, host))
			return &t->leaves[i];
	if (t->n_leaves < LEAVES_MAX)
		return &t->leaves[t->n_leaves++];
	for (size_t i = 1; i < LEAVES_MAX; i++)
		if (t->leaves[i].used < oldest->used)
			oldest = &t->leaves[i];
	return oldest;
}

const struct leaf *tls_leaf_add(struct gw *gw, const char *host, const struct wire_msg *m)
{
	struct tls *t = get(gw);
	struct wire_reader r;
	size_t cert_n, key_n;
	const char *cert, *key;
	struct leaf l = {0};
	BIO *b;

	wire_read(&r, m);
	cert = wire_get_bytes(&r, &cert_n);
	key = wire_get_bytes(&r, &key_n);
	if (!t || wire_read_end(&r) < 0 || cert_n == 0 || key_n == 0)
		return NULL;
	b = BIO_new_mem_buf(cert, (int)cert_n);
	l.cert = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
	BIO_free(b);
	b = BIO_new_mem_buf(key, (int)key_n);
	l.key = b ? PEM_read_bio_PrivateKey(b, NULL, NULL, NULL) : NULL;
	BIO_free(b);
	if (l.cert && l.key && X509_check_private_key(l.cert, l.key) == 1) {
		struct leaf *slot = leaf_slot(t, host);

		leaf_done(slot);
		l.host = xstrdup(host);
		l.used = ++t->clock;
		*slot = l;
		return slot;
	}
	leaf_done(&l);
	ERR_clear_error();
	return NULL;
}

static int put_over(struct tls *t, struct stream *s, SSL_CTX *ctx, struct buf *ahead)
{
	SSL *ssl = ctx ? SSL_new(ctx) : NULL;
	BIO *b = ssl ? BIO_new(t->bio) : NULL;
	struct below *w;

	if (!b) {
		SSL_free(ssl);
		return -ENOMEM;
	}
	w = xcalloc(1, sizeof(*w));
	w->fd = s->io.fd;
	buf_init(&w->ahead, 0);
	if (ahead) {
		w->ahead = *ahead;
		ahead->data = NULL;
		ahead->len = ahead->cap = 0;
	}
	BIO_set_data(b, w);
	BIO_set_init(b, 1);
	SSL_set_bio(ssl, b, b);
	s->tls = ssl;
	s->below = w;
	s->event = true;
	s->ops = &tls_ops;
	return 0;
}

int tls_server(struct gw *gw, struct stream *s, const struct leaf *leaf, struct buf *ahead)
{
	struct tls *t = get(gw);
	int r = t ? put_over(t, s, server_ctx(t), ahead) : -ENOMEM;

	if (r < 0)
		return r;
	if (SSL_use_certificate(s->tls, leaf->cert) != 1 ||
	    SSL_use_PrivateKey(s->tls, leaf->key) != 1)
		return -EINVAL;
	SSL_set_accept_state(s->tls);
	return 0;
}

static SSL_SESSION *session_of(struct tls *t, const SSL_CTX *ctx, const char *host)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (t->sessions[i].host && t->sessions[i].ctx == ctx &&
		    streq(t->sessions[i].host, host))
			return t->sessions[i].session;
	return NULL;
}

int tls_client(struct gw *gw, struct stream *s, const char *host, bool literal,
	       const struct gw_route *route)
{
	struct tls *t = get(gw);
	SSL_CTX *ctx = t ? route_ctx(gw, t, route) : NULL;
	int r = ctx ? put_over(t, s, ctx, NULL) : -ENOMEM;
	SSL_SESSION *old;

	if (r < 0)
		return r;
	if (literal) {
		if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->tls), host) != 1)
			return -EINVAL;
	} else {
		SSL_set_hostflags(s->tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
		if (SSL_set1_host(s->tls, host) != 1 || SSL_set_tlsext_host_name(s->tls, host) != 1)
			return -EINVAL;
		old = session_of(t, ctx, host);
		if (old)
			(void)SSL_set_session(s->tls, old);
	}
	SSL_set_connect_state(s->tls);
	return 0;
}

int tls_handshake(struct stream *s)
{
	int r, e;

	note_event(s);
	r = SSL_do_handshake(s->tls);
	if (r == 1)
		return 0;
	e = SSL_get_error(s->tls, r);
	s->read_wants_out = s->write_wants_in = false;
	if (e == SSL_ERROR_WANT_READ)
		return -EAGAIN;
	if (e == SSL_ERROR_WANT_WRITE) {
		s->read_wants_out = true;
		return -EAGAIN;
	}
	return -EPROTO;
}

const char *tls_failure(struct stream *s)
{
	static char text[160];
	long v = SSL_get_verify_result(s->tls);

	if (v != X509_V_OK)
		(void)snprintf(text, sizeof(text), "the server's certificate is not trusted: %s",
			       X509_verify_cert_error_string(v));
	else
		(void)snprintf(text, sizeof(text), "the TLS handshake with the server failed");
	ERR_clear_error();
	return text;
}
