#include "compose/build.h"

#include <glob.h>
#include <string.h>

#include "base/path.h"
#include "base/proc.h"
#include "netrules/net-listeners.h"
#include "netrules/net-rules.h"
#include "netrules/spec-net.h"

static int add_list(struct sandbox_spec *s, const struct build_input *in, bool deny,
		    const struct strv *list, const char *source, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = net_rules_add(s, in->environ, deny, list->v[i], source, err);
	return r;
}

static int add_inspected(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	const struct config *c = in->config;

	for (size_t i = 0; i < c->network.n_rules; i++) {
		const struct net_rule *from = &c->network.rules[i];
		size_t first = s->net.n_rules;
		int r = net_rules_add(s, in->environ, false, from->pattern, "network.rules", err);

		if (r < 0)
			return r;
		/* A group is several rules: each of them inspects. */
		for (size_t k = first; k < s->net.n_rules; k++)
			net_rule_copy_inspection(&s->net.rules[k], from);
	}
	return 0;
}

/* For programs that ask for a proxy; those that do not reach the gateway by name all the same. */
static void set_proxy_env(struct sandbox_spec *s)
{
	static const char *const proxies[] = {PROXY_ENV, ALL_PROXY_ENV};
	static const char *const direct[] = {NO_PROXY_ENV};
	cleanup_free char *url = xasprintf("http://127.0.0.1:%d", NET_PROXY_PORT);

	for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
		spec_env_set(s, proxies[i], url, SPEC_SET, "ralph");
	for (size_t i = 0; i < ARRAY_SIZE(direct); i++)
		spec_env_set(s, direct[i], "localhost,127.0.0.1,::1", SPEC_SET, "ralph");
	spec_env_set(s, "NODE_USE_ENV_PROXY", "1", SPEC_SET, "ralph");
}

/* Where programs without a variable for it look, by distribution. The first can be made anywhere. */
static const char *const bundle_places[] = {
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
};
static const char *const java_places[] = {
	"/etc/ssl/certs/java/cacerts",
	"/etc/pki/java/cacerts",
};
#define JAVA_OWN "/usr/lib/jvm/*/lib/security/cacerts" /* of a Java that does not look there */

static void add_trust_at(struct sandbox_spec *s, const char *file, const char *target)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (streq(s->mounts[i].target, target))
			return;
	(void)spec_mount_add(s, SPEC_BIND_RO, file, target, "the same, where programs look for it");
}

/* In an image every place can be made. In the host's directories, which are read-only, a file can
 * only be covered: the one that a link leads to. */
static void add_trust_place(struct sandbox_spec *s, const char *file, const char *place)
{
	cleanup_free char *real = NULL;
	struct err ignored;

	if (s->container.image || streq(place, bundle_places[0]))
		add_trust_at(s, file, place);
	else if (path_real(place, &real, &ignored) == 0)
		add_trust_at(s, file, real);
}

static void add_trust_of_java(struct sandbox_spec *s, const char *file)
{
	glob_t g;

	for (size_t i = 0; i < ARRAY_SIZE(java_places); i++)
		add_trust_place(s, file, java_places[i]);
	if (s->container.image || glob(JAVA_OWN, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		add_trust_place(s, file, g.gl_pathv[i]);
	globfree(&g);
}

/* Hosts whose TLS is terminated show a certificate of the sandbox's own authority. */
static void add_trust(struct sandbox_spec *s, const struct places *p)
{
	static const char *const variables[] = {
		"SSL_CERT_FILE",     "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
		"CURL_CA_BUNDLE",    "GIT_SSL_CAINFO",	    "PIP_CERT",
		"CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",	    "DENO_CERT",
	};
	cleanup_free char *record = xasprintf("%s/sandboxes/%s", p->state, s->name);
	cleanup_free char *bundle = path_join(record, NET_CA_BUNDLE_FILE);
	cleanup_free char *java = path_join(record, NET_CA_JAVA_FILE);

	(void)spec_mount_add(s, SPEC_BIND_RO, bundle, NET_CA_BUNDLE,
			     "certificates to trust: the host's and the sandbox's own");
	for (size_t i = 0; i < ARRAY_SIZE(bundle_places); i++)
		add_trust_place(s, bundle, bundle_places[i]);
	add_trust_of_java(s, java);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		spec_env_set(s, variables[i], NET_CA_BUNDLE, SPEC_SET, "ralph");
}

int build_net(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	const struct config *c = in->config;
	const struct places *p = in->places;
	cleanup_(policy_freep) struct policy *policy = NULL;
	int r;

	s->net.tier = c->network.tier;
	r = add_list(s, in, true, &c->network.deny, "network.deny", err);
	if (r == 0 && !in->review)
		r = add_list(s, in, false, &c->network.allow, "network.allow", err);
	if (r == 0 && !in->review)
		r = add_inspected(s, in, err);
	if (r == 0)
		r = build_agent_net(s, in, err);
	if (r == 0 && !in->review)
		r = net_rules_add_files(s, p, in->environ, err);
	/* A rule that cannot be decided on is the user's to correct now, not the gateway's later.
	 */
	if (r == 0)
		r = policy_compile(&s->net, &policy, err);
	/* Without a guest the engine's own proxy is what programs are told of. */
	if (r < 0 || s->net.tier == POLICY_NONE || no_guest(s))
		return r;
	set_proxy_env(s);
	if (net_policy_inspects(&s->net))
		add_trust(s, p);
	return 0;
}
