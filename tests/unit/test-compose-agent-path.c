#include "tree.h"

#include "compose/agent-path.h"

#define BINARY "\177ELF"

static char *search(const char *path)
{
	return agent_search_path(agent_find("claude"), path, tree);
}

static void a_program_on_path_leaves_path_as_it_is(void **state)
{
	cleanup_free char *bin = tree_path("bin"), *p = NULL;

	tree_file("bin/claude", 0755, BINARY);
	tree_file(".local/bin/claude", 0755, BINARY);
	p = search(bin);
	assert_string_equal(p, bin);
}

static void installers_places_are_searched_behind_path(void **state)
{
	static const char *const places[] = {
		".local/bin", ".claude/local",	   ".npm-global/bin", ".nvm/versions/node/v20/bin",
		".volta/bin", ".local/share/pnpm",
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		cleanup_free char *file = xasprintf("%s/claude", places[i]);
		cleanup_free char *want = xasprintf("/usr/bin:%s/%s", tree, places[i]);
		cleanup_free char *full = tree_path(file), *p = NULL;

		tree_file(file, 0755, BINARY);
		p = search("/usr/bin");
		assert_string_equal(p, want);
		assert_int_equal(unlink(full), 0);
	}
}

static void npms_prefix_is_read_from_npmrc(void **state)
{
	cleanup_free char *want = xasprintf("/usr/bin:%s/node/bin", tree), *p = NULL;

	tree_file(".npmrc", 0600, "registry=x\n prefix = ~/node\n");
	tree_file("node/bin/claude", 0755, BINARY);
	p = search("/usr/bin");
	assert_string_equal(p, want);
}

static void what_is_nowhere_changes_nothing(void **state)
{
	cleanup_free char *p = NULL;

	tree_file(".local/bin/claude", 0644, BINARY); /* no program */
	p = search("/usr/bin");
	assert_string_equal(p, "/usr/bin");
	assert_null(agent_search_path(agent_find("claude"), NULL, tree));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(a_program_on_path_leaves_path_as_it_is),
		WITH_TREE(installers_places_are_searched_behind_path),
		WITH_TREE(npms_prefix_is_read_from_npmrc),
		WITH_TREE(what_is_nowhere_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
