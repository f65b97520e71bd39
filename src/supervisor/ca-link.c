#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "netrules/spec-net.h"

#define ANSWER_S 10		/* for the helper to make its certificate */
#define BUNDLE_MAX (1536 * KiB) /* of the host's certificates */

/*
 * The places of the host's CA bundle when SSL_CERT_FILE does not name one; the gateway uses the
 * same.
 */
static const char *const system_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem",
};

static int ask_certificates(struct supervisor *s, const struct buf *host, struct wire_msg *m,
			    struct err *err)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_str(&b, s->spec->name);
	wire_put_bytes(&b, host->data, host->len);
	(void)setsockopt(s->ca.sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = wire_send(s->ca.sock, (enum wire_type)CA_MAKE, 0, &b, NULL, 0);
	if (r == 0)
		r = wire_recv(s->ca.sock, m);
	if (r <= 0 || (unsigned)m->type != CA_IS)
		return err_set(err, EIO, "the certificate authority does not answer");
	return 0;
}

static void read_host_bundle(struct buf *bundle)
{
	const char *own = getenv("SSL_CERT_FILE");
	int r = own && *own ? path_read(AT_FDCWD, own, bundle) : -ENOENT;

	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(system_bundles); i++)
		r = path_read(AT_FDCWD, system_bundles[i], bundle);
	if (bundle->len && bundle->data[bundle->len - 1] != '\n')
		(void)buf_putc(bundle, '\n');
}

/* Writes what the sandbox trusts, for programs and for Java: the host's certificates and that of the
 * sandbox's own authority. */
static int write_bundle(struct supervisor *s, struct err *err)
{
	const char *pem, *keystore;
	size_t pem_len, keystore_len;
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf host;
	struct wire_reader rd;
	int r;

	wire_msg_init(&m);
	buf_init(&host, BUNDLE_MAX);
	read_host_bundle(&host);
	r = ask_certificates(s, &host, &m, err);
	if (r < 0)
		return r;
	wire_read(&rd, &m);
	pem = wire_get_bytes(&rd, &pem_len);
	keystore = wire_get_bytes(&rd, &keystore_len);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "the certificate authority answers nonsense");
	r = path_write_atomic(s->entry.dir, NET_CA_BUNDLE_FILE, pem, pem_len, 0644, 0);
	if (r == 0)
		r = path_write_atomic(s->entry.dir, NET_CA_JAVA_FILE, keystore, keystore_len, 0644,
				      0);
	if (r < 0)
		return err_sys(err, -r, "cannot write the CA bundle");
	return ca_browser_write(s, pem, pem_len, err);
}

static void on_answer(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, ca.io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r > 0 && (unsigned)m.type == GW_LEAF_IS) {
		gateway_link_leaf(s, &m);
		explicit_bzero(m.body.data, m.body.len);
	} else if (r <= 0) {
		ca_link_stop(s);
	}
}

int ca_link_start(struct supervisor *s, struct err *err)
{
	int r;

	if (!net_policy_inspects(&s->spec->net))
		return 0;
	r = sup_spawn(s, "ca", &s->ca.child, &s->ca.sock, err);
	if (r == 0)
		r = write_bundle(s, err);
	if (r < 0)
		return r;
	s->ca.io = (struct ev_io){.fd = s->ca.sock, .fn = on_answer};
	return ev_want(s->ev, &s->ca.io, EPOLLIN);
}

/* Passes the gateway's question on; the body is the same, and so is the id of the answer. */
void ca_link_ask(struct supervisor *s, struct wire_msg *m)
{
	cleanup_buf struct buf none;

	buf_init(&none, WIRE_BODY_MAX);
	if (s->ca.sock >= 0 &&
	    wire_send(s->ca.sock, (enum wire_type)CA_LEAF, m->id, &m->body, NULL, 0) == 0)
		return;
	wire_put_bytes(&none, "", 0);
	wire_put_bytes(&none, "", 0);
	(void)wire_send(s->gateway.gateway.sock, (enum wire_type)GW_LEAF_IS, m->id, &none, NULL, 0);
}

void ca_link_stop(struct supervisor *s)
{
	if (s->ca.io.fd > 0 && s->ev)
		(void)ev_want(s->ev, &s->ca.io, 0);
	closep(&s->ca.sock);
	child_done(&s->ca.child);
}
