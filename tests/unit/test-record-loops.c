#include "tree.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/loops.h"

static struct places places;

static int set_up(void **state)
{
	if (tree_make(state) < 0)
		return -1;
	places = (struct places){.state = tree_path("state")};
	tree_dir("w");
	return 0;
}

static int tear_down(void **state)
{
	places_done(&places);
	return tree_remove(state);
}

#define WITH_PLACES(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static struct loop_path found(void)
{
	cleanup_free char *w = tree_path("w");
	struct loop_path at = LOOP_PLACE_INIT;
	struct err e = {0};

	if (loops_find(&places, w, &at, &e) < 0)
		fail_msg("%s", e.msg);
	return at;
}

static int set_apart(bool held, struct err *e)
{
	cleanup_free char *w = tree_path("w");

	return loops_set_apart(&places, w, held, e);
}

static bool there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool has(int dir, const char *name)
{
	struct stat st;

	return dir >= 0 && fstatat(dir, name, &st, 0) == 0;
}

static void state_is_in_the_workspace_until_it_is_set_apart(void **state)
{
	cleanup_loop_place struct loop_path none = found(), inside = LOOP_PLACE_INIT,
					    apart = LOOP_PLACE_INIT;
	cleanup_free char *left = tree_path("w/.ralph/state");
	struct err e = {0};

	assert_true(none.state < 0 && none.active < 0 && !none.apart);
	tree_file("w/.ralph/state/loop.json", 0600, "{}");
	tree_file("w/.ralph/state/put-back/1-x", 0600, "x");
	inside = found();
	assert_true(!inside.apart && has(inside.state, "loop.json"));
	assert_int_equal(set_apart(false, &e), 0);
	apart = found();
	assert_true(apart.apart && has(apart.state, "loop.json") &&
		    has(apart.state, "put-back/1-x"));
	assert_true(path_under(apart.path, places.state));
	assert_false(there(left));
	/* What appears there afterwards is nobody's state, and nothing is moved twice. */
	tree_file("w/.ralph/state/forged", 0600, "{}");
	assert_int_equal(set_apart(false, &e), 0);
	loop_path_done(&apart);
	apart = found();
	assert_true(apart.apart && !has(apart.state, "forged"));
}

static void state_of_a_loop_that_works_is_not_moved(void **state)
{
	cleanup_free char *lock = tree_path("w/.ralph/state/lock");
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_fd int fd = -1;
	struct err e = {0};

	tree_file("w/.ralph/state/lock", 0600, "");
	fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(set_apart(false, &e), -EBUSY);
	at = found();
	assert_false(at.apart);
	assert_int_equal(set_apart(true, &e), 0);
}

static void unfinished_workers_are_not_moved(void **state)
{
	struct err e = {0};

	tree_file("w/.ralph/state/loop.json", 0600, "{\"workers\": {\"US-1\": {}}}");
	assert_int_equal(set_apart(false, &e), -EBUSY);
	assert_non_null(strstr(e.msg, "parallel"));
	tree_file("w/.ralph/state/loop.json", 0600, "{\"workers\": {}}");
	assert_int_equal(set_apart(false, &e), 0);
}

static void another_directory_of_that_path_has_another_state(void **state)
{
	cleanup_loop_place struct loop_path first = LOOP_PLACE_INIT, second = LOOP_PLACE_INIT;
	cleanup_free char *w = tree_path("w");
	struct err e = {0};

	assert_int_equal(set_apart(false, &e), 0);
	first = found();
	assert_int_equal(path_remove_tree(AT_FDCWD, w, &e), 0);
	tree_dir("w");
	second = found();
	assert_false(second.apart);
	assert_int_equal(set_apart(false, &e), 0);
	loop_path_done(&second);
	second = found();
	assert_string_not_equal(first.path, second.path);
	assert_false(there(first.path));
}

static void a_move_that_was_cut_short_is_begun_anew(void **state)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_free char *key = NULL, *half = NULL;
	struct err e = {0};

	assert_int_equal(set_apart(false, &e), 0);
	at = found();
	key = xstrdup(path_base(at.path));
	half = xasprintf("state/loops/.new-%s/torn", key);
	assert_int_equal(path_remove_tree(AT_FDCWD, at.path, &e), 0);
	tree_file(half, 0600, "x");
	tree_file("w/.ralph/state/loop.json", 0600, "{}");
	assert_int_equal(set_apart(false, &e), 0);
	loop_path_done(&at);
	at = found();
	assert_true(has(at.state, "loop.json") && !has(at.state, "torn"));
}

/* Their common git directory does not make them one. */
static void each_workspace_is_remembered_once_by_its_path(void **state)
{
	cleanup_free char *one = tree_path("w"), *two = tree_path("v"), *text = NULL;
	cleanup_strv struct strv found_ones = {0};
	struct err e = {0};

	tree_dir("v");
	assert_int_equal(loops_remember(&places, one, &e), 0);
	assert_int_equal(loops_remember(&places, two, &e), 0);
	assert_int_equal(loops_remember(&places, two, &e), 0);
	/* The file of an older version, named after the git directory. */
	text = xasprintf("{\"workspace\":\"%s\"}", two);
	tree_file("state/loops/0123.json", 0600, text);
	assert_int_equal(loops_each(&places, &found_ones, &e), 0);
	assert_int_equal(found_ones.n, 2);
	assert_string_equal(found_ones.v[0], two);
	assert_string_equal(found_ones.v[1], one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACES(state_is_in_the_workspace_until_it_is_set_apart),
		WITH_PLACES(state_of_a_loop_that_works_is_not_moved),
		WITH_PLACES(unfinished_workers_are_not_moved),
		WITH_PLACES(another_directory_of_that_path_has_another_state),
		WITH_PLACES(a_move_that_was_cut_short_is_begun_anew),
		WITH_PLACES(each_workspace_is_remembered_once_by_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
