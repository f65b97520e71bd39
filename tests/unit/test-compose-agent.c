#include "tests.h"

#include "hook/hook-settings.h"
#include "agent/agent.h"
#include "compose/build.h"
#include "cred/cred.h"
#include "netrules/groups.h"

/* What a row becomes in a spec, with the credentials that were found; no host is looked at. */
struct bench {
	struct config *config;
	struct sandbox_spec *spec;
	struct places places;
	struct build_input in;
	struct err err;
};

static int set_up(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	b->config = config_new();
	b->spec = spec_new();
	b->spec->name = xstrdup("x");
	b->spec->agent = xstrdup("x");
	b->spec->home = xstrdup("/home/u");
	b->spec->workspace = xstrdup("/home/u/work");
	b->places.home = xstrdup("/nonexistent");
	b->places.libexec = xstrdup("/nonexistent/libexec");
	b->in = (struct build_input){.places = &b->places, .config = b->config};
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	(void)spec_free(b->spec);
	(void)config_free(b->config);
	places_done(&b->places);
	free(b);
	return 0;
}

static void use(struct bench *b, const char *agent)
{
	free(b->config->agent);
	b->config->agent = xstrdup(agent);
}

static struct spec_credential *found(struct bench *b, const char *provider, const char *endpoint)
{
	struct spec_credential *c = spec_credential_add(b->spec, "service", provider);

	c->endpoint = xstrdup(endpoint);
	return c;
}

static void build(struct bench *b)
{
	const struct agent *a = NULL;

	assert_int_equal(build_agent_find(&b->in, &a, &b->err), 0);
	if (build_agent(b->spec, &b->in, a, &b->err) < 0)
		fail_msg("%s", b->err.msg);
}

static void variable(struct bench *b, const char *name, const char *value)
{
	const struct spec_env *e = spec_env_find(b->spec, name);

	if (!value) {
		assert_null(e);
		return;
	}
	if (!e)
		fail_msg("%s is not there", name);
	assert_string_equal(e->value, value);
	/* A phantom is the supervisor's to put in, of that credential and no other. */
	if (strstr(value, SPEC_PHANTOM))
		assert_string_equal(e->credential, "service");
	else
		assert_null(e->credential);
}

static const struct spec_mount *mount_at(const struct bench *b, const char *target)
{
	for (size_t i = 0; i < b->spec->n_mounts; i++)
		if (streq(b->spec->mounts[i].target, target))
			return &b->spec->mounts[i];
	return NULL;
}

#define GATEWAY "http://127.0.0.1:3128/_ralph/"

static void claude_gets_what_its_credential_is_for_and_no_other(void **state)
{
	struct bench *b = *state;

	use(b, "claude");
	found(b, "anthropic-oauth", "anthropic");
	build(b);
	variable(b, "CLAUDE_CODE_OAUTH_TOKEN", "{phantom}");
	variable(b, "ANTHROPIC_BASE_URL", GATEWAY "anthropic");
	variable(b, "ANTHROPIC_API_KEY", NULL);
	variable(b, "CLAUDE_CODE_USE_BEDROCK", NULL);
	/* The login does not say which subscription it is. */
	variable(b, "CLAUDE_CODE_SUBSCRIPTION_TYPE", NULL);
	variable(b, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
}

static void bedrock_has_its_phantom_in_the_path(void **state)
{
	struct bench *b = *state;

	use(b, "claude");
	strv_push(&found(b, "bedrock", "bedrock")->options, "region=eu-west-1");
	build(b);
	variable(b, "ANTHROPIC_BEDROCK_BASE_URL", GATEWAY "bedrock/{phantom}");
	variable(b, "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "1");
	variable(b, "AWS_REGION", "eu-west-1");
	variable(b, "ANTHROPIC_MODEL", NULL);
	variable(b, "ANTHROPIC_BASE_URL", NULL);
}

static void a_credential_that_is_inside_by_another_way_gets_no_phantom(void **state)
{
	struct bench *b = *state;

	use(b, "claude");
	found(b, "anthropic-oauth", "anthropic")->way = SPEC_WAY_MOUNT;
	build(b);
	variable(b, "CLAUDE_CODE_OAUTH_TOKEN", NULL);
	variable(b, "ANTHROPIC_BASE_URL", NULL);
}

static void what_the_user_set_holds(void **state)
{
	struct bench *b = *state;

	use(b, "claude");
	found(b, "anthropic-key", "anthropic");
	spec_env_set(b->spec, "ANTHROPIC_BASE_URL", "http://mine", SPEC_USER, "env.set");
	spec_env_set(b->spec, "IS_SANDBOX", "0", SPEC_PASSED, "host");
	build(b);
	variable(b, "ANTHROPIC_BASE_URL", "http://mine");
	variable(b, "IS_SANDBOX", "1");
}

static void seeds_follow_what_was_found(void **state)
{
	struct bench *b = *state;
	const struct spec_mount *m;

	use(b, "codex");
	found(b, "openai-chatgpt", "openai");
	build(b);
	m = mount_at(b, "/home/u/.codex/config.toml");
	assert_non_null(m);
	assert_int_equal(m->kind, SPEC_HOME_FILE);
	assert_non_null(strstr(m->data, "base_url = \"" GATEWAY "openai\""));
	assert_non_null(strstr(m->data, "[projects.\"/home/u/work\"]"));
	variable(b, "RALPH_PHANTOM", "{phantom}");
}

static void without_a_credential_nothing_leads_to_the_gateway(void **state)
{
	struct bench *b = *state;
	const struct spec_mount *m;

	use(b, "codex");
	build(b);
	m = mount_at(b, "/home/u/.codex/config.toml");
	assert_non_null(m);
	assert_null(strstr(m->data, "_ralph"));
	assert_null(strstr(m->data, "model_provider"));
	variable(b, "RALPH_PHANTOM", NULL);
}

static void hooks_are_managed_where_the_agent_can_be_managed(void **state)
{
	struct bench *b = *state;
	cleanup_json json_t *hooks = json_pack("{s[]}", "Stop"), *j = NULL;
	const struct agent *a = agent_find("gemini");
	const struct spec_mount *m;

	use(b, "claude");
	b->in.hooks = hooks;
	build(b);
	m = mount_at(b, "/etc/claude-code/managed-settings.json");
	assert_non_null(m);
	assert_int_equal(m->kind, SPEC_FILE);
	assert_int_equal(json_parse(m->data, strlen(m->data), &j, &b->err), 0);
	assert_true(json_equal(json_object_get(j, "hooks"), hooks));
	assert_true(json_is_true(json_object_get(j, "skipWebFetchPreflight")));
	/* What they call is there, and not the agent's to change. */
	m = mount_at(b, HOOK_INSIDE);
	assert_non_null(m);
	assert_int_equal(m->kind, SPEC_BIND_RO);
	assert_string_equal(m->source, "/nonexistent/libexec/hook");
	assert_int_equal(build_agent(b->spec, &b->in, a, &b->err), -ENOTSUP);
}

static void login_hosts_are_there_only_without_a_phantom(void **state)
{
	struct bench *b = *state;

	use(b, "claude");
	assert_int_equal(build_agent_net(b->spec, &b->in, &b->err), 0);
	assert_true(b->spec->net.n_rules > 2);
	net_policy_clear(&b->spec->net);
	found(b, "anthropic-key", "anthropic");
	assert_int_equal(build_agent_net(b->spec, &b->in, &b->err), 0);
	assert_int_equal(b->spec->net.n_rules, 0);
	/* A login that opencode cannot use is none for it. */
	use(b, "opencode");
	free(b->spec->credentials[0].provider);
	b->spec->credentials[0].provider = xstrdup("anthropic-oauth");
	assert_int_equal(build_agent_net(b->spec, &b->in, &b->err), 0);
	assert_true(b->spec->net.n_rules > 2);
}

static bool is_service(const char *name)
{
	for (size_t i = 0; i < cred_provider_count(); i++)
		if (streq(cred_provider_at(i)->service, name))
			return true;
	return false;
}

static bool is_group(const char *name)
{
	size_t n;
	const struct group *g = groups_list(&n);

	for (size_t i = 0; i < n; i++)
		if (streq(g[i].name, name))
			return true;
	return false;
}

static void check_provider(const struct agent *a, const char *provider)
{
	if (provider && !cred_provider_find(provider))
		fail_msg("%s: there is no provider '%s'", a->name, provider);
}

static void every_row_names_services_providers_and_groups_that_exist(void **state)
{
	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		for (const char *const *s = a->services; *s; s++)
			if (!is_service(*s))
				fail_msg("%s: there is no service '%s'", a->name, *s);
		for (const struct agent_env *e = a->env; e->name; e++)
			check_provider(a, e->provider);
		for (const struct agent_seed *s = a->seeds; s->path; s++)
			check_provider(a, s->provider);
		for (const struct agent_identity *id = a->identity; id->path; id++)
			check_provider(a, id->provider);
		for (const char *const *h = a->login_hosts; *h; h++)
			if (**h == '@' && !is_group(*h))
				fail_msg("%s: there is no group '%s'", a->name, *h);
	}
}

static void every_endpoint_of_a_provider_can_be_moved_by_a_key(void **state)
{
	const struct bench *b = *state;

	for (size_t i = 0; i < cred_provider_count(); i++) {
		const struct cred_provider *p = cred_provider_at(i);

		if (p->endpoint && !config_provider(b->config, p->endpoint))
			fail_msg("%s: there is no key providers.%s", p->name, p->endpoint);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(claude_gets_what_its_credential_is_for_and_no_other),
		T(bedrock_has_its_phantom_in_the_path),
		T(a_credential_that_is_inside_by_another_way_gets_no_phantom),
		T(what_the_user_set_holds),
		T(seeds_follow_what_was_found),
		T(without_a_credential_nothing_leads_to_the_gateway),
		T(hooks_are_managed_where_the_agent_can_be_managed),
		T(login_hosts_are_there_only_without_a_phantom),
		T(every_endpoint_of_a_provider_can_be_moved_by_a_key),
		cmocka_unit_test(every_row_names_services_providers_and_groups_that_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
