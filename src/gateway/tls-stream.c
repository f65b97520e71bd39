#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/tls-own.h"

/*
 * The socket below TLS. OpenSSL asks for a record's head and then for the rest; one recv() brings
 * both, and what was read before TLS began comes first. It goes into a buffer that all streams
 * share; what a call leaves of it is kept with its stream. A short read has emptied the socket: no
 * second call is made until an event says that there is more. send() and not write(): no SIGPIPE.
 */
struct below {
	int fd;
	struct ahead *shared;
	struct buf kept;
	size_t at; /* in kept */
	bool dry;
};

static int take(char *p, size_t n, const char *from, size_t *at, size_t len)
{
	n = len - *at < n ? len - *at : n;
	memcpy(p, from + *at, n);
	*at += n;
	return (int)n;
}

static int take_kept(struct below *w, char *p, size_t n)
{
	int r = take(p, n, w->kept.data, &w->at, w->kept.len);

	if (w->at == w->kept.len) {
		buf_done(&w->kept);
		w->at = 0;
	}
	return r;
}

static int take_shared(struct below *w, char *p, size_t n)
{
	struct ahead *a = w->shared;
	int r = take(p, n, a->data, &a->at, a->len);

	if (a->at == a->len)
		a->of = NULL;
	return r;
}

/* The call is over: the next one may be another stream's. */
static void keep(struct below *w)
{
	struct ahead *a = w->shared;

	if (a->of != w)
		return;
	w->kept.max = READ_AHEAD;
	(void)buf_append(&w->kept, a->data + a->at, a->len - a->at);
	a->of = NULL;
}

static int below_read(BIO *b, char *p, int n)
{
	struct below *w = BIO_get_data(b);
	ssize_t r;

	BIO_clear_retry_flags(b);
	if (w->kept.len)
		return take_kept(w, p, (size_t)n);
	if (w->shared->of == w)
		return take_shared(w, p, (size_t)n);
	if (!w->dry) {
		r = recv(w->fd, w->shared->data, READ_AHEAD, 0);
		w->dry = r < 0 ? errno == EAGAIN : r < READ_AHEAD && r > 0;
		if (r > 0) {
			w->shared->of = w;
			w->shared->at = 0;
			w->shared->len = (size_t)r;
			return take_shared(w, p, (size_t)n);
		}
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
		buf_done(&w->kept);
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

	return SSL_pending(s->tls) > 0 || w->kept.len > 0;
}

/* Passes on to the layer below that an event came for the socket. */
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
	keep(s->below);
	s->read_wants_out = false;
	if (r <= 0)
		return result(s, r, false);
	/* All that came has been given out: what comes later brings another event. OpenSSL keeps its
	 * buffer when a ticket came before the data, whatever its mode says. */
	if (((struct below *)s->below)->dry && !tls_holds(s)) {
		s->readable = false;
		if (SSL_get_mode(s->tls) & SSL_MODE_RELEASE_BUFFERS)
			(void)SSL_free_buffers(s->tls);
	}
	return r;
}

static ssize_t tls_write(struct stream *s, const void *p, size_t n)
{
	ssize_t e;
	int r;

	note_event(s);
	r = SSL_write(s->tls, p, n > INT32_MAX ? INT32_MAX : (int)n);
	keep(s->below);
	s->write_wants_in = false;
	if (r > 0)
		return r;
	e = result(s, r, true);
	return e == 0 ? -EPIPE : e;
}

static int tls_shutdown(struct stream *s)
{
	(void)SSL_shutdown(s->tls);
	keep(s->below);
	ERR_clear_error();
	(void)shutdown(s->io.fd, SHUT_WR);
	return 0;
}

static void tls_done(struct stream *s)
{
	/* Frees the BIO and what was read ahead; the descriptor is the stream's. */
	if (SSL_is_init_finished(s->tls) && !s->eof)
		(void)SSL_shutdown(s->tls);
	keep(s->below);
	SSL_free(s->tls);
	ERR_clear_error();
	s->tls = s->below = NULL;
}

static const struct stream_ops tls_ops = {tls_read, tls_write, tls_shutdown,
					  tls_done, tls_holds, NULL};

BIO_METHOD *tls_bio_new(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gateway socket");

	if (!m)
		return NULL;
	(void)BIO_meth_set_read(m, below_read);
	(void)BIO_meth_set_write(m, below_write);
	(void)BIO_meth_set_ctrl(m, below_ctrl);
	(void)BIO_meth_set_destroy(m, below_destroy);
	return m;
}

int tls_put_over(struct gw *gw, struct stream *s, SSL_CTX *ctx, struct buf *ahead)
{
	SSL *ssl = ctx ? SSL_new(ctx) : NULL;
	BIO *b = ssl ? BIO_new(gw->tls->bio) : NULL;
	struct below *w;

	if (!b) {
		SSL_free(ssl);
		return -ENOMEM;
	}
	w = xcalloc(1, sizeof(*w));
	w->fd = s->io.fd;
	w->shared = &gw->tls->ahead;
	buf_init(&w->kept, 0);
	if (ahead) {
		w->kept = *ahead;
		ahead->data = NULL;
		ahead->len = ahead->cap = 0;
	}
	if (gw->health.connections > CONNS_WITH_BUFFERS)
		(void)SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	BIO_set_data(b, w);
	BIO_set_init(b, 1);
	SSL_set_bio(ssl, b, b);
	s->tls = ssl;
	s->below = w;
	s->event = true;
	s->ops = &tls_ops;
	return 0;
}

int tls_handshake(struct stream *s)
{
	int r, e;

	note_event(s);
	r = SSL_do_handshake(s->tls);
	keep(s->below);
	if (r == 1)
		return 0;
	e = SSL_get_error(s->tls, r);
	s->read_wants_out = s->write_wants_in = false;
	if (e == SSL_ERROR_WANT_READ)
		return -EAGAIN;
	if (e == SSL_ERROR_WANT_CLIENT_HELLO_CB)
		return -EINPROGRESS;
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
