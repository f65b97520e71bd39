#include "git-repo.h"

#include "repo/repo-secret.h"

static struct repo_check_result result;

static void check_with(const char *from, const struct repo_rules *rules)
{
	struct repo_oid a = *from ? commit_of(from) : (struct repo_oid){0}, b = commit_of("HEAD");
	struct err e = {0};

	repo_check_done(&result);
	ok(repo_check(repo, a.hex, b.hex, rules, &result, &e), &e);
}

static void check(const char *from)
{
	const struct repo_rules rules = {.name = "User", .email = "u@example.org"};

	check_with(from, &rules);
}

static const struct repo_finding *found(const char *rule)
{
	for (size_t i = 0; i < result.n_findings; i++)
		if (streq(result.findings[i].rule, rule))
			return &result.findings[i];
	return NULL;
}

static void expect(const char *rule, enum repo_severity severity, const char *path)
{
	const struct repo_finding *f = found(rule);

	if (!f)
		fail_msg("no finding '%s' among %zu", rule, result.n_findings);
	assert_int_equal(f->severity, severity);
	assert_string_equal(f->path, path);
	assert_int_equal(result.counts, severity != REPO_REJECT);
	nothing_ran();
}

/* The script commits upon the tag "start". */
static void check_after(const char *script)
{
	run_sh("git tag start");
	run_sh(script);
	check("start");
}

static int done(void **state)
{
	repo_check_done(&result);
	return repo_unmake(state);
}

static void ordinary_commits_count(void **state)
{
	check_after("echo x >a; git commit -qam 2; mkdir s; ln -s ../a s/l; git add .; git commit "
		    "-qm 3; git rm -q d/b; git commit -qm 4");
	assert_true(result.counts);
	assert_int_equal(result.n_findings, 0);
	assert_int_equal(result.commits, 3);
	assert_int_equal(result.paths, 3);
	assert_int_equal(result.added, 2 + 4);
}

static void no_commits_count_too(void **state)
{
	check_after(":");
	assert_true(result.counts);
	assert_int_equal(result.commits, 0);
}

static void the_first_commits_of_a_repository_can_be_checked(void **state)
{
	check("");
	assert_true(result.counts);
	assert_int_equal(result.commits, 1);
	assert_int_equal(result.paths, 2);
}

static void another_author_does_not_count(void **state)
{
	check_after("echo x >a; git commit -qam x --author='Someone <else@example.org>'");
	expect("author", REPO_REJECT, "");
	assert_non_null(strstr(found("author")->text, "else@example.org"));
}

static void another_committer_does_not_count(void **state)
{
	check_after("echo x >a; GIT_COMMITTER_EMAIL=boss@example.org git commit -qam x");
	expect("author", REPO_REJECT, "");
}

static void anybody_may_commit_where_no_one_is_named(void **state)
{
	const struct repo_rules rules = {0};

	run_sh("git tag start; echo x >a; git commit -qam x --author='Someone <else@example.org>'");
	check_with("start", &rules);
	assert_true(result.counts);
}

static void protected_paths_do_not_count_in_any_commit(void **state)
{
	/* The last commit takes it back: the branch would still carry it. */
	check_after("mkdir -p .github/workflows; echo x >.github/workflows/ci.yml; git add .; git "
		    "commit -qm x\n"
		    "git rm -q -r .github; git commit -qm y");
	expect("protected", REPO_REJECT, ".github/workflows/ci.yml");
}

static void protected_paths_do_not_count_in_another_case(void **state)
{
	check_after("mkdir .VsCode; echo x >.VsCode/tasks.json; git add .; git commit -qm x");
	expect("protected", REPO_REJECT, ".VsCode/tasks.json");
}

static void what_is_the_agents_own_counts_although_it_is_protected(void **state)
{
	cleanup_strv struct strv own = {0};
	struct repo_rules rules = {.own = &own};

	strv_push(&own, ".ralph/prd.json");
	run_sh("git tag start; mkdir .ralph; echo x >.ralph/prd.json; git add -f .ralph; git "
	       "commit -qm x");
	check_with("start", &rules);
	assert_true(result.counts);
	run_sh("echo x >.ralph/config.yaml; git add -f .ralph; git commit -qm x");
	check_with("start", &rules);
	expect("protected", REPO_REJECT, ".ralph/config.yaml");
}

static void what_the_user_or_the_task_names_counts_although_it_is_protected(void **state)
{
	cleanup_strv struct strv may = {0};
	struct repo_rules rules = {.may_change = &may};

	strv_push(&may, ".github/workflows/*");
	run_sh("git tag start; mkdir -p .github/workflows; echo x >.github/workflows/ci.yml; git "
	       "add .; git commit -qm x");
	check_with("start", &rules);
	assert_true(result.counts);
	run_sh("echo x >.mcp.json; git add .; git commit -qm x");
	check_with("start", &rules);
	expect("protected", REPO_REJECT, ".mcp.json");
	strv_push(&may, "*");
	check_with("start", &rules);
	assert_true(result.counts);
	/* Never ralph's own. */
	run_sh("mkdir .ralph; echo x >.ralph/config.yaml; git add -f .ralph; git commit -qm x");
	check_with("start", &rules);
	expect("protected", REPO_REJECT, ".ralph/config.yaml");
}

static void attributes_that_choose_filters_are_pointed_out(void **state)
{
	check_after("git config filter.x.clean 'touch $TREE/witness'; echo '* filter=x' "
		    ">.gitattributes\n"
		    "git -c filter.x.clean=cat add .; git -c filter.x.clean=cat commit -qm x; rm "
		    "-f $TREE/witness");
	expect("protected", REPO_WARN, ".gitattributes");
}

static void large_files_do_not_count(void **state)
{
	check_after("head -c 11000000 /dev/zero >big; git add .; git commit -qm x");
	expect("size", REPO_REJECT, "big");
}

static void too_much_data_does_not_count(void **state)
{
	const struct repo_rules rules = {.data_max = 1000};

	run_sh("git tag start; head -c 600 /dev/zero >x; head -c 601 /dev/zero >y; git add .; git "
	       "commit -qm x");
	check_with("start", &rules);
	expect("size", REPO_REJECT, "");
}

static void too_many_commits_do_not_count(void **state)
{
	const struct repo_rules rules = {.commits_max = 2};

	run_sh("git tag start; for i in 1 2 3; do echo $i >a; git commit -qam x; done");
	check_with("start", &rules);
	expect("size", REPO_REJECT, "");
}

static void a_tree_that_unfolds_to_billions_of_paths_is_not_unfolded(void **state)
{
	check_after("t=$(printf '100644 blob %s\\tx\\n' $(echo x | git hash-object -w --stdin) | "
		    "git mktree)\n"
		    "for l in 1 2 3 4 5 6 7 8 9; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf "
		    "'040000 tree %s\\t%s\\n' $t $i; done | git mktree); done\n"
		    "git update-ref HEAD $(git commit-tree -p HEAD -m bomb $t)");
	expect("size", REPO_REJECT, "");
}

static void merges_do_not_count(void **state)
{
	check_after("git checkout -qb o; echo o >o; git add o; git commit -qm o; git checkout -q "
		    "main; echo m >a\n"
		    "git commit -qam m; git merge -q -m merge o");
	expect("history", REPO_REJECT, "");
}

static void rewritten_history_does_not_count(void **state)
{
	check_after("git commit -q --amend -m other");
	expect("history", REPO_REJECT, "");
}

static void a_commit_graph_that_lies_is_not_asked(void **state)
{
	run_sh("git tag start; echo x >.envrc; git add .; git commit -qm hidden; git rm -q .envrc; "
	       "git commit -qm visible; git commit -q --allow-empty -m last\n"
	       "git commit-graph write --reachable");
	run_sh(graph_lies);
	/* git believes it. */
	sh_says("git log --format=%s start..", "last\nvisible");
	check("start");
	expect("protected", REPO_REJECT, ".envrc");
}

static void submodules_do_not_count(void **state)
{
	check_after("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git "
		    "commit -qm x");
	expect("submodule", REPO_REJECT, "sub");
}

static void a_submodule_may_move_only_when_that_is_taken(void **state)
{
	run_sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit "
	       "-qm x; git "
	       "tag with");
	run_sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit "
	       "-qm y");
	check("with");
	expect("submodule", REPO_REJECT, "sub");
	check_with("with", &(struct repo_rules){.submodules = true});
	expect("submodule", REPO_WARN, "sub");
	assert_true(result.counts);
}

static void links_out_of_the_tree_do_not_count(void **state)
{
	check_after("ln -s ../../etc/passwd d/l; git add .; git commit -qm x");
	expect("link", REPO_REJECT, "d/l");
}

static void look_alikes_of_dotgit_do_not_count(void **state)
{
	static const char *const names[] = {".git", ".GIT", "git~1", ".git ", ".g\xe2\x80\x8cit"};

	run_sh("git tag start");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup_free char *script =
			xasprintf("b=$(echo x | git hash-object -w --stdin); t=$(printf '100755 "
				  "blob %%s\\tpost-checkout\\n' $b | git mktree)\n"
				  "t=$(printf '040000 tree %%s\\thooks\\n' $t | git mktree); "
				  "t=$(printf '040000 tree %%s\\t%s\\n' $t | git mktree)\n"
				  "git update-ref HEAD $(git commit-tree -p start -m x $t)",
				  names[i]);

		run_sh(script);
		check("start");
		assert_non_null(found("name"));
		assert_false(result.counts);
	}
}

static void objects_that_are_missing_do_not_count(void **state)
{
	check_after("echo unique >u; git add u; git commit -qm x; o=$(git rev-parse HEAD:u); rm -f "
		    ".git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)");
	expect("damaged", REPO_REJECT, "u");
}

static void objects_that_are_not_what_they_are_called_do_not_count(void **state)
{
	check_after("echo good >u; git add u; git commit -qm x; o=$(git rev-parse HEAD:u); "
		    "e=$(echo evil | git hash-object -w --stdin)\n"
		    "f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); rm -f $f; cp "
		    ".git/objects/$(echo $e | cut -c1-2)/$(echo $e | cut -c3-) $f");
	expect("damaged", REPO_REJECT, "u");
}

static void keys_do_not_count_and_are_not_repeated(void **state)
{
	check_after("echo fine >k; echo 'token = \"ghp_q8Rk2LmZ7vXc4NbT9sWd1FgH6jPa3QeUy5\"' >>k; "
		    "git add k; git commit -qm x");
	expect("secret", REPO_REJECT, "k");
	assert_non_null(strstr(found("secret")->text, "line 2"));
	assert_null(strstr(found("secret")->text, "q8Rk2"));
}

static void keys_that_were_there_before_count(void **state)
{
	run_sh("echo ghp_q8Rk2LmZ7vXc4NbT9sWd1FgH6jPa3QeUy5 >k; git add k; git commit -qm x");
	check_after("echo more >>k; git commit -qam y");
	assert_true(result.counts);
}

static void examples_of_keys_are_only_pointed_out(void **state)
{
	check_after("echo AKIAIOSFODNN7EXAMPLE >k; echo sk-loading-indicator-wide >css; git add .; "
		    "git commit -qm x");
	expect("secret", REPO_WARN, "css");
}

static void private_keys_do_not_count(void **state)
{
	check_after("openssl genrsa 2>/dev/null >k; git add k; git commit -qm x");
	expect("secret", REPO_REJECT, "k");
}

static void values_that_the_host_knows_do_not_count_in_any_form(void **state)
{
	static const char *const scripts[] = {
		"printf 'x correct-horse-battery y' >k; git add k; git commit -qm x",
		"printf 'ab correct-horse-battery' | base64 >k; git add k; git commit -qm x",
		"printf 'bin\\0correct-horse-battery\\0' >k; git add k; git commit -qm x",
		"echo x >k; git add k; git commit -qm 'about correct-horse-battery'",
	};
	cleanup_strv struct strv values = {0};
	const struct repo_rules rules = {.values = &values};

	strv_push(&values, "correct-horse-battery");
	run_sh("git tag start");
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		run_sh("git reset -q --hard start");
		run_sh(scripts[i]);
		check_with("start", &rules);
		assert_non_null(found("secret"));
		assert_false(result.counts);
		assert_null(strstr(found("secret")->text, "horse"));
	}
}

static void findings_are_bounded_and_the_verdict_stays(void **state)
{
	check_after("for i in $(seq 250); do echo AKIAIOSFODNN7EXAMPLE >k$i; done; echo x "
		    ">z.envrc; mkdir z; echo x >z/.envrc; git add .; git commit -qm x");
	assert_int_equal(result.n_findings, REPO_FINDINGS_MAX);
	assert_true(result.more);
	assert_false(result.counts);
	assert_int_equal(result.findings[0].severity, REPO_REJECT);
}

static void texts_are_harmless_for_terminals(void **state)
{
	check_after("ln -s /etc \"$(printf 'x\\033]0;y')\"; git add .; git commit -qm x");
	assert_null(strchr(found("link")->text, '\x1b'));
	assert_null(strchr(found("link")->path, '\x1b'));
}

#define CHECKED(f) cmocka_unit_test_setup_teardown(f, repo_make, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHECKED(ordinary_commits_count),
		CHECKED(no_commits_count_too),
		CHECKED(the_first_commits_of_a_repository_can_be_checked),
		CHECKED(another_author_does_not_count),
		CHECKED(another_committer_does_not_count),
		CHECKED(anybody_may_commit_where_no_one_is_named),
		CHECKED(protected_paths_do_not_count_in_any_commit),
		CHECKED(protected_paths_do_not_count_in_another_case),
		CHECKED(what_the_user_or_the_task_names_counts_although_it_is_protected),
		CHECKED(what_is_the_agents_own_counts_although_it_is_protected),
		CHECKED(attributes_that_choose_filters_are_pointed_out),
		CHECKED(large_files_do_not_count),
		CHECKED(too_much_data_does_not_count),
		CHECKED(too_many_commits_do_not_count),
		CHECKED(a_tree_that_unfolds_to_billions_of_paths_is_not_unfolded),
		CHECKED(merges_do_not_count),
		CHECKED(rewritten_history_does_not_count),
		CHECKED(a_commit_graph_that_lies_is_not_asked),
		CHECKED(submodules_do_not_count),
		CHECKED(a_submodule_may_move_only_when_that_is_taken),
		CHECKED(links_out_of_the_tree_do_not_count),
		CHECKED(look_alikes_of_dotgit_do_not_count),
		CHECKED(objects_that_are_missing_do_not_count),
		CHECKED(objects_that_are_not_what_they_are_called_do_not_count),
		CHECKED(keys_do_not_count_and_are_not_repeated),
		CHECKED(keys_that_were_there_before_count),
		CHECKED(examples_of_keys_are_only_pointed_out),
		CHECKED(private_keys_do_not_count),
		CHECKED(values_that_the_host_knows_do_not_count_in_any_form),
		CHECKED(findings_are_bounded_and_the_verdict_stays),
		CHECKED(texts_are_harmless_for_terminals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
