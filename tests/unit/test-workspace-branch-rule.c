#include "tests.h"

#include "base/mem.h"
#include "workspace/branch-rule.h"

/*
 * Commits are words: "u1" is the user's first, and a commit descends from each of its own
 * beginnings ("u1a1" from "u1").
 */
static bool descends(const char *commit, const char *ancestor, void *arg)
{
	return strncmp(commit, ancestor, strlen(ancestor)) == 0;
}

static void is(const char *host, const char *synced, const char *user, const char *inside,
	       enum branch_verdict want)
{
	const struct branch_tips t = {host, synced, user, inside};

	assert_int_equal(branch_rule(&t, descends, NULL), want);
}

static void what_did_not_move_inside_is_not_taken(void **state)
{
	is("u1", "u1", "u1", "u1", BRANCH_SAME);
	is("u1u2", "u1", "u1", "u1", BRANCH_SYNC);
	is("x", "u1", "u1", "u1", BRANCH_SYNC);	       /* the user rewrote it */
	is("u1u2u3", "u1", "u1", "u1u2", BRANCH_SYNC); /* moved to what the user made */
}

static void commits_on_top_are_taken(void **state)
{
	is("u1", "u1", "u1", "u1a1", BRANCH_TAKE);
	is("u1a1", "u1a1", "u1", "u1a1a2", BRANCH_TAKE);
	/* the agent fetched and merged what the user did meanwhile */
	is("u1u2", "u1", "u1", "u1u2a1", BRANCH_TAKE);
}

static void a_new_branch_is_taken(void **state)
{
	is(NULL, NULL, NULL, "a1", BRANCH_TAKE);
}

static void the_agent_may_rewrite_its_own_commits(void **state)
{
	is("u1a1", "u1a1", "u1", "u1b1", BRANCH_REWRITE); /* amended */
	is("u1a1", "u1a1", "u1", "u1", BRANCH_REWRITE);	  /* dropped */
	is("u1a1", "u1a1", NULL, "x", BRANCH_REWRITE);	  /* a branch that only it has moved */
}

static void a_rewrite_of_the_users_commits_is_held(void **state)
{
	is("u1u2", "u1u2", "u1u2", "u1", BRANCH_HOLD);	  /* reset below the user's tip */
	is("u1u2", "u1u2", "u1u2", "u1b1", BRANCH_HOLD);  /* amended the user's */
	is("u1u2a1", "u1u2a1", "u1u2", "b", BRANCH_HOLD); /* another history */
}

static void commits_of_both_are_held(void **state)
{
	is("u1u2", "u1", "u1", "u1a1", BRANCH_HOLD);
	is("u1a1u2", "u1a1", "u1", "u1b1", BRANCH_HOLD); /* an own rewrite, and the user went on */
}

static void a_branch_of_the_same_name_on_both_sides_is_not_overwritten(void **state)
{
	is("u1", NULL, NULL, "a1", BRANCH_HOLD);
	is("u1", NULL, NULL, "u1a1", BRANCH_TAKE);
	is("u1", NULL, NULL, "u1", BRANCH_SAME);
}

static void a_deletion_is_nobodys_but_the_users(void **state)
{
	is("u1", "u1", "u1", NULL, BRANCH_SAME); /* inside */
	is(NULL, "u1", "u1", "u1", BRANCH_SAME); /* by the user, and the agent did not move it */
	is(NULL, "u1", "u1", "u1a1", BRANCH_HOLD);
	is(NULL, NULL, NULL, NULL, BRANCH_SAME);
}

static void what_was_settled_already_is_not_told_again(void **state)
{
	is("u1a1m", "u1", "u1", "u1a1m", BRANCH_SAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_did_not_move_inside_is_not_taken),
		cmocka_unit_test(commits_on_top_are_taken),
		cmocka_unit_test(a_new_branch_is_taken),
		cmocka_unit_test(the_agent_may_rewrite_its_own_commits),
		cmocka_unit_test(a_rewrite_of_the_users_commits_is_held),
		cmocka_unit_test(commits_of_both_are_held),
		cmocka_unit_test(a_branch_of_the_same_name_on_both_sides_is_not_overwritten),
		cmocka_unit_test(a_deletion_is_nobodys_but_the_users),
		cmocka_unit_test(what_was_settled_already_is_not_told_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
