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

static void the_walk_finds_repositories_by_what_they_would_run(void **state)
{
	struct findings f;

	tree_dir("w/a/.git/objects");
	tree_dir("w/a/.git/refs");
	tree_file("w/a/.git/HEAD", 0644, "ref: refs/heads/main\n");
	tree_file("w/a/.git/config", 0644, "[core]\n\tfsmonitor = x\n");
	tree_file("w/b/.git/config", 0644, "[user]\n\tname = x\n");
	tree_file("w/b/.git/hooks/pre-push.sample", 0755, "x");
	tree_file("w/b/.git/hooks/pre-push", 0755, "x");
	tree_file("w/c/d/HEAD", 0644, "ref: refs/heads/main\n");
	tree_file("w/c/d/commondir", 0644, "/etc\n");
	tree_file("w/e/.git", 0644, "gitdir: /usr\n");
	tree_link("w/f/.git", "../a/.git");
	tree_file("w/g/.envrc", 0644, "x");
	f = walk(10, false);
	assert_non_null(find(&f, "w/a/.git/config"));
	assert_null(find(&f, "w/b/.git/config"));
	assert_non_null(find(&f, "w/b/.git/hooks/pre-push"));
	assert_null(find(&f, "w/b/.git/hooks/pre-push.sample"));
	assert_non_null(find(&f, "w/c/d/commondir"));
	assert_non_null(find(&f, "w/e/.git"));
	assert_non_null(find(&f, "w/f/.git"));
	assert_non_null(find(&f, "w/g/.envrc"));
	assert_null(find(&f, "w/.git/config"));
	findings_done(&f);
}

static void the_walk_leaves_alone_what_is_older(void **state)
{
	struct findings f;

	tree_file("w/a/.git/HEAD", 0644, "x\n");
	tree_file("w/a/.git/config", 0644, "[core]\n\tfsmonitor = x\n");
	tree_file("w/g/.envrc", 0644, "x");
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
	assert_non_null(find(&f, "w/.git/hooks/pre-commit"));
	assert_non_null(find(&f, "w/.envrc"));
	findings_done(&f);
}

static void links_that_git_writes_through_are_found_in_every_git_directory(void **state)
{
	static const char *const paths[] = {
		"w/.git/logs/HEAD",    "w/.git/refs/heads/a/b",	  "w/.git/MERGE_MSG",
		"w/.git/objects/pack", "w/.git/refs/heads/hooks", "w/n/.git/logs/refs/heads/x"};
	struct findings f;

	tree_dir("w/n/.git/objects");
	tree_file("w/n/.git/HEAD", 0644, "ref: refs/heads/x\n");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		tree_link(paths[i], "/etc/passwd");
	f = walk(10, false);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!find(&f, paths[i]))
			fail_msg("not found: %s", paths[i]);
	assert_true(find(&f, "w/.git/logs/HEAD")->in_git);
	findings_done(&f);
}

static void a_rebase_with_commands_is_found_in_every_git_directory(void **state)
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
		WITH_SPEC(the_walk_finds_repositories_by_what_they_would_run),
		WITH_SPEC(the_walk_leaves_alone_what_is_older),
		WITH_SPEC(the_walk_judges_what_was_there_only_for_a_killed_supervisor),
		WITH_SPEC(links_that_git_writes_through_are_found_in_every_git_directory),
		WITH_SPEC(a_rebase_with_commands_is_found_in_every_git_directory),
		WITH_SPEC(settings_are_compared_by_content_and_not_by_time),
		WITH_SPEC(a_tree_deeper_than_any_is_moved_away_below_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
