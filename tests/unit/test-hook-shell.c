/* Words as the judge expands them, beside the shells themselves: what is known must be what they
 * say. */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/proc.h"
#include "base/strv.h"
#include "hook/shell/expand.h"
#include "hook/judge.h"

#define COMMANDS 800
#define BORDER "-- border --"

static unsigned int seed;

/* The same commands every time. */
static unsigned int roll(unsigned int n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % n;
}

/* clang-format off */
static const char *const for_all[] = {
	"a", "b c", "x=1", "'a b'", "'$v'", "\"$v\"", "\"a  b\"", "\\a", "\\$v", "\\\\", "\"\\\"\"", "\"\\a\"", "'\\'", "\"'\"", "''", "\"\"", "$v",
	"${v}", "${v}x", "\"${v}x\"", "${none}", "${none:-d}", "${v:-d}", "${v:+s}", "${none:+s}", "${none-d}", "\"${none:-d e}\"", "${v#o}",
	"${v%o}", "${v%%n*}", "${v##*n}", "$(echo e)", "\"$(echo e  f)\"", "$(printf '%s' g)", "`echo h`", "\"`echo i j`\"", "$w", "\"$w\"",
	"$(echo \"$v\" k)", "a\\\nb", "$(echo $(echo deep))", "\"$(echo \"in quotes\")\"", "a~", "=", "a\"b\"'c'", "a#b",
	"\"a\\\nb\"", "'a\nb'", "$(echo \"`echo t`\")", "\"${v:-\"q\"}\"", "-", "--", "%", "'%s'", "$(echo ')')", "\"$(echo ')')\"",
};
static const char *const for_bash[] = {
	"{a,b}", "x{a,b}y", "{a,b}{c,d}", "{1..4}", "{c..a}", "{a}", "{a,}", "a{,b}", "\"{a,b}\"", "{a,'b c'}", "{a,{b,c}}", "$'a\\x62\\n'",
	"$'\\162\\155'", "$'it\\'s'", "$'\\u0041'", "$\"t\"", "${v/n/N}", "${v//e/E}", "${v:1}", "${v:0:2}", "${v: -1}", "${v^^}", "${v,,}", "${v^}",
	"${arr[@]}", "\"${arr[@]}\"", "${arr[1]}", "${arr}", "$'a\\0b'c", "{$v,b}", "x{1..3}", "${!r}", "{a,b", "a,b", "}", "{,}x",
};
/* clang-format on */

static const char *fragment(bool bash)
{
	if (bash && roll(2))
		return for_bash[roll(ARRAY_SIZE(for_bash))];
	return for_all[roll(ARRAY_SIZE(for_all))];
}

static char *make_command(bool bash)
{
	cleanup_buf struct buf b;
	unsigned int words = 1 + roll(4);

	buf_init(&b, 16 * KiB);
	(void)buf_puts(&b, "printf '%s\\n'");
	for (unsigned int i = 0; i < words; i++) {
		(void)buf_putc(&b, ' ');
		for (unsigned int n = 1 + roll(3); n; n--)
			(void)buf_puts(&b, fragment(bash));
	}
	return buf_take(&b);
}

static const char setting[] = "v=one; w='two  words'; r=v";
static const char bash_setting[] = "; arr=(p 'q r' s)";

static const char *no_environment(const char *name)
{
	return NULL;
}

/* What the judge says a command prints; NULL: it does not know. */
static char *predicted(const char *script)
{
	struct arena a;
	struct judge j;
	char *volatile said = NULL;

	arena_init(&a, JUDGE_MEMORY);
	judge_init(&j, &a, "/nonexistent/project", "/nonexistent");
	j.getenv = no_environment;
	if (setjmp(a.out) == 0) {
		struct values v = judge_list(&j, shell_parse(&a, script, strlen(script)), NULL);

		if (v.n == 1 && value_is_known(v.v[0]))
			said = xstrdup(value_plain(&j, v.v[0]));
	} else {
		print_message("gave up: %s: %s\n", a.why, script);
	}
	arena_done(&a);
	return said;
}

static char *run_all(const char *shell, const struct strv *commands, bool bash)
{
	cleanup_buf struct buf script;
	struct err err = {0};
	char *argv[] = {(char *)shell, "-c", NULL, NULL};
	char *env[] = {"HOME=/nonexistent", "PATH=/usr/bin:/bin", NULL}, *out;
	int code;

	buf_init(&script, 4 * MiB);
	for (size_t i = 0; i < commands->n; i++)
		(void)buf_printf(&script, "%s%s\n%s\nprintf '%%s\\n' '%s'\n", setting,
				 bash ? bash_setting : "", commands->v[i], BORDER);
	argv[2] = (char *)buf_str(&script);
	assert_int_equal(run_capture(argv, env, 60000, 4 * MiB, &out, &code, &err), 0);
	return out;
}

static void compare(const char *shell, bool bash)
{
	cleanup_strv struct strv commands = {0};
	cleanup_free char *out = NULL;
	unsigned int known = 0, wrong = 0;
	char *at;

	for (int i = 0; i < COMMANDS; i++)
		strv_take(&commands, make_command(bash));
	out = run_all(shell, &commands, bash);
	at = out;
	for (size_t i = 0; i < commands.n; i++) {
		cleanup_free char *script =
			xasprintf("%s%s\n%s", setting, bash ? bash_setting : "", commands.v[i]);
		cleanup_free char *said = predicted(script);
		char *end = strstr(at, BORDER "\n");

		assert_non_null(end);
		*end = '\0';
		if (said) {
			known++;
			if (!streq(said, at) && wrong++ < 10)
				print_message("%s: %s\n  is   [%s]\n  said [%s]\n", shell,
					      commands.v[i], at, said);
		}
		at = end + strlen(BORDER) + 1;
	}
	print_message("%s: %u of %d known, %u of these wrong\n", shell, known, COMMANDS, wrong);
	assert_int_equal(wrong, 0);
	assert_true(known * 10 > COMMANDS * 7);
}

static void bash_makes_the_same_of_its_words(void **state)
{
	seed = 7;
	compare("/bin/bash", true);
}

static void dash_makes_the_same_of_its_words(void **state)
{
	seed = 1234;
	compare("/bin/dash", false);
}

/* An input that goes on for ever, or ends too early, is given up, not followed. */
static void what_cannot_be_read_is_given_up(void **state)
{
	static const char *const bad[] = {"'",
					  "\"",
					  "$(",
					  "`",
					  "${x",
					  "( ls",
					  "{ ls",
					  "if true; then ls",
					  "for x in a; do",
					  "case x in a) ls",
					  "$'",
					  "ls )",
					  "a <",
					  "x=(a"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct arena a;
		volatile bool gave_up = true;

		arena_init(&a, JUDGE_MEMORY);
		if (setjmp(a.out) == 0) {
			(void)shell_parse(&a, bad[i], strlen(bad[i]));
			gave_up = false;
		}
		arena_done(&a);
		if (!gave_up)
			print_message("read: %s\n", bad[i]);
		assert_true(gave_up);
	}
}

static void what_is_too_deep_or_too_much_is_given_up(void **state)
{
	static const char *const open[] = {"$(",    "(",   "{ ",
					   "${x:-", "if ", "eval eval bash -c eval sh -c "};

	for (volatile size_t i = 0; i < ARRAY_SIZE(open); i++) {
		cleanup_buf struct buf b;
		struct arena a;
		struct judge j;
		volatile bool gave_up = true;

		buf_init(&b, 1 * MiB);
		for (int k = 0; k < 20000; k++)
			(void)buf_puts(&b, open[i]);
		arena_init(&a, JUDGE_MEMORY);
		judge_init(&j, &a, "/p", "/h");
		if (setjmp(a.out) == 0) {
			judge_script(&j, buf_str(&b), b.len);
			gave_up = i == ARRAY_SIZE(open) - 1; /* words are only words */
		}
		arena_done(&a);
		assert_true(gave_up);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bash_makes_the_same_of_its_words),
		cmocka_unit_test(dash_makes_the_same_of_its_words),
		cmocka_unit_test(what_cannot_be_read_is_given_up),
		cmocka_unit_test(what_is_too_deep_or_too_much_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
