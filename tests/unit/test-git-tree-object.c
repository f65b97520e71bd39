#include "tests.h"

#include "base/mem.h"
#include "git/tree-object.h"

#define ID "\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11"

static int count(const struct gittree_entry *e, void *arg)
{
	unsigned *n = arg;

	++*n;
	return 0;
}

static int stop(const struct gittree_entry *e, void *arg)
{
	return -EPROTO;
}

#define FAULT(bytes) fault_of(bytes, sizeof(bytes) - 1)

static const char *fault_of(const char *bytes, size_t n)
{
	unsigned seen = 0;
	const char *name;
	int r;
	const char *fault = gittree_check(bytes, n, 20, count, &seen, &r, &name);

	return fault ? fault : "";
}

static void a_tree_as_git_makes_it_is_good(void **state)
{
	static const char tree[] =
		"100644 a\0" ID "100644 a.b\0" ID "40000 a.d\0" ID "100755 b\0" ID "120000 c\0" ID
		"160000 d\0" ID "100644 \xc3\xa4\0" ID;
	unsigned seen = 0;
	const char *name;
	int r;

	assert_null(gittree_check(tree, sizeof(tree) - 1, 20, count, &seen, &r, &name));
	assert_int_equal(seen, 7);
	assert_string_equal(FAULT(""), "");
}

static void directories_are_in_order_as_if_a_slash_stood_behind_them(void **state)
{
	assert_string_equal(FAULT("100644 a.b\0" ID "40000 a\0" ID), "");
	assert_string_equal(FAULT("40000 a\0" ID "100644 a.b\0" ID), "is damaged");
	assert_string_equal(FAULT("100644 b\0" ID "100644 a\0" ID), "is damaged");
	assert_string_equal(FAULT("100644 a\0" ID "100644 a\0" ID), "is damaged");
}

static void a_name_twice_is_found_wherever_it_stands(void **state)
{
	assert_string_equal(FAULT("120000 x\0" ID "100644 x.y\0" ID "40000 x\0" ID),
			    "has a name twice");
}

static void names_that_git_does_not_check_out_are_refused(void **state)
{
	static const char want[] = "has a name that git does not check out";

	assert_string_equal(FAULT("40000 .git\0" ID), want);
	assert_string_equal(FAULT("40000 .GiT\0" ID), want);
	assert_string_equal(FAULT("40000 git~1\0" ID), want);
	assert_string_equal(FAULT("40000 .g\xe2\x80\x8cit\0" ID), want);
	assert_string_equal(FAULT("40000 .git:x\0" ID), want);
	assert_string_equal(FAULT("40000 ..\0" ID), want);
	assert_string_equal(FAULT("40000 .\0" ID), want);
	assert_string_equal(FAULT("40000 \0" ID), want);
	assert_string_equal(FAULT("100644 a/b\0" ID), want);
	assert_string_equal(FAULT("100644 a\\.git\0" ID), want);
}

static void files_that_git_reads_are_no_links(void **state)
{
	static const char want[] = "is a link where git wants a file";

	assert_string_equal(FAULT("120000 .gitmodules\0" ID), want);
	assert_string_equal(FAULT("120000 .GITMODULES\0" ID), want);
	assert_string_equal(FAULT("120000 gitmod~1\0" ID), want);
	assert_string_equal(FAULT("120000 .gitattributes \0" ID), want);
	assert_string_equal(FAULT("100644 .gitmodules\0" ID), "");
}

static void other_modes_and_cut_entries_are_refused(void **state)
{
	assert_string_equal(FAULT("10644 a\0" ID), "has an unknown mode");
	assert_string_equal(FAULT("100600 a\0" ID), "has an unknown mode");
	assert_string_equal(FAULT("0100644 a\0" ID), "is damaged");
	assert_string_equal(FAULT("1000644 a\0" ID), "is damaged");
	assert_string_equal(FAULT("100644 a"), "is damaged");
	assert_string_equal(FAULT("100644 a\0"
				  "short"),
			    "is damaged");
	assert_string_equal(FAULT("100644a\0" ID), "is damaged");
}

static void the_callers_error_ends_it(void **state)
{
	const char *name;
	int r;

	assert_null(gittree_check("100644 a\0" ID, 29, 20, stop, NULL, &r, &name));
	assert_int_equal(r, -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_as_git_makes_it_is_good),
		cmocka_unit_test(directories_are_in_order_as_if_a_slash_stood_behind_them),
		cmocka_unit_test(a_name_twice_is_found_wherever_it_stands),
		cmocka_unit_test(names_that_git_does_not_check_out_are_refused),
		cmocka_unit_test(files_that_git_reads_are_no_links),
		cmocka_unit_test(other_modes_and_cut_entries_are_refused),
		cmocka_unit_test(the_callers_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
