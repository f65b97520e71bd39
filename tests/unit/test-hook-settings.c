#include "tests.h"

#include "base/json/json.h"
#include "hook/hook-settings.h"

static json_t *settings(enum hook_set set, const char *program)
{
	cleanup_buf struct buf b;
	json_t *j;

	buf_init(&b, 64 * KiB);
	assert_int_equal(hook_settings_document(&b, set, program), 0);
	assert_int_equal(json_parse(buf_str(&b), b.len, &j, NULL), 0);
	return j;
}

static const char *command(const json_t *j, const char *event)
{
	const json_t *rows = json_object_get(json_object_get(j, "hooks"), event);

	return json_string_value(json_object_get(
		json_array_get(json_object_get(json_array_get(rows, 0), "hooks"), 0), "command"));
}

static void inside_no_tool_is_judged_and_the_loop_hears_of_the_rest(void **state)
{
	cleanup_json json_t *j = settings(HOOK_SET_INSIDE, HOOK_INSIDE);

	assert_null(command(j, "PreToolUse"));
	assert_string_equal(command(j, "PostToolUse"), "'" HOOK_INSIDE "' post-tool-use");
	assert_string_equal(command(j, "Stop"), "'" HOOK_INSIDE "' stop");
	assert_string_equal(command(j, "PreCompact"), "'" HOOK_INSIDE "' pre-compact");
}

static void without_a_sandbox_a_hook_that_fails_blocks_the_tool(void **state)
{
	cleanup_json json_t *j = settings(HOOK_SET_DIRECT, "/it's here/hook");
	const json_t *row = json_array_get(
		json_object_get(
			json_array_get(json_object_get(json_object_get(j, "hooks"), "PreToolUse"),
				       0),
			"hooks"),
		0);

	assert_string_equal(command(j, "PreToolUse"), "'/it'\\''s here/hook' pre-tool-use");
	assert_string_equal(json_string_value(json_object_get(row, "onFailure")), "block");
}

static void a_workspace_that_switches_hooks_off_is_seen(void **state)
{
	static const char *const off[] = {"{\"disableAllHooks\":true}", "{", "",
					  "{\"disable\\u0041llHooks\":true}"};
	static const char *const on[] = {"{}", "{\"disableAllHooks\":false}", "{\"hooks\":{}}"};

	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		assert_true(hook_settings_disabled(off[i], strlen(off[i])));
	for (size_t i = 0; i < ARRAY_SIZE(on); i++)
		assert_false(hook_settings_disabled(on[i], strlen(on[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inside_no_tool_is_judged_and_the_loop_hears_of_the_rest),
		cmocka_unit_test(without_a_sandbox_a_hook_that_fails_blocks_the_tool),
		cmocka_unit_test(a_workspace_that_switches_hooks_off_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
