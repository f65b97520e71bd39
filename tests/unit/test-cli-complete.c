#include "tests.h"

#include "cli-demo.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/proc.h"
#include "cli/frame/complete.h"

#define SHELL_TIMEOUT_MS 30000

/* A directory with the scripts, and a program "ralph" that lists two sandboxes and a hostile name.
 */
static char dir[] = "/tmp/ralph-test-complete.XXXXXX";

static const char fake_ralph[] = "#!/bin/sh\n"
				 "[ \"$*\" != 'profile ls --quiet' ] || { echo prof-A.1; echo "
				 "'prof-$(touch pwned)'; exit; }\n"
				 "[ \"$*\" = 'ls --quiet' ] || exit 1\n"
				 "echo box-one; echo box-two; echo 'box-$(touch pwned)'\n";

static const char bash_driver[] = "source bash.script\n"
				  "COMP_WORDS=(ralph \"$@\"); COMP_CWORD=$#\n"
				  "_ralph; printf '%s\\n' \"${COMPREPLY[@]}\"\n";

static const char fish_driver[] =
	"source fish.script\n"
	"complete -C (string join -- ' ' ralph (string escape -n -- $argv))\n";

/*
 * zsh completes only in its line editor: one runs in a pseudo-terminal, with compadd replaced by
 * one that notes what it was given. Both sides wait for each other: the editor says when it is
 * ready for keys, and the widget when it has completed.
 */
static const char zsh_setup[] =
	"PS1=; autoload -U compinit; compinit -u -D; source ./zsh.script; : >hits\n"
	"compadd() {\n"
	"	local -a hits\n"
	"	if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then\n"
	"		builtin compadd -A hits \"$@\"\n"
	"		print -rl -- \"<\"${^hits}\">\" >>hits\n"
	"	fi\n"
	"	builtin compadd \"$@\"\n"
	"}\n"
	"complete-and-say() { zle complete-word; print completed }\n"
	"zle -N complete-and-say; bindkey '^I' complete-and-say\n"
	"zle-line-init() { print ready }\n"
	"zle -N zle-line-init\n";

static const char zsh_driver[] = "zmodload zsh/zpty\n"
				 "zpty z zsh -f -i\n"
				 "zpty -w z 'source ./zsh.setup'\n"
				 "zpty -r -m z line '*ready*' || exit 1\n"
				 "zpty -w -n z \"ralph $*\"$'\\t'\n"
				 "zpty -r -m z line '*completed*' || exit 1\n"
				 "zpty -d z\n"
				 "cat hits\n";

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(dir, O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(path_write_atomic(fd, name, text, strlen(text), mode, 0), 0);
	(void)close(fd);
}

static void write_script(const char *name, void (*make)(const struct command *const *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	make(demo_commands, out);
	(void)fclose(out);
	write_file(name, text, 0644);
	free(text);
}

static int make_dir(void **state)
{
	assert_non_null(mkdtemp(dir));
	write_file("ralph", fake_ralph, 0755);
	write_script("bash.script", complete_bash);
	write_script("zsh.script", complete_zsh);
	write_script("fish.script", complete_fish);
	write_file("bash.driver", bash_driver, 0644);
	write_file("zsh.setup", zsh_setup, 0644);
	write_file("zsh.driver", zsh_driver, 0644);
	write_file("fish.driver", fish_driver, 0644);
	return chdir(dir);
}

static int remove_dir(void **state)
{
	struct err err = {0};

	return path_remove_tree(AT_FDCWD, dir, &err);
}

/* Is the shell there? Without it the test is skipped, or fails where it is required. */
static void need(const char *shell)
{
	const char *required = getenv("RALPH_TEST_REQUIRE");
	cleanup_free char *usr = xasprintf("/usr/bin/%s", shell);
	struct stat st;

	if (stat(usr, &st) == 0)
		return;
	assert_false(required && strstr(required, shell));
	skip();
}

/* What the shell offers for these words, the last one being completed, one per line. */
static char *offers(const char *shell, const char *const *words)
{
	cleanup_free char *driver = xasprintf("%s.driver", shell);
	cleanup_free char *program = xasprintf("/usr/bin/%s", shell);
	cleanup_free char *path = xasprintf("PATH=%s:/usr/bin:/bin", dir);
	cleanup_free char *home = xasprintf("HOME=%s", dir);
	char term[] = "TERM=xterm";
	char *env[] = {path, home, term, NULL};
	const char *argv[16] = {program, driver};
	struct err err = {0};
	char *out = NULL;
	int code = 0;

	for (size_t i = 0; words[i]; i++)
		argv[i + 2] = words[i];
	assert_int_equal(
		run_capture((char *const *)argv, env, SHELL_TIMEOUT_MS, 1 * MiB, &out, &code, &err),
		0);
	return out;
}

struct offer_case {
	const char *words[8];
	const char *yes[4], *no[4];
};

static const struct offer_case cases[] = {
	{{"ru"}, {"run"}, {"rm", "code"}},
	{{""}, {"run", "exec", "config"}, {"code"}},
	{{"--dry-run", "--profile", "run", "l"}, {"ls"}, {"run"}},
	{{"run", "--d"}, {"--detach", "--docker", "--dry-run"}, {"--rm"}},
	{{"ls", "--d"}, {NULL}, {"--docker", "--dry-run"}},
	{{"list", "--q"}, {"--quiet"}, {NULL}},
	{{"run", "--mode", ""}, {"fast", "safe"}, {"run"}},
	{{"run", "--name", "box-"}, {"box-one", "box-two"}, {NULL}},
	{{"run", "-n", "box-o"}, {"box-one"}, {"box-two"}},
	{{"run", "--profile", "prof-"}, {"prof-A.1"}, {"box-one"}},
	{{"run", "-p", "p"}, {"prof-A.1"}, {NULL}},
	{{"exec", "b"}, {"box-one", "box-two"}, {NULL}},
	{{"rm", "box-one", "box-t"}, {"box-two"}, {"box-one"}},
	{{"config", ""}, {"show"}, {"run"}},
	{{"config", "show", "--q"}, {"--quiet"}, {NULL}},
	{{"exec", "box-one", "--r"}, {NULL}, {"--rm"}},
	{{"run", "--", "--r"}, {NULL}, {"--rm"}},
	{{"run", "--s"}, {"--size"}, {"--secret-switch"}},
	{{"start", "b"}, {"bot"}, {NULL}},
	{{"start", "--d"}, {"--detach", "--dry-run"}, {NULL}},
	{{"start", "--name", "bot", "--d"}, {"--detach", "--dry-run"}, {NULL}},
	{{"start", "bot", "--d"}, {NULL}, {"--detach", "--dry-run"}},
	{{"start", "--rm", "bot", "fi"}, {"fish.script"}, {"bot"}},
	{{"start", "bot", "--", "--d"}, {NULL}, {"--detach", "--dry-run"}},
	{{"bot", "--d"}, {NULL}, {"--detach", "--dry-run"}},
	{{"bot", "fi"}, {"fish.script"}, {"bot"}},
};

/* One word of the output, whatever the shell prints around it. */
static bool has_word(const char *out, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(out, word); p; p = strstr(p + 1, word)) {
		bool starts = p == out || strchr("\n<", p[-1]);

		if (starts && strchr("\n>=\t ", p[n]))
			return true;
	}
	return false;
}

static void check_shell(const char *shell)
{
	need(shell);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *out = offers(shell, cases[i].words);

		assert_null(strstr(out, "pwned"));
		for (size_t k = 0; k < 4 && cases[i].yes[k]; k++)
			if (!has_word(out, cases[i].yes[k]))
				fail_msg("%s case %zu lacks %s: %s", shell, i, cases[i].yes[k],
					 out);
		for (size_t k = 0; k < 4 && cases[i].no[k]; k++)
			if (has_word(out, cases[i].no[k]))
				fail_msg("%s case %zu offers %s: %s", shell, i, cases[i].no[k],
					 out);
	}
	/* A name is data: nothing in it has run. */
	assert_int_not_equal(faccessat(AT_FDCWD, "pwned", F_OK, 0), 0);
}

static void bash_offers_what_the_tables_say(void **state)
{
	check_shell("bash");
}

static void bash_completes_a_value_behind_an_equals_sign(void **state)
{
	const char *const words[] = {"run", "--mode", "=", "f", NULL};
	const char *const empty[] = {"run", "--mode", "=", NULL};
	cleanup_free char *out = offers("bash", words);
	cleanup_free char *both = offers("bash", empty);

	assert_string_equal(out, "fast\n");
	assert_string_equal(both, "fast\nsafe\n");
}

static void zsh_offers_what_the_tables_say(void **state)
{
	check_shell("zsh");
}

static void fish_offers_what_the_tables_say(void **state)
{
	check_shell("fish");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bash_offers_what_the_tables_say),
		cmocka_unit_test(bash_completes_a_value_behind_an_equals_sign),
		cmocka_unit_test(zsh_offers_what_the_tables_say),
		cmocka_unit_test(fish_offers_what_the_tables_say),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
