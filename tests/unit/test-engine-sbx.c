#include "tests.h"

#include <stdlib.h>

#include "engine/sbx/sbx.h"

static int find(const char *text, const char *name, struct sbx_found *ret)
{
	struct err e = {0};

	return sbx_list_find(text, strlen(text), name, ret, &e);
}

static void list_is_read_under_both_keys(void **state)
{
	struct sbx_found f;

	assert_int_equal(find("{\"vms\": [{\"name\": \"a\", \"status\": \"running\", "
			      "\"workspaces\": [\"/w\", \"/x:ro\"]}]}",
			      "a", &f),
			 0);
	assert_int_equal(f.state, SBX_RUNNING);
	assert_string_equal(f.workspace, "/w");
	free(f.workspace);
	assert_int_equal(find("{\"sandboxes\": []}", "a", &f), 0);
	assert_int_equal(f.state, SBX_ABSENT);
	assert_int_equal(
		find("{\"sandboxes\": [{\"name\": \"a\", \"status\": \"stopped\"}]}", "a", &f), 0);
	assert_int_equal(f.state, SBX_STOPPED);
	assert_null(f.workspace);
}

static void list_may_have_noise_before_it(void **state)
{
	struct sbx_found f;

	assert_int_equal(
		find("INFO daemon started\n{broken\n\x1b[1mnew version\n"
		     "{\n \"sandboxes\": [{\"name\": \"a\", \"status\": \"running\"}]\n}\n",
		     "a", &f),
		0);
	assert_int_equal(f.state, SBX_RUNNING);
	assert_int_equal(find("only noise\n", "a", &f), -EBADMSG);
	assert_int_equal(find("", "a", &f), -EBADMSG);
	assert_int_equal(find("[]\n", "a", &f), -EBADMSG);
	/* What follows is no noise: something else is being said. */
	assert_int_equal(find("{\"sandboxes\": []}\nand more", "a", &f), -EBADMSG);
}

static void list_of_a_state_that_is_not_known_is_a_broken_one(void **state)
{
	struct sbx_found f;

	assert_int_equal(find("{\"vms\": [{\"name\": \"a\", \"status\": \"error\"}]}", "a", &f), 0);
	assert_int_equal(f.state, SBX_BROKEN);
	assert_int_equal(find("{\"vms\": [{\"name\": \"a\"}]}", "a", &f), 0);
	assert_int_equal(f.state, SBX_BROKEN);
}

static void list_leaves_out_what_is_no_name_or_path(void **state)
{
	static const char text[] =
		"{\"sandboxes\": [{\"name\": \"-f\"}, {\"name\": \"a b\"}, {\"name\": \"\"}, 3, "
		"null, "
		"{\"name\": [\"x\"]}, {\"name\": \"ok\", \"workspaces\": [\"../x\"]}, "
		"{\"name\": \"ok2\", \"workspaces\": [\"/a\\u001bb\"]}, "
		"{\"name\": \"ok3\", \"workspaces\": {\"0\": \"/a\"}}]}";
	struct engine_list l;
	struct err e = {0};

	assert_int_equal(sbx_list_parse(text, sizeof(text) - 1, &l, &e), 0);
	assert_int_equal(l.n, 3);
	for (size_t i = 0; i < l.n; i++)
		assert_null(l.v[i].workspace);
	assert_string_equal(l.v[0].name, "ok");
	engine_list_done(&l);
}

static void version_of_the_plugin_chooses_the_dialect(void **state)
{
	assert_ptr_equal(sbx_dialect_of("github.com/docker/sandboxes/cli-plugin v0.7.1 0123abc"),
			 &sbx_early_dialect);
	assert_ptr_equal(sbx_dialect_of("Client Version:  v0.10.1\n"), &sbx_early_dialect);
	assert_ptr_equal(sbx_dialect_of("Client Version:  v0.12.0\nServer Version:  v0.12.0\n"),
			 &sbx_plugin_dialect);
	assert_null(sbx_dialect_of("Client Version:  v0.13.0\n"));
	assert_null(sbx_dialect_of("Client Version:  v1.2.3\n"));
	assert_null(sbx_dialect_of("v0.99999999999999999999"));
	assert_null(sbx_dialect_of(""));
}

static void early_plugin_makes_a_sandbox_of_an_agent(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	struct sbx_plan p = {.spec = s, .template = "image"};
	cleanup_strv struct strv argv = {0};
	static const char *const want[] = {"docker", "sandbox", "create", "--name",
					   "n",	     "-t",	"image",  "--load-local-template",
					   "claude", "/w"};

	s->name = xstrdup("n");
	strv_push(&p.workspaces, "/w");
	sbx_create(&p, &sbx_early_dialect, &argv);
	assert_int_equal(argv.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < argv.n; i++)
		assert_string_equal(argv.v[i], want[i]);
	strv_done(&p.workspaces);
}

static void secret_values_are_in_no_argument(void **state)
{
	cleanup_strv struct strv argv = {0}, env = {0}, secrets = {0}, command = {0};
	const struct engine_command c = {
		.cwd = "/w", .id = "f00", .argv = &command, .env = &env, .secrets = &secrets};

	strv_push(&env, "OPEN=yes");
	strv_push(&env, "KEY=value-of-key");
	strv_push(&env, "DOCKER_HOST=unix:///x");
	strv_push(&secrets, "KEY");
	strv_push(&secrets, "DOCKER_HOST");
	strv_push(&command, "true");
	sbx_exec(&sbx_new_dialect, "n", &c, &argv);
	assert_true(strv_has(&argv, "OPEN=yes"));
	assert_true(strv_has(&argv, "KEY"));
	/* The host's own client would read that one. */
	assert_true(strv_has(&argv, "DOCKER_HOST=unix:///x"));
	for (size_t i = 0; i < argv.n; i++)
		assert_null(strstr(argv.v[i], "value-of-key"));
}

static int net_of(const char *pattern, bool deny, const struct sbx_dialect *d, struct err *e)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	struct sbx_plan p = {.spec = s};
	int r;

	s->net.tier = POLICY_ALLOWLIST;
	(void)net_policy_add(&s->net, deny, pattern, "test");
	r = sbx_net_add(&p, d, e);
	strv_done(&p.allow);
	strv_done(&p.deny);
	strv_done(&p.deny_ranges);
	return r;
}

static void variables_of_the_network_are_the_command_lines_own(void **state)
{
	static const char *const names[] = {"HTTP_PROXY",   "http_proxy",  "HTTPS_PROXY",
					    "https_proxy",  "ALL_PROXY",   "all_proxy",
					    "NO_PROXY",	    "no_proxy",	   "SSL_CERT_FILE",
					    "SSL_CERT_DIR", "DOCKER_HOST", "PATH"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!sbx_is_client_env(names[i]))
			fail_msg("%s", names[i]);
	assert_false(sbx_is_client_env("MY_PROXY"));
	assert_false(sbx_is_client_env("ANTHROPIC_API_KEY"));
}

static void rules_without_words_on_the_other_side_are_refused(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	struct sbx_plan p = {.spec = s};
	struct err e = {0};

	assert_true(net_of("10.0.0.0/8", false, &sbx_plugin_dialect, &e) < 0);
	assert_non_null(strstr(e.msg, "10.0.0.0/8"));
	assert_int_equal(net_of("10.0.0.0/8", false, &sbx_new_dialect, &e), 0);
	assert_true(net_of("[2001:db8::7]:443", false, &sbx_new_dialect, &e) < 0);
	assert_true(net_of("2001:db8::7", true, &sbx_plugin_dialect, &e) < 0);
	assert_true(net_of("10.0.0.0/8:443", true, &sbx_plugin_dialect, &e) < 0);
	s->net.tier = POLICY_ALLOWLIST;
	strv_push(&net_policy_add(&s->net, false, "api.example", "test")->methods, "GET");
	assert_true(sbx_net_add(&p, &sbx_new_dialect, &e) < 0);
	s->net.tier = POLICY_FULL;
	assert_true(sbx_net_add(&p, &sbx_new_dialect, &e) < 0);
	strv_done(&p.allow);
}

static void what_they_are_known_to_say_is_explained(void **state)
{
	static const char *const rows[][2] = {
		{"\"docker sandbox\" is deprecated and has been removed.", "sbx"},
		{"docker: 'sandbox' is not a docker command.", "install"},
		{"ERROR: global network policy has not been initialized", "sbx policy init"},
		{"failed: socket path is empty", "docker sandbox rm"},
		{"bind: invalid argument", "-n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbx_said said = {.code = 1, .out = "", .err = (char *)(uintptr_t)rows[i][0]};
		struct err e = {0};

		assert_true(sbx_explain(&sbx_plugin_dialect, "do it", &said, &e) < 0);
		assert_non_null(strstr(e.msg, rows[i][1]));
	}
}

static void words_that_are_not_known_are_shown_without_their_control_bytes(void **state)
{
	struct sbx_said said = {.code = 9, .out = "", .err = "first\n\x1b[2Jlast \x9b line\n\n"};
	struct err e = {0};

	assert_true(sbx_explain(&sbx_new_dialect, "do it", &said, &e) < 0);
	assert_non_null(strstr(e.msg, "?[2Jlast ? line"));
	assert_null(strchr(e.msg, '\x1b'));
	assert_null(strstr(e.msg, "first"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_is_read_under_both_keys),
		cmocka_unit_test(list_may_have_noise_before_it),
		cmocka_unit_test(list_of_a_state_that_is_not_known_is_a_broken_one),
		cmocka_unit_test(list_leaves_out_what_is_no_name_or_path),
		cmocka_unit_test(version_of_the_plugin_chooses_the_dialect),
		cmocka_unit_test(early_plugin_makes_a_sandbox_of_an_agent),
		cmocka_unit_test(secret_values_are_in_no_argument),
		cmocka_unit_test(variables_of_the_network_are_the_command_lines_own),
		cmocka_unit_test(rules_without_words_on_the_other_side_are_refused),
		cmocka_unit_test(what_they_are_known_to_say_is_explained),
		cmocka_unit_test(words_that_are_not_known_are_shown_without_their_control_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
