#include "tree.h"

#include "workspace/gitdir.h"

static struct gitdir find(const char *rel, const char *stop)
{
	cleanup_free char *path = tree_path(rel);
	struct gitdir g = {0};
	struct err e = {0};

	if (gitdir_find(path, stop, &g, &e) < 0)
		fail_msg("%s", e.msg);
	return g;
}

static void repository(const char *rel, const char *head)
{
	cleanup_free char *p = xasprintf("%s/HEAD", rel);
	cleanup_free char *objects = xasprintf("%s/objects", rel);
	cleanup_free char *refs = xasprintf("%s/refs", rel);

	tree_file(p, 0644, head);
	tree_dir(objects);
	tree_dir(refs);
}

static void expect(const char *is, const char *rel)
{
	cleanup_free char *want = tree_path(rel);

	assert_non_null(is);
	assert_string_equal(is, want);
}

static void a_directory_without_git_has_no_repository(void **state)
{
	struct gitdir g;
	char key[GITDIR_KEY_LEN + 1];

	tree_dir("w");
	g = find("w", tree);
	assert_null(g.root);
	assert_null(g.note);
	gitdir_key(&g, "/w", key);
	assert_string_equal(key,
			    "d1bb8ca354673cd575d31d952490058c9943aef39d5a9553fb4a21ab7a59a19d");
	gitdir_done(&g);
}

static void a_repository_gives_its_branch(void **state)
{
	struct gitdir g;

	repository("w/.git", "ref: refs/heads/feature/x\n");
	g = find("w", tree);
	expect(g.root, "w");
	expect(g.common, "w/.git");
	assert_string_equal(g.branch, "feature/x");
	gitdir_done(&g);
}

static void a_directory_in_a_repository_finds_it_above(void **state)
{
	struct gitdir g;

	repository("w/.git", "ref: refs/heads/main\n");
	tree_dir("w/a/b");
	g = find("w/a/b", tree);
	expect(g.root, "w");
	gitdir_done(&g);
}

static void the_home_directorys_own_repository_is_not_the_projects(void **state)
{
	struct gitdir g;

	repository(".git", "ref: refs/heads/dotfiles\n");
	tree_dir("w");
	g = find("w", tree);
	assert_null(g.root);
	gitdir_done(&g);
}

static void a_detached_or_odd_head_has_no_branch(void **state)
{
	static const char *const heads[] = {
		"0123456789012345678901234567890123456789\n",
		"ref: refs/remotes/x\n",
		"",
		"ref: refs/heads/\n",
		"ref: refs/heads/a\tb\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct gitdir g;

		repository("w/.git", heads[i]);
		g = find("w", tree);
		assert_non_null(g.root);
		assert_null(g.branch);
		gitdir_done(&g);
	}
}

static void worktree(const char *back)
{
	cleanup_free char *pointer = xasprintf("gitdir: %s/repo/.git/worktrees/wt\n", tree);

	repository("repo/.git", "ref: refs/heads/main\n");
	tree_file("repo/.git/worktrees/wt/HEAD", 0644, "ref: refs/heads/topic\n");
	tree_file("repo/.git/worktrees/wt/commondir", 0644, "../..\n");
	tree_file("repo/.git/worktrees/wt/gitdir", 0644, back);
	tree_file("wt/.git", 0644, pointer);
}

static void a_worktree_shares_the_key_of_its_repository(void **state)
{
	cleanup_free char *back = xasprintf("%s/wt/.git\n", tree);
	char a[GITDIR_KEY_LEN + 1], b[GITDIR_KEY_LEN + 1];
	struct gitdir g, main;

	worktree(back);
	g = find("wt", tree);
	main = find("repo", tree);
	expect(g.common, "repo/.git");
	expect(g.dir, "repo/.git/worktrees/wt");
	assert_string_equal(g.branch, "topic");
	gitdir_key(&g, "/a", a);
	gitdir_key(&main, "/b", b);
	assert_string_equal(a, b);
	gitdir_done(&g);
	gitdir_done(&main);
}

static void a_pointer_to_a_repository_that_does_not_know_it_is_not_followed(void **state)
{
	cleanup_free char *elsewhere = xasprintf("%s/other/.git\n", tree);
	struct gitdir g;

	worktree(elsewhere);
	g = find("wt", tree);
	assert_null(g.root);
	assert_non_null(g.note);
	gitdir_done(&g);
}

static void a_pointer_straight_to_anothers_repository_is_not_followed(void **state)
{
	cleanup_free char *pointer = xasprintf("gitdir: %s/victim/.git\n", tree);
	struct gitdir g;

	repository("victim/.git", "ref: refs/heads/main\n");
	tree_file("w/.git", 0644, pointer);
	g = find("w", tree);
	assert_null(g.common);
	assert_non_null(g.note);
	gitdir_done(&g);
}

static void a_submodule_is_known_by_its_worktree_setting(void **state)
{
	struct gitdir g;

	repository("super/.git/modules/sub", "ref: refs/heads/main\n");
	tree_file("super/.git/modules/sub/config", 0644,
		  "[core]\n\tbare = false\n\tworktree = ../../../sub\n");
	tree_file("super/sub/.git", 0644, "gitdir: ../.git/modules/sub\n");
	g = find("super/sub", tree);
	expect(g.common, "super/.git/modules/sub");
	gitdir_done(&g);
}

static void a_link_in_place_of_git_is_not_followed(void **state)
{
	struct gitdir g;

	repository("victim/.git", "ref: refs/heads/main\n");
	tree_link("w/.git", "../victim/.git");
	g = find("w", tree);
	assert_null(g.root);
	assert_non_null(strstr(g.note, "link"));
	gitdir_done(&g);
}

static void a_commondir_inside_a_plain_git_directory_is_ignored(void **state)
{
	struct gitdir g;

	repository("victim/.git", "ref: refs/heads/main\n");
	repository("w/.git", "ref: refs/heads/main\n");
	tree_file("w/.git/commondir", 0644, "../../victim/.git\n");
	g = find("w", tree);
	expect(g.common, "w/.git");
	gitdir_done(&g);
}

static void a_pipe_or_a_huge_file_in_place_of_git_ends_the_search(void **state)
{
	cleanup_free char *fifo = tree_path("p/.git");
	char *big = xcalloc(1, 64 * KiB);
	struct gitdir g;

	tree_dir("p");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	g = find("p", tree);
	assert_null(g.root);
	gitdir_done(&g);
	memset(big, 'x', 64 * KiB - 1);
	tree_file("q/.git", 0644, big);
	free(big);
	g = find("q", tree);
	assert_null(g.root);
	gitdir_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(a_directory_without_git_has_no_repository),
		WITH_TREE(a_repository_gives_its_branch),
		WITH_TREE(a_directory_in_a_repository_finds_it_above),
		WITH_TREE(the_home_directorys_own_repository_is_not_the_projects),
		WITH_TREE(a_detached_or_odd_head_has_no_branch),
		WITH_TREE(a_worktree_shares_the_key_of_its_repository),
		WITH_TREE(a_pointer_to_a_repository_that_does_not_know_it_is_not_followed),
		WITH_TREE(a_pointer_straight_to_anothers_repository_is_not_followed),
		WITH_TREE(a_submodule_is_known_by_its_worktree_setting),
		WITH_TREE(a_link_in_place_of_git_is_not_followed),
		WITH_TREE(a_commondir_inside_a_plain_git_directory_is_ignored),
		WITH_TREE(a_pipe_or_a_huge_file_in_place_of_git_ends_the_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
