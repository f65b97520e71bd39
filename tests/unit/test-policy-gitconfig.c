#include "tests.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "policy/gitconfig.h"

static void runs(const char *text, const char *key)
{
	cleanup_free char *got = gitconfig_runs(text, strlen(text), false);

	if (!key)
		assert_null(got);
	else if (!got || !streq(got, key))
		fail_msg("wanted '%s', got '%s' of: %s", key, got ? got : "nothing", text);
}

static void ordinary_settings_run_nothing(void **state)
{
	runs("", NULL);
	runs("[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = x\n"
	     "[remote \"origin\"]\n\turl = https://example.com/x.git\n"
	     "\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = "
	     "origin\n",
	     NULL);
	runs("[core]\n\tfsmonitor = true\n", NULL);
	runs("# [core] fsmonitor = x\n; hooksPath\n", NULL);
	runs("[user]\nname = \"[core]\\n\\tfsmonitor = x\"\n", NULL);
}

static void every_spelling_of_a_program_is_found(void **state)
{
	runs("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor");
	runs("[CORE] FSMonitor=./x", "core.fsmonitor");
	runs("\xef\xbb\xbf[core]hookspath=x", "core.hookspath");
	runs("[core]\r\n\thooksPath = x\r\n", "core.hookspath");
	runs("[filter \"a b\"]\n\tclean = sh x\n", "filter.a b.clean");
	runs("[filter.ab]\n\tsmudge = sh x\n", "filter.ab.smudge");
	runs("[diff \"x\"]\ntextconv=x\n", "diff.x.textconv");
	runs("[include]\n\tpath = ../x\n", "include.path");
	runs("[includeIf \"gitdir:/\"]\n\tpath = ../x\n", "includeif.gitdir:/.path");
	runs("[alias]\n\tst = !sh\n", "alias.st");
	runs("[remote \"o\"]\n\turl = ext::sh -c x\n", "remote.o.url");
	runs("[submodule \"o\"]\n\tupdate = !sh\n", "submodule.o.update");
	runs("[credential \"https://x\"]\n\thelper = !sh\n", "credential.https://x.helper");
	runs("[core]\n\tworktree = /home/u\n", "core.worktree");
	runs("[user]\nname = x\\\n  y\n[core]\nsshCommand = x", "core.sshcommand");
}

static void what_git_would_not_take_counts_as_running(void **state)
{
	runs("[core", "a syntax error");
	runs("[core]\nx y\n", "a syntax error");
	runs("name = x\n", "a syntax error");
	runs("[core]\nx = \"open\n", "a syntax error");
	runs("[core \"a\" b]\n", "a syntax error");
	runs("\x01", "a syntax error");
}

static void a_submodule_names_its_directory(void **state)
{
	static const char text[] = "[core]\n\tworktree = ../../../lib # no\n";
	cleanup_free char *got = gitconfig_runs(text, strlen(text), true);
	cleanup_free char *dir = gitconfig_get(text, strlen(text), "core", "worktree");

	assert_null(got);
	assert_string_equal(dir, "../../../lib");
}

static void the_last_value_counts_and_quotes_are_read(void **state)
{
	static const char text[] = "[core]\nworktree = a\nworktree = \" b # \\\"c\\t\" \n";
	cleanup_free char *dir = gitconfig_get(text, strlen(text), "core", "worktree");

	assert_string_equal(dir, " b # \"c\t");
}

static bool count(const struct gitconfig_entry *e, void *arg)
{
	++*(int *)arg;
	return false;
}

static void a_value_beyond_all_measure_is_an_error(void **state)
{
	size_t n = 200 * KiB;
	cleanup_free char *text = xmalloc(n + 1);
	int entries = 0;

	memset(text, 'x', n);
	memcpy(text, "[a]\nb = ", 8);
	text[n] = '\0';
	assert_int_equal(gitconfig_each(text, n, count, &entries), -EINVAL);
	assert_int_equal(entries, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_settings_run_nothing),
		cmocka_unit_test(every_spelling_of_a_program_is_found),
		cmocka_unit_test(what_git_would_not_take_counts_as_running),
		cmocka_unit_test(a_submodule_names_its_directory),
		cmocka_unit_test(the_last_value_counts_and_quotes_are_read),
		cmocka_unit_test(a_value_beyond_all_measure_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
