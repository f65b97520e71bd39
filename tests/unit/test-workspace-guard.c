#include "tree.h"

#include "workspace/guard.h"

static struct guard look(const char *rel, const struct strv *masks)
{
	cleanup_free char *dir = tree_path(rel);
	struct guard_input in = {.dir = dir, .masks = masks};
	struct gitdir git = {0};
	struct guard g = {0};
	struct err e = {0};

	if (gitdir_find(dir, NULL, &git, &e) < 0)
		fail_msg("%s", e.msg);
	in.git = &git;
	if (guard_find(&in, &g, &e) < 0)
		fail_msg("%s", e.msg);
	gitdir_done(&git);
	return g;
}

static const struct guard_item *item(const struct guard *g, const char *rel)
{
	cleanup_free char *path = tree_path(rel);

	for (size_t i = 0; i < g->n_items; i++)
		if (streq(g->items[i].path, path))
			return &g->items[i];
	return NULL;
}

static void is(const struct guard *g, const char *rel, enum guard_kind kind)
{
	const struct guard_item *it = item(g, rel);

	if (!it)
		fail_msg("%s is not guarded", rel);
	assert_int_equal(it->kind, kind);
}

static void isnt(const struct guard *g, const char *rel)
{
	if (item(g, rel))
		fail_msg("%s is guarded", rel);
}

static void repository(const char *dir)
{
	static const char *const dirs[] = {"objects", "refs", "hooks", "info"};
	cleanup_free char *head = xasprintf("%s/HEAD", dir), *config = xasprintf("%s/config", dir);

	tree_file(head, 0644, "ref: refs/heads/main\n");
	tree_file(config, 0644, "[core]\n\tbare = false\n");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		cleanup_free char *p = xasprintf("%s/%s", dir, dirs[i]);

		tree_dir(p);
	}
}

static void an_empty_directory_costs_no_mount(void **state)
{
	struct guard g;

	tree_dir("w/src");
	g = look("w", NULL);
	assert_int_equal(g.n_items, 0);
	guard_done(&g);
}

static void a_repository_has_its_settings_and_hooks_guarded_and_stays_in_place(void **state)
{
	struct guard g;

	repository("w/.git");
	g = look("w", NULL);
	is(&g, "w/.git", GUARD_PIN);
	is(&g, "w/.git/config", GUARD_RO);
	is(&g, "w/.git/hooks", GUARD_RO);
	is(&g, "w/.git/info", GUARD_RO);
	assert_int_equal(g.n_items, 4);
	/* What holds others stands before them. */
	assert_int_equal(g.items[0].kind, GUARD_PIN);
	guard_done(&g);
}

static void submodules_and_worktrees_are_repositories_too(void **state)
{
	cleanup_free char *wt = tree_path("w/wt/one/.git");
	cleanup_free char *away = tree_path("elsewhere/.git");
	cleanup_free char *wt_line = xasprintf("%s\n", wt), *away_line = xasprintf("%s\n", away);
	struct guard g;

	repository("w/.git");
	repository("w/.git/modules/libs/x");
	tree_file("w/libs/x/.git", 0644, "gitdir: ../../.git/modules/libs/x\n");
	tree_file("w/wt/one/.git", 0644, "gitdir: ../../.git/worktrees/one\n");
	tree_file("w/.git/worktrees/one/gitdir", 0644, wt_line);
	tree_file("w/.git/worktrees/one/HEAD", 0644, "x\n");
	tree_file("w/.git/worktrees/one/commondir", 0644, "../..\n");
	tree_file("w/.git/worktrees/two/gitdir", 0644, away_line);
	g = look("w", NULL);
	is(&g, "w/.git/modules/libs/x/config", GUARD_RO);
	is(&g, "w/.git/modules/libs/x/hooks", GUARD_RO);
	is(&g, "w/.git/modules/libs", GUARD_PIN);
	is(&g, "w/libs/x/.git", GUARD_RO);
	is(&g, "w/libs/x", GUARD_PIN);
	is(&g, "w/wt/one/.git", GUARD_RO);
	is(&g, "w/.git/worktrees/one", GUARD_PIN);
	is(&g, "w/.git/worktrees/one/commondir", GUARD_RO);
	is(&g, "w/.git/worktrees/one/gitdir", GUARD_RO);
	is(&g, "w/.git/worktrees/two", GUARD_RO);
	guard_done(&g);
}

static void the_repository_of_a_worktree_lies_elsewhere_and_is_guarded_there(void **state)
{
	cleanup_free char *back = tree_path("wt/.git"), *line = xasprintf("%s\n", back);
	cleanup_free char *dir = tree_path("main/.git/worktrees/wt");
	cleanup_free char *pointer = xasprintf("gitdir: %s\n", dir);
	struct guard g;

	repository("main/.git");
	tree_file("main/.git/worktrees/wt/gitdir", 0644, line);
	tree_file("main/.git/worktrees/wt/HEAD", 0644, "ref: refs/heads/x\n");
	tree_file("main/.git/worktrees/wt/commondir", 0644, "../..\n");
	tree_file("wt/.git", 0644, pointer);
	g = look("wt", NULL);
	is(&g, "wt/.git", GUARD_RO);
	is(&g, "main/.git/config", GUARD_RO);
	is(&g, "main/.git/hooks", GUARD_RO);
	is(&g, "main/.git/worktrees/wt", GUARD_PIN);
	is(&g, "main/.git/worktrees/wt/commondir", GUARD_RO);
	isnt(&g, "main/.git"); /* mounted as a whole already */
	guard_done(&g);
}

static void nested_and_bare_repositories_are_found(void **state)
{
	struct guard g;

	repository("w/a/b/.git");
	repository("w/c/bare.git");
	repository("w2");
	g = look("w", NULL);
	is(&g, "w/a/b/.git/config", GUARD_RO);
	is(&g, "w/a/b", GUARD_PIN);
	is(&g, "w/c/bare.git/hooks", GUARD_RO);
	guard_done(&g);
	g = look("w2", NULL);
	is(&g, "w2/config", GUARD_RO);
	is(&g, "w2/hooks", GUARD_RO);
	guard_done(&g);
}

static void what_a_link_leads_to_is_guarded_where_it_can_be_written(void **state)
{
	cleanup_free char *hooks = tree_path("w/n/.git/hooks");
	struct guard g;

	tree_file("w/own-hooks/pre-commit", 0755, "#!/bin/sh\n");
	tree_file("outside/settings.json", 0644, "{}");
	tree_dir("w/dot-claude/hooks");
	repository("w/real.git");
	tree_link("w/.git", "real.git");
	repository("w/n/.git");
	assert_int_equal(rmdir(hooks), 0);
	tree_link("w/n/.git/hooks", "../../own-hooks");
	tree_link("w/.claude", "dot-claude");
	tree_link("w/.vscode", "../outside");
	g = look("w", NULL);
	is(&g, "w/own-hooks", GUARD_RO);
	is(&g, "w/real.git/config", GUARD_RO);
	is(&g, "w/dot-claude", GUARD_RO);
	isnt(&g, "w/.vscode");
	isnt(&g, "outside");
	guard_done(&g);
}

static void what_the_settings_name_counts_as_much_as_they_do(void **state)
{
	struct guard g;

	repository("w/.git");
	tree_file("w/.git/config", 0644,
		  "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../team.gitconfig\n");
	tree_file("w/tools/hooks/pre-push", 0755, "#!/bin/sh\n");
	tree_file("w/team.gitconfig", 0644, "");
	g = look("w", NULL);
	is(&g, "w/tools/hooks", GUARD_RO);
	is(&g, "w/tools", GUARD_PIN);
	is(&g, "w/team.gitconfig", GUARD_RO);
	guard_done(&g);
}

static void settings_of_agents_editors_and_shells_are_guarded(void **state)
{
	struct guard g;

	tree_file("w/.claude/settings.local.json", 0644, "{}");
	tree_file("w/.claude/notes.md", 0644, "");
	tree_file("w/.github/workflows/ci.yml", 0644, "");
	tree_file("w/sub/.envrc", 0644, "");
	tree_file("w/.husky/pre-commit", 0644, "");
	g = look("w", NULL);
	is(&g, "w/.claude", GUARD_PIN);
	is(&g, "w/.claude/settings.local.json", GUARD_RO);
	isnt(&g, "w/.claude/notes.md");
	is(&g, "w/.github/workflows", GUARD_RO);
	is(&g, "w/sub/.envrc", GUARD_RO);
	is(&g, "w/.husky", GUARD_RO);
	guard_done(&g);
}

static void secrets_are_masked_unless_nobody_asks(void **state)
{
	struct strv masks;
	struct guard g;

	strv_init(&masks);
	tree_file("w/.env", 0600, "KEY=x\n");
	tree_file("w/.env.example", 0644, "KEY=\n");
	tree_file("w/certs/server.pem", 0600, "x");
	tree_file("w/.venv/lib/a.pem", 0644, "x");
	g = look("w", &masks);
	is(&g, "w/.env", GUARD_MASK);
	is(&g, "w/certs/server.pem", GUARD_MASK);
	isnt(&g, "w/.env.example");
	isnt(&g, "w/.venv/lib/a.pem");
	guard_done(&g);
	g = look("w", NULL);
	assert_int_equal(g.n_items, 0);
	guard_done(&g);
	strv_done(&masks);
}

static void more_than_can_be_mounted_is_an_error(void **state)
{
	cleanup_free char *dir = tree_path("w");
	const struct guard_input in = {.dir = dir};
	struct guard g;
	struct err e = {0};

	for (int i = 0; i < 1010; i++) {
		cleanup_free char *git = xasprintf("w/r%d/.git", i);

		tree_file(git, 0644, "gitdir: nowhere");
	}
	g = look("w", NULL);
	assert_true(g.n_items > 1010);
	guard_done(&g);
	for (int i = 0; i < 2000; i++) {
		cleanup_free char *rc = xasprintf("w/r%d/.envrc", i);

		tree_file(rc, 0644, "");
	}
	assert_true(guard_find(&in, &g, &e) < 0);
	assert_non_null(strstr(e.msg, "more than 3000 files"));
	guard_done(&g);
}

/* A look that finds nothing because it was cut short would leave things unprotected. */
static void names_are_found_beyond_any_number_and_depth(void **state)
{
	struct guard g;

	for (int i = 0; i < 5000; i++) {
		cleanup_free char *file = xasprintf("w/a%d", i);

		tree_file(file, 0644, "");
	}
	for (int i = 0; i < 300; i++) {
		cleanup_free char *sub = xasprintf("w/d%d/e", i);

		tree_dir(sub);
	}
	tree_file("w/.mcp.json", 0644, "");
	tree_file("w/z/1/2/3/4/5/6/7/8/9/.envrc", 0644, "");
	tree_file("w/z/.VSCode/tasks.json", 0644, "");
	g = look("w", NULL);
	is(&g, "w/.mcp.json", GUARD_RO);
	is(&g, "w/z/1/2/3/4/5/6/7/8/9/.envrc", GUARD_RO);
	is(&g, "w/z/.VSCode", GUARD_RO);
	guard_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(an_empty_directory_costs_no_mount),
		WITH_TREE(a_repository_has_its_settings_and_hooks_guarded_and_stays_in_place),
		WITH_TREE(submodules_and_worktrees_are_repositories_too),
		WITH_TREE(the_repository_of_a_worktree_lies_elsewhere_and_is_guarded_there),
		WITH_TREE(nested_and_bare_repositories_are_found),
		WITH_TREE(what_a_link_leads_to_is_guarded_where_it_can_be_written),
		WITH_TREE(what_the_settings_name_counts_as_much_as_they_do),
		WITH_TREE(settings_of_agents_editors_and_shells_are_guarded),
		WITH_TREE(secrets_are_masked_unless_nobody_asks),
		WITH_TREE(more_than_can_be_mounted_is_an_error),
		WITH_TREE(names_are_found_beyond_any_number_and_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
