/* Imports of a loop's sandbox: everything is held, and the loop moves its own branch. */
#include "import-box.h"

static void hold_says(const char *want)
{
	cleanup_free char *is = import_when("hold");

	if (!strstr(is, want))
		fail_msg("'%s' is not in: %s", want, is);
}

static void advance_says(const char *args, const char *want)
{
	cleanup_free char *script = xasprintf("$TREE/repo advance $TREE/w box %s", args);

	sh_says(script, want);
}

#define USERS                                                                                      \
	"git for-each-ref --format='%(objectname) %(refname)' | grep -v ' refs/ralph/'; git "      \
	"symbolic-ref HEAD; git diff --cached --name-only"

static void nothing_of_the_users_moves(void **state)
{
	cleanup_free char *before = NULL;

	run_sh("git tag v1");
	before = sh(USERS);
	make_private();
	inside("echo 3 >>a; git commit -qam third; git branch -f side HEAD; git tag -f v1; git tag "
	       "v2; git branch -m main x; git checkout -q --detach");
	hold_says("\"taken\":[]");
	sh_says(USERS, before);
	sh_says("git for-each-ref --format='%(refname) %(contents:subject)' refs/ralph",
		"refs/ralph/box/HEAD third\nrefs/ralph/box/heads/side third\n"
		"refs/ralph/box/heads/x third\nrefs/ralph/box/tags/v1 third\n"
		"refs/ralph/box/tags/v2 third");
}

static void the_commit_that_the_agent_is_on_is_held_whatever_its_branch(void **state)
{
	make_private();
	inside("git tag t; git checkout -q side");
	hold_says("\"taken\":[]");
	sh_says("test $(git rev-parse refs/ralph/box/HEAD) = $(git rev-parse side) && git "
		"symbolic-ref HEAD",
		"refs/heads/main");
}

static void what_the_user_moved_is_not_held(void **state)
{
	make_private();
	run_sh("git branch -f side HEAD~1; git branch made; git tag t HEAD~1");
	sync_in();
	inside("git tag agents");
	hold_says("\"taken\":[]");
	sh_says("git for-each-ref --format='%(refname)' refs/ralph",
		"refs/ralph/box/HEAD\nrefs/ralph/box/tags/agents");
}

static void the_branch_advances_with_the_index_and_no_file(void **state)
{
	make_private();
	run_sh("echo staged >s; git add s");
	inside("echo 3 >>a; git commit -qm third a");
	hold_says("\"taken\":[]");
	sh_says("git log -1 --format=%s; git status --porcelain", "second\n M a\nA  s");
	advance_says("refs/heads/main $(git rev-parse main refs/ralph/box/heads/main)", "{}");
	sh_says("git log -1 --format=%s; git status --porcelain", "third\nA  s");
	/* A loop that was killed does it again. */
	advance_says("refs/heads/main $(git rev-parse main~1 main)", "{}");
}

static void a_branch_that_moved_meanwhile_does_not_advance(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	hold_says("\"taken\":[]");
	run_sh("git commit -q --allow-empty -m users");
	advance_says("refs/heads/main $(git rev-parse main~1 refs/ralph/box/heads/main)",
		     "{\"error\":\"'refs/heads/main' has moved meanwhile\",\"busy\":false}");
	sh_says("git log -1 --format=%s; git status --porcelain", "users\n M a");
}

static void an_index_that_is_locked_is_busy(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	hold_says("\"taken\":[]");
	run_sh("touch .git/index.lock");
	advance_says("refs/heads/main $(git rev-parse main refs/ralph/box/heads/main) | grep -o "
		     "'\"busy\":[a-z]*'",
		     "\"busy\":true");
	sh_says("git log -1 --format=%s", "second");
}

static void a_word_that_is_none_imports_nothing(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	{
		cleanup_free char *is = import_when("sometimes");

		assert_non_null(strstr(is, "no way to import"));
	}
	sh_says("git log -1 --format=%s", "second");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GIT(nothing_of_the_users_moves),
		WITH_GIT(the_commit_that_the_agent_is_on_is_held_whatever_its_branch),
		WITH_GIT(what_the_user_moved_is_not_held),
		WITH_GIT(the_branch_advances_with_the_index_and_no_file),
		WITH_GIT(a_branch_that_moved_meanwhile_does_not_advance),
		WITH_GIT(an_index_that_is_locked_is_busy),
		WITH_GIT(a_word_that_is_none_imports_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
