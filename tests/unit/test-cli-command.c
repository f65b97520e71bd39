#include "tests.h"

#include "cli-demo.h"

#include <stdio.h>

static void commands_are_found_by_name_alias_and_path(void **state)
{
	assert_string_equal(demo("ls")->seen.cmd, "ls");
	assert_string_equal(demo("list", "-q")->seen.cmd, "ls");
	assert_string_equal(demo("config", "show", "engine", "-q")->seen.cmd, "config show");
	assert_int_equal(demo("code")->code, 7);
}

static void unknown_commands_get_a_suggestion(void **state)
{
	struct demo_result *r = demo("rnu");

	assert_string_equal(r->err, "ralph: unknown command 'rnu'; did you mean 'run'?\n");
	assert_int_equal(r->code, 2);
	r = demo("config", "shwo");
	assert_string_equal(r->err, "ralph: unknown command 'config shwo'; did you mean 'show'?\n");
	assert_int_equal(r->code, 2);
	r = demo("quux");
	assert_string_equal(r->err,
			    "ralph: unknown command 'quux'; 'ralph help' lists what there is\n");
}

static void hidden_commands_are_not_suggested_nor_listed(void **state)
{
	assert_null(strstr(demo("coed")->err, "'code'"));
	assert_null(strstr(demo("--help")->out, "exit 7"));
	assert_null(strstr(demo("--dump-options")->out, "secret-switch"));
	assert_null(strstr(demo("run", "--help")->out, "secret-switch"));
}

static void a_missing_or_extra_operand_shows_the_usage_line_alone(void **state)
{
	struct demo_result *r = demo("exec", "box");

	assert_string_equal(r->err, "ralph: exec: missing operand\n"
				    "usage: ralph exec [options] NAME CMD...\n");
	assert_int_equal(r->code, 2);
	r = demo("config", "show", "a", "b");
	assert_string_equal(r->err, "ralph: config show: unexpected operand 'b'\n"
				    "usage: ralph config show [options] [KEY]\n");
	assert_int_equal(demo("ls", "x")->code, 2);
}

static void a_group_without_its_command_is_a_usage_error(void **state)
{
	struct demo_result *r = demo("config");

	assert_int_equal(r->code, 2);
	assert_non_null(strstr(r->err, "usage: ralph config COMMAND"));
	assert_int_equal(demo("config", "--", "show")->code, 2);
}

static void json_logging_prints_nothing_but_json_lines(void **state)
{
	struct demo_result *r = demo("--log-format=json", "rm");

	assert_int_equal(r->err[0], '{');
	assert_null(strstr(r->err, "usage:"));
}

static void no_command_shows_the_overview_on_stderr_and_exits_2(void **state)
{
	struct demo_result *r = demo();

	assert_int_equal(r->code, 2);
	assert_string_equal(r->out, "");
	assert_non_null(strstr(r->err, "usage: ralph"));
	assert_null(strstr(r->err, "--log-level"));
}

static void a_failing_command_exits_1_or_125_where_a_payload_runs(void **state)
{
	assert_int_equal(demo("fail")->code, 1);
	assert_int_equal(demo("fail125")->code, 125);
}

static void an_error_message_cannot_act_on_the_terminal(void **state)
{
	assert_null(strchr(demo("fail")->err, 0x1b));
	assert_null(strstr(demo("run", "--x\xc2\x9b"
				       "31m")
				   ->err,
			   "\xc2\x9b"));
	assert_null(strstr(demo("\u202e")->err, "\u202e"));
}

static void help_fits_80_columns_and_comes_from_the_tables(void **state)
{
	char out[8192];
	char *rest = out;

	(void)snprintf(out, sizeof(out), "%s", demo("run", "--help")->out);
	assert_non_null(strstr(out, "usage: ralph run [options] [PATH] -- CMD..."));
	assert_non_null(strstr(out, "  -c, --count N"));
	assert_non_null(strstr(out, "how often (default: 3)"));
	assert_non_null(strstr(out, "how: fast, safe (default: safe)"));
	assert_non_null(strstr(out, "set a variable; may be repeated"));
	assert_non_null(strstr(out, "      --dry-run"));
	for (char *line; (line = strsep(&rest, "\n"));)
		assert_in_range(strlen(line), 0, 80);
}

static void help_is_the_same_by_every_road(void **state)
{
	char first[8192];

	(void)snprintf(first, sizeof(first), "%s", demo("config", "show", "--help")->out);
	assert_string_equal(demo("config", "show", "-h")->out, first);
	assert_string_equal(demo("--help", "config", "show")->out, first);
	assert_string_equal(demo("-h", "config", "show", "a", "b", "c")->out, first);
	assert_int_equal(demo("config", "show", "-h")->code, 0);
}

static void help_leaves_out_global_options_the_command_refuses(void **state)
{
	assert_null(strstr(demo("ls", "--help")->out, "--dry-run"));
	assert_null(strstr(demo("ls", "--help")->out, "--docker"));
	assert_non_null(strstr(demo("config", "show", "--help")->out, "--docker"));
}

static void dump_has_one_line_of_six_fields_per_row(void **state)
{
	char out[8192];
	char *rest = out;

	(void)snprintf(out, sizeof(out), "%s", demo("--dump-options")->out);
	assert_non_null(strstr(out, "\nrun\tname\tn\tstr\tNAME\tname of the sandbox\n"));
	assert_non_null(strstr(out, "-\tdocker\t-\tbool\t-\t"));
	assert_non_null(strstr(out, "\nconfig show\tquiet\tq\tbool\t-\tnames only\n"));
	assert_non_null(strstr(out, "\nls\t-\t-\tcommand\t-\tlist sandboxes\n"));
	for (char *line; (line = strsep(&rest, "\n"));) {
		size_t tabs = 0;

		for (char *p = line; *p; p++)
			tabs += *p == '\t';
		assert_int_equal(tabs, *line ? 5 : 0);
	}
}

static void version_answers_wherever_it_stands(void **state)
{
	assert_string_equal(demo("--version")->out, "ralph 0.2.0\n");
	assert_string_equal(demo("rm", "-V")->out, "ralph 0.2.0\n");
	assert_string_equal(demo("--version", "nonsense")->out, "ralph 0.2.0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_found_by_name_alias_and_path),
		cmocka_unit_test(unknown_commands_get_a_suggestion),
		cmocka_unit_test(hidden_commands_are_not_suggested_nor_listed),
		cmocka_unit_test(a_missing_or_extra_operand_shows_the_usage_line_alone),
		cmocka_unit_test(a_group_without_its_command_is_a_usage_error),
		cmocka_unit_test(json_logging_prints_nothing_but_json_lines),
		cmocka_unit_test(no_command_shows_the_overview_on_stderr_and_exits_2),
		cmocka_unit_test(a_failing_command_exits_1_or_125_where_a_payload_runs),
		cmocka_unit_test(an_error_message_cannot_act_on_the_terminal),
		cmocka_unit_test(help_fits_80_columns_and_comes_from_the_tables),
		cmocka_unit_test(help_is_the_same_by_every_road),
		cmocka_unit_test(help_leaves_out_global_options_the_command_refuses),
		cmocka_unit_test(dump_has_one_line_of_six_fields_per_row),
		cmocka_unit_test(version_answers_wherever_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
