/* The sandbox's authority in the forms that browsers take: they read no bundle. */
#include "supervisor/supervisor.h"

#include <string.h>

#include "base/path.h"
#include "netrules/spec-net.h"

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----\n"
#define PEM_END "-----END CERTIFICATE-----"

static int write_file(struct supervisor *s, const char *name, const char *p, size_t n,
		      struct err *err)
{
	int r = path_write_atomic(s->entry.dir, name, p, n, 0644, 0);

	return r < 0 ? err_sys(err, -r, "cannot write '%s'", name) : 0;
}

/* Between its first and its last line a PEM text is base64, which is the form of this policy. */
static int write_policy(struct supervisor *s, const char *pem, size_t n, struct err *err)
{
	const char *end = memmem(pem, n, PEM_END, strlen(PEM_END));
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (!end)
		return err_set(err, EPROTO, "the certificate authority answers nonsense");
	(void)buf_printf(&b, "{\"CACertificates\":[\"");
	for (const char *p = pem + strlen(PEM_BEGIN); p < end; p++)
		if (*p != '\n')
			(void)buf_putc(&b, *p);
	(void)buf_printf(&b, "\"]}\n");
	return write_file(s, NET_CA_POLICY_FILE, b.data, b.len, err);
}

int ca_browser_write(struct supervisor *s, const char *bundle, size_t n, struct err *err)
{
	const char *end = bundle + n, *p = bundle, *own = end;
	int r;

	/* The sandbox's own certificate stands behind those of the host. */
	while ((p = memmem(p, (size_t)(end - p), PEM_BEGIN, strlen(PEM_BEGIN))) != NULL)
		own = p++;
	r = write_policy(s, own, (size_t)(end - own), err);
	return r < 0 ? r : write_file(s, NET_CA_OWN_FILE, own, (size_t)(end - own), err);
}
