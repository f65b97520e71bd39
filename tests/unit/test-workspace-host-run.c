#include "tree.h"

#include <time.h>

#include "base/fd.h"
#include "workspace/host-run.h"
#include "workspace/seen.h"

static struct sandbox_spec *spec;

static int set_up(void **state)
{
	cleanup_free char *ws = NULL, *git = NULL;

	if (tree_make(state) < 0)
		return -1;
	ws = tree_path("w");
	git = tree_path("w/.git");
	tree_dir("w/.git/objects");
	tree_dir("w/.git/refs");
	tree_file("w/.git/HEAD", 0644, "ref: refs/heads/main\n");
	tree_file("w/.git/config", 0644, "[core]\n\tbare = false\n");
	spec = spec_new();
	spec->name = xstrdup("s");
	spec->workspace = xstrdup(ws);
	spec->home = xstrdup("/home/u");
	(void)spec_mount_add(spec, SPEC_BIND_RW, ws, ws, "the workspace");
	spec_watch_add(spec, SPEC_WATCH_TREE, ws);
	spec_watch_add(spec, SPEC_WATCH_GIT, git);
	return 0;
}

static int tear_down(void **state)
{
	spec = spec_free(spec);
	return tree_remove(state);
}

#define WITH_SPEC(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static const struct finding *find(const struct findings *f, const char *rel)
{
	cleanup_free char *path = tree_path(rel);

	for (size_t i = 0; i < f->n; i++)
		if (streq(f->v[i].path, path))
			return &f->v[i];
	return NULL;
}

static struct findings compare(struct host_run *s)
{
	struct findings f = {0};

	host_run_compare(s, &f);
	return f;
}

/* What the walk finds that is newer than now - seconds. */
static struct findings walk(int seconds, bool all)
{
	struct findings f = {0};
	struct timespec since;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &since);
	since.tv_sec -= seconds;
	host_run_walk(spec, &since, &(struct host_run_before){0}, all, &f);
	return f;
}

static void nothing_new_is_nothing_found(void **state)
{
	cleanup_(host_run_freep) struct host_run *s = host_run_new(spec);
	struct findings f = compare(s);

	assert_int_equal(f.n, 0);
	findings_done(&f);
}

static void what_appears_is_found_once_and_again_when_it_changes(void **state)
{
	cleanup_(host_run_freep) struct host_run *s = host_run_new(spec);
	struct findings f;

	tree_file("w/.git/hooks/pre-commit", 0755, "x");
	tree_file("w/.claude/settings.local.json", 0644, "{}");
	f = compare(s);
	assert_non_null(find(&f, "w/.git/hooks"));
	assert_true(find(&f, "w/.git/hooks")->in_git);
	assert_non_null(find(&f, "w/.claude/settings.local.json"));
	assert_false(find(&f, "w/.claude/settings.local.json")->in_git);
	findings_done(&f);
	f = compare(s);
	assert_int_equal(f.n, 0);
	findings_done(&f);
	tree_file("w/.claude/settings.local.json", 0644, "{\"hooks\": 1}");
	f = compare(s);
	assert_int_equal(f.n, 1);
	findings_done(&f);
}

static void a_file_that_is_mounted_and_was_replaced_is_no_finding(void **state)
{
	cleanup_free char *config = tree_path("w/.git/config"), *other = tree_path("w/.git/new");
	cleanup_(host_run_freep) struct host_run *s = NULL;
	struct findings f;

	(void)spec_mount_add(spec, SPEC_PROTECT, config, config, "settings");
	s = host_run_new(spec);
	tree_file("w/.git/new", 0644, "[core]\n");
	assert_int_equal(rename(other, config), 0);
	f = compare(s);
	assert_int_equal(f.n, 0);
	findings_done(&f);
	/* Removed, and then made by whoever: that is a finding. */
	assert_int_equal(unlink(config), 0);
	f = compare(s);
	findings_done(&f);
	tree_file("w/.git/config", 0644, "[core]\n");
	f = compare(s);
	assert_non_null(find(&f, "w/.git/config"));
	findings_done(&f);
}

static void a_link_that_was_replaced_keeps_its_text(void **state)
{
	cleanup_free char *hooks = tree_path("w/.git/hooks");
	cleanup_(host_run_freep) struct host_run *s = NULL;
	struct findings f;

	tree_link("w/.git/hooks", "../own");
	s = host_run_new(spec);
	assert_int_equal(unlink(hooks), 0);
	tree_dir("w/.git/hooks");
	f = compare(s);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.v[0].link, "../own");
	findings_done(&f);
}

/* As the supervisor does: what is there is written down, then `change` happens. */
static struct findings walk_after(void (*change)(void))
{
	cleanup_(seen_freep) struct seen *seen = NULL;
	struct host_run_before before = {0};
	struct timespec since, made;
	struct findings f = {0};

	tree_clock_ticks(); /* of a directory that is old enough, only changes are looked at */
	before.seen = seen = seen_new(spec, "/nonexistent", &f);
	assert_int_equal(f.n, 0);
	/* The clock moves in steps, and files may be dated between two of them. */
	(void)clock_gettime(CLOCK_REALTIME, &made);
	do {
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &since);
	} while (since.tv_sec < made.tv_sec ||
		 (since.tv_sec == made.tv_sec && since.tv_nsec <= made.tv_nsec));
	change();
	host_run_walk(spec, &since, &before, false, &f);
	return f;
}

static bool is_nested(const struct findings *f, const char *rel)
{
	const struct finding *found = find(f, rel);

	return found && found->nested && found->in_git;
}

static const char *const appear[] = {"w/a/.git", "w/b/.git", "w/c/d",	 "w/e/.git",
				     "w/f/.git", "w/g/.GiT", "w/h/i.git"};

static void make_all(void)
{
	tree_dir("w/a/.git/objects");
	tree_file("w/a/.git/HEAD", 0644, "ref: refs/heads/main\n");
	tree_file("w/b/.git/x", 0644, "x");
	tree_file("w/c/d/HEAD", 0644, "ref: refs/heads/main\n");
	tree_file("w/c/d/commondir", 0644, "/etc\n");
	tree_file("w/e/.git", 0644, "gitdir: /usr\n\n");
	tree_link("w/f/.git", "../a/.git");
	tree_dir("w/g/.GiT/x");
	tree_dir("w/h/i.git/objects");
	tree_file("w/h/i.git/HEAD", 0644, "x");
	tree_dir("w/empty/.git");
	tree_file("w/j/HEAD", 0644, "no git directory");
}

static void a_git_directory_that_appears_is_found_whole(void **state)
{
	struct findings f = walk_after(make_all);

	for (size_t i = 0; i < ARRAY_SIZE(appear); i++)
		if (!is_nested(&f, appear[i]))
			fail_msg("not found: %s", appear[i]);
	assert_int_equal(f.n, ARRAY_SIZE(appear));
	findings_done(&f);
}

static void nothing(void)
{
}

static void a_git_directory_that_was_there_stays(void **state)
{
	struct findings f;

	make_all();
	tree_file("w/vendor/x/.git/config", 0644, "x");
	f = walk_after(nothing);
	assert_int_equal(f.n, 0);
	findings_done(&f);
}

static void change_some(void)
{
	tree_file("w/a/.git/objects/x", 0644, "an object");
	tree_file("w/b/.git/config", 0644, "new");
	tree_file("w/e/.git", 0644, "gitdir: /etc\n");
	tree_file("w/c/d/config", 0644, "new");
}

static void one_that_nothing_protects_and_that_changed_is_found(void **state)
{
	struct findings f;

	make_all();
	f = walk_after(change_some);
	assert_false(is_nested(&f, "w/a/.git"));
	assert_true(is_nested(&f, "w/b/.git"));
	assert_true(is_nested(&f, "w/e/.git"));
	/* The directory is older: without HEAD it is none. */
	assert_true(is_nested(&f, "w/c/d/HEAD"));
	assert_int_equal(f.n, 3);
	findings_done(&f);
}

static void replace(void)
{
	cleanup_free char *git = tree_path("w/.git"), *away = tree_path("w/x");

	assert_int_equal(rename(git, away), 0);
	tree_file("w/.git/HEAD", 0644, "x");
}

static void one_that_takes_the_place_of_a_protected_one_is_found(void **state)
{
	struct findings f = walk_after(replace);

	assert_true(is_nested(&f, "w/.git"));
	assert_true(is_nested(&f, "w/x/HEAD"));
	findings_done(&f);
}

static void turn_into(void)
{
	tree_dir("w/src/objects");
	tree_file("w/src/HEAD", 0644, "ref: refs/heads/main\n");
	tree_dir("w/objects");
	tree_file("w/HEAD", 0644, "ref: refs/heads/main\n");
}

static void a_directory_of_the_user_that_becomes_one_loses_head_alone(void **state)
{
	struct findings f;

	tree_file("w/src/main.c", 0644, "x");
	f = walk_after(turn_into);
	assert_true(is_nested(&f, "w/src/HEAD"));
	assert_true(is_nested(&f, "w/HEAD"));
	assert_int_equal(f.n, 2);
	findings_done(&f);
}

static void add_modules(void)
{
	tree_dir("w/.git/modules/m/objects");
	tree_file("w/.git/modules/m/HEAD", 0644, "x");
	tree_file("w/.git/worktrees/good/HEAD", 0644, "x");
	tree_file("w/.git/worktrees/good/commondir", 0644, "../..\n");
	tree_file("w/.git/worktrees/bad/HEAD", 0644, "x");
	tree_file("w/.git/worktrees/bad/commondir", 0644, "../../..\n");
	tree_file("w/.git/worktrees/bad/config.worktree", 0644, "x");
}

static void submodules_and_worktrees_that_appear_in_it_are_found(void **state)
{
	struct findings f = walk_after(add_modules);

	assert_true(is_nested(&f, "w/.git/modules/m"));
	assert_non_null(find(&f, "w/.git/worktrees/bad/commondir"));
	assert_non_null(find(&f, "w/.git/worktrees/bad/config.worktree"));
	assert_int_equal(f.n, 3);
	findings_done(&f);
}

static void one_that_is_covered_inside_is_not_looked_into(void **state)
{
	cleanup_free char *git = tree_path("w/.git"), *own = tree_path("private");
	struct findings f;

	tree_dir("private");
	(void)spec_mount_add(spec, SPEC_BIND_RW, own, git, "a git directory of its own");
	free(spec->watches[--spec->n_watches].dir); /* the tree is left */
	f = walk_after(add_modules);
	assert_int_equal(f.n, 0);
	findings_done(&f);
}

static void without_a_list_of_before_times_decide(void **state)
{
	struct findings f;

	make_all();
	tree_file("w/g/.envrc", 0644, "x");
	f = walk(10, false);
	assert_true(is_nested(&f, "w/a/.git"));
	assert_non_null(find(&f, "w/g/.envrc"));
	findings_done(&f);
	f = walk(-10, false);
	assert_int_equal(f.n, 0);
	findings_done(&f);
}

static void the_walk_judges_what_was_there_only_for_a_killed_supervisor(void **state)
{
	struct findings f;

	tree_file("w/.git/hooks/pre-commit", 0755, "x");
	tree_file("w/.envrc", 0644, "x");
	f = walk(10, false);
	assert_int_equal(f.n, 0);
	findings_done(&f);
	f = walk(10, true);
	assert_non_null(find(&f, "w/.git/hooks"));
	assert_non_null(find(&f, "w/.envrc"));
	findings_done(&f);
}

static void links_that_git_writes_through_are_found(void **state)
{
	static const char *const paths[] = {"w/.git/logs/HEAD", "w/.git/refs/heads/a/b",
					    "w/.git/MERGE_MSG", "w/.git/objects/pack",
					    "w/.git/refs/heads/hooks"};
	struct findings f;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		tree_link(paths[i], "/etc/passwd");
	f = walk(10, false);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!find(&f, paths[i]))
			fail_msg("not found: %s", paths[i]);
	assert_true(find(&f, "w/.git/logs/HEAD")->in_git);
	findings_done(&f);
}

static void a_rebase_with_commands_is_found(void **state)
{
	struct findings f;

	tree_file("w/.git/rebase-merge/git-rebase-todo", 0644, "pick 1 x\n  exec touch y\n");
	f = walk(10, false);
	assert_non_null(find(&f, "w/.git/rebase-merge/git-rebase-todo"));
	findings_done(&f);
	tree_file("w/.git/rebase-merge/git-rebase-todo", 0644, "pick 1 exec\n");
	f = walk(10, false);
	assert_int_equal(f.n, 0);
	findings_done(&f);
}

static void a_tree_deeper_than_any_is_moved_away_below_that(void **state)
{
	cleanup_free char *path = tree_path("w");
	struct findings f;

	for (int i = 0; i < 420; i++) {
		char *next = path_join(path, "d");

		free(path);
		path = next;
		assert_int_equal(mkdir(path, 0755), 0);
	}
	f = walk(10, false);
	assert_int_equal(f.n, 1);
	assert_true(f.v[0].in_git && !f.v[0].stays);
	assert_int_equal(strlen(f.v[0].path), strlen(tree) + strlen("/w") + 401 * strlen("/d"));
	findings_done(&f);
}

/* The clock was set back an hour after the start: nothing looks new. */
static void settings_are_compared_by_content_and_not_by_time(void **state)
{
	cleanup_(seen_freep) struct seen *seen = NULL, *read = NULL;
	cleanup_fd int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct timespec since;
	struct findings f = {0};

	tree_file("w/a/.mcp.json", 0644, "old");
	tree_file("w/b/.mcp.json", 0644, "old");
	tree_file("w/c/.vscode/tasks.json", 0644, "old");
	tree_file("w/node_modules/x/.vscode/tasks.json", 0644, "old");
	seen = seen_new(spec, tree, &f);
	assert_int_equal(f.n, 0);
	assert_int_equal(seen_write(seen, dir), 0);
	read = seen_read(dir);
	assert_non_null(read);
	(void)clock_gettime(CLOCK_REALTIME, &since);
	since.tv_sec += 3600;
	tree_file("w/a/.mcp.json", 0644, "new");
	tree_file("w/b/.mcp.json", 0644, "old"); /* written again, and the same */
	tree_file("w/c/.vscode/launch.json", 0644, "new");
	tree_file("w/d/.envrc", 0644, "new");
	for (int i = 0; i < 2; i++) {
		const struct host_run_before before = {.seen = i ? read : seen};

		host_run_walk(spec, &since, &before, false, &f);
		assert_non_null(find(&f, "w/a/.mcp.json"));
		assert_null(find(&f, "w/b/.mcp.json"));
		assert_non_null(find(&f, "w/c/.vscode"));
		assert_non_null(find(&f, "w/d/.envrc"));
		assert_int_equal(f.n, 3);
		findings_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SPEC(nothing_new_is_nothing_found),
		WITH_SPEC(what_appears_is_found_once_and_again_when_it_changes),
		WITH_SPEC(a_file_that_is_mounted_and_was_replaced_is_no_finding),
		WITH_SPEC(a_link_that_was_replaced_keeps_its_text),
		WITH_SPEC(a_git_directory_that_appears_is_found_whole),
		WITH_SPEC(a_git_directory_that_was_there_stays),
		WITH_SPEC(one_that_nothing_protects_and_that_changed_is_found),
		WITH_SPEC(one_that_takes_the_place_of_a_protected_one_is_found),
		WITH_SPEC(a_directory_of_the_user_that_becomes_one_loses_head_alone),
		WITH_SPEC(submodules_and_worktrees_that_appear_in_it_are_found),
		WITH_SPEC(one_that_is_covered_inside_is_not_looked_into),
		WITH_SPEC(without_a_list_of_before_times_decide),
		WITH_SPEC(the_walk_judges_what_was_there_only_for_a_killed_supervisor),
		WITH_SPEC(links_that_git_writes_through_are_found),
		WITH_SPEC(a_rebase_with_commands_is_found),
		WITH_SPEC(settings_are_compared_by_content_and_not_by_time),
		WITH_SPEC(a_tree_deeper_than_any_is_moved_away_below_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
