#pragma once

#include "config/config.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"

/* How a credential of home's is used for a task at a placement. */
enum cred_place {
	CRED_PLACE_RELAYED, /* the node's gateway gets the header of each request, for that request */
	CRED_PLACE_HOME, /* requests go to home's gateway, which adds the key there: `dial: home` */
	CRED_PLACE_REFUSED, /* a key that never expires, which a rule names: it does not leave home */
	CRED_PLACE_NO_WAY, /* it has another way than a phantom, which there is for this machine only */
};

enum cred_place cred_place(const struct spec_credential *c, const struct config_place *place);
/* For people, a whole clause: "is used at home …". */
const char *cred_place_text(enum cred_place p);

/*
 * What a gateway is told: of credentials, and of this machine's environment (proxies, whom to trust). phantoms has one
 * for each credential of the spec, or NULL: that one has no route.
 */
int cred_phantom_make(const struct spec_credential *c, char **ret, struct err *err);
void cred_routes(const struct sandbox_spec *s, char *const *phantoms, struct gw_config *c);
/* The edge judges where a route may lead, and nothing else of it. */
void cred_routes_strip(struct gw_config *c);
void gateway_environ(struct gw_config *c);
