#include "tree.h"

#include "base/buf.h"
#include "base/fd.h"
#include "record/home-fill.h"
#include "record/home.h"
#include "spec-sample.h"

#define INSTANCE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY "shop-0123456789abcdef"

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

static void key_is(const char *project, const char *want)
{
	cleanup_free char *key = home_key(project, INSTANCE);

	assert_string_equal(key, want);
}

static void home_key_is_the_name_of_the_project_and_its_digits(void **state)
{
	key_is("/home/u/shop/.git", KEY);
	key_is("/home/u/shop", KEY);
	key_is("/srv/shop.git", KEY);
	key_is("/home/u/My Shop!/.git", "my-shop-0123456789abcdef");
	key_is("/.git", "x-0123456789abcdef");
	key_is("/home/u/\xc3\xa4", "x-0123456789abcdef");
}

static void home_key_of_a_long_name_is_still_a_name(void **state)
{
	char name[300] = "/";
	cleanup_free char *key = NULL;

	memset(name + 1, 'a', sizeof(name) - 2);
	key = home_key(name, INSTANCE);
	assert_int_equal(strlen(key), 63);
	assert_non_null(strstr(key, "-0123456789abcdef"));
}

static void home_of_one_project_is_refused_to_another(void **state)
{
	struct err err = {0};

	assert_int_equal(home_make(&places, KEY, "/home/u/shop/.git", &err), 0);
	assert_int_equal(home_make(&places, KEY, "/home/u/shop/.git", &err), 0);
	assert_int_equal(home_make(&places, KEY, "/home/u/other/.git", &err), -EEXIST);
}

static void home_lock_is_alone_first_and_shared_then(void **state)
{
	cleanup_fd int a = -1, b = -1, c = -1;
	bool alone = false;
	struct err err = {0};

	assert_int_equal(home_lock(&places, KEY, 0, &a, &alone, &err), 0);
	assert_true(alone);
	assert_int_equal(home_lock(&places, KEY, 0, &b, &alone, &err), -EBUSY);
	assert_int_equal(home_share(&places, KEY, a, &err), 0);
	assert_int_equal(home_lock(&places, KEY, 0, &b, &alone, &err), 0);
	assert_false(alone);
	assert_int_equal(home_lock_alone(&places, KEY, 0, &c, &err), -EBUSY);
	closep(&a);
	closep(&b);
	assert_int_equal(home_lock_alone(&places, KEY, 0, &c, &err), 0);
}

static bool is_there(const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct stat st;

	return lstat(path, &st) == 0;
}

static void home_that_was_removed_is_not_shared(void **state)
{
	cleanup_fd int a = -1, b = -1;
	cleanup_strv struct strv keys = {0};
	bool alone = false;
	struct err err = {0};

	assert_int_equal(home_make(&places, KEY, "/home/u/shop", &err), 0);
	tree_file("state/homes/" KEY "/.claude/x", 0600, "x");
	tree_file("state/volumes/u-llm/" KEY "/.claude/x", 0600, "x");
	tree_file("state/volumes/u-llm/other-0123456789abcdee/x", 0600, "x");
	assert_int_equal(home_list(&places, &keys, &err), 0);
	assert_int_equal(keys.n, 1);
	assert_int_equal(home_lock(&places, KEY, 0, &a, &alone, &err), 0);
	assert_int_equal(home_remove(&places, KEY, &err), 0);
	assert_int_equal(home_share(&places, KEY, a, &err), -ESTALE);
	assert_int_equal(home_lock_alone(&places, KEY, 0, &b, &err), 0);
	assert_false(is_there("state/homes/" KEY));
	assert_false(is_there("state/homes/" KEY ".project"));
	assert_false(is_there("state/volumes/u-llm/" KEY));
	assert_true(is_there("state/volumes/u-llm/other-0123456789abcdee/x"));
}

static void fill(enum spec_mount_kind kind, const char *data, int want)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_free char *target = xasprintf("%s/.a/b", s->home), *path = tree_path("home");
	cleanup_fd int home = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	spec_mount_add(s, kind, NULL, target, "test")->data = xstrdup(data);
	assert_int_equal(home_fill(home, s, &err), want);
}

static void is_file(const char *rel, const char *text)
{
	cleanup_free char *path = tree_path(rel);
	cleanup_buf struct buf b;

	buf_init(&b, KiB);
	assert_int_equal(path_read(AT_FDCWD, path, &b), 0);
	assert_string_equal(buf_str(&b), text);
}

static void home_fill_lays_files_once_or_each_time(void **state)
{
	tree_dir("home");
	fill(SPEC_HOME_SEED, "one", 0);
	is_file("home/.a/b", "one");
	fill(SPEC_HOME_SEED, "two", 0);
	is_file("home/.a/b", "one");
	fill(SPEC_HOME_FILE, "three", 0);
	is_file("home/.a/b", "three");
}

/* Another workspace of the project needs its own row in a file that is there. */
static void home_fill_adds_what_a_seed_of_json_lacks(void **state)
{
	tree_dir("home");
	fill(SPEC_HOME_SEED, "{\"a\":1,\"p\":{\"/x\":{\"ok\":true}}}", 0);
	fill(SPEC_HOME_SEED, "{\"a\":2,\"p\":{\"/y\":{\"ok\":true}}}", 0);
	is_file("home/.a/b", "{\n  \"a\": 1,\n  \"p\": {\n    \"/x\": {\n      \"ok\": true\n"
			     "    },\n    \"/y\": {\n      \"ok\": true\n    }\n  }\n}");
}

/* The agent writes the home: a link in it may be waiting for a host process to follow it. */
static void home_fill_follows_no_link(void **state)
{
	cleanup_free char *b = tree_path("home/.a/b"), *a = tree_path("home/.a"), *out = NULL;
	struct stat st;

	tree_dir("home");
	tree_file("outside/b", 0600, "{}");
	out = tree_path("outside");
	assert_int_equal(symlink(out, a), 0);
	fill(SPEC_HOME_FILE, "x", -ELOOP);
	assert_int_equal(unlink(a), 0);
	assert_int_equal(mkdir(a, 0700), 0);
	free(out);
	out = tree_path("outside/b");
	assert_int_equal(symlink(out, b), 0);
	fill(SPEC_HOME_SEED, "{\"x\":1}", 0);
	is_file("outside/b", "{}");
	fill(SPEC_HOME_FILE, "x", 0);
	assert_int_equal(lstat(b, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	is_file("outside/b", "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(home_key_is_the_name_of_the_project_and_its_digits),
		cmocka_unit_test(home_key_of_a_long_name_is_still_a_name),
#define TREE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TREE(home_of_one_project_is_refused_to_another),
		TREE(home_lock_is_alone_first_and_shared_then),
		TREE(home_that_was_removed_is_not_shared),
		TREE(home_fill_lays_files_once_or_each_time),
		TREE(home_fill_adds_what_a_seed_of_json_lacks),
		TREE(home_fill_follows_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
