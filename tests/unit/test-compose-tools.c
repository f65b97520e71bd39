#include "tree.h"

#include "compose/tools.h"

#define BINARY                                                                                     \
	"\x7f"                                                                                     \
	"ELF"

/* Resolves with the tree as $HOME; dirs are PATH entries, relative ones below it. */
static int resolve(const char *argv0, const char *const *dirs, struct tools *t, struct err *e)
{
	cleanup_free char *work = tree_path("work");
	char path[2048] = "";
	struct tools_input in = {.argv0 = argv0, .path = path, .home = tree, .workspace = work};

	for (; *dirs; dirs++) {
		size_t n = strlen(path);

		(void)snprintf(path + n, sizeof(path) - n, "%s%s%s%s", n ? ":" : "",
			       **dirs == '/' ? "" : tree, **dirs == '/' ? "" : "/", *dirs);
	}
	tree_dir("work");
	*e = (struct err){0};
	return tools_resolve(&in, t, e);
}

static void ok(const char *argv0, const char *const *dirs, struct tools *t)
{
	struct err e;

	if (resolve(argv0, dirs, t, &e) < 0)
		fail_msg("%s", e.msg);
}

static bool binds(const struct tools *t, const char *rel)
{
	cleanup_free char *want = tree_path(rel);

	for (size_t i = 0; i < t->n_binds; i++)
		if (streq(t->binds[i].path, want))
			return true;
	return false;
}

static bool on_path(const struct tools *t, const char *rel)
{
	cleanup_free char *want = rel[0] == '/' ? xstrdup(rel) : tree_path(rel);

	return strv_has(&t->path, want);
}

#define DIRS(...) ((const char *const[]){__VA_ARGS__, "/usr/bin", NULL})

static void a_system_command_brings_nothing(void **state)
{
	struct tools t = {0};

	ok("sh", DIRS("/bin"), &t);
	assert_int_equal(t.n_binds, 0);
	assert_int_equal(t.n_links, 0);
	assert_string_equal(t.argv0, "sh");
	assert_true(on_path(&t, "/usr/bin"));
	tools_done(&t);
}

static void a_tool_of_a_manager_brings_the_managers_root(void **state)
{
	struct tools t = {0};

	tree_file(".nvm/versions/node/v20/bin/node", 0755, BINARY);
	ok("node", DIRS(".nvm/versions/node/v20/bin"), &t);
	assert_int_equal(t.n_binds, 1);
	assert_true(binds(&t, ".nvm"));
	assert_non_null(strstr(t.binds[0].reason, "node"));
	assert_true(on_path(&t, ".nvm/versions/node/v20/bin"));
	tools_done(&t);
}

static void a_link_in_local_bin_comes_as_a_link(void **state)
{
	struct tools t = {0};
	cleanup_free char *link = NULL;

	tree_file(".local/share/claude/versions/2.0", 0755, BINARY);
	tree_link(".local/bin/claude", "../share/claude/versions/2.0");
	tree_file(".local/bin/other", 0755, BINARY);
	ok("claude", DIRS(".local/bin"), &t);
	assert_int_equal(t.n_binds, 1);
	assert_true(binds(&t, ".local/share/claude"));
	assert_int_equal(t.n_links, 1);
	link = tree_path(".local/bin/claude");
	assert_string_equal(t.links[0].path, link);
	assert_string_equal(t.links[0].text, "../share/claude/versions/2.0");
	tools_done(&t);
}

static void what_the_agent_can_write_is_last_on_path(void **state)
{
	cleanup_free char *own = NULL;
	struct tools t = {0};

	tree_dir(".local/bin");
	ok("sh", DIRS(".local/bin", "work/bin", "/usr/local/bin"), &t);
	own = tree_path(".local/bin");
	assert_string_equal(t.path.v[t.path.n - 1], own);
	tools_done(&t);
}

static void the_workspace_is_not_searched(void **state)
{
	struct tools t = {0};

	tree_file("work/bin/sh", 0755, "#!/bin/sh\n");
	tree_link("innocent", "work/bin");
	ok("sh", DIRS("work/bin", "innocent", "/bin"), &t);
	assert_false(on_path(&t, "work/bin"));
	assert_false(on_path(&t, "innocent"));
	assert_string_equal(t.argv0, "sh");
	tools_done(&t);
}

static void the_interpreter_of_a_script_comes_too(void **state)
{
	struct tools t = {0};

	tree_file("bin/agent", 0755, "#!/usr/bin/env -S node --flag\n");
	tree_file(".volta/bin/node", 0755, BINARY);
	ok("agent", DIRS("bin", ".volta/bin"), &t);
	assert_true(binds(&t, "bin/agent"));
	assert_true(binds(&t, ".volta"));
	assert_int_equal(t.n_binds, 2);
	tools_done(&t);
}

static void an_interpreter_by_path_is_followed_through_its_links(void **state)
{
	cleanup_free char *line = xasprintf("#!%s/.local/share/pipx/venvs/x/bin/python\n", tree);
	struct tools t = {0};

	tree_file(".local/share/pipx/venvs/x/bin/x", 0755, line);
	tree_link(".local/share/pipx/venvs/x/bin/python",
		  "../../../../../../.pyenv/versions/3/bin/py");
	tree_file(".pyenv/versions/3/bin/py", 0755, BINARY);
	tree_link(".local/bin/x", "../share/pipx/venvs/x/bin/x");
	ok("x", DIRS(".local/bin"), &t);
	assert_true(binds(&t, ".local/share/pipx"));
	assert_true(binds(&t, ".pyenv"));
	assert_int_equal(t.n_links, 1);
	tools_done(&t);
}

static void cargo_brings_rustup_but_never_its_credentials(void **state)
{
	struct tools t = {0};

	tree_file(".cargo/bin/cargo", 0755, BINARY);
	tree_file(".cargo/credentials.toml", 0600, "token");
	tree_dir(".rustup/toolchains");
	ok("cargo", DIRS(".cargo/bin"), &t);
	assert_true(binds(&t, ".cargo/bin"));
	assert_true(binds(&t, ".rustup"));
	assert_false(binds(&t, ".cargo"));
	assert_int_equal(t.n_binds, 2);
	tools_done(&t);
}

static void a_package_comes_without_its_neighbours(void **state)
{
	struct tools t = {0};

	tree_file("stuff/node_modules/@a/b/cli.js", 0755, BINARY);
	tree_link("stuff/bin/b", "../node_modules/@a/b/cli.js");
	ok("b", DIRS("stuff/bin"), &t);
	assert_int_equal(t.n_binds, 1);
	assert_true(binds(&t, "stuff/node_modules/@a/b"));
	assert_int_equal(t.n_links, 1);
	tools_done(&t);
}

static void a_package_brings_what_npm_has_laid_beside_it_for_it(void **state)
{
	struct tools t = {0};

	tree_file("stuff/node_modules/@a/b/cli.js", 0755, BINARY);
	tree_file("stuff/node_modules/@a/b/package.json", 0644,
		  "{\"optionalDependencies\":{\"@a/b-linux\":\"1\",\"@a/b-other\":\"1\"},"
		  "\"dependencies\":{\"lib\":\"1\",\"../../secret\":\"1\",\"creds\":\"1\"}}");
	tree_file("stuff/node_modules/@a/b-linux/bin/b", 0755, BINARY);
	tree_file("stuff/node_modules/lib/package.json", 0644,
		  "{\"dependencies\":{\"deep\":\"1\"}}");
	tree_file("stuff/node_modules/deep/index.js", 0644, "x");
	tree_file("stuff/node_modules/neighbour/index.js", 0644, "x");
	tree_file("stuff/node_modules/creds/.env", 0644, "x");
	tree_file("secret/x", 0600, "x");
	tree_link("stuff/bin/b", "../node_modules/@a/b/cli.js");
	ok("b", DIRS("stuff/bin"), &t);
	assert_true(binds(&t, "stuff/node_modules/@a/b"));
	assert_true(binds(&t, "stuff/node_modules/@a/b-linux"));
	assert_true(binds(&t, "stuff/node_modules/lib"));
	assert_true(binds(&t, "stuff/node_modules/deep"));
	assert_int_equal(t.n_binds, 4);
	tools_done(&t);
}

static void a_root_with_credentials_at_its_top_gives_one_file(void **state)
{
	struct tools t = {0};

	tree_file(".deno/bin/deno", 0755, BINARY);
	tree_file(".deno/auth.json", 0600, "{}");
	ok("deno", DIRS(".deno/bin"), &t);
	assert_int_equal(t.n_binds, 1);
	assert_true(binds(&t, ".deno/bin/deno"));
	tools_done(&t);
}

static void an_npmrc_counts_only_with_a_token_in_it(void **state)
{
	struct tools t = {0};

	tree_file(".nvm/bin/node", 0755, BINARY);
	tree_file(".nvm/.npmrc", 0644, "package-lock=false\n");
	ok("node", DIRS(".nvm/bin"), &t);
	assert_true(binds(&t, ".nvm"));
	tools_done(&t);
	tree_file(".nvm/.npmrc", 0644, "//r/:_authToken=x\n");
	ok("node", DIRS(".nvm/bin"), &t);
	assert_false(binds(&t, ".nvm"));
	tools_done(&t);
}

static void a_tool_among_credentials_is_refused(void **state)
{
	static const char *const bad[] = {".ssh/tool", ".claude/tool", ".config/x/tool",
					  ".aws/tool", ".cargo/tool"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_free char *dir = path_dir(bad[i]);
		struct tools t = {0};
		struct err e;

		tree_file(bad[i], 0755, BINARY);
		assert_int_equal(resolve("tool", DIRS(dir), &t, &e), -EPERM);
		assert_int_equal(e.exit_code, EXIT_RALPH);
		assert_non_null(strstr(e.msg, "credentials"));
	}
}

static void a_link_into_credentials_is_refused(void **state)
{
	struct tools t = {0};
	struct err e;

	tree_file(".ssh/id_ed25519", 0755, "key");
	tree_link("bin/tool", "../.ssh/id_ed25519");
	assert_int_equal(resolve("tool", DIRS("bin"), &t, &e), -EPERM);
}

static void roots_on_path_come_even_for_a_shell(void **state)
{
	struct tools t = {0};

	tree_file(".bun/bin/bun", 0755, BINARY);
	tree_dir("bin");
	ok("sh", DIRS(".bun/bin", "bin"), &t);
	assert_true(binds(&t, ".bun"));
	assert_true(on_path(&t, ".bun/bin"));
	assert_false(on_path(&t, "bin"));
	assert_int_equal(t.n_links, 0);
	tools_done(&t);
}

static void an_entry_through_a_link_becomes_the_real_one(void **state)
{
	struct tools t = {0};

	tree_file(".local/share/fnm/v/bin/node", 0755, BINARY);
	tree_link("session/bin", "../.local/share/fnm/v/bin");
	ok(NULL, DIRS("session/bin"), &t);
	assert_true(binds(&t, ".local/share/fnm"));
	assert_true(on_path(&t, ".local/share/fnm/v/bin"));
	assert_null(t.argv0);
	tools_done(&t);
}

static void what_is_not_found_stays_for_exec_to_report(void **state)
{
	struct tools t = {0};

	tree_link("bin/loop", "loop");
	ok("no-such-command", DIRS("bin"), &t);
	assert_string_equal(t.argv0, "no-such-command");
	assert_int_equal(t.n_binds, 0);
	tools_done(&t);
}

static void a_home_spelled_through_a_link_stays_as_it_is_spelled(void **state)
{
	cleanup_free char *home = tree_path("h"), *dir = tree_path("h/.nvm/bin");
	cleanup_free char *want = tree_path("h/.nvm");
	struct tools_input in = {.argv0 = "node", .path = dir, .home = home, .workspace = "/w"};
	struct tools t = {0};
	struct err e = {0};

	tree_file("real/.nvm/bin/node", 0755, BINARY);
	tree_link("h", "real");
	assert_int_equal(tools_resolve(&in, &t, &e), 0);
	assert_int_equal(t.n_binds, 1);
	assert_string_equal(t.binds[0].path, want);
	assert_int_equal(t.n_links, 0);
	tools_done(&t);
}

static void private_places_are_known_from_above_and_below(void **state)
{
	assert_true(tools_is_private("/h", "/h"));
	assert_true(tools_is_private("/", "/h"));
	assert_true(tools_is_private("/h/.ssh/x", "/h"));
	assert_true(tools_is_private("/h/.local", "/h"));
	assert_true(tools_is_private("/h/.cargo", "/h"));
	assert_false(tools_is_private("/h/.cargo/bin/x", "/h"));
	assert_false(tools_is_private("/h/src", "/h"));
	assert_false(tools_is_private("/usr", "/h"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(a_system_command_brings_nothing),
		WITH_TREE(a_tool_of_a_manager_brings_the_managers_root),
		WITH_TREE(a_link_in_local_bin_comes_as_a_link),
		WITH_TREE(what_the_agent_can_write_is_last_on_path),
		WITH_TREE(the_workspace_is_not_searched),
		WITH_TREE(the_interpreter_of_a_script_comes_too),
		WITH_TREE(an_interpreter_by_path_is_followed_through_its_links),
		WITH_TREE(cargo_brings_rustup_but_never_its_credentials),
		WITH_TREE(a_package_comes_without_its_neighbours),
		WITH_TREE(a_package_brings_what_npm_has_laid_beside_it_for_it),
		WITH_TREE(a_root_with_credentials_at_its_top_gives_one_file),
		WITH_TREE(an_npmrc_counts_only_with_a_token_in_it),
		WITH_TREE(a_tool_among_credentials_is_refused),
		WITH_TREE(a_link_into_credentials_is_refused),
		WITH_TREE(roots_on_path_come_even_for_a_shell),
		WITH_TREE(an_entry_through_a_link_becomes_the_real_one),
		WITH_TREE(what_is_not_found_stays_for_exec_to_report),
		WITH_TREE(a_home_spelled_through_a_link_stays_as_it_is_spelled),
		cmocka_unit_test(private_places_are_known_from_above_and_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
