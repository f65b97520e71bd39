#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/log.h"

static void err_set_returns_the_negative_errno(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, ENOENT, "no %s", "luck"), -ENOENT);
	assert_string_equal(e.msg, "no luck");
}

static void err_sys_adds_what_the_system_said(void **state)
{
	struct err e = {0};

	(void)err_sys(&e, ENOENT, "cannot open '%s'", "x");
	assert_string_equal(e.msg, "cannot open 'x': No such file or directory");
}

static void err_wrap_puts_context_first(void **state)
{
	struct err e = {0};
	int r = err_set(&e, EINVAL, "bad value");

	assert_int_equal(err_wrap(&e, r, "%s", "dev.yaml"), -EINVAL);
	assert_string_equal(e.msg, "dev.yaml: bad value");
}

static void err_usage_exits_with_two(void **state)
{
	struct err e = {0};

	assert_int_equal(err_usage(&e, "what"), -EINVAL);
	assert_int_equal(err_exit_code(&e, EXIT_RALPH), EXIT_USAGE);
}

static void err_without_a_code_takes_the_fallback(void **state)
{
	struct err e = {0};

	(void)err_set(&e, EIO, "x");
	assert_int_equal(err_exit_code(&e, EXIT_RALPH), 125);
}

static void a_newline_in_a_name_cannot_forge_a_second_message(void **state)
{
	struct err e = {0};

	(void)err_set(&e, EIO, "cannot open 'a\nralph: all is well'");
	assert_null(strchr(e.msg, '\n'));
}

/* C1 as UTF-8 and as a byte, an escape sequence, a reversed direction, a hidden character. */
#define ACTIVE                                                                                     \
	"a\xc2\x9b"                                                                                \
	"31m\x9b"                                                                                  \
	"b\x1b[2J\xe2\x80\xae"                                                                     \
	"c\xe2\x80\x8b\x7f"
#define SHOWN "a\\u{9B}31m\\x9bb\\x1b[2J\\u{202E}c\\u{200B}\\x7f"

static void what_a_terminal_acts_on_is_escaped_in_every_kind_of_error(void **state)
{
	struct err e = {0};

	(void)err_set(&e, EIO, "%s", ACTIVE);
	assert_string_equal(e.msg, SHOWN);
	(void)err_usage(&e, "%s", ACTIVE);
	assert_string_equal(e.msg, SHOWN);
	(void)err_sys(&e, ENOENT, "%s", ACTIVE);
	assert_string_equal(e.msg, SHOWN ": No such file or directory");
	(void)err_set(&e, EIO, "x");
	(void)err_wrap(&e, -EIO, "%s", ACTIVE);
	assert_string_equal(e.msg, SHOWN ": x");
	(void)err_set(&e, EIO, "x");
	(void)err_hint(&e, -EIO, "%s", ACTIVE);
	assert_string_equal(e.msg, "x; " SHOWN);
	/* Nothing is escaped twice, and other languages are not touched. */
	(void)err_set(&e, EIO, "%s \xc3\xbc \xe6\x97\xa5", SHOWN);
	assert_string_equal(e.msg, SHOWN " \xc3\xbc \xe6\x97\xa5");
}

static void an_error_that_is_too_long_is_cut_between_escapes(void **state)
{
	char text[sizeof(((struct err *)0)->msg)];
	struct err e = {0};
	size_t n;

	memset(text, 0x1b, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)err_set(&e, EIO, "%s", text);
	n = strlen(e.msg);
	assert_true(n < sizeof(e.msg) && n > sizeof(e.msg) - 6);
	assert_string_equal(e.msg + n - 4, "\\x1b");
}

static void read_stderr(char *text, size_t size, int pipe_end)
{
	ssize_t n = read(pipe_end, text, size - 1);

	assert_true(n > 0);
	text[n] = '\0';
}

static void what_a_terminal_acts_on_is_escaped_in_log_lines(void **state)
{
	int ends[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	char text[1024], json[1024];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	log_warn("area", "%s", ACTIVE);
	read_stderr(text, sizeof(text), ends[0]);
	log_setup(LOG_INFO, LOG_JSON);
	log_warn("area", "%s", ACTIVE);
	read_stderr(json, sizeof(json), ends[0]);
	log_setup(LOG_INFO, LOG_TEXT);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_string_equal(text, "ralph: warning: " SHOWN "\n");
	assert_non_null(strstr(json, "\"msg\":\"a\\u009b31m\\\\x9bb\\u001b[2J\\u202ec\\u200b"
				     "\\u007f\"}\n"));
	(void)close(saved);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void documents_are_shown_with_escapes_and_mean_the_same(void **state)
{
	cleanup_json json_t *j = json_pack("{ss}", "k",
					   "a\xc2\x9b"
					   "31m\xe2\x80\xae\x7f\xf3\xa0\x80\x81"),
			    *again = NULL;
	cleanup_free char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(json_show(j, out, JSON_COMPACT), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "{\"k\":\"a\\u009b31m\\u202e\\u007f\\udb40\\udc01\"}");
	again = json_loads(text, 0, NULL);
	assert_true(json_equal(j, again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(err_set_returns_the_negative_errno),
		cmocka_unit_test(err_sys_adds_what_the_system_said),
		cmocka_unit_test(err_wrap_puts_context_first),
		cmocka_unit_test(err_usage_exits_with_two),
		cmocka_unit_test(err_without_a_code_takes_the_fallback),
		cmocka_unit_test(what_a_terminal_acts_on_is_escaped_in_every_kind_of_error),
		cmocka_unit_test(an_error_that_is_too_long_is_cut_between_escapes),
		cmocka_unit_test(what_a_terminal_acts_on_is_escaped_in_log_lines),
		cmocka_unit_test(documents_are_shown_with_escapes_and_mean_the_same),
		cmocka_unit_test(a_newline_in_a_name_cannot_forge_a_second_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
