/* libexec/ralph/ca: one certificate authority, asked over descriptor 3 by the supervisor alone. */
#include "ca/ca.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "wire/gateway-proto.h"

#define SUPERVISOR_FD 3
#define PEM_MAX (16 * KiB)

static int on_make(struct ca **ca, const struct wire_msg *m, struct err *err)
{
	cleanup_buf struct buf pem, body;
	struct wire_reader r;
	const char *name;

	buf_init(&pem, PEM_MAX);
	buf_init(&body, WIRE_INLINE_MAX);
	wire_read(&r, m);
	name = wire_get_str(&r);
	if (wire_read_end(&r) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	if (!*ca)
		*ca = ca_new(name, err);
	if (!*ca || ca_certificate(*ca, &pem, err) < 0)
		return -EIO;
	wire_put_bytes(&body, pem.data, pem.len);
	return wire_send(SUPERVISOR_FD, (enum wire_type)CA_IS, m->id, &body, NULL, 0);
}

/* An empty answer where there is no certificate: the one who asked is waiting. */
static int on_leaf(const struct ca *ca, const struct wire_msg *m, struct err *err)
{
	cleanup_buf struct buf cert, key, body;
	struct wire_reader r;
	const char *host;
	int sent;

	buf_init(&cert, PEM_MAX);
	buf_init(&key, PEM_MAX);
	buf_init(&body, WIRE_INLINE_MAX);
	wire_read(&r, m);
	host = wire_get_str(&r);
	if (wire_read_end(&r) < 0 || !ca || ca_leaf(ca, host, &cert, &key, err) < 0) {
		buf_clear(&cert);
		buf_clear(&key);
	}
	wire_put_bytes(&body, cert.data, cert.len);
	wire_put_bytes(&body, key.data, key.len);
	sent = wire_send(SUPERVISOR_FD, (enum wire_type)GW_LEAF_IS, m->id, &body, NULL, 0);
	if (key.len)
		explicit_bzero(key.data, key.len);
	if (body.len)
		explicit_bzero(body.data, body.len);
	return sent;
}

static int serve(struct ca **ca, struct err *err)
{
	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(SUPERVISOR_FD, &m);
		if (r <= 0)
			return r;
		if ((int)m.type == CA_MAKE)
			r = on_make(ca, &m, err);
		else if ((int)m.type == CA_LEAF)
			r = on_leaf(*ca, &m, err);
		else
			r = err_set(err, EPROTO, "frame %d is unknown", (int)m.type);
		if (r < 0)
			return r;
	}
}

int main(void)
{
	struct rlimit none = {0, 0};
	struct err err = {.msg = "the supervisor's frames end badly"};
	struct ca *ca = NULL;
	int r;

	/* A key in memory must not become a file, nor be read by another process of this user. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0) {
		(void)fprintf(stderr, "ralph: ca: cannot protect itself\n");
		return EXIT_RUNTIME;
	}
	r = serve(&ca, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: ca: %s\n", err.msg);
	(void)ca_free(ca);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
