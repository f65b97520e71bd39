#include "tests.h"

#include <string.h>

#include "cred/hold/cred-judge.h"

/* What the helper was given. */
struct given {
	struct cred_host host;
	struct cred *creds[4];
	size_t n;
	struct net_policy net;
};

static struct cred *give(struct given *g, const char *name, const char *provider,
			 const char *origin)
{
	struct err err = {0};
	struct cred *c = cred_new(&g->host, provider, name, "env:X", origin, &err);

	assert_non_null(c);
	return g->creds[g->n++] = c;
}

static struct given *sample(void)
{
	struct given *g = xcalloc(1, sizeof(*g));
	struct cred *c = give(g, "anthropic", "anthropic-key", "https://api.anthropic.com");
	struct net_rule *r;

	c->endpoint = xstrdup("anthropic");
	strv_push(&c->requests, "POST /v1/messages messages");
	strv_push(&c->requests, "POST /v1/messages/count_tokens free");
	strv_push(&c->requests, "GET /v1/models");
	strv_push(&c->requests, "GET /profiles/* https://other.example:8443/x/profiles");
	(void)give(g, "github", "github", "https://api.github.com");
	give(g, "variables", "bedrock", NULL)->inside = true;
	r = net_policy_add(&g->net, false, "api.github.com", "network.rules");
	r->credential = xstrdup("github");
	(void)net_policy_add(&g->net, false, "open.example", "network.allow");
	g->net.tier = POLICY_ALLOWLIST;
	return g;
}

static void forget(struct given *g)
{
	for (size_t i = 0; i < g->n; i++)
		(void)cred_free(g->creds[i]);
	net_policy_clear(&g->net);
	free(g);
}

static const struct cred *named(const struct given *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (streq(g->creds[i]->name, name))
			return g->creds[i];
	return NULL;
}

static int may(const struct given *g, const char *credential, const char *host, uint32_t port,
	       const char *method, const char *target)
{
	const struct gw_header_ask ask = {.credential = credential,
					  .host = host,
					  .port = port,
					  .method = method,
					  .target = target,
					  .content_type = "",
					  .body_sha256 = ""};
	cleanup_(policy_freep) struct policy *p = NULL;
	const struct policy_rule *rule;
	enum request_kind kind;
	struct err err = {0};

	assert_int_equal(policy_compile(&g->net, &p, &err), 0);
	return cred_judge(named(g, credential), p, &ask, &rule, &kind, &err);
}

static void a_credential_is_for_its_own_origin_and_requests(void **state)
{
	struct given *s = sample();
	const char *const host = "api.anthropic.com";

	assert_int_equal(may(s, "anthropic", host, 443, "POST", "/v1/messages"), 0);
	assert_int_equal(may(s, "anthropic", host, 443, "POST", "/v1/messages?beta=true"), 0);
	assert_int_equal(may(s, "anthropic", host, 443, "POST", "/v1/messages/count_tokens"), 0);
	assert_int_equal(may(s, "anthropic", host, 443, "GET", "/v1/models"), 0);
	assert_int_equal(may(s, "anthropic", host, 443, "HEAD", "/v1/models"), 0);
	forget(s);
}

static void anything_else_is_refused(void **state)
{
	static const struct {
		const char *credential, *host;
		uint32_t port;
		const char *method, *target;
		int want;
	} cases[] = {
		{"nobody", "api.anthropic.com", 443, "POST", "/v1/messages", -ENOENT},
		{"variables", "api.anthropic.com", 443, "POST", "/v1/messages", -ENOENT},
		{"anthropic", "api.anthropic.com", 80, "POST", "/v1/messages", -EPERM},
		{"anthropic", "api.anthropic.com", 65979, "POST", "/v1/messages", -EPERM},
		{"anthropic", "api.anthropic.com.evil.example", 443, "POST", "/v1/messages",
		 -EPERM},
		{"anthropic", "open.example", 443, "POST", "/v1/messages", -EPERM},
		{"anthropic", "api.github.com", 443, "POST", "/v1/messages", -EPERM},
		{"anthropic", "api.anthropic.com", 443, "GET", "/v1/messages", -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "/v1/messagesx", -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "/v1/messages/batches", -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "/v1/messages/", -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "/v1/organizations/api_keys",
		 -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "/v1/messages/../oauth/token",
		 -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "/v1/messages/%2e%2e/oauth",
		 -EPERM},
		{"anthropic", "api.anthropic.com", 443, "POST", "v1/messages", -EPERM},
		{"anthropic", "other.example", 8443, "GET", "/x/other", -EPERM},
		{"anthropic", "other.example", 443, "GET", "/x/profiles", -EPERM},
		{"github", "api.github.com", 80, "GET", "/", -EPERM},
		{"github", "open.example", 443, "GET", "/", -EPERM},
		{"anthropic", "", 443, "POST", "/v1/messages", -EPERM},
	};
	struct given *s = sample();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (may(s, cases[i].credential, cases[i].host, cases[i].port, cases[i].method,
			cases[i].target) != cases[i].want)
			fail_msg("%s %s %s is not %d", cases[i].credential, cases[i].host,
				 cases[i].target, cases[i].want);
	forget(s);
}

static void a_request_of_another_address_and_a_rule_are_its_own_too(void **state)
{
	struct given *s = sample();

	assert_int_equal(may(s, "anthropic", "other.example", 8443, "GET", "/x/profiles/a%2Fb"), 0);
	assert_int_equal(may(s, "github", "api.github.com", 443, "GET", "/repos/a/b"), 0);
	forget(s);
}

static struct net_rule *add_rule(struct given *s, const char *method, const char *path,
				 const char *credential)
{
	struct net_rule *r = net_policy_add(&s->net, false, "two.example", "network.rules");

	strv_push(&r->methods, method);
	strv_push(&r->paths, path);
	r->credential = credential ? xstrdup(credential) : NULL;
	return r;
}

/* A gateway that was taken over asks for whatever it likes. */
static void a_question_that_does_not_fit_the_rule_of_the_credential_is_refused(void **state)
{
	static const struct {
		const char *credential, *host;
		uint32_t port;
		const char *method, *target;
		int want;
	} cases[] = {
		{"github", "two.example", 443, "GET", "/api/x", 0},
		{"github", "two.example", 443, "HEAD", "/api", 0},
		{"other", "two.example", 443, "POST", "/api/write", 0},
		{"github", "two.example", 443, "POST", "/api/x", -EPERM},
		{"github", "two.example", 443, "POST", "/api/write", -EPERM},
		{"other", "two.example", 443, "GET", "/api/write", -EPERM},
		{"github", "two.example", 443, "GET", "/open", -EPERM},
		{"github", "two.example", 443, "GET", "/apix", -EPERM},
		{"github", "two.example", 443, "GET", "/api/../open", -EPERM},
		{"github", "two.example", 443, "GET", "/x/%2e%2e/api", -EPERM},
		{"github", "two.example", 8443, "GET", "/api/x", -EPERM},
		{"github", "www.two.example", 443, "GET", "/api/x", -EPERM},
		{"github", "denied.example", 443, "GET", "/", -EPERM},
	};
	struct given *s = sample();
	struct net_rule *r;

	(void)give(s, "other", "bearer", NULL);
	(void)add_rule(s, "GET", "/open", NULL);
	(void)add_rule(s, "GET", "/api", "github");
	(void)add_rule(s, "POST", "/api/write", "other");
	r = net_policy_add(&s->net, false, "denied.example", "network.rules");
	r->credential = xstrdup("github");
	(void)net_policy_add(&s->net, true, "denied.example", "network.deny");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (may(s, cases[i].credential, cases[i].host, cases[i].port, cases[i].method,
			cases[i].target) != cases[i].want)
			fail_msg("%s %s %s %s is not %d", cases[i].credential, cases[i].host,
				 cases[i].method, cases[i].target, cases[i].want);
	forget(s);
}

static void without_rules_only_the_credentials_own_requests_are_answered(void **state)
{
	const struct gw_header_ask ask = {.credential = "github",
					  .host = "api.github.com",
					  .port = 443,
					  .method = "GET",
					  .target = "/"};
	struct given *s = sample();
	const struct policy_rule *rule;
	enum request_kind kind;
	struct err err;

	assert_int_equal(cred_judge(named(s, "github"), NULL, &ask, &rule, &kind, &err), -EPERM);
	forget(s);
}

static void an_origin_with_a_path_counts_with_it(void **state)
{
	struct given *s = sample();
	struct cred *c = s->creds[0];

	free(c->origin);
	c->origin = xstrdup("https://llm.corp.example:8443/anthropic");
	assert_int_equal(
		may(s, "anthropic", "llm.corp.example", 8443, "POST", "/anthropic/v1/messages"), 0);
	assert_int_equal(may(s, "anthropic", "llm.corp.example", 8443, "POST", "/v1/messages"),
			 -EPERM);
	forget(s);
}

static void an_origin_is_https_and_whole(void **state)
{
	static const char *const wrong[] = {"http://a.example",
					    "https://",
					    "https://a b.example",
					    "https://u@a.example",
					    "https://a.example:0",
					    "https://a.example:x",
					    "a.example"};
	const char *path;
	struct err err;
	struct host h;
	uint16_t port;

	assert_int_equal(origin_split("https://A.example/x/y", &h, &port, &path, &err), 0);
	assert_string_equal(h.name, "a.example");
	assert_int_equal(port, 443);
	assert_string_equal(path, "/x/y");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_true(origin_split(wrong[i], &h, &port, &path, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_credential_is_for_its_own_origin_and_requests),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(a_request_of_another_address_and_a_rule_are_its_own_too),
		cmocka_unit_test(
			a_question_that_does_not_fit_the_rule_of_the_credential_is_refused),
		cmocka_unit_test(without_rules_only_the_credentials_own_requests_are_answered),
		cmocka_unit_test(an_origin_with_a_path_counts_with_it),
		cmocka_unit_test(an_origin_is_https_and_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
