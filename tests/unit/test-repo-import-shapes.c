#include "import-box.h"

/* Imports into repositories of every shape, and what comes with their references. */

static void a_merge_that_the_user_began_ends_with_the_agents_commit(void **state)
{
	run_sh("git checkout -q side; echo side >a; echo s >s; git add s; git commit -qam side; "
	       "git "
	       "checkout -q main; echo main >a; git commit -qam main; git merge side >/dev/null || "
	       "true; test -f .git/MERGE_HEAD");
	make_private();
	inside("echo both >a; git commit -qam merged");
	import_says("forward");
	sh_says("git log --format=%s -1; git rev-list --parents -1 HEAD | wc -w; ls .git | grep "
		"MERGE || true",
		"merged\n3");
	is_clean();
}

static void a_merge_of_the_users_that_is_another_one_by_now_stays(void **state)
{
	run_sh("git checkout -q side; echo side >a; git commit -qam side; git branch third; echo 3 "
	       ">b; "
	       "git add b; git commit -qm third; git checkout -q main; echo main >a; git commit "
	       "-qam "
	       "main; git merge third >/dev/null || true; test -f .git/MERGE_HEAD");
	make_private();
	run_sh("git merge --abort; git merge side >/dev/null || true; test -f .git/MERGE_HEAD");
	inside("echo both >a; git add -A; git commit -qam merged");
	held_as("refs/ralph/box/heads/main",
		"a merge, rebase or the like is in progress in your repository");
	run_sh("test -f .git/MERGE_HEAD");
}

static void a_merge_that_goes_on_inside_is_left_alone(void **state)
{
	run_sh("git checkout -q side; echo side >a; git commit -qam side; git checkout -q main; "
	       "echo "
	       "main >a; git commit -qam main; git merge side >/dev/null || true");
	make_private();
	inside("git branch other");
	import_says("other");
	sh_says("test -f .git/MERGE_HEAD; git status --porcelain", "UU a");
}

static void a_rebase_that_the_user_began_ends_with_the_agents_branch(void **state)
{
	run_sh("git checkout -q side; echo side >a; git commit -qam side; git checkout -q main; "
	       "echo "
	       "main >a; git commit -qam main; git rev-parse main >$TREE/old; git rebase side "
	       ">/dev/null 2>&1 || true; test -d .git/rebase-merge");
	make_private();
	inside("echo both >a; git add a; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1");
	import_says("rewrite");
	sh_says("git symbolic-ref HEAD; git log --format=%s -2; test ! -e .git/rebase-merge",
		"refs/heads/main\nmain\nside");
	run_sh("git rev-parse refs/ralph/box/was/heads/main | cmp - $TREE/old");
	is_clean();
}

static void a_commit_on_no_branch_is_taken_where_the_user_is_on_none(void **state)
{
	run_sh("git checkout -q --detach");
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	import_says("\"head\":");
	sh_says("git log --format=%s -1; git symbolic-ref -q HEAD || true", "third");
	is_clean();
	run_sh("echo u >u; git add u; git commit -qm users");
	sync_in();
	inside_says("git log --format=%s -1; git status --porcelain", "users");
	import_says("{\"taken\":[],\"held\":[]}");
	inside("git checkout -q main");
	import_says("\"head\":\"refs/heads/main\"");
	is_clean();
}

static void make_submodule(void)
{
	run_sh("git init -q $TREE/lib; cd $TREE/lib; echo l >l; git add .; git commit -qm lib");
	run_sh("git submodule -q add $TREE/lib libs/sub; git commit -qm sub");
	make_private();
}

/* As in a sandbox, where the pointer of a submodule leads to the private directory. */
#define SUB "export GIT_DIR=$TREE/p/modules/libs/sub; unset GIT_WORK_TREE; cd libs/sub\n"

static void commits_in_a_submodule_come_before_the_commit_that_names_them(void **state)
{
	make_submodule();
	inside("(" SUB "echo more >>l; git commit -qam 'in sub'; git tag t)\n"
	       "git update-index --cacheinfo 160000,$(git --git-dir=$TREE/p/modules/libs/sub "
	       "rev-parse HEAD),libs/sub; git commit -qm up");
	import_says("\"module\":\"modules/libs/sub\"");
	sh_says("git log --format=%s -1; git -C libs/sub log --format=%s -1; git -C libs/sub tag",
		"up\nin sub\nt");
	is_clean();
	sh_says("git -C libs/sub status --porcelain; git submodule status | grep -v '^ ' || true",
		"");
	import_says("{\"modules\":[],\"taken\":[],\"held\":[]}");
}

static void a_submodule_on_no_branch_follows(void **state)
{
	run_sh("git init -q $TREE/lib; cd $TREE/lib; echo l >l; git add .; git commit -qm lib");
	run_sh("git submodule -q add $TREE/lib libs/sub; git commit -qm sub; cd libs/sub; git "
	       "checkout "
	       "-q --detach");
	make_private();
	inside("(" SUB "echo more >>l; git commit -qam 'in sub')\n"
	       "git update-index --cacheinfo 160000,$(git --git-dir=$TREE/p/modules/libs/sub "
	       "rev-parse HEAD),libs/sub; git commit -qm up");
	import_says("\"held\":[]");
	sh_says("git -C libs/sub log --format=%s -1; git -C libs/sub status --porcelain", "in sub");
	is_clean();
}

static void what_the_user_commits_in_a_submodule_is_there_inside(void **state)
{
	make_submodule();
	run_sh("cd libs/sub; echo u >u; git add u; git commit -qm users");
	sync_in();
	inside_says("(" SUB "git log --format=%s -1; git status --porcelain)", "users");
}

static void a_submodule_with_a_bad_tree_refuses_all(void **state)
{
	make_submodule();
	run_sh("git for-each-ref >$TREE/refs; git -C libs/sub for-each-ref >>$TREE/refs");
	inside("(" SUB "t=$(B=$(git rev-parse HEAD:l) python3 -c 'import os,sys\n"
	       "sys.stdout.buffer.write(b\"100644 .git\\0\"+bytes.fromhex(os.environ[\"B\"]))' |\n"
	       "git hash-object -t tree --literally -w --stdin)\n"
	       "git update-ref refs/heads/main $(git commit-tree -p HEAD -m bad $t))\n"
	       "echo 3 >>a; git commit -qm third a");
	import_says("error: submodule: '.git' in a tree of the sandbox has a name");
	run_sh("{ git for-each-ref; git -C libs/sub for-each-ref; } | cmp - $TREE/refs");
}

static void a_submodule_that_was_not_told_of_is_refused(void **state)
{
	make_submodule();
	run_sh("git for-each-ref >$TREE/refs");
	sh_says("for m in modules/x ../w/.git /etc 'modules/libs/sub/'; do printf 'MODULE 1 "
		"%s\\n\\n\\n' \"$m\" |"
		" $TREE/repo import $TREE/w box idle 3<$TREE/tips 2>&1 | grep -c 'cannot be "
		"understood'; done",
		"1\n1\n1\n1");
	sh_says("{ printf 'MODULE 1 modules/libs/sub\\n\\nMODULE 1 modules/libs/sub\\n\\n'; } |"
		" $TREE/repo import $TREE/w box idle 3<$TREE/tips 2>&1 | grep -c 'cannot be "
		"understood'",
		"1");
	sh_says("printf 'MODULE 99999 modules/libs/sub\\n\\n' |"
		" $TREE/repo import $TREE/w box idle 3<$TREE/tips 2>&1 || true",
		"the stream is cut off");
	run_sh("git for-each-ref | cmp - $TREE/refs");
}

static void a_gitlink_that_moves_is_no_new_one_and_a_new_one_is_held(void **state)
{
	make_submodule();
	inside("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),other; git commit "
	       "-qm "
	       "new");
	held_as("refs/ralph/box/heads/main", "it adds a submodule");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GIT(a_merge_that_the_user_began_ends_with_the_agents_commit),
		WITH_GIT(a_merge_of_the_users_that_is_another_one_by_now_stays),
		WITH_GIT(a_merge_that_goes_on_inside_is_left_alone),
		WITH_GIT(a_rebase_that_the_user_began_ends_with_the_agents_branch),
		WITH_GIT(a_commit_on_no_branch_is_taken_where_the_user_is_on_none),
		WITH_GIT(commits_in_a_submodule_come_before_the_commit_that_names_them),
		WITH_GIT(a_submodule_on_no_branch_follows),
		WITH_GIT(what_the_user_commits_in_a_submodule_is_there_inside),
		WITH_GIT(a_submodule_with_a_bad_tree_refuses_all),
		WITH_GIT(a_submodule_that_was_not_told_of_is_refused),
		WITH_GIT(a_gitlink_that_moves_is_no_new_one_and_a_new_one_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
