#include "tests.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "hook/input.h"

/* What an agent tells a hook, as a file that it could have written. */
static int read_text(const char *text, size_t n, struct hook_input *in)
{
	cleanup_fd int fd = memfd_create("input", MFD_CLOEXEC);

	assert_int_equal(fd_write_all(fd, text, n), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return hook_input_read(fd, in);
}

static int read_input(const char *text, struct hook_input *in)
{
	return read_text(text, strlen(text), in);
}

static void names_of_every_agent_mean_the_same(void **state)
{
	static const char *const texts[] = {
		"{\"tool_name\":\"Bash\",\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"tool_input\":{\"command\":\"ls\"}}",
		"{\"toolName\":\"Bash\",\"sessionId\":\"s\",\"cwd\":\"/"
		"w\",\"toolArgs\":{\"cmd\":\"ls\"}}",
		"{\"tool_name\":\"Bash\",\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"args\":{\"script\":\"ls\"}}",
		/* Arguments that are JSON in a string, and that once more. */
		"{\"tool_name\":\"Bash\",\"session_id\":\"s\",\"cwd\":\"/"
		"w\",\"tool_input\":\"{\\\"command\\\":\\\"ls\\\"}\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct hook_input in;

		assert_int_equal(read_input(texts[i], &in), 0);
		assert_string_equal(in.tool, "Bash");
		assert_string_equal(in.session, "s");
		assert_string_equal(in.cwd, "/w");
		assert_true(in.has_tool_input);
		assert_int_equal(in.commands.n, 1);
		assert_string_equal(in.commands.v[0], "ls");
		hook_input_done(&in);
	}
}

static void whatever_else_is_there_is_passed_over(void **state)
{
	struct hook_input in;

	assert_int_equal(
		read_input("{\"x\":{\"command\":\"no\"},\"transcript_path\":\"/"
			   "t\",\"y\":[[1],{}],\"tool_name\":null,"
			   "\"cwd\":[\"a\"],\"tool_input\":{\"content\":{\"command\":\"no\"},"
			   "\"file_path\":\"/f\","
			   "\"patch\":\"*** "
			   "Begin\",\"command\":{\"a\":1},\"path\":7},\"stop_hook_active\":true}",
			   &in),
		0);
	assert_null(in.tool);
	assert_null(in.cwd);
	assert_string_equal(in.transcript, "/t");
	assert_true(in.stop_active);
	assert_false(in.subagent);
	assert_int_equal(in.commands.n, 0);
	assert_int_equal(in.paths.n, 1);
	assert_string_equal(in.paths.v[0], "/f");
	assert_int_equal(in.patches.n, 1);
	hook_input_done(&in);
}

static void subagent_is_known_by_an_id_that_is_not_empty(void **state)
{
	struct hook_input in;

	assert_int_equal(read_input("{\"agent_id\":\"a1\"}", &in), 0);
	assert_true(in.subagent);
	hook_input_done(&in);
	assert_int_equal(read_input("{\"agent_id\":\"\"}", &in), 0);
	assert_false(in.subagent);
	hook_input_done(&in);
}

/* The words of an argument list are one command, quoted as a shell would have to have them. */
static void argument_list_becomes_one_command(void **state)
{
	struct hook_input in;

	assert_int_equal(read_input("{\"tool_input\":{\"command\":[\"bash\",\"-lc\",\"echo 'a "
				    "b'\"],\"paths\":[\"/a\",\"/b\"]}}",
				    &in),
			 0);
	assert_int_equal(in.commands.n, 1);
	assert_string_equal(in.commands.v[0], "'bash' '-lc' 'echo '\\''a b'\\'''");
	assert_int_equal(in.paths.n, 2);
	hook_input_done(&in);
}

static void what_is_no_such_object_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"\"x\"",
		"{",
		"{\"tool_name\":\"Ba",
		"{\"tool_name\":7}",
		"{\"tool_input\":7}",
		"{\"tool_input\":{\"command\":[\"a\",7]}}",
		"{\"tool_input\":{\"command\":[\"a\"",
		"{\"tool_input\":{\"x\":{\"y\"",
		"{\"agent_id\":7}",
		"{\"tool_input\":\"no object\"}",
		/* JSON in strings of strings, deeper than anybody has it. */
		"{\"tool_input\":\"\\\"\\\\\\\"\\\\\\\\\\\\\\\"x\\\\\\\\\\\\\\\"\\\\\\\"\\\"\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct hook_input in;

		if (read_input(texts[i], &in) == 0)
			fail_msg("taken: %s", texts[i]);
		hook_input_done(&in);
	}
}

/* {"tool_input":{"KEY":"xxx…"}} with so many of them. */
static int read_long(const char *before, size_t n, const char *after)
{
	cleanup_buf struct buf b;
	struct hook_input in;
	int r;

	buf_init(&b, 80 * MiB);
	(void)buf_puts(&b, before);
	for (size_t i = 0; i < n; i++)
		(void)buf_putc(&b, 'x');
	(void)buf_puts(&b, after);
	r = read_text(b.data, b.len, &in);
	hook_input_done(&in);
	return r;
}

static void what_is_longer_than_its_limit_is_refused(void **state)
{
	cleanup_buf struct buf many;
	struct hook_input in;

	assert_int_equal(read_long("{\"tool_input\":{\"command\":\"", INPUT_TEXT - 1, "\"}}"), 0);
	assert_int_equal(read_long("{\"tool_input\":{\"command\":\"", INPUT_TEXT + 1, "\"}}"),
			 -E2BIG);
	assert_int_equal(read_long("{\"tool_input\":{\"path\":\"", INPUT_PATH + 1, "\"}}"), -E2BIG);
	assert_int_equal(
		read_long("{\"tool_input\":{\"command\":[\"a\",\"", INPUT_TEXT - 4, "\"]}}"),
		-E2BIG);
	assert_int_equal(read_long("{\"cwd\":\"", INPUT_PATH + 1, "\"}"), -E2BIG);
	/* A file's content may be long: it is not kept. All of it may not be endless. */
	assert_int_equal(read_long("{\"tool_input\":{\"content\":\"", 2 * MiB, "\"}}"), 0);
	assert_int_equal(read_long("{\"tool_input\":{\"content\":\"", INPUT_MAX, "\"}}"), -E2BIG);
	buf_init(&many, MiB);
	(void)buf_puts(&many, "{\"tool_input\":{\"paths\":[\"/a\"");
	for (size_t i = 0; i < INPUT_MANY; i++)
		(void)buf_puts(&many, ",\"/a\"");
	(void)buf_puts(&many, "]}}");
	assert_int_equal(read_text(many.data, many.len, &in), -E2BIG);
	assert_int_equal(in.paths.n, INPUT_MANY);
	hook_input_done(&in);
}

static void zero_byte_hides_nothing(void **state)
{
	struct hook_input in;

	assert_int_equal(read_input("{\"tool_input\":{\"command\":\"ls\\u0000; rm -rf /\"}}", &in),
			 -E2BIG);
	assert_int_equal(in.commands.n, 0);
	hook_input_done(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_every_agent_mean_the_same),
		cmocka_unit_test(whatever_else_is_there_is_passed_over),
		cmocka_unit_test(subagent_is_known_by_an_id_that_is_not_empty),
		cmocka_unit_test(argument_list_becomes_one_command),
		cmocka_unit_test(what_is_no_such_object_is_refused),
		cmocka_unit_test(what_is_longer_than_its_limit_is_refused),
		cmocka_unit_test(zero_byte_hides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
