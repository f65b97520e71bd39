#include "tests.h"

#include "cli-demo.h"

static void assert_refused(const struct demo_result *r, const char *message)
{
	assert_string_equal(r->err, message);
	assert_int_equal(r->code, 2);
	assert_string_equal(r->seen.cmd, "");
	assert_string_equal(r->out, "");
}

static void options_take_their_value_in_all_four_spellings(void **state)
{
	assert_string_equal(demo("run", "--name=a")->seen.name, "a");
	assert_string_equal(demo("run", "--name", "b")->seen.name, "b");
	assert_string_equal(demo("run", "-nc")->seen.name, "c");
	assert_string_equal(demo("run", "-n", "d")->seen.name, "d");
	assert_string_equal(demo("run", "--name=")->seen.name, "");
	assert_string_equal(demo("run", "--name=a=b")->seen.name, "a=b");
	assert_string_equal(demo("run", "-n", "-x")->seen.name, "-x");
}

static void short_options_cluster_and_the_last_may_take_a_value(void **state)
{
	struct demo_result *r = demo("run", "-dyn", "x");

	assert_true(r->seen.detach);
	assert_true(r->seen.yes);
	assert_string_equal(r->seen.name, "x");
	assert_string_equal(demo("run", "-dnx")->seen.name, "x");
}

static void a_repeated_scalar_keeps_the_last_and_a_list_keeps_all(void **state)
{
	struct demo_result *r = demo("run", "-n", "a", "-e", "A=1", "--name", "b", "--env=B=2");

	assert_string_equal(r->seen.name, "b");
	assert_string_equal(r->seen.env, "A=1|B=2");
	assert_false(demo("run", "--rm", "--keep")->seen.rm);
	assert_true(demo("run", "--keep", "--rm")->seen.rm);
}

static void a_renamed_option_works_by_its_old_name_with_one_notice(void **state)
{
	struct demo_result *r = demo("run", "--label=a");

	assert_string_equal(r->seen.name, "a");
	assert_string_equal(r->err, "ralph: warning: '--label' is now '--name'; the old name works "
				    "until the next release\n");
	assert_string_equal(demo("run", "--name=a")->err, "");
	assert_int_equal(demo("run", "--lable=a")->code, 2);
}

static void defaults_are_what_the_row_says(void **state)
{
	struct demo_result *r = demo("run");

	assert_int_equal(r->seen.count, 3);
	assert_int_equal(r->seen.size, 4096);
	assert_int_equal(r->seen.wait, 0);
	assert_string_equal(r->seen.mode, "safe");
	assert_int_equal(r->seen.dashdash, -1);
	assert_true(r->seen.warm);
	assert_false(demo("run", "--no-warm")->seen.warm);
}

static void numbers_are_strict(void **state)
{
	static const char *const bad[] = {"010", "+1", "-1", " 1", "1 ", "0x1", "", "1e1", "one"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(demo("run", "-c", bad[i])->code, 2);
		assert_int_equal(demo("run", "--size", bad[i])->code, 2);
		assert_int_equal(demo("run", "--wait", bad[i])->code, 2);
	}
	assert_int_equal(demo("run", "--size=2M")->seen.size, 2 << 20);
	assert_int_equal(demo("run", "--wait=2m")->seen.wait, 120000);
	assert_refused(demo("run", "-c", "100"),
		       "ralph: run: option '-c' must be between 1 and 99, not '100'\n");
	assert_refused(demo("run", "--wait=5ms"),
		       "ralph: run: option '--wait' must be at least 1000 ms, not '5ms'\n");
	assert_refused(demo("run", "--count=x"),
		       "ralph: run: option '--count' wants a whole number, not 'x'\n");
	assert_refused(demo("run", "--size=99999999999T"),
		       "ralph: run: option '--size': '99999999999T' is too large\n");
}

static void a_choice_takes_its_words_only(void **state)
{
	assert_string_equal(demo("run", "--mode", "fast")->seen.mode, "fast");
	assert_refused(demo("run", "--mode", "fas"),
		       "ralph: run: option '--mode' must be one of fast, safe, not 'fas'\n");
}

static void config_options_become_keys_and_a_scalar_key_appears_once(void **state)
{
	assert_string_equal(demo("run", "-m4G", "--memory=8G")->seen.config, "limits.memory=8G");
	assert_string_equal(demo("run", "--allow=a", "--allow", "b")->seen.config,
			    "network.allow=a|network.allow=b");
	assert_string_equal(demo("run", "--net", "--no-net")->seen.config, "network.on=false");
	assert_string_equal(demo("run", "--docker")->seen.config, "engine=docker");
	assert_string_equal(demo("--engine=x", "-p", "dev", "run", "--docker")->seen.config,
			    "engine=docker|profile=dev");
	assert_refused(demo("run", "-m", "4X"),
		       "ralph: run: option '-m' wants a size such as 512K, 64M or 2G, "
		       "not '4X'\n");
}

static void booleans_refuse_a_value(void **state)
{
	assert_refused(demo("run", "--rm=true"), "ralph: run: option '--rm' takes no value\n");
	assert_refused(demo("run", "--docker=yes"),
		       "ralph: run: option '--docker' takes no value\n");
}

static void a_missing_value_names_the_option(void **state)
{
	assert_refused(demo("run", "--name"),
		       "ralph: run: option '--name' needs a value: --name NAME\n");
	assert_refused(demo("run", "-dn"), "ralph: run: option '-n' needs a value: -n NAME\n");
}

static void unknown_options_get_a_suggestion_and_no_help_text(void **state)
{
	assert_refused(demo("run", "--dry-rnu"), "ralph: run: unknown option '--dry-rnu'; did you "
						 "mean '--dry-run'?\n");
	assert_refused(demo("ls", "--zzzzzzzz"), "ralph: ls: unknown option '--zzzzzzzz'\n");
	assert_refused(demo("ls", "-qZ"), "ralph: ls: unknown option '-Z'\n");
	assert_refused(demo("--colr"), "ralph: unknown option '--colr'; did you mean '--color'?\n");
	assert_refused(demo("run", "ls", "-la"),
		       "ralph: run: unknown option '-l'; options of the command to run go after "
		       "'--' or after its name\n");
}

static void long_options_are_never_abbreviated(void **state)
{
	assert_int_equal(demo("run", "--det")->code, 2);
	assert_int_equal(demo("run", "--detachx")->code, 2);
}

static void operands_and_options_mix_and_dashes_end_the_options(void **state)
{
	struct demo_result *r = demo("run", "path", "--rm", "--", "ls", "--rm", "--", "-l");

	assert_string_equal(r->seen.operands, "path|ls|--rm|--|-l");
	assert_int_equal(r->seen.dashdash, 1);
	assert_true(r->seen.rm);
	assert_string_equal(demo("run", "-")->seen.operands, "-");
	assert_int_equal(demo("run", "--")->seen.dashdash, 0);
}

static void posix_commands_stop_at_the_first_operand(void **state)
{
	struct demo_result *r = demo("exec", "-d", "box", "ls", "-n", "--help", "--", "x");

	assert_string_equal(r->seen.operands, "box|ls|-n|--help|--|x");
	assert_int_equal(r->seen.dashdash, -1);
	assert_true(r->seen.detach);
	assert_string_equal(r->seen.name, "");
	r = demo("exec", "--", "-box", "ls");
	assert_string_equal(r->seen.operands, "-box|ls");
	assert_int_equal(r->seen.dashdash, 0);
}

static void global_options_stand_before_or_behind_the_command(void **state)
{
	assert_true(demo("--dry-run", "run")->seen.dry_run);
	assert_true(demo("run", "--dry-run")->seen.dry_run);
	assert_false(demo("run", "--", "--dry-run")->seen.dry_run);
	assert_string_equal(demo("--log-level", "debug", "ls")->seen.config, "log.level=debug");
}

static void a_global_option_the_command_would_ignore_is_refused(void **state)
{
	const char *msg = "ralph: rm: option '--dry-run' does not apply to this command\n";

	assert_refused(demo("rm", "--dry-run", "x"), msg);
	assert_refused(demo("--dry-run", "rm", "x"), msg);
	assert_refused(demo("--docker", "ls"),
		       "ralph: ls: option '--docker' does not apply to this command\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_take_their_value_in_all_four_spellings),
		cmocka_unit_test(short_options_cluster_and_the_last_may_take_a_value),
		cmocka_unit_test(a_renamed_option_works_by_its_old_name_with_one_notice),
		cmocka_unit_test(a_repeated_scalar_keeps_the_last_and_a_list_keeps_all),
		cmocka_unit_test(defaults_are_what_the_row_says),
		cmocka_unit_test(numbers_are_strict),
		cmocka_unit_test(a_choice_takes_its_words_only),
		cmocka_unit_test(config_options_become_keys_and_a_scalar_key_appears_once),
		cmocka_unit_test(booleans_refuse_a_value),
		cmocka_unit_test(a_missing_value_names_the_option),
		cmocka_unit_test(unknown_options_get_a_suggestion_and_no_help_text),
		cmocka_unit_test(long_options_are_never_abbreviated),
		cmocka_unit_test(operands_and_options_mix_and_dashes_end_the_options),
		cmocka_unit_test(posix_commands_stop_at_the_first_operand),
		cmocka_unit_test(global_options_stand_before_or_behind_the_command),
		cmocka_unit_test(a_global_option_the_command_would_ignore_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
