#include "tree.h"

#include <sys/stat.h>

#include "base/path.h"
#include "base/strv.h"
#include "workspace/tree-shape.h"
#include "workspace/tree-walk.h"

static struct strv met; /* DIR/NAME of every name that a walk read */
static struct tree_shape *shape;

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	strv_take(&met, path_join(d->path, name));
	return true;
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	fail_msg("%s/%s: %s", d->path, name, tree_refusal(error));
}

static const struct tree_ops ops = {.name = on_name, .refused = on_refused};

static int top(void)
{
	int fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void forget(void)
{
	strv_done(&met);
	strv_init(&met);
}

static void note(void)
{
	tree_clock_ticks();
	shape = tree_shape_free(shape);
	forget();
	assert_int_equal(tree_walk_note(top(), tree, &ops, NULL, &shape), 0);
	if (!shape)
		skip(); /* a file system that is not known */
}

static void walk_changed(void)
{
	forget();
	assert_int_equal(tree_walk_changed(top(), tree, &ops, NULL, shape), 0);
}

static bool has_met(const char *rel)
{
	cleanup_free char *path = tree_path(rel);

	return strv_has(&met, path);
}

static int end(void **state)
{
	shape = tree_shape_free(shape);
	forget();
	return tree_remove(state);
}

#define SHAPED(f) cmocka_unit_test_setup_teardown(f, tree_make, end)

static void make_tree(void)
{
	tree_dir("a/b/c");
	tree_dir("a/d");
	tree_dir("e");
	tree_file("a/one", 0600, "1");
	tree_file("a/b/two", 0600, "2");
	tree_file("a/b/c/three", 0600, "3");
	tree_file("a/d/four", 0600, "4");
	tree_file("e/five", 0600, "5");
}

static void a_tree_in_which_nothing_changed_is_not_read_again(void **state)
{
	make_tree();
	note();
	assert_true(has_met("a/b/c/three"));
	walk_changed();
	assert_int_equal(met.n, 0);
}

static void only_what_changed_is_read_again(void **state)
{
	make_tree();
	note();
	tree_file("a/b/new", 0600, "x");
	walk_changed();
	assert_true(has_met("a/b/new"));
	assert_true(has_met("a/b/two"));
	assert_false(has_met("a/one"));
	assert_false(has_met("a/b/c/three"));
	assert_false(has_met("e/five"));
}

static void a_directory_that_took_the_place_of_another_is_read(void **state)
{
	cleanup_free char *c = tree_path("a/b/c"), *away = tree_path("e/c");

	make_tree();
	note();
	assert_int_equal(rename(c, away), 0);
	tree_dir("a/b/c");
	tree_file("a/b/c/three", 0600, "other");
	walk_changed();
	assert_true(has_met("a/b/c/three"));
	assert_true(has_met("e/c/three"));
}

static void a_directory_with_a_link_is_always_read(void **state)
{
	cleanup_free char *link = tree_path("a/d/link");

	make_tree();
	assert_int_equal(symlink("../../e", link), 0);
	note();
	walk_changed();
	assert_true(has_met("a/d/link"));
	assert_true(has_met("a/d/four"));
	assert_int_equal(met.n, 2);
}

static void a_directory_that_is_closed_is_read(void **state)
{
	cleanup_free char *d = tree_path("a/d");
	struct stat st;

	make_tree();
	note();
	assert_int_equal(chmod(d, 0), 0);
	walk_changed();
	assert_true(has_met("a/d/four"));
	assert_int_equal(stat(d, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0);
	assert_int_equal(chmod(d, 0700), 0);
}

static void a_time_that_is_set_back_hides_nothing(void **state)
{
	cleanup_free char *b = tree_path("a/b");
	struct stat st;

	make_tree();
	note();
	assert_int_equal(stat(b, &st), 0);
	tree_file("a/b/new", 0600, "x");
	assert_int_equal(utimensat(AT_FDCWD, b, (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
	walk_changed();
	assert_true(has_met("a/b/new"));
}

static void a_directory_that_changed_just_before_is_read_again(void **state)
{
	make_tree();
	tree_clock_ticks();
	tree_file("e/late", 0600, "x");
	assert_int_equal(tree_walk_note(top(), tree, &ops, NULL, &shape), 0);
	if (!shape)
		skip();
	walk_changed();
	/* Unless the machine took longer than a tick in between. */
	if (met.n)
		assert_true(has_met("e/late"));
	assert_false(has_met("a/one"));
}

/* ---- against a walk of everything ---- */

#define DIRS 60
#define STEPS 12

static unsigned seed;

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* A directory of the tree, as it is now: a walk of some steps down from the top. */
static char *any_dir(void)
{
	char *dir = xstrdup(tree);

	for (unsigned left = pick(5); left > 0; left--) {
		cleanup_free char *name = xasprintf("d%u", pick(4)), *next = path_join(dir, name);
		struct stat st;

		if (lstat(next, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		free(dir);
		dir = take_ptr(next);
	}
	return dir;
}

static void any_change(void)
{
	cleanup_free char *dir = any_dir(), *other = any_dir();
	cleanup_free char *name = xasprintf("d%u", pick(4)), *file = xasprintf("f%u", pick(4));
	cleanup_free char *path = path_join(dir, name), *plain = path_join(dir, file);
	cleanup_free char *away = path_join(other, name), *there = path_join(other, file);

	switch (pick(7)) {
	case 0:
		(void)mkdir(path, 0700);
		break;
	case 1:
		(void)rename(path, away);
		break;
	case 2:
		(void)rename(plain, there);
		break;
	case 3:
		(void)unlink(plain);
		break;
	case 4:
		(void)rmdir(path);
		break;
	case 5:
		(void)!symlink("/etc", plain);
		break;
	default:
		(void)close(open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
}

/* A name that was not there is read, whatever was done before and after. */
static void every_new_name_is_read_after_random_changes(void **state)
{
	for (seed = 1; seed < 41; seed++) {
		cleanup_strv struct strv before = {0}, all = {0};
		unsigned mine = seed;

		seed *= 7919;
		for (int i = 0; i < DIRS; i++)
			any_change();
		note();
		strv_extend(&before, &met);
		for (int i = 0; i < STEPS; i++)
			any_change();
		forget();
		assert_int_equal(tree_walk(top(), tree, &ops, NULL), 0);
		strv_extend(&all, &met);
		walk_changed();
		for (size_t i = 0; i < all.n; i++)
			if (!strv_has(&before, all.v[i]) && !strv_has(&met, all.v[i]))
				fail_msg("seed %u: %s is not read", mine, all.v[i]);
		for (size_t i = 0; i < met.n; i++)
			if (!strv_has(&all, met.v[i]))
				fail_msg("seed %u: %s is not there", mine, met.v[i]);
		seed = mine;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHAPED(a_tree_in_which_nothing_changed_is_not_read_again),
		SHAPED(only_what_changed_is_read_again),
		SHAPED(a_directory_that_took_the_place_of_another_is_read),
		SHAPED(a_directory_with_a_link_is_always_read),
		SHAPED(a_directory_that_is_closed_is_read),
		SHAPED(a_time_that_is_set_back_hides_nothing),
		SHAPED(a_directory_that_changed_just_before_is_read_again),
		SHAPED(every_new_name_is_read_after_random_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
