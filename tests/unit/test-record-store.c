#include "tree.h"

#include "base/buf.h"
#include "base/fd.h"
#include "record/store.h"
#include "spec-sample.h"

#define NAME "agent-loop-command-main"

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

static void make(struct store_entry *e)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err err;

	assert_int_equal(store_open(&places, NAME, true, e, &err), 0);
	assert_int_equal(store_write_spec(e, s, &err), 0);
	assert_int_equal(store_write_owner(e, "/home/u/work", &err), 0);
}

static void store_record_is_read_back_and_has_an_owner(void **state)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_(spec_freep) struct sandbox_spec *s = NULL;
	cleanup_free char *owner = NULL, *record = store_record(&places, NAME);
	struct stat st;
	struct err err;

	make(&e);
	assert_int_equal(store_read_spec(&e, &s, &err), 0);
	assert_string_equal(s->name, NAME);
	owner = store_owner(&places, NAME);
	assert_string_equal(owner, "/home/u/work");
	assert_int_equal(stat(record, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void store_names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const bad[] = {"", "..", ".", "a/b", "../x", "A", "a_b", "-a"};
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = {0};

		assert_int_equal(store_open(&places, bad[i], true, &e, &err), -EINVAL);
		assert_int_equal(err.exit_code, EXIT_USAGE);
	}
}

static void store_record_that_is_a_link_is_refused(void **state)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err err;

	tree_dir("elsewhere");
	tree_link("state/sandboxes/" NAME, "../../elsewhere");
	assert_true(store_open(&places, NAME, false, &e, &err) < 0);
}

static void store_without_a_record_says_so(void **state)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_strv struct strv names;
	struct err err;

	strv_init(&names);
	assert_int_equal(store_open(&places, NAME, false, &e, &err), -ENOENT);
	assert_int_equal(store_list(&places, &names, &err), 0);
	assert_int_equal(names.n, 0);
	assert_null(store_owner(&places, NAME));
	assert_int_equal(store_remove(&places, NAME, &err), 0);
}

static void store_lock_is_one_at_a_time(void **state)
{
	cleanup_store struct store_entry a = STORE_ENTRY_INIT, b = STORE_ENTRY_INIT;
	struct err err;

	make(&a);
	assert_int_equal(store_open(&places, NAME, false, &b, &err), 0);
	assert_int_equal(store_lock(&places, &a, 0, &err), 0);
	assert_int_equal(store_lock(&places, &b, 0, &err), -EWOULDBLOCK);
	assert_int_equal(store_lock_live(&places, &b, 0, &err), 0); /* another lock */
	store_close(&a);
	assert_int_equal(store_lock(&places, &b, 0, &err), 0);
}

static void store_lock_of_a_removed_record_is_stale(void **state)
{
	cleanup_store struct store_entry old = STORE_ENTRY_INIT, new = STORE_ENTRY_INIT;
	struct err err;

	make(&old);
	assert_int_equal(store_remove(&places, NAME, &err), 0);
	/* The file is gone with its directory. */
	assert_int_equal(store_lock(&places, &old, 0, &err), -ESTALE);
	make(&new);
	assert_int_equal(store_lock(&places, &old, 0, &err), -ESTALE);
	assert_int_equal(store_lock(&places, &new, 0, &err), 0);
}

static void store_list_is_sorted_and_leaves_out_what_is_none(void **state)
{
	cleanup_strv struct strv names;
	struct err err;

	strv_init(&names);
	tree_dir("state/sandboxes/b");
	tree_dir("state/sandboxes/a");
	tree_dir("state/sandboxes/.a.123");
	tree_dir("state/sandboxes/Not_One");
	assert_int_equal(store_list(&places, &names, &err), 0);
	assert_int_equal(names.n, 2);
	assert_string_equal(names.v[0], "a");
	assert_string_equal(names.v[1], "b");
}

static void store_damaged_record_says_how_to_remove_it(void **state)
{
	static const char *const damaged[] = {"", "{", "null", "[]", "{\"name\": 5}"};

	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		cleanup_store struct store_entry e = STORE_ENTRY_INIT;
		cleanup_(spec_freep) struct sandbox_spec *s = NULL;
		struct err err = {0};

		make(&e);
		tree_file("state/sandboxes/" NAME "/spec.json", 0600, damaged[i]);
		assert_true(store_read_spec(&e, &s, &err) < 0);
		assert_non_null(strstr(err.msg, "ralph rm " NAME));
		assert_null(s);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(store_record_is_read_back_and_has_an_owner),
		T(store_names_that_lead_elsewhere_are_refused),
		T(store_record_that_is_a_link_is_refused),
		T(store_without_a_record_says_so),
		T(store_lock_is_one_at_a_time),
		T(store_lock_of_a_removed_record_is_stale),
		T(store_list_is_sorted_and_leaves_out_what_is_none),
		T(store_damaged_record_says_how_to_remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
