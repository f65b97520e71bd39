/* libexec/ralph/ca: one certificate authority, asked over descriptor 3 by the supervisor alone. */
#include "ca/ca.h"
#include "ca/keystore.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "wire/gateway-proto.h"
#include "wire/helper.h"

#define PEM_MAX (16 * KiB)

static int on_make(void *arg, struct wire_msg *m, struct err *err)
{
	struct ca **ca = arg;
	cleanup_buf struct buf own, all, keystore, body;
	struct wire_reader r;
	const char *name, *host;
	size_t len;

	buf_init(&own, PEM_MAX);
	buf_init(&all, WIRE_BODY_MAX / 2);
	buf_init(&keystore, WIRE_BODY_MAX / 2);
	buf_init(&body, WIRE_BODY_MAX);
	wire_read(&r, m);
	name = wire_get_str(&r);
	host = wire_get_bytes(&r, &len);
	if (wire_read_end(&r) < 0)
		return err_set(err, EPROTO, "a malformed frame came");
	if (!*ca)
		*ca = ca_new(name, err);
	if (!*ca || ca_certificate(*ca, &own, err) < 0)
		return -EIO;
	(void)buf_append(&all, host, len);
	(void)buf_append(&all, own.data, own.len);
	if (all.full || keystore_of(buf_str(&all), &keystore) < 0)
		return err_set(err, E2BIG, "the host has too many certificates");
	wire_put_bytes(&body, all.data, all.len);
	wire_put_bytes(&body, keystore.data, keystore.len);
	return wire_send(HELPER_FD, (enum wire_type)CA_IS, m->id, &body, NULL, 0);
}

/* An empty answer where there is no certificate: the one who asked is waiting. */
static int on_leaf(void *arg, struct wire_msg *m, struct err *err)
{
	const struct ca *ca = *(struct ca **)arg;
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
	sent = wire_send(HELPER_FD, (enum wire_type)GW_LEAF_IS, m->id, &body, NULL, 0);
	if (key.len)
		explicit_bzero(key.data, key.len);
	if (body.len)
		explicit_bzero(body.data, body.len);
	return sent;
}

int main(void)
{
	static const struct helper_frame frames[] = {{CA_MAKE, on_make}, {CA_LEAF, on_leaf}};
	struct err err = {0};
	struct ca *ca = NULL;
	int code;

	if (helper_protect(&err) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		(void)fprintf(stderr, "ralph: ca: cannot protect itself\n");
		return EXIT_RUNTIME;
	}
	code = helper_serve("ca", frames, ARRAY_SIZE(frames), &ca);
	(void)ca_free(ca);
	return code;
}
