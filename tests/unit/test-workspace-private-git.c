#include "git-sh.h"

#include "base/fd.h"
#include "workspace/private/private-git.h"

/*
 * Each test makes a repository with git in tree/w, and a private git directory from it. Then the
 * real one is moved to tree/real.git and the private one to its place, as a mount would do it, and
 * tree/run has links for what would be mounted. git inside is git in tree/w.
 */
static struct private_git made;

static int start(void **state)
{
	if (tree_make(state) < 0)
		return -1;
	tree_dir("home");
	tree_dir("w");
	run_sh("git config --global user.name User; git config --global user.email u@example.org\n"
	       "git config --global init.defaultBranch main\n"
	       "git config --global protocol.file.allow always\n"
	       "git config --global advice.detachedHead false");
	return 0;
}

static int end(void **state)
{
	private_git_done(&made);
	return tree_remove(state);
}

#define WITH_GIT(f) cmocka_unit_test_setup_teardown(f, start, end)

static const char plain[] = "git init -q .; echo one >a; mkdir d; echo two >d/b\n"
			    "git add .; git commit -qm first; git tag -a v1 -m v1; git tag light\n"
			    "git branch side/deep/er; touch -d '1 hour ago' a d/b .git/index\n"
			    "git update-index -q --refresh; touch -d '1 minute ago' .git/index\n";

static int make(const struct gitdir *g, struct err *e)
{
	cleanup_free char *p = tree_path("p"), *run = tree_path("run");
	const struct private_git_input in = {.git = g, .run = run};
	cleanup_fd int at = -1;

	assert_int_equal(mkdir(p, 0700), 0);
	at = open(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(at >= 0);
	return private_git_make(&in, at, &made, e);
}

/* A bind of the real directory leads to where it was moved. */
static void link_bind(const struct private_bind *b)
{
	cleanup_free char *git = tree_path("w/.git"), *script = NULL;
	const char *below =
		b->source && path_under(b->source, git) ? b->source + strlen(git) : NULL;

	if (strncmp(b->target, tree, strlen(tree)) != 0 ||
	    (b->source && streq(b->source, b->target)))
		return;
	if (!b->source)
		script = xasprintf("t=$(dirname $(dirname '%s')); [ ! -L $t ] || {\n"
				   "s=$(readlink $t); rm $t; mkdir $t; ln -s $s/* $t/; rm $t/info; "
				   "mkdir $t/info; : >$t/info/alternates; }",
				   b->target);
	else
		script = xasprintf("mkdir -p $(dirname '%s'); ln -s '%s%s' '%s'", b->target,
				   below ? tree : "", below ? "" : b->source, b->target);
	if (below) {
		free(script);
		script = xasprintf("mkdir -p $(dirname '%s'); ln -s '%s/real.git%s' '%s'",
				   b->target, tree, below, b->target);
	}
	run_sh(script);
}

/* From here on scripts are the agent's. */
static void enter(void)
{
	run_sh("mv .git $TREE/real.git; mv $TREE/p .git; cd $TREE/real.git\n"
	       "find . -type f -exec sha256sum {} + | sort >$TREE/before");
	for (size_t i = 0; i < made.n_binds; i++)
		link_bind(&made.binds[i]);
}

static void make_plain(void)
{
	cleanup_free char *w = tree_path("w");
	struct gitdir g = {0};
	struct err e = {0};

	ok(gitdir_find(w, NULL, &g, &e), &e);
	assert_non_null(g.root);
	ok(make(&g, &e), &e);
	gitdir_done(&g);
}

static void real_is_untouched(void)
{
	run_sh("cd $TREE/real.git; find . -type f -exec sha256sum {} + | sort | cmp - "
	       "$TREE/before");
}

/* What must work in every shape. */
static void works_inside(void)
{
	sh_says("git status --porcelain", "");
	run_sh("git fsck --connectivity-only; git log -p --all >/dev/null");
	run_sh("echo more >>a; git add a; git commit -qm inside; git checkout -q -b other\n"
	       "echo x >new; git add new; git commit -qm more; git checkout -q -; git merge -q "
	       "other\n"
	       "git gc -q; git fsck --no-progress 2>&1");
	sh_says("git log --format=%s -2", "more\ninside");
	sh_says("git status --porcelain", "");
}

static void a_plain_repository_works_inside_and_the_real_one_is_untouched(void **state)
{
	run_sh(plain);
	make_plain();
	assert_false(made.young);
	enter();
	sh_says("git for-each-ref --format='%(refname) %(*objecttype)'",
		"refs/heads/main \nrefs/heads/side/deep/er \nrefs/tags/light \nrefs/tags/v1 "
		"commit");
	sh_says("find .git/refs -type f", "");
	works_inside();
	real_is_untouched();
}

static void packed_references_and_loose_ones_are_one(void **state)
{
	run_sh(plain);
	run_sh("git pack-refs --all; echo 2 >>a; git commit -qam second; git branch new\n"
	       "git update-ref refs/ralph/x/heads/main HEAD; git update-ref refs/notes/n HEAD\n"
	       "git update-ref refs/remotes/origin/main HEAD\n"
	       "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main\n"
	       "git repack -adq");
	make_plain();
	run_sh("git for-each-ref | grep -v refs/ralph >$TREE/refs");
	enter();
	run_sh("git for-each-ref | cmp - $TREE/refs");
	sh_says("git symbolic-ref refs/remotes/origin/HEAD", "refs/remotes/origin/main");
	works_inside();
	real_is_untouched();
}

/* How long ago it was written says nothing: nobody has to wait for git to look at files. */
static void an_index_is_not_young_when_its_files_are_older(void **state)
{
	run_sh(plain);
	run_sh("touch .git/index");
	make_plain();
	assert_false(made.young);
}

static void an_old_index_is_young_when_its_files_are_as_old(void **state)
{
	run_sh(plain);
	run_sh("touch -r a .git/index");
	make_plain();
	assert_true(made.young);
}

static void the_index_keeps_its_time_and_what_is_staged(void **state)
{
	run_sh(plain);
	run_sh("echo staged >s; git add s; echo changed >>a; git status --porcelain >$TREE/status\n"
	       "stat -c %Y.%y .git/index >$TREE/time");
	make_plain();
	enter();
	run_sh("stat -c %Y.%y .git/index | cmp - $TREE/time; git status --porcelain | cmp - "
	       "$TREE/status");
	real_is_untouched();
}

static void an_operation_that_the_user_began_ends_inside(void **state)
{
	run_sh(plain);
	run_sh("git checkout -q side/deep/er; echo side >a; git commit -qam side\n"
	       "git checkout -q main; echo main >a; git commit -qam main\n"
	       "git merge side/deep/er >/dev/null || true; test -f .git/MERGE_HEAD");
	make_plain();
	enter();
	run_sh("echo both >a; git commit -qam merged; test ! -e .git/MERGE_HEAD");
	sh_says("git rev-list --parents -1 HEAD | wc -w", "3");
	real_is_untouched();
}

static void a_rebase_that_the_user_began_ends_inside(void **state)
{
	run_sh(plain);
	run_sh("git checkout -q side/deep/er; echo side >a; git commit -qam side\n"
	       "git checkout -q main; echo main >a; git commit -qam main\n"
	       "git rebase side/deep/er >/dev/null 2>&1 || true; test -d .git/rebase-merge");
	make_plain();
	enter();
	run_sh("echo both >a; git add a; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1");
	sh_says("git log --format=%s -2; git symbolic-ref HEAD", "main\nside\nrefs/heads/main");
	real_is_untouched();
}

static void the_users_stash_is_readable_and_popping_it_leaves_the_users(void **state)
{
	run_sh(plain);
	run_sh("echo 1 >>a; git stash -q; echo 2 >>a; git stash -q");
	make_plain();
	enter();
	sh_says("git stash list | wc -l", "2");
	run_sh("git stash pop -q; git checkout -q a; git stash drop -q");
	real_is_untouched();
}

static void the_projects_hooks_run_inside_and_samples_do_not_come_along(void **state)
{
	run_sh(plain);
	run_sh("printf '#!/bin/sh\\necho ran >>\"$TREE/witness\"\\n' >.git/hooks/pre-commit\n"
	       "chmod 755 .git/hooks/pre-commit; echo x >.git/hooks/post-commit.sample\n"
	       "ln -s ../../d/b .git/hooks/linked");
	make_plain();
	enter();
	sh_says("ls .git/hooks; readlink .git/hooks/linked", "linked\npre-commit\n../../d/b");
	run_sh("echo 1 >>a; git commit -qam x");
	sh_says("cat $TREE/witness", "ran");
	real_is_untouched();
}

static void no_token_of_the_settings_is_inside(void **state)
{
	run_sh(plain);
	run_sh("git remote add origin https://me:sekret1@host.example/a.git\n"
	       "git config credential.helper 'store --file sekret2'\n"
	       "git config http.https://host.example/.extraheader 'Authorization: sekret3'\n"
	       "git config url.https://sekret4@host.example/.insteadOf gh:\n"
	       "git config extensions.worktreeConfig true\n"
	       "git config --worktree user.signingkey sekret5\n"
	       "git config include.path $TREE/sekret6; git config core.fsmonitor sekret7\n"
	       "git config core.logAllRefUpdates true; git config commit.gpgsign true");
	make_plain();
	enter();
	sh_says("! grep -r sekret .git || exit 1; git config remote.origin.url",
		"https://host.example/a.git");
	works_inside();
	real_is_untouched();
}

static void logs_stay_with_the_user(void **state)
{
	run_sh(plain);
	run_sh("echo secret >s; git add s; git commit -qm 'subject of the users'; git reset -q "
	       "--hard "
	       "HEAD~1");
	make_plain();
	enter();
	sh_says("! grep -rq 'subject of' .git; ls .git/logs 2>/dev/null || true", "");
	works_inside();
	real_is_untouched();
}

static void a_linked_worktree_gets_a_whole_repository(void **state)
{
	struct gitdir g = {0};
	struct err e = {0};
	cleanup_free char *wt = tree_path("wt");

	run_sh(plain);
	run_sh("git worktree add -q $TREE/wt side/deep/er; cd $TREE/wt; git bisect start -q HEAD "
	       "HEAD "
	       "2>/dev/null || true; git bisect reset -q 2>/dev/null || true\n"
	       "git update-ref refs/worktree/mine HEAD; git config core.bare true");
	ok(gitdir_find(wt, NULL, &g, &e), &e);
	assert_string_not_equal(g.dir, g.common);
	ok(make(&g, &e), &e);
	gitdir_done(&g);
	run_sh("mv .git $TREE/real.git; cd $TREE/real.git; find . -type f -exec sha256sum {} + | "
	       "sort "
	       ">$TREE/before; printf 'gitdir: %s\\n' $TREE/p >$TREE/wt/.git; mv $TREE/w "
	       "$TREE/main;\n"
	       "mv $TREE/wt $TREE/w");
	for (size_t i = 0; i < made.n_binds; i++)
		link_bind(&made.binds[i]);
	sh_says("git symbolic-ref HEAD; git rev-parse --verify -q refs/worktree/mine | wc -l; "
		"git rev-parse --show-toplevel | sed \"s,$TREE,,\"",
		"refs/heads/side/deep/er\n1\n/w");
	works_inside();
	real_is_untouched();
}

static void a_submodule_has_a_private_directory_of_its_own(void **state)
{
	run_sh("git init -q $TREE/lib; cd $TREE/lib; echo l >l; git add .; git commit -qm lib");
	run_sh(plain);
	run_sh("git submodule -q add $TREE/lib libs/sub; git commit -qm sub");
	make_plain();
	enter();
	sh_says("git status --porcelain; git submodule status | wc -l", "1");
	run_sh("cd libs/sub; echo more >>l; git commit -qam 'in sub'; cd ../..; git add libs/sub; "
	       "git commit -qm up; git submodule -q update");
	sh_says("git -C libs/sub log --format=%s -1; git status --porcelain", "in sub");
	works_inside();
	real_is_untouched();
}

static void a_repository_with_sha256_works(void **state)
{
	run_sh("git init -q --object-format=sha256 .; echo one >a; git add .; git commit -qm "
	       "first\n"
	       "git tag -a v1 -m v1; git pack-refs --all");
	make_plain();
	enter();
	sh_says("git rev-parse --show-object-format; git rev-parse HEAD | wc -c", "sha256\n65");
	works_inside();
	real_is_untouched();
}

static void a_shallow_repository_works(void **state)
{
	run_sh("git init -q $TREE/from; cd $TREE/from; for i in 1 2 3; do echo $i >a; git add a; "
	       "git commit -qm $i; done; cd ..; rmdir w; git clone -q --depth 1 file://$TREE/from "
	       "w");
	make_plain();
	enter();
	sh_says("git rev-parse --is-shallow-repository; git log --oneline | wc -l", "true\n1");
	run_sh("git fetch -q --unshallow");
	sh_says("git log --oneline | wc -l", "3");
	works_inside();
	real_is_untouched();
}

static void a_sparse_checkout_works(void **state)
{
	run_sh(plain);
	run_sh("mkdir e; echo e >e/e; git add .; git commit -qm e; git sparse-checkout set d");
	make_plain();
	enter();
	sh_says("git sparse-checkout list; ls", "d\na\nd");
	works_inside();
	run_sh("git sparse-checkout disable; test -f e/e");
	real_is_untouched();
}

static void a_sparse_index_works(void **state)
{
	run_sh(plain);
	run_sh("mkdir e; echo e >e/e; git add .; git commit -qm e\n"
	       "git sparse-checkout set --cone --sparse-index d");
	make_plain();
	enter();
	sh_says("git ls-files --sparse", "a\nd/b\ne/");
	works_inside();
	real_is_untouched();
}

static void a_split_index_works(void **state)
{
	run_sh(plain);
	run_sh("git update-index --split-index; echo x >x; git add x; git commit -qm x");
	make_plain();
	enter();
	run_sh("test $(ls .git/sharedindex.* | wc -l) -ge 1");
	works_inside();
	real_is_untouched();
}

static void a_bare_repository_works(void **state)
{
	cleanup_free char *w = tree_path("w");
	struct gitdir g = {.root = w, .dir = w, .common = w};
	struct err e = {0};

	run_sh("git init -q $TREE/x; cd $TREE/x; echo one >a; git add a; git commit -qm first\n"
	       "rmdir $TREE/w; git clone -q --bare . $TREE/w");
	ok(make(&g, &e), &e);
	run_sh("mv $TREE/w $TREE/real.git; mv $TREE/p $TREE/w; mkdir -p $TREE/run\n"
	       "ln -s $TREE/real.git/objects $TREE/run/objects");
	sh_says("git rev-parse --is-bare-repository; git log --format=%s", "true\nfirst");
	run_sh("git worktree add -q $TREE/t; cd $TREE/t; echo 2 >>a; git commit -qam second");
	sh_says("git log --format=%s t -1", "second");
}

static void without_a_repository_the_directory_is_empty(void **state)
{
	const struct gitdir g = {0};
	struct err e = {0};

	ok(make(&g, &e), &e);
	assert_int_equal(made.n_binds, 0);
	sh_says("ls -A $TREE/p", "");
	run_sh("mv $TREE/p .git; git status >/dev/null 2>&1 && exit 1; git init -q; echo a >a; git "
	       "add "
	       "a; git commit -qm first");
}

static void files_of_lfs_are_borrowed_beside_the_objects(void **state)
{
	cleanup_free char *want = tree_path("run/lfs/objects");

	run_sh(plain);
	run_sh("mkdir -p .git/lfs/objects/ab/cd; echo big >.git/lfs/objects/ab/cd/abcd\n"
	       "git config filter.lfs.clean 'git-lfs clean -- %f'; git config lfs.url "
	       "https://me:sekret@host.example/lfs");
	make_plain();
	assert_int_equal(made.n_binds, 2);
	assert_string_equal(made.binds[1].target, want);
	enter();
	sh_says("cat $TREE/run/lfs/objects/ab/cd/abcd; git config filter.lfs.clean; git config "
		"lfs.url",
		"big\ngit-lfs clean -- %f\nhttps://host.example/lfs");
	real_is_untouched();
}

static void borrowed_objects_of_the_repository_are_borrowed_too(void **state)
{
	run_sh("git init -q $TREE/far; cd $TREE/far; echo one >a; git add a; git commit -qm first; "
	       "git clone -q --shared . $TREE/near; rmdir $TREE/w; git clone -q --shared "
	       "$TREE/near "
	       "$TREE/w; cd $TREE/w; rm -rf .git/objects/??");
	make_plain();
	assert_int_equal(made.n_binds, 3);
	assert_string_equal(made.binds[2].source, made.binds[2].target);
	enter();
	works_inside();
	real_is_untouched();
}

static void a_relative_alternate_means_the_same_inside(void **state)
{
	run_sh("git init -q $TREE/far; cd $TREE/far; echo one >a; git add a; git commit -qm first; "
	       "rmdir $TREE/w; git clone -q --shared . $TREE/w; cd $TREE/w\n"
	       "echo ../../../far/.git/objects >.git/objects/info/alternates; git fsck");
	make_plain();
	enter();
	sh_says("git log --format=%s 2>&1", "first");
	works_inside();
	real_is_untouched();
}

static void reftable_is_refused_with_a_reason(void **state)
{
	cleanup_free char *w = tree_path("w");
	struct gitdir g = {0};
	struct err e = {0};

	run_sh(plain);
	run_sh("git config core.repositoryformatversion 1; git config extensions.refStorage "
	       "reftable");
	ok(gitdir_find(w, NULL, &g, &e), &e);
	assert_int_equal(make(&g, &e), -ENOTSUP);
	assert_non_null(strstr(e.msg, "reftable"));
	assert_non_null(strstr(e.msg, "--clone"));
	gitdir_done(&g);
}

/* A link or a pipe in the git directory leads nowhere, and nothing waits for it. */
static void a_link_in_the_git_directory_is_not_read_through(void **state)
{
	run_sh(plain);
	run_sh("echo secret >$TREE/outside; ln -s $TREE/outside .git/MERGE_MSG\n"
	       "ln -s $TREE/outside .git/refs/heads/leak; mkfifo .git/refs/heads/pipe\n"
	       "mkfifo .git/SQUASH_MSG");
	make_plain();
	sh_says("rm $TREE/outside; ! grep -rs secret $TREE/p", "");
}

static void a_directory_that_is_a_link_makes_no_directory(void **state)
{
	cleanup_free char *w = tree_path("w");
	struct gitdir g = {0};
	struct err e = {0};

	run_sh(plain);
	run_sh("rm -rf .git/info; mkdir $TREE/od; echo secret >$TREE/od/exclude; ln -s $TREE/od "
	       ".git/info");
	ok(gitdir_find(w, NULL, &g, &e), &e);
	assert_int_equal(make(&g, &e), -ELOOP);
	gitdir_done(&g);
}

static void settings_that_cannot_be_read_make_no_directory(void **state)
{
	cleanup_free char *w = tree_path("w");
	struct gitdir g = {0};
	struct err e = {0};

	run_sh(plain);
	run_sh("printf '[core\\n' >>.git/config");
	ok(gitdir_find(w, NULL, &g, &e), &e);
	assert_true(make(&g, &e) < 0);
	assert_non_null(strstr(e.msg, "config"));
	gitdir_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GIT(a_plain_repository_works_inside_and_the_real_one_is_untouched),
		WITH_GIT(packed_references_and_loose_ones_are_one),
		WITH_GIT(an_index_is_not_young_when_its_files_are_older),
		WITH_GIT(an_old_index_is_young_when_its_files_are_as_old),
		WITH_GIT(the_index_keeps_its_time_and_what_is_staged),
		WITH_GIT(an_operation_that_the_user_began_ends_inside),
		WITH_GIT(a_rebase_that_the_user_began_ends_inside),
		WITH_GIT(the_users_stash_is_readable_and_popping_it_leaves_the_users),
		WITH_GIT(the_projects_hooks_run_inside_and_samples_do_not_come_along),
		WITH_GIT(no_token_of_the_settings_is_inside),
		WITH_GIT(logs_stay_with_the_user),
		WITH_GIT(a_linked_worktree_gets_a_whole_repository),
		WITH_GIT(a_submodule_has_a_private_directory_of_its_own),
		WITH_GIT(a_repository_with_sha256_works),
		WITH_GIT(a_shallow_repository_works),
		WITH_GIT(a_sparse_checkout_works),
		WITH_GIT(a_sparse_index_works),
		WITH_GIT(a_split_index_works),
		WITH_GIT(a_bare_repository_works),
		WITH_GIT(without_a_repository_the_directory_is_empty),
		WITH_GIT(files_of_lfs_are_borrowed_beside_the_objects),
		WITH_GIT(borrowed_objects_of_the_repository_are_borrowed_too),
		WITH_GIT(a_relative_alternate_means_the_same_inside),
		WITH_GIT(reftable_is_refused_with_a_reason),
		WITH_GIT(a_link_in_the_git_directory_is_not_read_through),
		WITH_GIT(a_directory_that_is_a_link_makes_no_directory),
		WITH_GIT(settings_that_cannot_be_read_make_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
