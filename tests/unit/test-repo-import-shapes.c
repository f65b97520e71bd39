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

static void a_merge_of_the_users_that_the_agent_dropped_stays(void **state)
{
	run_sh("git checkout -q side; echo side >a; git commit -qam side; git checkout -q main; "
	       "echo "
	       "main >a; git commit -qam main; git merge side >/dev/null || true");
	make_private();
	inside("git merge --abort; echo n >n; git add n; git commit -qm n");
	held_as("refs/ralph/box/heads/main",
		"a merge, rebase or the like is in progress in your repository");
	run_sh("test -f .git/MERGE_HEAD");
}

/* What was noted of a branch that is gone does not block another one of its beginning. */
static void a_branch_takes_the_place_of_a_directory_of_branches(void **state)
{
	make_private();
	inside("git branch feat/a");
	import_says("refs/heads/feat/a");
	run_sh("git branch -D -q feat/a");
	inside("git branch -D -q feat/a; git branch feat");
	import_says("refs/heads/feat\"");
	run_sh("git branch -D -q feat");
	inside("git branch -D -q feat; git branch feat/b");
	import_says("refs/heads/feat/b");
	is_clean();
}

static void what_is_held_in_the_way_stops_an_import_before_it_moves_anything(void **state)
{
	make_private();
	run_sh("git update-ref refs/ralph/box/heads/main/x HEAD; git for-each-ref >$TREE/refs");
	inside("git commit -q --amend -m 'mine now'; git branch new");
	import_says("error: another reference stands in the way of 'refs/ralph/box/heads/main'");
	run_sh("git for-each-ref | cmp - $TREE/refs");
	is_clean();
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

static void add_submodule(void)
{
	run_sh("git init -q $TREE/lib; cd $TREE/lib; echo l >l; git add .; git commit -qm lib");
	run_sh("git submodule -q add $TREE/lib libs/sub; git commit -qm sub");
}

static void make_submodule(void)
{
	add_submodule();
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

#define NO_SUBMODULE                                                                               \
	"git submodule -q deinit -f libs/sub; rm -rf .git/modules; git config --remove-section "   \
	"submodule.libs/sub 2>/dev/null || true"
#define CLONE                                                                                      \
	"git clone -q --bare $TREE/lib $TREE/p/modules/libs/sub; export "                          \
	"GIT_DIR=$TREE/p/modules/libs/sub\n"

static void commits_in_a_submodule_that_is_not_initialised_come_out(void **state)
{
	add_submodule();
	run_sh(NO_SUBMODULE);
	make_private();
	inside(CLONE "git branch work $(git commit-tree -p HEAD -m more $(git write-tree))");
	import_says("refs/heads/work");
	sh_says("ls .git/modules/libs; git -C .git/modules/libs/sub log --format=%s -1 work; ls "
		".git/modules/libs/sub | grep ralph || true",
		"sub\nmore");
	run_sh("git submodule -q update --init; git -C libs/sub checkout -q work; git fsck "
	       "--no-progress");
}

static void a_submodule_that_nobody_added_to_stays_inside(void **state)
{
	add_submodule();
	run_sh(NO_SUBMODULE);
	make_private();
	inside(CLONE "git for-each-ref --format='create refs/remotes/origin/%(refname:short) "
		     "%(objectname)' refs/heads | git update-ref --stdin");
	inside("echo 3 >>a; git commit -qam third");
	import_says("forward");
	run_sh("test ! -e .git/modules");
}

/* A name of the agent's making must not lead into another git directory. */
static void no_submodule_is_made_in_the_directory_of_another(void **state)
{
	add_submodule();
	run_sh("printf '[submodule \"libs/sub/evil\"]\\n\\tpath = x\\n[submodule "
	       "\"../../up\"]\\n\\tpath "
	       "= y\\n' >>.gitmodules");
	make_private();
	run_sh("grep -c 'MODULE modules/libs/sub/evil' $TREE/tips >/dev/null || true; ! grep -q "
	       "up $TREE/tips");
	inside("export GIT_DIR=$TREE/p/modules/libs/sub/evil; rm -rf $GIT_DIR; unset "
	       "GIT_WORK_TREE; git init -q --bare "
	       "$GIT_DIR; git update-ref refs/heads/x $(git commit-tree -m x $(git mktree "
	       "</dev/null))");
	import_says("lies in another submodule");
	run_sh("test ! -e .git/modules/libs/sub/evil/HEAD");
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
		" $TREE/repo import $TREE/w box idle 3<$TREE/tips 2>&1 | grep -o 'the stream is "
		"cut off'",
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

static void clone_as(const char *how)
{
	cleanup_free char *script = xasprintf("git init -q $TREE/from; cd $TREE/from; git config "
					      "uploadpack.allowFilter true; for i in "
					      "1 2 3; do echo $i >a; mkdir -p d1; echo f$i >d1/f; "
					      "git add .; git commit -qm $i; done; cd "
					      "..; rm -rf w; git clone -q %s file://$TREE/from w",
					      how);

	run_sh(script);
}

static void a_shallow_clone_is_imported_into(void **state)
{
	clone_as("--depth 1");
	make_private();
	inside("echo x >>a; git commit -qam x");
	import_says("forward");
	sh_says("git log --format=%s; git rev-parse --is-shallow-repository", "x\n3\ntrue");
	is_clean();
}

/* The host stays as deep as the user has it: what the agent fetched is its own. */
static void an_agent_that_unshallows_does_not_deepen_the_users_clone(void **state)
{
	clone_as("--depth 1");
	make_private();
	inside("git fetch -q --unshallow; echo x >>a; git commit -qam x");
	import_says("forward");
	sh_says("git log --format=%s; git rev-parse --is-shallow-repository", "x\n3\ntrue");
	is_clean();
}

static void a_partial_clone_is_imported_into_without_what_it_lacks(void **state)
{
	clone_as("--filter=blob:none");
	make_private();
	inside("echo x >>a; git commit -qam x");
	import_says("forward");
	sh_says("git log --format=%s -2; git status --porcelain", "x\n3");
	sh_says("git rev-list --objects --missing=print HEAD | grep -c '^?'", "4");
}

static void a_clone_that_borrows_is_imported_into(void **state)
{
	run_sh("git init -q $TREE/from; cd $TREE/from; echo a >a; git add a; git commit -qm 1; cd "
	       "..; rm "
	       "-rf w; git clone -q --shared from w");
	make_private();
	inside("echo x >>a; git commit -qam x");
	import_says("forward");
	sh_says("git log --format=%s", "x\n1");
	is_clean();
}

static void make_private_at(const struct gitdir *g)
{
	cleanup_free char *p = tree_path("p"), *run = tree_path("run"), *link = NULL;
	const struct private_git_input in = {.git = g, .run = run};
	struct err e = {0};
	cleanup_fd int at = -1;

	assert_int_equal(mkdir(p, 0700), 0);
	at = open(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(private_git_make(&in, at, &made, &e), &e);
	if (g->root) {
		link = xasprintf("mkdir $TREE/run; ln -s %s/objects $TREE/run/objects", g->common);
		run_sh(link);
	}
	tree_file("tips", 0644, made.told ? made.told : "");
}

static void says(const char *script, const char *want)
{
	cleanup_free char *is = sh(script);

	if (!strstr(is, want))
		fail_msg("'%s' is not in: %s", want, is);
}

static void a_bare_repository_is_imported_into(void **state)
{
	cleanup_free char *bare = tree_path("bare.git");
	struct gitdir g = {.root = bare, .dir = bare, .common = bare};
	struct err e = {0};
	struct buf b;

	run_sh("git clone -q --bare . $TREE/bare.git");
	make_private_at(&g);
	run_sh("git --git-dir=$TREE/p worktree add -q $TREE/t main; cd $TREE/t; echo 3 >>a; git "
	       "commit "
	       "-qam third; cd ..; rm -rf t; git --git-dir=$TREE/p worktree prune");
	buf_init(&b, 1 * MiB);
	ok(private_git_told(&g, "box", made.told, &b, &e), &e);
	tree_file("told", 0644, buf_str(&b));
	buf_done(&b);
	run_sh("cd $TREE/p; sh $TREE/export.sh <$TREE/told >$TREE/stream");
	says("$TREE/repo import $TREE/bare.git box idle <$TREE/stream 3<$TREE/tips 2>&1 || true",
	     "forward");
	sh_says("git --git-dir=$TREE/bare.git log --format=%s -1; git --git-dir=$TREE/bare.git "
		"fsck 2>&1; "
		"ls $TREE/bare.git | grep -c index || true",
		"third\n0");
}

/* The agent ran `git init` where there was nothing. */
static void a_repository_that_the_agent_made_becomes_a_new_one(void **state)
{
	const struct gitdir g = {0};

	run_sh("rm -rf .git");
	make_private_at(&g);
	inside("git init -q; git config core.fsmonitor evil; echo '#!/bin/sh' "
	       ">$TREE/p/hooks/pre-commit; "
	       "git checkout -q -b work; git add .; git commit -qm first; git tag v1\n"
	       "sh $TREE/export.sh </dev/null >$TREE/stream");
	says("h=$(git --git-dir=$TREE/p config extensions.objectformat | sed 's/.*/[extensions] "
	     "objectformat = &/')\n"
	     "$TREE/repo adopt $TREE/w box refs/heads/main \"$h\" <$TREE/stream 3<$TREE/tips 2>&1 "
	     "|| "
	     "true",
	     "taken");
	sh_says("git symbolic-ref HEAD; git log --format=%s; git tag; git config core.fsmonitor || "
		"true; "
		"ls .git/hooks 2>/dev/null | grep -v sample || true",
		"refs/heads/work\nfirst\nv1");
	is_clean();
}

static void a_new_repository_is_made_for_no_commits_and_not_for_a_bad_stream(void **state)
{
	const struct gitdir g = {0};

	run_sh("rm -rf .git");
	make_private_at(&g);
	says("printf 'x\\n' | $TREE/repo adopt $TREE/w box refs/heads/main '' 3<$TREE/tips 2>&1 || "
	     "true",
	     "cannot be understood");
	sh_says("ls -A | grep -c git || true", "0");
	says("printf '\\n' | $TREE/repo adopt $TREE/w box refs/heads/main '' 3<$TREE/tips 2>&1 || "
	     "true",
	     "");
	sh_says("ls -A | grep git; git symbolic-ref HEAD", ".git\nrefs/heads/main");
}

/* The workspace is a directory of the repository: inside, the rest is not there. */
static void a_workspace_below_the_top_changes_only_itself(void **state)
{
	run_sh("mkdir pkg; echo p >pkg/p; git add .; git commit -qm pkg");
	make_private();
	inside("mkdir $TREE/s; cp -a pkg $TREE/s/; export GIT_WORK_TREE=$TREE/s; cd $TREE/s\n"
	       "git sparse-checkout set --no-cone /pkg/; test -z \"$(git status --porcelain)\"\n"
	       "echo more >>pkg/p; git add pkg; git commit -qm more; cp pkg/p $TREE/w/pkg/p");
	import_says("forward");
	sh_says("git show --name-only --format=%s; git status --porcelain", "more\n\npkg/p");
	is_clean();
}

static void names_of_an_unknown_kind_are_refused_with_a_reason(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	run_sh("git config core.repositoryformatversion 1; printf '[extensions]\\nobjectformat = "
	       "sha3\\n' >>.git/config");
	import_says("error: ");
	sh_says("grep -c 'names objects in a way that ralph does not know' $TREE/why; sed -i "
		"/sha3/d .git/config; git log --format=%s -1",
		"1\nsecond");
}

/* In this process an object goes by the beginning of its name: a tree must not get one for another. */
static void a_name_that_only_begins_like_an_objects_is_refused(void **state)
{
	if (!is_wide())
		return;
	make_private();
	inside("b=$(git rev-parse HEAD:a)\n"
	       "odd=$(printf %.40s $b)$(printf %s $b | cut -c41- | tr 0-9a-f 1-9a-f0)\n"
	       "raw=$(printf %s $odd | sed 's/../\\\\x&/g')\n"
	       "t=$(bash -c \"printf '100644 a\\0$raw'\" | git hash-object -t tree -w --stdin "
	       "--literally)\n"
	       "c=$(git commit-tree -p HEAD -m odd $t)\n"
	       "{ printf '%s refs/heads/main\\n\\n' $c; printf '%s\\n%s\\n' $c $t | git "
	       "pack-objects "
	       "-q --stdout; } >$TREE/stream");
	sh_says("$TREE/repo import $TREE/w box idle <$TREE/stream 3<$TREE/tips 2>&1 | "
		"grep -v ^profiling: | cut -c1-7; git log --format=%s -1; ls .git/objects/pack | "
		"wc -l",
		"object \nsecond\n0");
	is_clean();
}

/* As git-lfs stores it, which need not be installed. */
#define LFS_ADD                                                                                    \
	"o=$(printf big | sha256sum | cut -c1-64); e=$(printf %.2s $o)/$(printf %s $o | cut "      \
	"-c3-4)\n"                                                                                 \
	"mkdir -p $TREE/p/lfs/objects/$e; printf big >$TREE/p/lfs/objects/$e/$o\n"

static void a_file_of_lfs_comes_with_the_commit(void **state)
{
	make_private();
	inside(LFS_ADD "echo 3 >>a; git commit -qam third");
	import_says("forward");
	sh_says("cd .git/lfs/objects; find . -type f | sed 's,.*/,,' | while read -r o; do "
		"sha256sum "
		"$(find . -name $o) | grep -c ^$o; done",
		"1");
	is_clean();
}

static void a_file_of_lfs_with_a_wrong_name_refuses_all(void **state)
{
	make_private();
	run_sh("git for-each-ref >$TREE/refs");
	inside(LFS_ADD "printf bad >$TREE/p/lfs/objects/$e/$o; echo 3 >>a; git commit -qam third");
	import_says("error: a file of git-lfs is not what its name says");
	run_sh("git for-each-ref | cmp - $TREE/refs; test ! -e .git/lfs; test ! -e "
	       ".git/ralph-import");
}

static void a_file_of_lfs_that_is_there_is_not_replaced(void **state)
{
	make_private();
	inside(LFS_ADD
	       "mkdir -p .git/lfs/objects/$e; printf users >.git/lfs/objects/$e/$o; echo 3 >>a; "
	       "git commit -qam third");
	import_says("forward");
	sh_says("find .git/lfs -type f -exec cat {} +", "users");
}

static void a_line_of_lfs_that_is_none_is_refused(void **state)
{
	make_private();
	sh_says("o=$(printf %064d 0); for l in \"3 ../../x\" \"x $o\" \"3 ${o}0\" \"-1 $o\" "
		"\"99999999999999 $o\"; do printf 'LFS %s\\nabc' \"$l\" |"
		" $TREE/repo import $TREE/w box idle 3<$TREE/tips 2>&1 | grep -c 'cannot be "
		"understood'; done",
		"1\n1\n1\n1\n1");
	sh_says("test ! -e .git/lfs && ls .git | grep -c ralph || true", "0");
}

static void a_long_import_says_how_far_it_is(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	write_told();
	run_sh("(" INSIDE "sh $TREE/export.sh <$TREE/told) >$TREE/stream");
	/* A short one says nothing, and descriptor 4 need not be open. */
	sh_says("cp -a .git $TREE/real; $TREE/repo import $TREE/w box idle <$TREE/stream "
		"3<$TREE/tips "
		"4>$TREE/says >/dev/null; cat $TREE/says",
		"");
	run_sh("rm -rf .git; cp -a $TREE/real .git\n"
	       "RALPH_TEST_SLOW=1 " REPO_FAILS
	       " import $TREE/w box idle <$TREE/stream 3<$TREE/tips 4>$TREE/says >/dev/null\n"
	       "grep -qx 'check [0-9]* 0' $TREE/says");
	/* git that indexes for us, where names are SHA-256, says how far it is to nobody. */
	if (!is_wide())
		run_sh("grep -qx 'receive [0-9]* 3' $TREE/says");
	is_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GIT(a_merge_that_the_user_began_ends_with_the_agents_commit),
		WITH_GIT(a_merge_of_the_users_that_is_another_one_by_now_stays),
		WITH_GIT(a_merge_of_the_users_that_the_agent_dropped_stays),
		WITH_GIT(a_branch_takes_the_place_of_a_directory_of_branches),
		WITH_GIT(what_is_held_in_the_way_stops_an_import_before_it_moves_anything),
		WITH_GIT(a_merge_that_goes_on_inside_is_left_alone),
		WITH_GIT(a_rebase_that_the_user_began_ends_with_the_agents_branch),
		WITH_GIT(a_commit_on_no_branch_is_taken_where_the_user_is_on_none),
		WITH_GIT(commits_in_a_submodule_come_before_the_commit_that_names_them),
		WITH_GIT(a_submodule_on_no_branch_follows),
		WITH_GIT(commits_in_a_submodule_that_is_not_initialised_come_out),
		WITH_GIT(a_submodule_that_nobody_added_to_stays_inside),
		WITH_GIT(no_submodule_is_made_in_the_directory_of_another),
		WITH_GIT(what_the_user_commits_in_a_submodule_is_there_inside),
		WITH_GIT(a_submodule_with_a_bad_tree_refuses_all),
		WITH_GIT(a_submodule_that_was_not_told_of_is_refused),
		WITH_GIT(a_gitlink_that_moves_is_no_new_one_and_a_new_one_is_held),
		WITH_GIT(a_shallow_clone_is_imported_into),
		WITH_GIT(an_agent_that_unshallows_does_not_deepen_the_users_clone),
		WITH_GIT(a_partial_clone_is_imported_into_without_what_it_lacks),
		WITH_GIT(a_clone_that_borrows_is_imported_into),
		WITH_GIT(a_bare_repository_is_imported_into),
		WITH_GIT(a_repository_that_the_agent_made_becomes_a_new_one),
		WITH_GIT(a_new_repository_is_made_for_no_commits_and_not_for_a_bad_stream),
		WITH_GIT(a_workspace_below_the_top_changes_only_itself),
		WITH_GIT(names_of_an_unknown_kind_are_refused_with_a_reason),
		WITH_GIT(a_name_that_only_begins_like_an_objects_is_refused),
		WITH_GIT(a_file_of_lfs_comes_with_the_commit),
		WITH_GIT(a_file_of_lfs_with_a_wrong_name_refuses_all),
		WITH_GIT(a_file_of_lfs_that_is_there_is_not_replaced),
		WITH_GIT(a_line_of_lfs_that_is_none_is_refused),
		WITH_GIT(a_long_import_says_how_far_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
