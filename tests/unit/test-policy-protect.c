#include "tests.h"

#include "base/mem.h"
#include "policy/protect.h"

static void names_that_the_host_takes_orders_from_are_protected(void **state)
{
	static const char *const names[][2] = {
		{".claude", "settings.json"},
		{".claude", "settings.local.json"},
		{".claude", "hooks"},
		{".claude", "skills"},
		{"", ".mcp.json"},
		{"deep", ".mcp.json"},
		{"", ".vscode"},
		{"", ".idea"},
		{"", ".devcontainer"},
		{"sub", ".envrc"},
		{"", ".husky"},
		{".github", "workflows"},
		{"", ".gitmodules"},
		{"", ".ralph"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!protect_match(PROTECT_TREE, names[i][0], names[i][1]))
			fail_msg("%s/%s is not protected", names[i][0], names[i][1]);
}

static void names_of_ordinary_files_are_not(void **state)
{
	assert_null(protect_match(PROTECT_TREE, "", "src"));
	assert_null(protect_match(PROTECT_TREE, "", "workflows"));
	assert_null(protect_match(PROTECT_TREE, "", "hooks"));
	assert_null(protect_match(PROTECT_TREE, ".claude", "settings.txt"));
	assert_null(protect_match(PROTECT_GIT, "", "index"));
	assert_non_null(protect_match(PROTECT_GIT, "", "commondir"));
	assert_non_null(protect_match(PROTECT_WORKTREE, "", "gitdir"));
}

static void keys_are_masked_and_samples_are_not(void **state)
{
	static const char *const masked[] = {".env", ".env.local", ".envrc", "server.pem",
					     "id_rsa"};
	static const char *const open[] = {".env.example", ".env.local.sample", ".env.template",
					   "cacert.pem",   "id_rsa.pub",	"environment.ts"};

	for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
		assert_true(protect_masked(masked[i], NULL, 0));
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		assert_false(protect_masked(open[i], NULL, 0));
}

static void the_last_pattern_that_fits_decides(void **state)
{
	char *none[] = {"!*"}, *more[] = {"*.key", "!test.key", "!.env"};

	assert_false(protect_masked(".env", none, 1));
	assert_true(protect_masked("a.key", more, 3));
	assert_false(protect_masked("test.key", more, 3));
	assert_false(protect_masked(".env", more, 3));
	assert_true(protect_masked("a.pem", more, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_the_host_takes_orders_from_are_protected),
		cmocka_unit_test(names_of_ordinary_files_are_not),
		cmocka_unit_test(keys_are_masked_and_samples_are_not),
		cmocka_unit_test(the_last_pattern_that_fits_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
