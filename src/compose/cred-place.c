#include "compose/cred-place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cred/cred.h"

#define PHANTOM_BYTES 32

/* ---- for a task at a placement ---- */

static bool begins(const char *s, const char *with)
{
	return s && strncmp(s, with, strlen(with)) == 0;
}

/*
 * Does an answer of its helper end by itself: a signature for one request, or a token of some hours? A value that
 * the user keeps in a variable or in ralph's store may be good for a year.
 */
static bool ends_by_itself(const struct spec_credential *c)
{
	const struct cred_provider *row = cred_provider_find(c->provider);

	return row && row->ends && !begins(c->source, "env:") && !begins(c->source, "store:");
}

enum cred_place cred_place(const struct spec_credential *c, const struct config_place *place)
{
	if (c->way != SPEC_WAY_PHANTOM)
		return CRED_PLACE_NO_WAY;
	if (ends_by_itself(c) || (place->dial && streq(place->dial, "relay")))
		return CRED_PLACE_RELAYED;
	return c->endpoint && c->origin ? CRED_PLACE_HOME : CRED_PLACE_REFUSED;
}

const char *cred_place_text(enum cred_place p)
{
	static const char *const texts[] = {
		[CRED_PLACE_RELAYED] = "is given to the node's gateway for one request each time",
		[CRED_PLACE_HOME] = "is used at home, and does not leave it",
		[CRED_PLACE_REFUSED] =
			"may never expire and is used by rules, so it does not leave "
			"home: requests with it are refused ('dial: relay' would "
			"relay it)",
		[CRED_PLACE_NO_WAY] = "has another way than a phantom, so nodes do not have it",
	};

	return texts[p];
}

/* ---- for a gateway ---- */

int cred_phantom_make(const struct spec_credential *c, char **ret, struct err *err)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char raw[PHANTOM_BYTES];
	char text[PHANTOM_BYTES + 1];
	const char *shape, *star;

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return err_sys(err, errno, "cannot get random bytes");
	/* 6 bits of each byte: 192 in all. */
	for (size_t i = 0; i < sizeof(raw); i++)
		text[i] = alphabet[raw[i] % 64];
	text[PHANTOM_BYTES] = '\0';
	shape = c->phantom ? c->phantom : "ralph-";
	star = strchr(shape, '*');
	*ret = star ? xasprintf("%.*s%s%s", (int)(star - shape), shape, text, star + 1)
		    : xasprintf("%s%s", shape, text);
	return 0;
}

void cred_routes(const struct sandbox_spec *s, char *const *phantoms, struct gw_config *c)
{
	for (size_t i = 0; i < s->n_credentials; i++) {
		const struct spec_credential *from = &s->credentials[i];
		struct gw_route *to;

		if (!phantoms[i])
			continue;
		/* Without an endpoint only rules use it; its phantom is told all the same. */
		to = from->endpoint && from->origin
			     ? gw_route_add(c, from->endpoint, from->origin, from->name)
			     : gw_route_add(c, "", from->origin ? from->origin : "", from->name);
		to->phantom = xstrdup(phantoms[i]);
		to->ca_file = from->ca_file ? xstrdup(from->ca_file) : NULL;
		to->private = from->private;
		strv_extend(&to->requests, &from->requests);
	}
}

void cred_routes_strip(struct gw_config *c)
{
	for (size_t i = 0; i < c->n_routes; i++) {
		struct gw_route *r = &c->routes[i];

		r->phantom = cred_secret_free(r->phantom);
		r->credential = cred_secret_free(r->credential);
		r->ca_file = cred_secret_free(r->ca_file);
	}
}

static char *env_copy(const char *upper, const char *lower)
{
	const char *v = getenv(upper);

	if (!v || !*v)
		v = getenv(lower);
	return v && *v ? xstrdup(v) : NULL;
}

void gateway_environ(struct gw_config *c)
{
	c->https_proxy = env_copy("HTTPS_PROXY", "https_proxy");
	c->http_proxy = env_copy("HTTP_PROXY", "http_proxy");
	c->no_proxy = env_copy("NO_PROXY", "no_proxy");
	c->ca_file = env_copy("SSL_CERT_FILE", "SSL_CERT_FILE");
	c->ca_dir = env_copy("SSL_CERT_DIR", "SSL_CERT_DIR");
}
