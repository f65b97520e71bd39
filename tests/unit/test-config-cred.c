#include "tests.h"

#include "base/mem.h"
#include "config/config.h"

#include <string.h>

static struct err err;

static int check(const char *text)
{
	err = (struct err){0};
	return config_check("f.yaml", text, strlen(text), &err);
}

static void a_provider_has_an_origin_a_ca_file_and_a_token_url(void **state)
{
	assert_int_equal(check("providers:\n  anthropic:\n    origin: https://llm.corp.example\n"
			       "    ca_file: ~/ca.pem\n"
			       "    token_url: https://llm.corp.example/token\n"
			       "  openai: {origin: 'https://llm.corp.example:8443/api'}\n"),
			 0);
}

static void what_is_no_origin_is_refused_with_its_place(void **state)
{
	static const char *const wrong[] = {"http://llm.corp.example",
					    "https://",
					    "https:///x",
					    "https://a.example/",
					    "https://a.example?x",
					    "https://me@a.example",
					    "a.example",
					    "https://a b"};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		cleanup_free char *text =
			xasprintf("providers: {anthropic: {origin: '%s'}}", wrong[i]);

		assert_true(check(text) < 0);
		assert_int_equal(err.exit_code, 2);
		assert_non_null(strstr(err.msg, "f.yaml:1:"));
		assert_non_null(strstr(err.msg, "providers.anthropic.origin"));
	}
}

static void unknown_providers_and_members_are_refused(void **state)
{
	assert_true(check("providers: {antropic: {origin: https://a.example}}") < 0);
	assert_non_null(strstr(err.msg, "did you mean"));
	assert_true(check("providers: {anthropic: {orgin: https://a.example}}") < 0);
	assert_non_null(strstr(err.msg, "did you mean 'origin'"));
	assert_true(check("providers: {anthropic: https://a.example}") < 0);
	assert_true(check("providers: {anthropic: {ca_file: relative.pem}}") < 0);
	assert_true(check("providers: {anthropic: {origin: https://a.example, "
			  "origin: https://b.example}}") < 0);
}

static void a_credential_has_a_name_a_way_and_a_source(void **state)
{
	static const char *const wrong[] = {
		"credentials: [{way: mount}]",
		"credentials: [{name: 'a b'}]",
		"credentials: [{name: a, way: telepathy}]",
		"credentials: [{name: a, source: 'sk-ant-api03-key'}]",
		"credentials: [{name: a, source: 'env:NO-NAME'}]",
		"credentials: [{name: a, source: 'file:relative'}]",
		"credentials: [{name: a, source: 'command:'}]",
		"credentials: {name: a}",
	};

	assert_int_equal(check("credentials: [{name: anthropic, way: mount}, {name: corp, source: "
			       "'command:pass show corp'}, {name: x, source: 'file:~/t', way: "
			       "'off'}, {name: y, source: 'env:TOKEN'}]"),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_true(check(wrong[i]) < 0);
		assert_null(strstr(err.msg, "sk-ant"));
	}
}

static void the_last_word_about_a_credential_counts(void **state)
{
	static char *const env[] = {NULL};
	static const char text[] = "providers: {anthropic: {origin: https://a.example}}\n"
				   "credentials: [{name: a, way: mount}, {name: a, way: pipe}]";
	struct config_sources src = {.project_file = "f.yaml",
				     .project_text = text,
				     .project_len = sizeof(text) - 1,
				     .trusted = true,
				     .environ = env,
				     .home = "/home/x"};
	struct config *c = NULL;

	err = (struct err){0};
	assert_int_equal(config_load(&src, &c, &err), 0);
	assert_string_equal(config_credential(c, "a")->way, "pipe");
	assert_null(config_credential(c, "b"));
	assert_string_equal(config_provider(c, "anthropic")->origin, "https://a.example");
	assert_null(config_provider(c, "openai")->origin);
	assert_null(config_provider(c, "nobody"));
	(void)config_free(c);
}

static void a_placement_has_a_command_whose_placeholders_are_known(void **state)
{
	static const char *const wrong[] = {
		"{a: {reap: [x]}}",
		"{a: {command: []}}",
		"{a: {command: [x, '{node}']}}",
		"{a: {command: [ssh, '{host}']}}",
		"{a: {command: [ssh, '{host}'], hosts: ['-oProxyCommand=x']}}",
		"{A: {command: [x]}}",
		"{'': {command: [x]}}",
		"{a: {command: [x], egress: there}}",
		"{a: {command: [x]}, a: {command: [y]}}",
		"[{command: [x]}]",
		"{a: {command: [x], slots: 0}}",
		"{a: {command: [x], slots: 65}}",
		"{a: {command: [x], slots: many}}",
	};

	assert_int_equal(check("fleet:\n  place: a\n  lease: 20s\n  pass: [X]\n  places:\n"
			       "    a: {command: [ssh, '{host}', '{name}'], hosts: [b], egress: "
			       "node, slots: 64}\n    b: {command: [x], egress: home}"),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		cleanup_free char *text = xasprintf("fleet: {places: %s}", wrong[i]);

		assert_true(check(text) < 0);
		assert_int_equal(err.exit_code, 2);
		assert_non_null(strstr(err.msg, "fleet.places"));
	}
}

static void no_project_names_a_placement_even_a_trusted_one(void **state)
{
	static const char *const texts[] = {"fleet: {places: {a: {command: [x]}}}",
					    "fleet: {place: a}", "fleet: {pass: [SECRET]}",
					    "fleet: {places: {}}"};
	static char *const env[] = {NULL};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(texts); i++) {
		const char *text = texts[i / 2];
		struct config_sources src = {.project_file = "f.yaml",
					     .project_text = text,
					     .project_len = strlen(text),
					     .trusted = i % 2,
					     .environ = env,
					     .home = "/home/x"};
		struct config *c = NULL;
		struct config_widening *w = NULL;
		size_t n = 0;

		err = (struct err){0};
		assert_true(config_load(&src, &c, &err) < 0);
		assert_non_null(strstr(err.msg, "a project file cannot set this"));
		if (config_widenings(&src, &w, &n, &err) == 0)
			config_widenings_free(w, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_provider_has_an_origin_a_ca_file_and_a_token_url),
		cmocka_unit_test(what_is_no_origin_is_refused_with_its_place),
		cmocka_unit_test(unknown_providers_and_members_are_refused),
		cmocka_unit_test(a_credential_has_a_name_a_way_and_a_source),
		cmocka_unit_test(the_last_word_about_a_credential_counts),
		cmocka_unit_test(a_placement_has_a_command_whose_placeholders_are_known),
		cmocka_unit_test(no_project_names_a_placement_even_a_trusted_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
