#include "tree.h"

#include "compose/workspace-path.h"

static int resolve(const char *rel, struct err *e)
{
	cleanup_free char *path = tree_path(rel);
	cleanup_free char *home = tree_path("home/me");
	cleanup_free char *state = tree_path("home/me/.local/state/ralph");
	const char *dirs[] = {state, NULL};
	struct workspace_input in = {.path = path, .home = home, .state = dirs, .root = tree};
	struct workspace w = {0};
	int r;

	*e = (struct err){0};
	r = workspace_resolve(&in, &w, e);
	if (r == 0)
		assert_int_equal(strlen(w.identity), 64);
	workspace_done(&w);
	return r;
}

static void refused(const char *rel, const char *why)
{
	struct err e;

	if (resolve(rel, &e) == 0)
		fail_msg("'%s' was taken", rel);
	assert_int_equal(err_exit_code(&e, EXIT_RUNTIME), EXIT_USAGE);
	if (!strstr(e.msg, why))
		fail_msg("'%s': %s", rel, e.msg);
}

static void taken(const char *rel)
{
	struct err e;

	if (resolve(rel, &e) < 0)
		fail_msg("'%s': %s", rel, e.msg);
}

static int make(void **state)
{
	static const char *const dirs[] = {
		"home/me/.local/state/ralph/sandboxes/x",
		"home/me/src/project",
		"home/you/project",
		"usr/bin",
		"etc/x",
		"var/lib/x",
		"var/tmp/x",
		"tmp/x",
		"opt/x",
		"srv/x",
		"data/x",
		"run/user/1",
		"run/media/me/disk",
	};

	if (tree_make(state) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		tree_dir(dirs[i]);
	tree_link("bin", "usr/bin");
	tree_file("home/me/file", 0644, "");
	return 0;
}

static void a_project_is_taken(void **state)
{
	static const char *const good[] = {"home/me/src/project",
					   "home/me/src",
					   "tmp/x",
					   "var/tmp/x",
					   "opt/x",
					   "srv/x",
					   "data/x",
					   "data",
					   "home/you/project",
					   "run/media/me/disk"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		taken(good[i]);
}

static void home_and_what_contains_it_are_refused(void **state)
{
	refused("home/me", "your home");
	refused("home", "contains");
	refused("", "root");
	refused("home/you", "home directory");
}

static void ralphs_own_directories_are_refused_from_above_and_below(void **state)
{
	refused("home/me/.local/state/ralph", "ralph's own");
	refused("home/me/.local/state/ralph/sandboxes/x", "ralph's own");
	refused("home/me/.local", "ralph's own");
}

static void system_directories_are_refused(void **state)
{
	refused("usr", "contains");
	refused("usr/bin", "is");
	refused("etc", "is");
	refused("etc/x", "lies in /etc");
	refused("var/lib/x", "lies in /var");
	refused("run/user/1", "lies in /run");
	refused("tmp", "is");
	refused("var", "contains");
}

static void what_is_no_directory_is_refused(void **state)
{
	refused("home/me/nothing", "does not exist");
	refused("home/me/file", "not a directory");
}

static void other_spellings_do_not_help(void **state)
{
	tree_link("home/me/l1", "..");
	tree_link("home/me/l2", "../../etc");
	tree_link("home/me/l3", "l2");
	refused("home/me/../me/.", "your home");
	refused("home/me/l1", "contains");
	refused("home/me/l2", "is");
	refused("home/me/l3/x", "lies in /etc");
	refused("bin", "is");
	refused("home/me/src/../../me//", "your home");
}

static void a_state_that_does_not_exist_yet_is_protected_too(void **state)
{
	cleanup_free char *path = tree_path("data");
	cleanup_free char *made = tree_path("link/ralph/deep");
	const char *dirs[] = {made, NULL};
	struct workspace_input in = {.path = path, .state = dirs, .root = tree};
	struct workspace w = {0};
	struct err e = {0};

	tree_link("link", "data/x");
	assert_int_equal(workspace_resolve(&in, &w, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "ralph's own"));
}

static void the_real_system_is_refused_as_well(void **state)
{
	static const char *const bad[] = {"/",	  "/usr", "/etc", "/proc/self",
					  "/dev", "/tmp", "/var"};
	struct workspace w = {0};
	struct err e;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct workspace_input in = {.path = bad[i], .home = "/nonexistent"};

		e = (struct err){0};
		if (workspace_resolve(&in, &w, &e) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(e.exit_code, EXIT_USAGE);
	}
}

#define WITH_SYSTEM(f) cmocka_unit_test_setup_teardown(f, make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SYSTEM(a_project_is_taken),
		WITH_SYSTEM(home_and_what_contains_it_are_refused),
		WITH_SYSTEM(ralphs_own_directories_are_refused_from_above_and_below),
		WITH_SYSTEM(system_directories_are_refused),
		WITH_SYSTEM(what_is_no_directory_is_refused),
		WITH_SYSTEM(other_spellings_do_not_help),
		WITH_SYSTEM(a_state_that_does_not_exist_yet_is_protected_too),
		cmocka_unit_test(the_real_system_is_refused_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
