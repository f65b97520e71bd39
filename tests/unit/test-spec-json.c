#include "tests.h"

#include "base/mem.h"
#include "spec-sample.h"

static char *text_of(const struct sandbox_spec *s)
{
	cleanup_json json_t *j = spec_to_json(s);

	return json_dumps(j, JSON_INDENT(1));
}

static void spec_json_round_trip_keeps_every_field(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = spec_to_json(s);
	cleanup_free char *before = text_of(s), *after = NULL, *difference = NULL;
	struct err e = {0};

	assert_int_equal(spec_from_json(j, &back, &e), 0);
	after = text_of(back);
	assert_string_equal(before, after);
	difference = spec_difference(s, back);
	assert_null(difference);
	assert_int_equal(back->mounts[2].mode, 0444);
	assert_int_equal(back->limits.controllers, 7);
	assert_string_equal(back->net.rules[1].git.v[0], "fetch");
	assert_string_equal(spec_env_find(back, "A")->value, "b=c\nd \"e\"");
}

static void spec_json_absent_branch_stays_absent(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = NULL;
	struct err e;

	free(s->branch);
	s->branch = NULL;
	j = spec_to_json(s);
	assert_null(json_object_get(j, "branch"));
	assert_int_equal(spec_from_json(j, &back, &e), 0);
	assert_null(back->branch);
}

/* Whatever is taken away or of another type is refused; nothing but these may be absent. */
static void spec_json_without_or_with_a_wrong_member_is_refused(void **state)
{
	static const char *const optional[] = {"branch", "instance", "clone"};
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_json json_t *whole = spec_to_json(s);
	const char *key;
	json_t *value;

	json_object_foreach (whole, key, value) {
		cleanup_json json_t *without = json_copy(whole), *wrong = json_copy(whole);
		struct sandbox_spec *back = NULL;
		struct err e = {0};
		bool may = false;

		for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
			may = may || streq(key, optional[i]);

		(void)json_object_del(without, key);
		if (spec_from_json(without, &back, &e) == 0 && !may)
			fail_msg("a spec without '%s' was taken", key);
		back = spec_free(back);
		(void)json_object_set_new(wrong, key, json_real(0.5));
		if (spec_from_json(wrong, &back, &e) == 0)
			fail_msg("a spec with a number for '%s' was taken", key);
		assert_null(back);
		assert_non_null(strstr(e.msg, key));
	}
}

static void refused(const char *path, json_t *value)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = spec_to_json(s);
	cleanup_strv struct strv parts;
	struct err e = {0};
	json_t *at = j;

	strv_init(&parts);
	strv_split(&parts, path, '.');
	for (size_t i = 0; i + 1 < parts.n; i++)
		at = json_is_array(at) ? json_array_get(at, (size_t)(parts.v[i][0] - '0'))
				       : json_object_get(at, parts.v[i]);
	assert_non_null(at);
	(void)json_object_set_new(at, parts.v[parts.n - 1], value);
	if (spec_from_json(j, &back, &e) == 0)
		fail_msg("'%s' was taken", path);
	assert_true(e.msg[0]);
}

static void spec_json_values_that_make_no_sense_are_refused(void **state)
{
	refused("mounts.0.kind", json_string("rwx"));
	refused("mounts.0.target", json_string("usr"));
	refused("mounts.0.target", json_string("/a/../etc"));
	refused("mounts.0.source", json_null());
	refused("mounts.2.data", json_null());
	refused("mounts.8.mode", json_integer(1LL << 40));
	refused("mounts.8.size", json_integer(-1));
	refused("env.0.origin", json_string("other"));
	refused("env.0.name", json_string("A=B"));
	refused("env.0.name", json_string(""));
	refused("network.tier", json_string("most"));
	refused("network.rules.0.verdict", json_string("maybe"));
	refused("limits.memory", json_integer(-5));
	refused("uid", json_integer(1LL << 33));
	refused("name", json_string("../x"));
	refused("name", json_string(""));
	refused("workspace", json_string("relative"));
}

static void spec_check_path_that_json_cannot_hold_is_refused(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err e = {0};

	assert_int_equal(spec_check(s, &e), 0);
	free(s->workspace);
	s->workspace = xstrdup("/home/u/\xff");
	assert_true(spec_check(s, &e) < 0);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	assert_non_null(strstr(e.msg, "UTF-8"));
}

static void spec_environ_is_name_and_value(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_strv struct strv env;

	strv_init(&env);
	spec_env_set(s, "A", "again", SPEC_USER, "--env");
	spec_environ(s, &env);
	assert_int_equal(env.n, 3);
	assert_string_equal(strv_env_get(&env, "A"), "again");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spec_json_round_trip_keeps_every_field),
		cmocka_unit_test(spec_json_absent_branch_stays_absent),
		cmocka_unit_test(spec_json_without_or_with_a_wrong_member_is_refused),
		cmocka_unit_test(spec_json_values_that_make_no_sense_are_refused),
		cmocka_unit_test(spec_check_path_that_json_cannot_hold_is_refused),
		cmocka_unit_test(spec_environ_is_name_and_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
