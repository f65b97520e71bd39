#include "git-repo.h"

#include "repo/repo-look.h"

/* Files older than the index, which git wrote last: nothing is young. */
static const char settle[] =
	"find . -name .git -prune -o ! -type d -exec touch -h -d '10 seconds ago' {} +\n"
	"git update-index -q --refresh || true\n";

static int look(struct repo_look *l)
{
	cleanup_free char *w = tree_path("w"), *dir = tree_path("w/.git");

	return repo_look(w, dir, l);
}

/* No path is left to libgit2, and the index is the tree that git makes of it. */
static void nothing_is_in_doubt(void)
{
	cleanup_free char *want = sh("git write-tree");
	struct repo_look l = {0};
	uint8_t oid[GITINDEX_HASH_LEN];
	char hex[2 * GITINDEX_HASH_LEN + 1];

	assert_int_equal(look(&l), 0);
	assert_int_equal(l.paths.n, 0);
	assert_int_equal(gitindex_tree(&l.index, oid), 0);
	for (size_t i = 0; i < sizeof(oid); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", oid[i]);
	assert_string_equal(hex, want);
	repo_look_done(&l);
}

static void the_answer_is_gits(void)
{
	cleanup_free char *want = sh("git -c core.quotePath=false status --porcelain -uall "
				     "--no-renames --ignore-submodules=all |\n"
				     "sed -E 's/^ ?([A-Z?]{1,2}) +/\\1 /; s/^MM/M/' | sort");
	cleanup_strv struct strv v = {0};
	cleanup_buf struct buf got;
	struct err e = {0};

	ok(repo_dirty(repo, &v, &e), &e);
	strv_sort(&v);
	buf_init(&got, 1 * MiB);
	for (size_t i = 0; i < v.n; i++)
		(void)buf_printf(&got, "%s%s", i ? "\n" : "", v.v[i]);
	assert_string_equal(buf_str(&got), want);
}

static void an_unchanged_tree_is_known_without_libgit2(void **state)
{
	run_sh("mkdir -p d.c d/e/f d-x; touch d.c/x d/e/f/y d-x/z d0; ln -s a link; echo '#!' "
	       ">run\n"
	       "chmod +x run; git add .; git commit -qm more");
	run_sh(settle);
	nothing_is_in_doubt();
	run_sh("git update-index --index-version 4");
	nothing_is_in_doubt();
	the_answer_is_gits();
}

static void a_large_tree_is_known_without_libgit2(void **state)
{
	run_sh("for d in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir -p n$d/m; (cd n$d/m && seq 1 1000 | "
	       "xargs touch); done\n"
	       "git add .; git commit -qm many");
	run_sh(settle);
	nothing_is_in_doubt();
	run_sh("echo x >n1/m/7; echo x >n12/m/1000; rm n7/m/500; echo >n12/m/new; rm -r n6/m/99*");
	the_answer_is_gits();
}

static void every_kind_of_change_is_answered_as_git_does(void **state)
{
	static const char *const rows[] = {
		"echo x >>a",
		"echo ONE >a", /* the size stays */
		"touch a",
		"chmod +x a",
		"rm a",
		"rm -r d",
		"rm a; ln -s d a",
		"rm -r d; ln -s /tmp d",
		"rm -r d; echo x >d",
		"rm a; mkdir a; echo x >a/y",
		"mkdir -p new/deep; echo x >new/deep/f; mkdir empty",
		"echo x >d/c; echo x >d.c; echo x >d0; echo x >d-b",
		"echo '*.o' >.gitignore; touch x.o d/y.o; mkdir o; touch o/z.o",
		"mkdir built; touch built/1 built/2; echo built/ >.git/info/exclude",
		"echo x >>a; git add a",
		"echo x >>a; git add a; echo y >>a",
		"git mv a moved",
		"git update-index --assume-unchanged a; echo x >>a",
		"printf 'a text eol=crlf\\n' >.gitattributes; printf 'one\\r\\n' >a",
		"mkdir d/nested; git -C d/nested init -q; touch d/nested/f",
		"git update-index --index-version 4; echo x >d/b",
		"git checkout -q --orphan none",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_sh("git update-index -q --no-assume-unchanged a || true; rm -rf a d; git clean "
		       "-qffdx\n"
		       "git checkout -q -f main; git reset -q --hard; : >.git/info/exclude");
		run_sh(settle);
		nothing_is_in_doubt();
		run_sh(rows[i]);
		print_message("%s\n", rows[i]);
		the_answer_is_gits();
	}
}

static void attributes_that_are_only_committed_count(void **state)
{
	run_sh("printf '*.txt text eol=crlf\\n' >.gitattributes; printf 'x\\r\\n' >t.txt; git add "
	       ".\n"
	       "git commit -qm attributes; git update-index --assume-unchanged .gitattributes");
	run_sh(settle);
	run_sh("touch t.txt");
	the_answer_is_gits();
}

static void submodules_are_left_out(void **state)
{
	run_sh("git init -q $TREE/sub; cd $TREE/sub; echo s >s; git add .; git commit -qm s; cd "
	       "$TREE/w\n"
	       "git -c protocol.file.allow=always submodule -q add $TREE/sub m; git commit -qm m");
	run_sh(settle);
	nothing_is_in_doubt();
	run_sh("echo x >m/x; echo y >>m/s");
	the_answer_is_gits();
	nothing_is_in_doubt();
}

static void a_file_as_young_as_the_index_is_in_doubt(void **state)
{
	struct repo_look l = {0};

	run_sh("touch -d '10 seconds ago' d/b; git update-index -q --refresh || true\n"
	       "touch -r .git/index a; git update-index -q --refresh || true; touch -r a "
	       ".git/index");
	assert_int_equal(look(&l), 0);
	assert_int_equal(l.paths.n, 1);
	assert_string_equal(l.paths.v[0], "a");
	repo_look_done(&l);
}

/* As in a worktree that was checked out a moment ago. */
static void a_file_of_an_earlier_moment_of_the_same_second_is_not_in_doubt(void **state)
{
	struct repo_look l = {0};

	run_sh("find . -name .git -prune -o ! -type d -exec touch -h -d '2030-01-01 00:00:00.25 "
	       "UTC' {} +\n"
	       "git update-index -q --refresh || true; touch -d '2030-01-01 00:00:00.5 UTC' "
	       ".git/index");
	nothing_is_in_doubt();
	run_sh("echo ONE >a; touch -d '2030-01-01 00:00:00.25 UTC' a; touch -d '2030-01-01 "
	       "00:00:00.5 UTC' .git/index");
	assert_int_equal(look(&l), 0);
	assert_int_equal(l.paths.n, 1);
	assert_string_equal(l.paths.v[0], "a");
	repo_look_done(&l);
}

static void an_index_that_cannot_be_told_is_left_to_libgit2(void **state)
{
	static const char *const rows[] = {
		"cp .git/index i; head -c 100 i >.git/index",
		"printf 'DIRC\\0\\0\\0\\2\\377\\377\\377\\377' >.git/index",
		"cp i .git/index; git update-index --split-index",
		"mkdir d/.git",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct repo_look l = {0};

		run_sh(rows[i]);
		assert_true(look(&l) < 0);
		repo_look_done(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REPO(an_unchanged_tree_is_known_without_libgit2),
		WITH_REPO(a_large_tree_is_known_without_libgit2),
		WITH_REPO(every_kind_of_change_is_answered_as_git_does),
		WITH_REPO(attributes_that_are_only_committed_count),
		WITH_REPO(submodules_are_left_out),
		WITH_REPO(a_file_as_young_as_the_index_is_in_doubt),
		WITH_REPO(a_file_of_an_earlier_moment_of_the_same_second_is_not_in_doubt),
		WITH_REPO(an_index_that_cannot_be_told_is_left_to_libgit2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
