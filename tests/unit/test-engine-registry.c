#include "tests.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/ops.h"

static const char *const listed[] = {
#define ENGINE(symbol, name) name,
#include "config/engines.def"
#undef ENGINE
};

static struct sandbox_spec *spec_of(const char *engine)
{
	struct sandbox_spec *s = spec_new();

	s->engine = xstrdup(engine);
	s->name = xstrdup("some-name");
	s->hostname = xstrdup("some-name");
	s->agent = xstrdup("claude");
	s->workspace = xstrdup("/w");
	s->home = xstrdup("/home/agent");
	s->instance = xstrdup("0123456789abcdef");
	s->uid = s->gid = 1000;
	s->net.tier = POLICY_FULL;
	return s;
}

/* The error of its plan; "": there is none. */
static const char *refusal(const struct sandbox_spec *s, struct err *ret)
{
	*ret = (struct err){0};
	return needs_check(registry_get(s->engine), s, ret) < 0 ? ret->msg : "";
}

static void every_engine_has_the_name_that_the_list_gives_it(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		const struct engine_ops *ops = registry_get(listed[i]);

		if (!ops)
			fail_msg("no engine is called '%s'", listed[i]);
		assert_string_equal(ops->name, listed[i]);
	}
}

static void every_engine_has_what_is_not_optional(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		const struct engine_ops *ops = registry_get(listed[i]);

		assert_true(ops->instance_size >= sizeof(struct engine));
		assert_true(ops->init && ops->probe && ops->plan && ops->dump && ops->stop &&
			    ops->done);
		assert_true(ops->caps & ENGINE_NO_GUEST ? ops->set_up && ops->exec
							: ops->start && ops->cover);
	}
}

static void no_wish_leads_to_no_sandbox(void **state)
{
	const char *name = NULL;
	struct err e = {0};

	assert_true(engine_has(engine_no_sandbox(), ENGINE_NO_WALL));
	assert_true(engine_find(engine_no_sandbox(), &name, &e) < 0);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	assert_null(name);
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
		assert_false(engine_has(listed[i], ENGINE_NO_WALL));
}

static void unknown_engine_is_answered_with_the_names_of_the_list(void **state)
{
	const char *name = NULL;
	struct err e = {0};

	assert_true(engine_find("vmware", &name, &e) < 0);
	assert_string_equal(
		e.msg, "there is no engine 'vmware'; use auto, native, gvisor, docker, podman, "
		       "vm, vm:emulated, sbx or docker-sandbox");
	assert_int_equal(e.exit_code, EXIT_USAGE);
}

static bool doctor_of(const char *name)
{
	struct doctor_rows rows = {0};
	struct err e = {0};
	bool usable = false;

	if (engine_doctor(name, &rows, &usable, &e) < 0)
		fail_msg("%s", e.msg);
	doctor_rows_done(&rows);
	return usable;
}

static void doctor_says_of_the_named_engine_whether_it_is_usable(void **state)
{
	char dir[] = "/tmp/ralph-test-XXXXXX";
	cleanup_free char *path = xstrdup(getenv("PATH")), *podman = NULL;

	assert_non_null(mkdtemp(dir));
	podman = path_join(dir, "podman");
	assert_int_equal(symlink("/bin/echo", podman), 0);
	assert_int_equal(setenv("PATH", dir, 1), 0);
	assert_true(doctor_of("podman"));
	assert_false(doctor_of("native"));
	assert_false(doctor_of("vmware"));
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(unlink(podman), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void unknown_engine_has_no_capability(void **state)
{
	assert_false(engine_has("vmware", (enum engine_caps) ~0u));
	assert_false(engine_has(NULL, (enum engine_caps) ~0u));
	assert_null(engine_images("vmware"));
}

static void need_that_the_engine_cannot_meet_is_named(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_of("sbx"), *none = spec_of("direct");
	struct err e;

	assert_string_equal(refusal(s, &e), "");
	s->limits.pids = 5;
	assert_non_null(strstr(refusal(s, &e), "engine sbx cannot enforce 'limits.pids'"));
	(void)spec_mount_add(s, SPEC_HIDE, NULL, "/w/.env", "a secret");
	assert_non_null(strstr(refusal(s, &e), "cannot hide '/w/.env'"));
	(void)spec_mount_add(s, SPEC_PROTECT, "/w/.git/hooks", "/w/.git/hooks", "hooks");
	assert_non_null(strstr(refusal(s, &e), "cannot keep '/w/.git/hooks' read-only"));

	assert_string_equal(refusal(none, &e), "");
	none->net.tier = POLICY_ALLOWLIST;
	assert_non_null(strstr(refusal(none, &e), "network tier 'allowlist'"));
}

static void plan_asks_for_the_needs(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_of("direct");
	cleanup_(engine_freep) struct engine *engine = NULL;
	struct err e = {0};

	s->net.tier = POLICY_NONE;
	assert_int_equal(engine_new("direct", &engine, &e), 0);
	assert_true(engine_plan(engine, s, &e) < 0);
	assert_non_null(strstr(e.msg, "network tier 'none'"));
}

static void programs_with_images_are_those_of_the_wish(void **state)
{
	cleanup_strv struct strv all = {0}, sbx = {0}, podman = {0};

	engine_image_programs("auto", &all);
	assert_true(strv_has(&all, "docker") && strv_has(&all, "podman") &&
		    all.n < ARRAY_SIZE(listed));
	engine_image_programs("sbx", &sbx);
	assert_int_equal(sbx.n, 1);
	assert_string_equal(sbx.v[0], "docker");
	engine_image_programs("podman", &podman);
	assert_string_equal(podman.v[0], "podman");
}

static void notes_are_the_engines_own(void **state)
{
	static const char *const logs[][2] = {{"sbx", "sbx policy log"},
					      {"docker-sandbox", "docker sandbox network log"}};

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		cleanup_(spec_freep) struct sandbox_spec *s = spec_of(logs[i][0]);
		cleanup_(engine_notes_done) struct engine_notes notes;
		bool found = false;

		engine_notes(s, &notes);
		for (size_t k = 0; k < notes.network.n; k++)
			found = found || strstr(notes.network.v[k], logs[i][1]);
		assert_true(found);
	}
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		cleanup_(spec_freep) struct sandbox_spec *s = spec_of(listed[i]);
		cleanup_(engine_notes_done) struct engine_notes notes;

		engine_notes(s, &notes);
		assert_int_equal(notes.mounts.n > 0, engine_has(listed[i], ENGINE_NO_GUEST));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_engine_has_the_name_that_the_list_gives_it),
		cmocka_unit_test(every_engine_has_what_is_not_optional),
		cmocka_unit_test(no_wish_leads_to_no_sandbox),
		cmocka_unit_test(unknown_engine_is_answered_with_the_names_of_the_list),
		cmocka_unit_test(doctor_says_of_the_named_engine_whether_it_is_usable),
		cmocka_unit_test(unknown_engine_has_no_capability),
		cmocka_unit_test(need_that_the_engine_cannot_meet_is_named),
		cmocka_unit_test(plan_asks_for_the_needs),
		cmocka_unit_test(programs_with_images_are_those_of_the_wish),
		cmocka_unit_test(notes_are_the_engines_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
