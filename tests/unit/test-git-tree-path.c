#include "tests.h"

#include "base/mem.h"
#include "git/tree-path.h"

static void names_that_some_file_system_takes_for_dotgit_are_found(void **state)
{
	static const char *const are[] = {".git",
					  ".GIT",
					  ".Git ",
					  ".git.",
					  ".git. .",
					  "git~1",
					  "GIT~1",
					  ".g\xe2\x80\x8cit",
					  "\xef\xbb\xbf.git",
					  ".git\xe2\x81\xaf",
					  ".git::$INDEX_ALLOCATION",
					  ".git:x"};
	static const char *const are_not[] = {".gitignore", "git", ".github", "git~2",
					      "x.git",	    ".gi", "..git",   "\xe2\x80\x8c"};

	for (size_t i = 0; i < ARRAY_SIZE(are); i++)
		assert_true(gitpath_is_dotgit(are[i], strlen(are[i])));
	for (size_t i = 0; i < ARRAY_SIZE(are_not); i++)
		assert_false(gitpath_is_dotgit(are_not[i], strlen(are_not[i])));
}

static void odd_paths_are_found_at_any_depth(void **state)
{
	static const char *const are[] = {
		"a/.git/config",     ".GIT/x", "a/../b", "./a", "a//b", "",
		"a\\.git\\hooks\\x", "..",     "x/."};
	static const char *const are_not[] = {"a", "a/b.c/d", ".gitignore", "a/...", "git/x"};

	for (size_t i = 0; i < ARRAY_SIZE(are); i++)
		assert_true(gitpath_is_odd(are[i]));
	for (size_t i = 0; i < ARRAY_SIZE(are_not); i++)
		assert_false(gitpath_is_odd(are_not[i]));
}

static void protected_names_are_protected_in_every_spelling(void **state)
{
	static const char *const are[] = {".gitmodules",
					  ".GitModules",
					  ".claude/settings.local.json",
					  "sub/.vscode/tasks.json",
					  ".VSCODE/tasks.json",
					  ".envrc",
					  ".ralph/config.yaml",
					  ".github/workflows/ci.yml",
					  ".env\xe2\x80\x8crc",
					  ".envrc. "};
	static const char *const are_not[] = {"src/main.c", ".github/dependabot.yml",
					      "settings.json", ".claude/CLAUDE.md"};

	for (size_t i = 0; i < ARRAY_SIZE(are); i++)
		assert_non_null(gitpath_protected(are[i]));
	for (size_t i = 0; i < ARRAY_SIZE(are_not); i++)
		assert_null(gitpath_protected(are_not[i]));
}

static void a_link_in_the_place_of_a_directory_of_settings_is_protected(void **state)
{
	assert_non_null(gitpath_protected_link(".claude"));
	assert_non_null(gitpath_protected_link("sub/.GitHub"));
	assert_null(gitpath_protected_link("src"));
	assert_null(gitpath_protected_link(".claude/notes"));
}

static void programs_that_settings_name_are_found_below_and_behind_links(void **state)
{
	const unsigned file = 0100644, program = 0100755, link = 0120000;

	assert_true(gitpath_is_named("dtools/hooks", "tools/hooks/pre-commit", 0, file));
	assert_true(gitpath_is_named("dtools/hooks", "Tools/Hooks", 0, link));
	assert_true(gitpath_is_named("dtools/hooks", "tools", 0, link));
	assert_false(gitpath_is_named("dtools/hooks", "tools", 0, file));
	assert_false(gitpath_is_named("dtools/hooks", "tools/hooks2", 0, program));
	assert_true(gitpath_is_named("fa.sh", "a.sh", file, 0));
	assert_false(gitpath_is_named("mdata", "data", 0, file));
	assert_true(gitpath_is_named("mdata", "data", program, file));
	assert_true(gitpath_is_named("mdata", "data", 0, program));
}

static bool stays(const char *path, const char *target)
{
	return gitpath_link_stays(path, target, strlen(target));
}

static void links_out_of_the_tree_or_into_dotgit_do_not_stay(void **state)
{
	assert_true(stays("a", "b"));
	assert_true(stays("d/a", "../b"));
	assert_true(stays("d/e/a", "../../b/./c"));
	assert_false(stays("a", "../b"));
	assert_false(stays("d/a", "../../b"));
	assert_false(stays("a", "/etc/passwd"));
	assert_false(stays("a", "b/../../c"));
	assert_false(stays("a", ".git/config"));
	assert_false(stays("d/a", "../.GIT/hooks"));
	assert_false(stays("a", ""));
	assert_false(stays("a", "..\\x"));
}

static void control_characters_are_shown(void **state)
{
	cleanup_free char *a = gitpath_shown("a\x1b[m\xc2\x9b\x7f", 7, 100);
	cleanup_free char *b = gitpath_shown("abcdef", 6, 3);
	cleanup_free char *c = gitpath_shown("", 0, 3);

	assert_string_equal(a, "a\\x1b[m\\xc2\x9b\\x7f");
	assert_string_equal(b, "abc…");
	assert_string_equal(c, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_some_file_system_takes_for_dotgit_are_found),
		cmocka_unit_test(odd_paths_are_found_at_any_depth),
		cmocka_unit_test(protected_names_are_protected_in_every_spelling),
		cmocka_unit_test(a_link_in_the_place_of_a_directory_of_settings_is_protected),
		cmocka_unit_test(programs_that_settings_name_are_found_below_and_behind_links),
		cmocka_unit_test(links_out_of_the_tree_or_into_dotgit_do_not_stay),
		cmocka_unit_test(control_characters_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
