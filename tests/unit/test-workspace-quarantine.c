#include "tree.h"

#include "base/buf.h"
#include "base/fd.h"
#include "workspace/quarantine-copy.h"
#include "workspace/quarantine.h"

static struct places places;

static int set_up(void **state)
{
	if (tree_make(state) < 0)
		return -1;
	places = (struct places){.state = tree_path("state")};
	return 0;
}

static int tear_down(void **state)
{
	places_done(&places);
	return tree_remove(state);
}

#define WITH_PLACES(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static bool there(const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Moves rel of the workspace w there; the id is the caller's. */
static char *add(const char *rel, const char *link)
{
	cleanup_free char *root = tree_path("w"), *path = tree_path(rel);
	const struct quarantine_input in = {
		.root = root, .path = path, .why = "runs", .sandbox = "s", .link = link};
	struct err e = {0};
	char *id = NULL;

	if (quarantine_add(&places, &in, &id, &e) < 0)
		fail_msg("%s", e.msg);
	return id;
}

static void what_is_moved_is_listed_and_comes_back_as_it_was(void **state)
{
	cleanup_free char *id = NULL;
	cleanup_json json_t *meta = NULL;
	cleanup_strv struct strv ids = {0};
	struct err e = {0};

	tree_file("w/.git/hooks/pre-commit", 0755, "x");
	id = add("w/.git/hooks", NULL);
	assert_false(there("w/.git/hooks"));
	assert_int_equal(quarantine_list(&places, SHELF_QUARANTINE, &ids, &e), 0);
	assert_int_equal(ids.n, 1);
	assert_string_equal(ids.v[0], id);
	assert_int_equal(quarantine_meta(&places, SHELF_QUARANTINE, id, &meta, &e), 0);
	assert_string_equal(json_string_value(json_object_get(meta, "why")), "runs");
	assert_int_equal(quarantine_release(&places, SHELF_QUARANTINE, id, &e), 0);
	assert_true(there("w/.git/hooks/pre-commit"));
	assert_int_equal(quarantine_meta(&places, SHELF_QUARANTINE, id, &meta, &e), -ENOENT);
}

static void what_took_its_place_stays(void **state)
{
	cleanup_free char *id = NULL;
	struct err e = {0};

	tree_file("w/.envrc", 0644, "one");
	id = add("w/.envrc", NULL);
	tree_file("w/.envrc", 0644, "two");
	assert_int_equal(quarantine_release(&places, SHELF_QUARANTINE, id, &e), -EEXIST);
	assert_non_null(strstr(e.msg, "is there again"));
	assert_int_equal(quarantine_drop(&places, SHELF_QUARANTINE, id, &e), 0);
	assert_int_equal(quarantine_drop(&places, SHELF_QUARANTINE, id, &e), -ENOENT);
}

static void a_link_is_put_back_and_gives_way_again(void **state)
{
	cleanup_free char *hooks = tree_path("w/.git/hooks"), *id = NULL;
	struct err e = {0};
	struct stat st;

	tree_file("w/.git/hooks/pre-commit", 0755, "x");
	id = add("w/.git/hooks", "../own");
	assert_int_equal(lstat(hooks, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(quarantine_release(&places, SHELF_QUARANTINE, id, &e), 0);
	assert_true(there("w/.git/hooks/pre-commit"));
}

static void nothing_is_followed_on_the_way(void **state)
{
	cleanup_free char *root = tree_path("w"), *path = tree_path("w/link/file");
	const struct quarantine_input in = {
		.root = root, .path = path, .why = "runs", .sandbox = "s"};
	struct err e = {0};
	char *id = NULL;

	tree_file("precious/file", 0644, "x");
	tree_dir("w");
	tree_link("w/link", "../precious");
	assert_true(quarantine_add(&places, &in, &id, &e) < 0);
	assert_true(there("precious/file"));
}

static void an_id_is_eight_digits_and_no_path(void **state)
{
	static const char *const ids[] = {"..", "../../x", "", "0123456", "0123456z", "/etc"};
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(quarantine_drop(&places, SHELF_QUARANTINE, ids[i], &e), -ENOENT);
}

static void a_copy_has_everything_but_pipes_and_takes_the_original_away(void **state)
{
	cleanup_free char *from_path = tree_path("from"), *to_path = tree_path("to");
	cleanup_free char *pipe_path = tree_path("from/x/pipe");
	cleanup_fd int from = -1, to = -1;

	tree_file("from/x/a/b", 0755, "text");
	tree_link("from/x/link", "/etc/passwd");
	tree_dir("to");
	assert_int_equal(mkfifo(pipe_path, 0644), 0);
	from = open(from_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	to = open(to_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(quarantine_copy(from, "x", to, "y"), 0);
	assert_false(there("from/x"));
	assert_true(there("to/y/a/b"));
	assert_true(there("to/y/link"));
	assert_false(there("to/y/pipe"));
	tree_file("from/z", 0644, "x");
	assert_int_equal(quarantine_copy(from, "z", to, "y"), -EEXIST);
	assert_true(there("from/z"));
}

static void a_copy_that_is_too_deep_leaves_everything_where_it_was(void **state)
{
	cleanup_free char *path = tree_path("from/x"), *from_path = tree_path("from");
	cleanup_fd int from = -1;

	tree_dir("from/x");
	for (int i = 0; i < 80; i++) {
		char *next = path_join(path, "d");

		free(path);
		path = next;
		assert_int_equal(mkdir(path, 0755), 0);
	}
	from = open(from_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(quarantine_copy(from, "x", from, "y"), -EFBIG);
	assert_true(there("from/x/d/d"));
	assert_false(there("from/y"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACES(what_is_moved_is_listed_and_comes_back_as_it_was),
		WITH_PLACES(what_took_its_place_stays),
		WITH_PLACES(a_link_is_put_back_and_gives_way_again),
		WITH_PLACES(nothing_is_followed_on_the_way),
		WITH_PLACES(an_id_is_eight_digits_and_no_path),
		WITH_PLACES(a_copy_has_everything_but_pipes_and_takes_the_original_away),
		WITH_PLACES(a_copy_that_is_too_deep_leaves_everything_where_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
