#include "tests.h"

#include <string.h>

#include "base/buf.h"
#include "policy/gitprograms.h"

static void add(enum gitprogram kind, const char *word, void *arg)
{
	static const char *const marks[] = {"/", "!", "?"};

	assert_int_equal(buf_printf(arg, "%s%s ", marks[kind], word), 0);
}

/* What a setting names: '/' a directory, '!' a program, '?' perhaps one. */
static void names(const char *section, const char *key, const char *value, const char *want)
{
	const struct gitconfig_entry e = {.section = section, .key = key, .value = value};
	cleanup_buf struct buf b;

	buf_init(&b, 4 * KiB);
	gitprograms_each(&e, add, &b);
	assert_string_equal(buf_str(&b), want);
}

static void hooks_path_is_a_directory(void **state)
{
	names("core", "hookspath", ".husky", "/.husky ");
	names("core", "hookspath", "", "");
	names("core", "hookspath", NULL, "");
}

static void the_first_word_of_each_command_is_a_program(void **state)
{
	names("filter", "clean", "./a %f", "!./a ");
	names("filter", "clean", "a | tools/b && c; d", "!tools/b ");
	names("filter", "smudge", "A=1 B=2 x/y", "!x/y ");
	names("core", "pager", "\"my/pager\" -R", "!my/pager ");
	names("core", "editor", "(a/b)", "!a/b ");
	names("core", "editor", "a b", ""); /* from the PATH */
}

static void what_an_interpreter_runs_is_a_program(void **state)
{
	names("diff", "textconv", "sh x", "!x ");
	names("diff", "textconv", "/usr/bin/python3 -u x.py y.py", "!/usr/bin/python3 ?-u !x.py ");
	names("diff", "textconv", "bash -c './x y'", "?-c !./x ");
	names("diff", "textconv", "awk -f x.awk", "?-f !x.awk ");
	names("diff", "textconv", "uv run x.py", "!run !x.py ");
	names("diff", "textconv", "cat x", "");
}

static void an_argument_with_a_slash_is_perhaps_one(void **state)
{
	names("core", "sshcommand", "ssh -F x/y", "?x/y ");
	names("merge", "driver", "exec ./m %O", "?./m ");
}

static void words_behind_cd_are_looked_for_there_too(void **state)
{
	names("filter", "clean", "cd t && ./x", "!./x !t/./x ");
	names("filter", "clean", "cd t; sh x.sh", "!x.sh !t/x.sh ");
	names("alias", "a", "!cd \"$(git rev-parse --show-toplevel)/t\" && ./x /y",
	      "!/t !./x !/t/./x ?/y ");
	names("alias", "a", "!cd \"${GIT_PREFIX}\" && ./x", "!./x !GIT_PREFIX/./x ");
}

static void modules_of_python_are_files(void **state)
{
	names("filter", "clean", "python3 -I -m a.b c/d",
	      "?-I ?-m !a/b.py !a/b/__main__.py !a/b/__init__.py ?c/d ");
	names("filter", "clean", "mv -m a.b", "");
}

static void variables_before_a_path_are_taken_off(void **state)
{
	names("filter", "clean", "\"$(git rev-parse --show-toplevel)/t/x\" %f", "!/t/x ");
	names("filter", "clean", "$PWD/t/x", "!/t/x ");
	names("filter", "clean", "${HOME}/t/x", "!/t/x ");
}

static void only_an_alias_of_the_shell_counts(void **state)
{
	names("alias", "s", "status x/y", "");
	names("alias", "s", "!x/y z", "!x/y ");
}

static void settings_that_run_nothing_name_nothing(void **state)
{
	names("user", "name", "a/b", "");
	names("core", "fsmonitor", "true", "");
	names("core", "fsmonitor", "./m", "!./m ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hooks_path_is_a_directory),
		cmocka_unit_test(the_first_word_of_each_command_is_a_program),
		cmocka_unit_test(what_an_interpreter_runs_is_a_program),
		cmocka_unit_test(an_argument_with_a_slash_is_perhaps_one),
		cmocka_unit_test(words_behind_cd_are_looked_for_there_too),
		cmocka_unit_test(modules_of_python_are_files),
		cmocka_unit_test(variables_before_a_path_are_taken_off),
		cmocka_unit_test(only_an_alias_of_the_shell_counts),
		cmocka_unit_test(settings_that_run_nothing_name_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
