#include "tests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json.h"
#include "check/doctor.h"

static const struct doctor_row *row_of(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->rows.n; i++)
		if (streq(d->rows.v[i].name, name))
			return &d->rows.v[i];
	fail_msg("no row '%s'", name);
	return NULL;
}

static void examine(struct doctor *d)
{
	struct err e = {0};

	if (doctor_examine(d, &e) < 0)
		fail_msg("%s", e.msg);
}

static void every_part_is_looked_at_and_no_child_is_left(void **state)
{
	static const char *const names[] = {"namespaces", "Landlock", "seccomp", "cgroups",
					    "KVM",	  "docker",   "podman",	 "sbx"};
	struct doctor d = {0};

	examine(&d);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(row_of(&d, names[i])->use);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	doctor_done(&d);
}

static void
where_no_guest_starts_the_native_engine_is_not_usable_and_a_remedy_is_named(void **state)
{
	struct doctor d = {0};

	assert_int_equal(setenv("RALPH_LIBEXEC", "/nonexistent", 1), 0);
	examine(&d);
	assert_int_equal(unsetenv("RALPH_LIBEXEC"), 0);
	assert_false(d.native);
	assert_int_equal(row_of(&d, "namespaces")->state, DOCTOR_MISSING);
	assert_non_null(row_of(&d, "namespaces")->remedy);
	doctor_done(&d);
}

static void kvm_that_does_not_run_a_guest_comes_with_what_to_do(void **state)
{
	const struct doctor_row *kvm;
	struct doctor d = {0};

	examine(&d);
	kvm = row_of(&d, "KVM");
	if (kvm->state == DOCTOR_OK)
		assert_null(kvm->remedy);
	else
		assert_non_null(kvm->remedy);
	if (faccessat(AT_FDCWD, "/dev/kvm", F_OK, 0) < 0)
		assert_string_equal(kvm->remedy, "not needed by the native engine");
	doctor_done(&d);
}

static void json_says_the_same_as_the_rows(void **state)
{
	struct doctor d = {.rows.n = 1, .native = true};
	cleanup_json json_t *j = NULL;
	const char *text = NULL;
	struct err e = {0};
	json_t *checks = NULL;

	d.rows.v[0] = (struct doctor_row){.name = "x",
					  .state = DOCTOR_LIMITED,
					  .detail = xstrdup("odd \xff byte"),
					  .use = xstrdup("u")};
	j = doctor_to_json(&d);
	assert_non_null(j);
	assert_int_equal(json_get_array(j, "checks", &checks, &e), 0);
	assert_int_equal(json_get_str(json_array_get(checks, 0), "state", &text, &e), 0);
	assert_string_equal(text, "limited");
	assert_true(json_is_null(json_object_get(json_array_get(checks, 0), "remedy")));
	assert_true(json_is_true(json_object_get(j, "native")));
	doctor_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_is_looked_at_and_no_child_is_left),
		cmocka_unit_test(
			where_no_guest_starts_the_native_engine_is_not_usable_and_a_remedy_is_named),
		cmocka_unit_test(kvm_that_does_not_run_a_guest_comes_with_what_to_do),
		cmocka_unit_test(json_says_the_same_as_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
