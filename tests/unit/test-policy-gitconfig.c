#include "tests.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "policy/gitconfig.h"

struct wanted {
	const char *name; /* as "filter.x.clean" */
	bool found;
};

static bool look(const struct gitconfig_entry *e, void *arg)
{
	struct wanted *w = arg;
	cleanup_free char *name = e->sub ? xasprintf("%s.%s.%s", e->section, e->sub, e->key)
					 : xasprintf("%s.%s", e->section, e->key);

	w->found = w->found || streq(name, w->name);
	return false;
}

static void says(const char *text, const char *name)
{
	struct wanted w = {.name = name};

	if (gitconfig_each(text, strlen(text), look, &w) != 0 || !w.found)
		fail_msg("no '%s' in: %s", name, text);
}

static void comments_and_values_are_no_entries(void **state)
{
	static const char *const texts[] = {"", "# [core] fsmonitor = x\n; hooksPath\n",
					    "[user]\nname = \"[core]\\n\\tfsmonitor = x\"\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct wanted w = {.name = "core.fsmonitor"};

		assert_int_equal(gitconfig_each(texts[i], strlen(texts[i]), look, &w), 0);
		assert_false(w.found);
	}
}

static void every_spelling_of_a_name_is_read(void **state)
{
	says("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor");
	says("[CORE] FSMonitor=./x", "core.fsmonitor");
	says("\xef\xbb\xbf[core]hookspath=x", "core.hookspath");
	says("[core]\r\n\thooksPath = x\r\n", "core.hookspath");
	says("[filter \"a b\"]\n\tclean = sh x\n", "filter.a b.clean");
	says("[filter.ab]\n\tsmudge = sh x\n", "filter.ab.smudge");
	says("[diff \"x\"]\ntextconv=x\n", "diff.x.textconv");
	says("[include]\n\tpath = ../x\n", "include.path");
	says("[includeIf \"gitdir:/\"]\n\tpath = ../x\n", "includeif.gitdir:/.path");
	says("[alias]\n\tst = !sh\n", "alias.st");
	says("[remote \"o\"]\n\turl = ext::sh -c x\n", "remote.o.url");
	says("[submodule \"o\"]\n\tupdate = !sh\n", "submodule.o.update");
	says("[credential \"https://x\"]\n\thelper = !sh\n", "credential.https://x.helper");
	says("[core]\n\tworktree = /home/u\n", "core.worktree");
	says("[user]\nname = x\\\n  y\n[core]\nsshCommand = x", "core.sshcommand");
}

static void what_git_would_not_take_is_an_error(void **state)
{
	static const char *const texts[] = {
		"[core", "[core]\nx y\n", "name = x\n", "[core]\nx = \"open\n", "[core \"a\" b]\n",
		"\x01"};
	struct wanted w = {.name = ""};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(gitconfig_each(texts[i], strlen(texts[i]), look, &w), -EINVAL);
}

static void a_comment_ends_a_value(void **state)
{
	static const char text[] = "[core]\n\tworktree = ../../../lib # no\n";
	cleanup_free char *dir = gitconfig_get(text, strlen(text), "core", "worktree");

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
		cmocka_unit_test(comments_and_values_are_no_entries),
		cmocka_unit_test(every_spelling_of_a_name_is_read),
		cmocka_unit_test(what_git_would_not_take_is_an_error),
		cmocka_unit_test(a_comment_ends_a_value),
		cmocka_unit_test(the_last_value_counts_and_quotes_are_read),
		cmocka_unit_test(a_value_beyond_all_measure_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
