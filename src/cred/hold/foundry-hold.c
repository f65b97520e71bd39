#include "cred/hold/holders.h"

/* A key of the user's environment: it does not change under us. */
static int load(struct cred *c, bool again, struct err *err)
{
	cleanup_secret char *key = NULL;
	int r = c->value ? 0 : cred_source_read(c, &key, err);

	if (r == 0 && key)
		cred_set_value(c, key);
	return r;
}

static int header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		  struct err *err)
{
	cred_header_set(ret, "x-api-key", NULL, c->value);
	ret->keep_ms = CRED_KEEP_MS;
	return 0;
}

const struct cred_holder cred_foundry_holder = {
	.load = load,
	.header = header,
};
