#include "tests.h"

#include <string.h>

#include "base/buf.h"
#include "repo/wide/wide-names.h"

static const unsigned char one[WIDE_LEN] = {1, 2, 3, [20] = 4, [31] = 5};
static const unsigned char like[WIDE_LEN] = {1, 2, 3, [20] = 9};

static void two_names_that_begin_alike_are_an_error(void **state)
{
	struct wide_names *n = wide_names_new();
	git_oid oid;

	assert_int_equal(wide_names_add(n, one, &oid), 0);
	assert_memory_equal(oid.id, one, GIT_OID_RAWSZ);
	assert_int_equal(wide_names_add(n, one, &oid), 0);
	assert_int_equal(wide_names_add(n, like, &oid), -EEXIST);
	assert_memory_equal(wide_names_find(n, &oid), one, WIDE_LEN);
	wide_names_free(n);
}

static void names_are_found_among_many_and_others_are_not(void **state)
{
	struct wide_names *n = wide_names_new();
	unsigned char full[WIDE_LEN] = {0};
	git_oid oid;

	for (unsigned i = 0; i < 20000; i++) {
		full[0] = (unsigned char)i;
		full[1] = (unsigned char)(i >> 8);
		full[31] = (unsigned char)(i % 7);
		assert_int_equal(wide_names_add(n, full, &oid), 0);
	}
	full[0] = 7;
	full[1] = 0;
	(void)git_oid_fromraw(&oid, full);
	assert_int_equal(wide_names_find(n, &oid)[31], 0);
	full[19] = 1;
	(void)git_oid_fromraw(&oid, full);
	assert_null(wide_names_find(n, &oid));
	wide_names_free(n);
}

/* Names that somebody chose so that all belong at one place of the table. */
static void names_that_fall_together_are_an_error_and_no_endless_search(void **state)
{
	struct wide_names *n = wide_names_new();
	unsigned char full[WIDE_LEN] = {0};
	git_oid oid;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 100000; i++) {
		full[10] = (unsigned char)i;
		full[11] = (unsigned char)(i >> 8);
		full[12] = (unsigned char)(i >> 16);
		r = wide_names_add(n, full, &oid);
	}
	assert_int_equal(r, -ENOBUFS);
	wide_names_free(n);
}

static void both_ways(git_object_t type, const char *bytes, size_t len, size_t narrow)
{
	struct wide_names *n = wide_names_new();
	struct buf a, b;

	buf_init(&a, 1 * MiB);
	buf_init(&b, 1 * MiB);
	assert_int_equal(wide_narrow(n, type, bytes, len, &a), 0);
	assert_int_equal(a.len, narrow);
	assert_int_equal(wide_widen(n, type, a.data, a.len, &b), 0);
	assert_int_equal(b.len, len);
	assert_memory_equal(b.data, bytes, len);
	buf_done(&a);
	buf_done(&b);
	wide_names_free(n);
}

#define HEX "0102030000000000000000000000000000000000040000000000000000000005"

static void objects_are_the_same_after_both_ways(void **state)
{
	static const char commit[] =
		"tree " HEX "\nparent " HEX "\nauthor a <a> 1 +0000\n\ntree " HEX "\n";
	static const char tag[] = "object " HEX "\ntype commit\ntag v1\n\nx\n";
	char tree[9 + WIDE_LEN] = "100644 a";

	memcpy(tree + 9, one, WIDE_LEN);
	both_ways(GIT_OBJECT_TREE, tree, sizeof(tree), 9 + GIT_OID_RAWSZ);
	both_ways(GIT_OBJECT_COMMIT, commit, strlen(commit), strlen(commit) - 2 * 24);
	both_ways(GIT_OBJECT_TAG, tag, strlen(tag), strlen(tag) - 24);
	both_ways(GIT_OBJECT_BLOB, "tree x", 6, 6);
}

static void bad(git_object_t type, const char *bytes, size_t len)
{
	struct wide_names *n = wide_names_new();
	struct buf out;

	buf_init(&out, 1 * MiB);
	assert_int_equal(wide_narrow(n, type, bytes, len, &out), -EBADMSG);
	buf_done(&out);
	wide_names_free(n);
}

static void objects_that_are_cut_off_or_odd_are_refused(void **state)
{
	char tree[9 + WIDE_LEN] = "100644 a";

	memcpy(tree + 9, one, WIDE_LEN);
	for (size_t i = 1; i < sizeof(tree); i++)
		bad(GIT_OBJECT_TREE, tree, i);
	bad(GIT_OBJECT_COMMIT, "tree 01\n", 8);
	bad(GIT_OBJECT_COMMIT, "tree " HEX, 5 + WIDE_HEX);
	bad(GIT_OBJECT_COMMIT, "tree " HEX "0\n", 5 + WIDE_HEX + 2);
	bad(GIT_OBJECT_TAG, "object " HEX " \n", 7 + WIDE_HEX + 2);
	bad(GIT_OBJECT_ANY, "", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_names_that_begin_alike_are_an_error),
		cmocka_unit_test(names_are_found_among_many_and_others_are_not),
		cmocka_unit_test(names_that_fall_together_are_an_error_and_no_endless_search),
		cmocka_unit_test(objects_are_the_same_after_both_ways),
		cmocka_unit_test(objects_that_are_cut_off_or_odd_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
