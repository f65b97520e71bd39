#include "tests.h"

#include "wire/root-proto.h"

static struct guest_mount mounts[] = {
	{.kind = GUEST_PROC, .source = "", .target = "/proc"},
	{.kind = GUEST_TMPFS, .source = "", .target = "/tmp", .mode = 01777, .size = 4096},
	{.kind = GUEST_BIND_RW, .source = "/srv/a b", .target = "/home/u"},
};

static int decode(const struct guest_root *root, size_t cut, struct guest_root *ret,
		  struct err *err, struct wire_msg *m)
{
	wire_msg_init(m);
	guest_root_put(&m->body, root);
	m->body.len -= cut;
	return guest_root_get(m, ret, err);
}

static struct guest_root example(void)
{
	return (struct guest_root){.hostname = "box",
				   .uid = 1000,
				   .gid = 100,
				   .mounts = mounts,
				   .n_mounts = ARRAY_SIZE(mounts)};
}

static void what_is_put_is_what_is_got(void **state)
{
	cleanup_guest_root struct guest_root got = {0};
	cleanup_wire_msg struct wire_msg m;
	struct guest_root root = example();
	struct err err = {0};

	assert_int_equal(decode(&root, 0, &got, &err, &m), 0);
	assert_string_equal(got.hostname, "box");
	assert_int_equal(got.uid, 1000);
	assert_int_equal(got.gid, 100);
	assert_int_equal(got.n_mounts, 3);
	assert_int_equal(got.mounts[1].kind, GUEST_TMPFS);
	assert_int_equal(got.mounts[1].mode, 01777);
	assert_int_equal(got.mounts[1].size, 4096);
	assert_string_equal(got.mounts[2].source, "/srv/a b");
	assert_string_equal(got.mounts[2].target, "/home/u");
}

static void a_list_that_is_cut_short_is_refused(void **state)
{
	struct guest_root root = example();

	for (size_t cut = 1; cut < 60; cut++) {
		cleanup_guest_root struct guest_root got = {0};
		cleanup_wire_msg struct wire_msg m;
		struct err err = {0};

		assert_true(decode(&root, cut, &got, &err, &m) < 0);
		assert_null(got.mounts);
	}
}

static void an_unknown_kind_and_a_relative_target_are_refused(void **state)
{
	struct guest_mount wrong[] = {
		{.kind = GUEST_MOUNT_N, .source = "", .target = "/x"},
		{.kind = GUEST_DIR, .source = "", .target = "x"},
		{.kind = GUEST_DIR, .source = "", .target = ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		cleanup_guest_root struct guest_root got = {0};
		cleanup_wire_msg struct wire_msg m;
		struct guest_root root = {.hostname = "", .mounts = &wrong[i], .n_mounts = 1};
		struct err err = {0};

		assert_int_equal(decode(&root, 0, &got, &err, &m), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_what_is_got),
		cmocka_unit_test(a_list_that_is_cut_short_is_refused),
		cmocka_unit_test(an_unknown_kind_and_a_relative_target_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
