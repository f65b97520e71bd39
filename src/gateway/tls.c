#include "gateway/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "gateway/tls-own.h"

struct tls *tls_get(struct gw *gw)
{
	struct tls *t = gw->tls;

	if (t)
		return t;
	if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
		return NULL;
	t = xcalloc(1, sizeof(*t));
	t->bio = tls_bio_new();
	gw->tls = t;
	return t->bio ? t : NULL;
}

static void leaf_done(struct leaf *l)
{
	free(l->host);
	X509_free(l->cert);
	EVP_PKEY_free(l->key);
	*l = (struct leaf){0};
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
	struct tls *t = tls_get(gw);
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

int tls_server(struct gw *gw, struct stream *s, const struct leaf *leaf, struct buf *ahead)
{
	struct tls *t = tls_get(gw);
	int r = t ? tls_put_over(gw, s, tls_server_context(t), ahead) : -ENOMEM;

	if (r < 0)
		return r;
	if (SSL_use_certificate(s->tls, leaf->cert) != 1 ||
	    SSL_use_PrivateKey(s->tls, leaf->key) != 1)
		return -EINVAL;
	SSL_set_accept_state(s->tls);
	return 0;
}

int tls_client(struct gw *gw, struct stream *s, const char *host, bool literal,
	       const struct gw_route *route)
{
	struct tls *t = tls_get(gw);
	SSL_CTX *ctx = t ? tls_route_context(gw, t, route) : NULL;
	int r = ctx ? tls_put_over(gw, s, ctx, NULL) : -ENOMEM;
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
		old = tls_session(t, ctx, host);
		if (old)
			(void)SSL_set_session(s->tls, old);
	}
	SSL_set_connect_state(s->tls);
	return 0;
}
