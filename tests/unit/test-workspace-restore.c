#include "tree.h"

#include <fcntl.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/restore.h"

static struct places places;
static struct sandbox_spec *spec;
static int record = -1;

static void add(enum spec_mount_kind kind, const char *rel)
{
	cleanup_free char *path = tree_path(rel);

	(void)spec_mount_add(spec, kind, kind == SPEC_OWN ? NULL : path, path, "runs");
}

static int set_up(void **state)
{
	cleanup_free char *dir = NULL;

	if (tree_make(state) < 0)
		return -1;
	places = (struct places){.state = tree_path("state")};
	tree_file("w/hooks/pre-commit", 0755, "one");
	tree_file("w/config", 0644, "two");
	tree_file("w/.ralph/prompt.md", 0644, "three");
	tree_file("w/.ralph/logs/1", 0644, "log");
	tree_dir("record");
	spec = spec_new();
	spec->name = xstrdup("s");
	spec->engine = xstrdup("sbx");
	add(SPEC_BIND_RW, "w");
	add(SPEC_PUT_BACK, "w/hooks");
	add(SPEC_PUT_BACK, "w/config");
	add(SPEC_PUT_BACK, "w/.ralph");
	add(SPEC_OWN, "w/.ralph/logs");
	dir = tree_path("record");
	record = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return record < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	closep(&record);
	(void)spec_free(spec);
	places_done(&places);
	return tree_remove(state);
}

#define WITH_SPEC(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static struct restore *taken(void)
{
	struct restore *p = NULL;
	struct err e = {0};

	if (restore_new(spec, record, &p, &e) < 0)
		fail_msg("%s", e.msg);
	assert_non_null(p);
	return p;
}

static void assert_holds(const char *rel, const char *want)
{
	cleanup_free char *path = tree_path(rel);
	cleanup_buf struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(path_read(AT_FDCWD, path, &b), 0);
	assert_string_equal(buf_str(&b), want);
}

static bool there(const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct stat st;

	return lstat(path, &st) == 0;
}

static size_t looked(struct restore *p)
{
	struct findings f = {0};
	size_t n;

	restore_look(p, &places, true, &f);
	n = f.n;
	for (size_t i = 0; i < n; i++)
		assert_true(f.v[i].back || f.v[i].stays);
	findings_done(&f);
	return n;
}

static void what_is_as_it_was_is_left_alone(void **state)
{
	cleanup_(restore_freep) struct restore *p = taken();

	assert_int_equal(looked(p), 0);
	tree_file("w/.ralph/logs/2", 0644, "more");
	tree_file("w/file", 0644, "work");
	assert_int_equal(looked(p), 0);
	assert_true(there("w/.ralph/logs/2"));
}

static void what_was_changed_is_put_back_and_the_rest_is_not_touched(void **state)
{
	cleanup_(restore_freep) struct restore *p = taken();

	tree_file("w/hooks/pre-commit", 0755, "ONE");
	tree_file("w/hooks/post-commit", 0755, "new");
	tree_file("w/config", 0644, "TWO");
	tree_file("w/.ralph/config.yaml", 0644, "new");
	assert_int_equal(looked(p), 4);
	assert_holds("w/hooks/pre-commit", "one");
	assert_false(there("w/hooks/post-commit"));
	assert_holds("w/config", "two");
	assert_false(there("w/.ralph/config.yaml"));
	assert_holds("w/.ralph/logs/1", "log");
	assert_int_equal(looked(p), 0);
}

static void what_was_removed_or_is_another_kind_is_put_back(void **state)
{
	cleanup_(restore_freep) struct restore *p = taken();
	cleanup_free char *config = tree_path("w/config"), *hook = tree_path("w/hooks/pre-commit");
	cleanup_free char *hooks = tree_path("w/hooks"), *away = tree_path("w/away");

	assert_int_equal(unlink(config), 0);
	assert_int_equal(mkdir(config, 0755), 0);
	assert_int_equal(rename(hooks, away), 0);
	tree_link("w/hooks", "away");
	assert_int_equal(looked(p), 2);
	assert_holds("w/config", "two");
	assert_holds("w/hooks/pre-commit", "one");
	/* A pipe is not opened, and a mode counts. */
	assert_int_equal(unlink(hook), 0);
	assert_int_equal(mkfifo(hook, 0755), 0);
	assert_int_equal(looked(p), 1);
	assert_int_equal(chmod(hook, 0644), 0);
	assert_int_equal(looked(p), 1);
	assert_int_equal(looked(p), 0);
}

static void a_link_on_the_way_is_not_followed(void **state)
{
	cleanup_free char *inner = tree_path("w/in"), *moved = tree_path("w/moved");
	cleanup_(restore_freep) struct restore *p = NULL;

	tree_file("w/in/hooks/x", 0755, "x");
	tree_file("outside/hooks/x", 0755, "y");
	add(SPEC_PUT_BACK, "w/in/hooks");
	p = taken();
	assert_int_equal(rename(inner, moved), 0);
	tree_link("w/in", "../outside");
	assert_int_equal(looked(p), 1); /* said, once */
	assert_int_equal(looked(p), 0);
	assert_holds("outside/hooks/x", "y");
}

static void copies_outlive_who_made_them(void **state)
{
	struct restore *p = restore_free(taken());

	tree_file("w/config", 0644, "TWO");
	p = restore_open(spec, record);
	assert_non_null(p);
	assert_int_equal(looked(p), 1);
	assert_holds("w/config", "two");
	p = restore_free(p);
	restore_forget(record);
	assert_null(restore_open(spec, record));
}

static void too_much_to_be_kept_is_an_error(void **state)
{
	struct restore *p = NULL;
	struct err e = {0};

	tree_file("w/hooks/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/x", 0644, "x");
	assert_true(restore_new(spec, record, &p, &e) < 0);
	assert_null(p);
	assert_non_null(strstr(e.msg, "too large"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SPEC(what_is_as_it_was_is_left_alone),
		WITH_SPEC(what_was_changed_is_put_back_and_the_rest_is_not_touched),
		WITH_SPEC(what_was_removed_or_is_another_kind_is_put_back),
		WITH_SPEC(a_link_on_the_way_is_not_followed),
		WITH_SPEC(copies_outlive_who_made_them),
		WITH_SPEC(too_much_to_be_kept_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
