#include "cred/cred.h"
#include <string.h>

void cred_ref_init(struct cred_ref *r)
{
	*r = (struct cred_ref){0};
	strv_init(&r->options);
}

void cred_ref_done(struct cred_ref *r)
{
	free(r->name);
	free(r->source);
	free(r->origin);
	free(r->warning);
	strv_done(&r->options);
	*r = (struct cred_ref){0};
}

static enum cred_probe probe_row(const struct cred_host *h, const struct cred_provider *p,
				 struct cred_ref *ret, struct err *err)
{
	struct cred_ref ref;
	enum cred_probe found;

	cred_ref_init(&ref);
	found = p->probe(h, &ref, err);
	if (found != CRED_FOUND) {
		cred_ref_done(&ref);
		return found;
	}
	ref.provider = p;
	if (!ref.name)
		ref.name = xstrdup(p->service);
	if (!ref.origin && p->origin)
		ref.origin = xstrdup(p->origin);
	cred_ref_done(ret);
	*ret = ref;
	return CRED_FOUND;
}

enum cred_probe cred_probe(const struct cred_host *h, const char *service, struct cred_ref *ret,
			   struct err *err)
{
	for (size_t i = 0; i < cred_provider_count(); i++) {
		const struct cred_provider *p = cred_provider_at(i);
		enum cred_probe found;

		if (!streq(p->service, service))
			continue;
		found = probe_row(h, p, ret, err);
		if (found != CRED_MISSING)
			return found;
	}
	return CRED_MISSING;
}
