#include "tests.h"

#include "base/buf.h"
#include "base/text/signs.h"
#include "base/text/table.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct table_column cols[] = {
	{.title = "NAME", .keep = true},
	{.title = "SIZE", .right = true},
	{.title = "WHERE"},
};

static struct table *sample(void)
{
	struct table *t = table_new(cols, ARRAY_SIZE(cols));

	table_cell(t, "alpha");
	table_cellf(t, "%d", 7);
	table_cell(t, "/a/long/way/to/the/workspace");
	table_styled(t, STYLE_GREEN, "b");
	table_cell(t, "12345");
	table_cell(t, NULL);
	return t;
}

static void assert_prints(struct table *t, unsigned width, bool color, const char *want)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	table_print(t, out, width, color);
	(void)fclose(out);
	assert_string_equal(text, want);
	free(text);
	(void)table_free(t);
}

static void columns_align_without_trailing_blanks(void **state)
{
	assert_prints(sample(), 0, false,
		      "NAME    SIZE  WHERE\n"
		      "alpha      7  /a/long/way/to/the/workspace\n"
		      "b      12345\n");
}

static void a_narrow_terminal_cuts_the_widest_and_a_kept_column_at_last(void **state)
{
	assert_prints(sample(), 24, false,
		      "NAME    SIZE  WHERE\n"
		      "alpha      7  /a/long/w…\n"
		      "b      12345\n");
	assert_prints(sample(), 3, false,
		      "NAME  SIZE  WHE…\n"
		      "alp…     7  /a/…\n"
		      "b     123…\n");
}

static void columns_that_may_go_are_left_out_before_others_are_cut_short(void **state)
{
	static const struct table_column narrow[] = {
		{.title = "NAME", .least = 8},
		{.title = "FIRST", .keep = true, .drop = 2},
		{.title = "LATER", .keep = true, .drop = 1},
	};
	static const struct {
		unsigned width;
		const char *want;
	} cases[] = {
		{30, "NAME            FIRST  LATER\na-long-sandbox  one    two\n"},
		{22, "NAME      FIRST  LATER\na-long-…  one    two\n"},
		{21, "NAME            LATER\na-long-sandbox  two\n"},
		{14, "NAME\na-long-sandbox\n"},
		{5, "NAME\na-lo…\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table *t = table_new(narrow, ARRAY_SIZE(narrow));

		table_cell(t, "a-long-sandbox");
		table_cell(t, "one");
		table_cell(t, "two");
		assert_prints(t, cases[i].width, false, cases[i].want);
	}
}

static void a_locale_without_utf8_has_ascii_signs_and_other_text_as_it_is(void **state)
{
	static const char text[] = "wait… 3× → größe";
	cleanup_buf struct buf b;

	assert_int_equal(setenv("LC_ALL", "C", 1), 0);
	assert_true(signs_are_ascii());
	assert_prints(sample(), 24, false,
		      "NAME    SIZE  WHERE\n"
		      "alpha      7  /a/long/w~\n"
		      "b      12345\n");
	buf_init(&b, 100);
	signs_put(&b, text, strlen(text));
	assert_string_equal(buf_str(&b), "wait... 3x -> größe");
	/* A sign that is cut in two may still become one. */
	assert_int_equal(signs_unfinished("ab\xe2\x80", 4), 2);
	assert_int_equal(signs_unfinished("ab…", 5), 0);
	assert_int_equal(setenv("LC_ALL", "", 1), 0);
	assert_int_equal(setenv("LC_CTYPE", "de_DE.utf8", 1), 0);
	assert_false(signs_are_ascii());
	assert_int_equal(setenv("LC_ALL", "C.UTF-8", 1), 0);
}

static void colour_is_per_cell_and_only_when_asked(void **state)
{
	assert_prints(sample(), 0, true,
		      "\x1b[1mNAME\x1b[0m    \x1b[1mSIZE\x1b[0m  \x1b[1mWHERE\x1b[0m\n"
		      "alpha      7  /a/long/way/to/the/workspace\n"
		      "\x1b[32mb\x1b[0m      12345\n");
}

static void wide_characters_count_as_two_columns(void **state)
{
	struct table *t = table_new(cols, ARRAY_SIZE(cols));

	table_cell(t, "日本");
	table_cell(t, "1");
	table_cell(t, "x");
	table_cell(t, "e\u0301ab");
	table_cell(t, "2");
	table_cell(t, "日本語日本語");
	assert_prints(t, 20, false,
		      "NAME  SIZE  WHERE\n"
		      "日本     1  x\n"
		      "e\u0301ab      2  日本語…\n");
}

static void hostile_cells_cannot_act_on_the_terminal(void **state)
{
	static const struct table_column one[] = {{.title = NULL}};
	struct table *t = table_new(one, 1);

	table_cell(t, "a\x1b]0;x\x07\nb\xff");
	assert_prints(t, 0, false, "a\\x1b]0;x\\x07\\nb\\xff\n");
}

static void an_empty_table_is_its_header(void **state)
{
	assert_prints(table_new(cols, ARRAY_SIZE(cols)), 0, false, "NAME  SIZE  WHERE\n");
}

static void assert_escapes(const char *in, const char *want)
{
	char *got = term_escape(in);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	term_puts(out, in);
	(void)fclose(out);
	assert_string_equal(got, want);
	assert_string_equal(text, want);
	free(got);
	free(text);
}

static void lines_and_styles_keep_controls_of_the_text_out(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	term_line(out, "%s: %d", "a\x1b[1m", 7);
	term_styled(out, true, STYLE_RED, "b\r");
	term_styled(out, true, STYLE_NONE, "c");
	term_styled(out, false, STYLE_RED, "d");
	(void)fclose(out);
	assert_string_equal(text, "a\\x1b[1m: 7\n\x1b[31mb\\x0d\x1b[0mcd");
	free(text);
}

static void escape_leaves_plain_text_alone(void **state)
{
	assert_escapes("", "");
	assert_escapes("a\\b 'c' ~", "a\\b 'c' ~");
	assert_escapes("größe 日本語 🙂", "größe 日本語 🙂");
}

static void escape_shows_controls_bidi_and_broken_utf8(void **state)
{
	assert_escapes("\x01\t\n\r\x7f", "\\x01\\t\\n\\x0d\\x7f");
	assert_escapes("\xc2\x9b"
		       "31m",
		       "\\u{9B}31m");
	assert_escapes("a\u202eb\u2066c\u200bd\ufeff", "a\\u{202E}b\\u{2066}c\\u{200B}d\\u{FEFF}");
	assert_escapes("\xf3\xa0\x80\x81", "\\u{E0001}");
	assert_escapes("\x9b\xc0\xaf\xe2\x80", "\\x9b\\xc0\\xaf\\xe2\\x80");
	assert_escapes("\xed\xa0\x80", "\\xed\\xa0\\x80");
	assert_escapes("\xf4\x90\x80\x80\xf8", "\\xf4\\x90\\x80\\x80\\xf8");
}

static void fit_never_splits_a_character(void **state)
{
	assert_int_equal(term_fit("日本", 3), 3);
	assert_int_equal(term_fit("abc", 2), 2);
	assert_int_equal(term_fit("abc", 9), 3);
	assert_int_equal(term_columns("日本e\u0301"), 5);
}

static void colour_needs_a_terminal_unless_it_is_forced(void **state)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_false(term_use_color(fds[1], TERM_AUTO));
	assert_true(term_use_color(fds[1], TERM_ALWAYS));
	assert_int_equal(term_width(fds[1]), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void colour_on_a_terminal_heeds_no_color_and_dumb(void **state)
{
	int pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int tty;

	assert_true(pty >= 0);
	assert_int_equal(grantpt(pty), 0);
	assert_int_equal(unlockpt(pty), 0);
	tty = open(ptsname(pty), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(tty >= 0);
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	assert_int_equal(setenv("NO_COLOR", "", 1), 0);
	assert_true(term_use_color(tty, TERM_AUTO));
	assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
	assert_false(term_use_color(tty, TERM_AUTO));
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	assert_false(term_use_color(tty, TERM_AUTO));
	assert_int_equal(setenv("COLUMNS", "33", 1), 0);
	assert_int_equal(term_width(tty), 33);
	(void)close(tty);
	(void)close(pty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_align_without_trailing_blanks),
		cmocka_unit_test(a_narrow_terminal_cuts_the_widest_and_a_kept_column_at_last),
		cmocka_unit_test(columns_that_may_go_are_left_out_before_others_are_cut_short),
		cmocka_unit_test(a_locale_without_utf8_has_ascii_signs_and_other_text_as_it_is),
		cmocka_unit_test(colour_is_per_cell_and_only_when_asked),
		cmocka_unit_test(wide_characters_count_as_two_columns),
		cmocka_unit_test(hostile_cells_cannot_act_on_the_terminal),
		cmocka_unit_test(an_empty_table_is_its_header),
		cmocka_unit_test(lines_and_styles_keep_controls_of_the_text_out),
		cmocka_unit_test(escape_leaves_plain_text_alone),
		cmocka_unit_test(escape_shows_controls_bidi_and_broken_utf8),
		cmocka_unit_test(fit_never_splits_a_character),
		cmocka_unit_test(colour_needs_a_terminal_unless_it_is_forced),
		cmocka_unit_test(colour_on_a_terminal_heeds_no_color_and_dumb),
	};

	(void)setenv("LC_ALL", "C.UTF-8", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
