#include "tests.h"

#include <stdio.h>

#include "base/mem.h"
#include "cli/terminal/filter.h"

#define ST "\x1b\\"

struct row {
	const char *what, *in, *out; /* out NULL: unchanged */
};

/* clang-format off */
static const struct row passes[] = {
	{"text", "hello\r\n\tworld\b\a", NULL},
	{"two bytes", "\xc3\xa4\xc2\xa0\xc2\xbf", NULL},
	{"three bytes with C1 values in them", "\xe2\x82\xac\xe2\x80\x9c\xe2\x9b\x84", NULL},
	{"four bytes", "\xf0\x9f\x98\x80", NULL},
	{"colours", "\x1b[1;31mred\x1b[0m\x1b[38;2;1;2;3m\x1b[48:5:7m", NULL},
	{"cursor", "\x1b[2J\x1b[H\x1b[3;4H\x1b[5A\x1b" "7\x1b" "8\x1b[?25l\x1b[6 q", NULL},
	{"screens and modes", "\x1b[?1049h\x1b[?2004h\x1b[?1000;1006h\x1b[>4;1m\x1b[=1u", NULL},
	{"scrolling", "\x1b[1;10r\x1bM\x1b" "D\x1b[2S", NULL},
	{"queries of position, size, kind", "\x1b[6n\x1b[c\x1b[>c\x1b[18t\x1b[14t\x1b[?2026$p", NULL},
	{"title by BEL and ST", "\x1b]0;a b\x07\x1b]2;\xe2\x80\x9cx\xe2\x80\x9d" ST,
	 "\x1b[22;0t\x1b]0;a b\x07\x1b]2;\xe2\x80\x9cx\xe2\x80\x9d" ST},
	{"title stack", "\x1b[22;0t\x1b[23;0t", NULL},
	{"hyperlink", "\x1b]8;;https://example.com" ST "x\x1b]8;;" ST, NULL},
	{"colour query", "\x1b]11;?\x07", NULL},
	{"directory and prompt marks", "\x1b]7;file:///x\x07\x1b]133;A\x07", NULL},
	{"character sets", "\x1b(B\x1b)0\x1b#8", NULL},
	{"keypad", "\x1b=\x1b>", NULL},
	{"reset", "\x1b" "c", NULL},
};

static const struct row drops[] = {
	{"clipboard by BEL", "a\x1b]52;c;aGk=\x07z", "az"},
	{"clipboard by ST", "a\x1b]52;c;aGk=" ST "z", "az"},
	{"clipboard query", "a\x1b]52;c;?\x07z", "az"},
	{"clipboard with leading zeros", "a\x1b]0052;c;x\x07z", "az"},
	{"OSC without a number", "a\x1b]lx\x07z", "az"},
	{"OSC of other commands", "a\x1b]1337;File=:eA==\x07\x1b]777;x\x07\x1b]9;x\x07\x1b]50;?\x07z", "az"},
	{"DCS", "a\x1bP$q\"p" ST "z", "az"},
	{"sixel and termcap requests", "a\x1bPq#0~" ST "\x1bP+q544e" ST "z", "az"},
	{"APC, PM, SOS", "a\x1b_G" ST "\x1b^x" ST "\x1bXx" ST "z", "az"},
	{"screen's title", "a\x1bkx" ST "z", "az"},
	{"tmux passthrough", "a\x1bPtmux;\x1b\x1b]52;c;x\x07" ST "z", "a" ST "z"},
	{"title report", "a\x1b[21tz", "az"},
	{"icon report", "a\x1b[20tz", "az"},
	{"window moves, sizes, states", "a\x1b[3;1;1t\x1b[8;1;1t\x1b[2t\x1b[>1tz", "az"},
	{"printing", "a\x1b[5i\x1b[?5iz", "az"},
	{"checksum of the screen", "a\x1b[1;1;1;1;9;9*yz", "az"},
	{"identification", "a\x1bZz", "az"},
	{"answerback", "a\x05z", "az"},
	{"C1 in eight bits", "a\x9d" "52;c;x\x07\x90q\x9cz", "a52;c;x\x07qz"},
	{"C1 in UTF-8", "a\xc2\x9b" "21t\xc2\x9d" "52\x07z", "a21t52\x07z"},
	{"C1 overlong", "a\xe0\x82\x9b" "21tz", "a\xe0" "21tz"},
	{"C1 overlong in four", "a\xf0\x80\x82\x9b" "21tz", "a\xf0" "21tz"},
	{"C1 that ends an OSC in eight bits", "a\x1b]0;x\x9c\x9d" "52;c;y\x07z", "az"},
	{"C1 that ends an OSC in UTF-8", "a\x1b]0;x\xc2\x9c\xc2\x9d" "52;c;y\x07z", "az"},
	{"leaving UTF-8", "a\x1b%@\xc3\x9d" "52;c;y\x07z", "a\xc3\x9d" "52;c;y\x07z"},
	{"string broken off by another", "a\x1b]0;x\x1b]52;c;y\x07z", "az"},
	{"string broken off by CAN", "a\x1bPx\x18z", "az"},
	{"CSI broken off", "a\x1b[2\x18z\x1b[2\x1b[1mz", "az\x1b[1mz"},
	{"control inside a CSI", "a\x1b[1\x05;2\nHz", "a\n\x1b[1;2Hz"},
	{"ESC in front of ESC", "a\x1b\x1b]52;c;x\x07z", "az"},
	{"ESC and a control", "a\x1b\nz", "az"},
	{"charset cut by ESC", "a\x1b(\x1b]52;c;x\x07z", "a]52;c;x\x07z"},
	{"not UTF-8", "a\xff\xfe\x80z", "az"},
};
/* clang-format on */

/* Fed in two parts, cut at `split`. */
static void check_split(const struct row *row, size_t split)
{
	const char *want = row->out ? row->out : row->in;
	size_t n = strlen(row->in);
	cleanup_buf struct buf out;
	struct filter f;

	buf_init(&out, 2 * FILTER_SEQ_MAX);
	filter_init(&f, 0);
	filter_feed(&f, row->in, split, &out);
	filter_feed(&f, row->in + split, n - split, &out);
	if (out.len != strlen(want) || memcmp(buf_str(&out), want, out.len) != 0)
		fail_msg("%s, cut at %zu: got '%s'", row->what, split, buf_str(&out));
	assert_int_equal(f.state, FILTER_TEXT);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t split = 0; split <= strlen(rows[i].in); split++)
			check_split(&rows[i], split);
}

static void filter_what_programs_draw_with_passes_unchanged(void **state)
{
	check_rows(passes, ARRAY_SIZE(passes));
}

static void filter_what_acts_on_the_terminal_is_dropped(void **state)
{
	check_rows(drops, ARRAY_SIZE(drops));
}

static void filter_byte_by_byte_gives_the_same(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(drops); i++) {
		cleanup_buf struct buf out;
		struct filter f;

		buf_init(&out, 2 * FILTER_SEQ_MAX);
		filter_init(&f, 0);
		for (const char *p = drops[i].in; *p; p++)
			filter_feed(&f, p, 1, &out);
		assert_string_equal(buf_str(&out), drops[i].out);
	}
}

static void filter_sequence_beyond_the_limit_is_dropped_whole(void **state)
{
	cleanup_buf struct buf in, out;
	struct filter f;

	buf_init(&in, 4 * FILTER_SEQ_MAX);
	buf_init(&out, 8 * FILTER_SEQ_MAX);
	(void)buf_puts(&in, "a\x1b]0;");
	for (size_t i = 0; i < FILTER_SEQ_MAX; i++)
		(void)buf_putc(&in, 'x');
	(void)buf_puts(&in, "\x07"
			    "b\x1b[");
	for (size_t i = 0; i < FILTER_SEQ_MAX; i++)
		(void)buf_putc(&in, '1');
	(void)buf_puts(&in, "mc");
	filter_init(&f, 0);
	filter_feed(&f, in.data, in.len, &out);
	assert_string_equal(buf_str(&out), "abc");
}

static void filter_unfinished_sequence_shows_nothing(void **state)
{
	static const char *const cut[] = {"\x1b",	"\x1b[", "\x1b[31",
					  "\x1b]52;c;", "\x1bP", "\xc2"};

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		cleanup_buf struct buf out;
		struct filter f;

		buf_init(&out, 2 * FILTER_SEQ_MAX);
		filter_init(&f, 0);
		filter_feed(&f, cut[i], strlen(cut[i]), &out);
		assert_int_equal(out.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_what_programs_draw_with_passes_unchanged),
		cmocka_unit_test(filter_what_acts_on_the_terminal_is_dropped),
		cmocka_unit_test(filter_byte_by_byte_gives_the_same),
		cmocka_unit_test(filter_sequence_beyond_the_limit_is_dropped_whole),
		cmocka_unit_test(filter_unfinished_sequence_shows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
