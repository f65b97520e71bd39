#include "git-repo.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static const char dirty[] = "echo mine >>a; rm d/b; printf 'r\\r\\nn' >raw; echo s1 >staged; git "
			    "add staged; echo s2 >>staged\n"
			    "mkdir -p n/e/w; echo u >n/e/w/u; ln -s a link; printf '#!' >exec; "
			    "chmod +x exec; ln -s /etc/passwd out";
static const char look[] =
	"git status --porcelain -uall; git diff --cached | git patch-id --stable | cut -c1-12; cat "
	"a raw "
	"staged n/e/w/u | od -An -c; readlink link out; test -x exec; ls -p | grep -v /";

static void stash(void)
{
	struct err e = {0};

	ok(repo_stash(repo, &e), &e);
}

static void unstash(void)
{
	struct err e = {0};

	ok(repo_unstash(repo, &e), &e);
}

static void changes_go_and_come_back_byte_for_byte(void **state)
{
	cleanup_free char *before = NULL;

	run_sh(dirty);
	before = sh(look);
	stash();
	assert_true(repo_has_stash(repo));
	sh_says("git status --porcelain; cat a d/b; ls", "one\ntwo\na\nd");
	unstash();
	assert_false(repo_has_stash(repo));
	sh_says(look, before);
	sh_says("git for-each-ref refs/ralph; ls $TREE/state", "");
}

static void a_clean_tree_has_nothing_to_stash(void **state)
{
	stash();
	assert_false(repo_has_stash(repo));
	sh_says("ls $TREE/state", "");
}

static void git_can_apply_it_too(void **state)
{
	cleanup_free char *before = NULL;

	run_sh(dirty);
	before = sh(look);
	stash();
	run_sh("git stash apply -q --index $(git for-each-ref --format='%(refname)' "
	       "refs/ralph/stash)");
	sh_says(look, before);
}

static void ralphs_own_files_stay(void **state)
{
	run_sh("mkdir .ralph; echo t >.ralph/prd.json; echo x >a");
	stash();
	sh_says("cat .ralph/prd.json a", "t\none");
}

static void line_ends_are_not_changed(void **state)
{
	run_sh("git config core.autocrlf true; printf 'x\\r\\ny\\n' >a; printf 'p\\r\\n' >new");
	repo_again();
	stash();
	run_sh("test ! -e new");
	unstash();
	sh_says("od -An -c a new | tr -d ' \\n'", "x\\r\\ny\\np\\r\\n");
}

static void a_second_stash_is_refused(void **state)
{
	struct err e = {0};

	run_sh("echo x >a");
	stash();
	run_sh("echo y >a");
	assert_int_equal(repo_stash(repo, &e), -EEXIST);
	sh_says("cat a", "y");
}

static void what_does_not_fit_any_more_stays_stashed(void **state)
{
	struct err e = {0};

	run_sh("echo mine >a");
	stash();
	run_sh("echo agent >a; git commit -qam agent");
	assert_int_equal(repo_unstash(repo, &e), -EBUSY);
	assert_true(repo_has_stash(repo));
	sh_says("cat a; git status --porcelain", "agent");
	run_sh("git reset -q --hard HEAD~1");
	unstash();
	sh_says("cat a", "mine");
}

static void a_new_file_in_the_way_is_not_overwritten(void **state)
{
	struct err e = {0};

	run_sh("echo mine >new");
	stash();
	run_sh("echo agents >new");
	assert_int_equal(repo_unstash(repo, &e), -EBUSY);
	sh_says("cat new", "agents");
}

static void a_link_planted_for_a_directory_is_not_followed(void **state)
{
	struct err e = {0};

	run_sh("mkdir n; echo mine >n/f; mkdir $TREE/victim");
	stash();
	run_sh("ln -s $TREE/victim n");
	(void)repo_unstash(repo, &e);
	sh_says("ls $TREE/victim", "");
	assert_true(repo_has_stash(repo));
}

static void a_directory_that_the_user_made_a_link_is_stashed_without_following_it(void **state)
{
	run_sh("mkdir o; echo other >o/b; git add o; git commit -qm o; rm -r d; ln -s o d");
	stash();
	sh_says("cat d/b o/b; git status --porcelain", "two\nother");
	run_sh("git stash apply -q $(git for-each-ref --format='%(refname)' refs/ralph/stash) || "
	       ":; cat o/b");
}

static void it_survives_an_agent_that_throws_its_objects_away(void **state)
{
	cleanup_free char *before = NULL;

	run_sh(dirty);
	before = sh(look);
	stash();
	run_sh("git update-ref -d $(git for-each-ref --format='%(refname)' refs/ralph/stash); rm "
	       "-rf .git/logs\n"
	       "git gc -q --prune=now; git fsck --no-dangling --no-progress");
	unstash();
	sh_says(look, before);
}

static void an_unfinished_merge_is_not_stashed(void **state)
{
	struct err e = {0};

	run_sh("git checkout -qb o; echo o >a; git commit -qam o; git checkout -q main; echo m >a; "
	       "git commit -qam m; git merge -q o || :");
	assert_int_equal(repo_stash(repo, &e), -EBUSY);
	assert_false(repo_has_stash(repo));
}

/* kill -9 somewhere between its beginning and its end, children included. */
static void killed(void (*what)(void), unsigned after_us)
{
	int status;
	pid_t pid;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err e;
		cleanup_free char *w = tree_path("w"), *dir = tree_path("state");

		(void)repo_open(w, dir, &repo, &e);
		what();
		_exit(0);
	}
	(void)usleep(after_us);
	(void)kill(pid, SIGKILL);
	while (waitpid(-1, &status, 0) > 0)
		;
}

static void quiet_stash(void)
{
	struct err e;

	(void)repo_stash(repo, &e);
}

static void quiet_unstash(void)
{
	struct err e;

	(void)repo_unstash(repo, &e);
}

static void recover(void)
{
	cleanup_free char *done = NULL;
	struct err e = {0};

	repo_again();
	ok(repo_recover(repo, &done, &e), &e);
}

#define MOMENTS 10

/* Spread over a little more than it takes, so that some are after the end. */
static unsigned moment(unsigned i, unsigned whole_us)
{
	return whole_us / 8 * 10 / MOMENTS * i;
}

static unsigned timed(void (*what)(void))
{
	struct timespec a, b;

	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	what();
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	return (unsigned)((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
}

static void a_kill_at_any_moment_of_stashing_loses_nothing(void **state)
{
	unsigned whole;

	run_sh(dirty);
	whole = timed(stash);
	unstash();
	for (unsigned i = 0; i < MOMENTS; i++) {
		cleanup_free char *before = NULL;

		run_sh("git reset -q --hard; git clean -qfdx");
		run_sh(dirty);
		before = sh(look);
		killed(quiet_stash, moment(i, whole));
		recover();
		if (!repo_has_stash(repo)) {
			sh_says(look, before);
			stash();
		}
		sh_says("git status --porcelain", "");
		unstash();
		sh_says(look, before);
	}
}

static void a_kill_at_any_moment_of_unstashing_loses_nothing(void **state)
{
	unsigned whole;

	run_sh(dirty);
	stash();
	whole = timed(unstash);
	for (unsigned i = 0; i < MOMENTS; i++) {
		cleanup_free char *before = NULL;

		run_sh("git reset -q --hard; git clean -qfdx");
		run_sh(dirty);
		before = sh(look);
		repo_again();
		stash();
		killed(quiet_unstash, moment(i, whole));
		recover();
		unstash();
		sh_says(look, before);
		sh_says("ls $TREE/state | grep -v '\\.tmp$' || :; git for-each-ref refs/ralph", "");
	}
}

static void hand_over(void)
{
	struct err e = {0};

	ok(repo_stash_hand_over(repo, &e), &e);
}

static void handed_over_it_is_on_top_of_gits_own_list(void **state)
{
	cleanup_free char *before = NULL;

	run_sh("echo other >>a; git stash -q");
	run_sh(dirty);
	before = sh(look);
	stash();
	hand_over();
	assert_false(repo_has_stash(repo));
	sh_says("git stash list | wc -l; git for-each-ref refs/ralph; ls $TREE/state", "2");
	run_sh("git stash pop -q --index");
	sh_says(look, before);
	sh_says("git stash list | wc -l", "1");
}

static void handed_over_after_its_objects_were_thrown_away(void **state)
{
	run_sh("echo mine >>a");
	stash();
	run_sh("git update-ref -d $(git for-each-ref --format='%(refname)' refs/ralph/stash); rm "
	       "-rf .git/logs\n"
	       "git gc -q --prune=now");
	hand_over();
	run_sh("git stash pop -q --index");
	sh_says("tail -n 1 a", "mine");
}

static void commit_of_marks(const char *path, const char *message, char ret[REPO_OID_LEN + 1])
{
	cleanup_strv struct strv paths = {0};
	struct repo_oid head;
	struct err e = {0};

	strv_push(&paths, path);
	ok(repo_commit_marks(repo, &paths, message, &head, &e), &e);
	memcpy(ret, head.hex, sizeof(head.hex));
}

static void marks_are_committed_and_nothing_else(void **state)
{
	char head[REPO_OID_LEN + 1];

	run_sh("echo marked >>a; echo mine >>d/b; echo s >staged; git add staged");
	commit_of_marks("a", "marks", head);
	sh_says("git rev-parse HEAD", head);
	sh_says("git show --name-only --format=%s", "marks\n\na");
	sh_says("git status --porcelain", " M d/b\nA  staged");
	/* Once more, there is nothing to commit; neither is a file that git does not know. */
	commit_of_marks("a", "again", head);
	sh_says("git log -1 --format=%s", "marks");
	run_sh("echo u >unknown");
	commit_of_marks("unknown", "again", head);
	sh_says("git log -1 --format=%s", "marks");
}

static void marks_of_a_link_are_not_committed(void **state)
{
	char head[REPO_OID_LEN + 1];

	run_sh("rm a; ln -s /etc/passwd a");
	commit_of_marks("a", "marks", head);
	sh_says("git log -1 --format=%s | grep -c marks || :", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REPO(changes_go_and_come_back_byte_for_byte),
		WITH_REPO(a_clean_tree_has_nothing_to_stash),
		WITH_REPO(git_can_apply_it_too),
		WITH_REPO(ralphs_own_files_stay),
		WITH_REPO(line_ends_are_not_changed),
		WITH_REPO(a_second_stash_is_refused),
		WITH_REPO(what_does_not_fit_any_more_stays_stashed),
		WITH_REPO(a_new_file_in_the_way_is_not_overwritten),
		WITH_REPO(a_link_planted_for_a_directory_is_not_followed),
		WITH_REPO(a_directory_that_the_user_made_a_link_is_stashed_without_following_it),
		WITH_REPO(it_survives_an_agent_that_throws_its_objects_away),
		WITH_REPO(handed_over_it_is_on_top_of_gits_own_list),
		WITH_REPO(handed_over_after_its_objects_were_thrown_away),
		WITH_REPO(marks_are_committed_and_nothing_else),
		WITH_REPO(marks_of_a_link_are_not_committed),
		WITH_REPO(an_unfinished_merge_is_not_stashed),
		WITH_REPO(a_kill_at_any_moment_of_stashing_loses_nothing),
		WITH_REPO(a_kill_at_any_moment_of_unstashing_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
