/* Issues, with the strict stand-in for gh that the shell tests have too. */
#include "tree.h"

#include "base/json/json.h"
#include "base/proc.h"
#include "loop-tests.h"
#include "work/gh.h"
#include "work/work.h"

static const char body[] = "---\n"
			   "branch: shop\n"
			   "depends: [3, \"#4\"]\n"
			   "---\n"
			   "$(touch /tmp/x) `id` <!-- hostile -->\n"
			   "### Step 1: Cart\n"
			   "- [ ] adds\n"
			   "### Step 2: Pay\n";

static json_t *issue(int number, const char *title, const char *text, const char *state,
		     const char *label)
{
	return json_pack("{si ss ss ss s[{ss}{ss}]}", "number", number, "title", title, "body",
			 text, "state", state, "labels", "name", "spec", "name", label);
}

static void save(json_t *issues, const char *more)
{
	cleanup_json json_t *j =
		json_pack("{ss s[ssssss] so}", "repo", "own/er", "labels", "spec", "status:ready",
			  "status:in-progress", "status:done", "status:blocked",
			  "status:needs-attention", "issues", issues);
	char *text;

	if (more)
		(void)json_object_set_new(j, "fail", json_pack("[s]", more));
	text = json_dumps(j, 0);
	tree_file("gh/issues.json", 0600, text);
	free(text);
}

static json_t *load(void)
{
	cleanup_free char *path = tree_path("gh/issues.json");

	return json_load_file(path, 0, NULL);
}

static const char *field(const json_t *j, size_t i, const char *key)
{
	return json_string_value(
		json_object_get(json_array_get(json_object_get(j, "issues"), i), key));
}

static bool labelled(const json_t *j, size_t i, const char *label)
{
	const json_t *labels =
		json_object_get(json_array_get(json_object_get(j, "issues"), i), "labels");

	for (size_t k = 0; k < json_array_size(labels); k++)
		if (streq(json_string_value(json_object_get(json_array_get(labels, k), "name")),
			  label))
			return true;
	return false;
}

static int set_up(void **state)
{
	cleanup_free char *bin = NULL, *config = NULL, *to = NULL, *path = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	if (tree_make(state) < 0 || path_read(AT_FDCWD, SOURCE_ROOT "/tests/lib/fake-gh", &b) < 0)
		return -1;
	bin = tree_path("bin");
	config = tree_path("gh");
	to = tree_path("bin/gh");
	tree_file("bin/gh", 0755, buf_str(&b));
	tree_dir("ws");
	path = xasprintf("%s:/usr/bin:/bin", bin);
	(void)setenv("PATH", path, 1);
	(void)setenv("GH_CONFIG_DIR", config, 1);
	(void)setenv("SECRET_OF_MINE", "x", 1);
	save(json_pack(
		     "[oooo]", issue(7, "Shop", body, "OPEN", "status:ready"),
		     issue(5, "Waits", "---\ndepends: [7]\n---\n- [ ] x\n", "OPEN", "status:ready"),
		     issue(3, "Base", "- [x] b\n", "OPEN", "status:done"),
		     issue(4, "Closed", "", "CLOSED", "spec")),
	     NULL);
	return 0;
}

#define WITH_GH(f) cmocka_unit_test_setup_teardown(f, set_up, tree_remove)

static struct work *opened(const char *source)
{
	cleanup_free char *ws = tree_path("ws");
	struct work *w = NULL;
	struct err e = {0};

	if (work_open(&(struct work_where){ws, -1, false, false}, source, &w, &e) < 0)
		fail_msg("%s", e.msg);
	return w;
}

static void ok(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

static void the_oldest_ready_issue_whose_dependencies_are_done_is_next(void **state)
{
	cleanup_(work_freep) struct work *w = opened("gh:own/er");

	assert_string_equal(w->source, "gh:own/er#7");
	assert_int_equal(w->kind, WORK_GH);
	assert_string_equal(w->branch, "shop");
	assert_int_equal(w->n, 2);
	assert_string_equal(work_copy_path(w), ".ralph/agent/issue-7.md");
}

static void an_issue_goes_from_ready_to_done_with_its_steps_marked(void **state)
{
	cleanup_(work_freep) struct work *w = opened("gh:own/er#7");
	cleanup_proposals struct proposals p = {0};
	cleanup_json json_t *begun = NULL, *half = NULL, *done = NULL;
	struct err e = {0};

	ok(work_begin(w, work_task(w, "step-1"), &e), &e);
	ok(work_put_copy(w, -1, &e), &e);
	begun = load();
	assert_true(labelled(begun, 0, "status:in-progress"));
	assert_false(labelled(begun, 0, "status:ready"));
	tree_file("ws/.ralph/agent/issue-7.md", 0644,
		  "---\nbranch: shop\ndepends: [3, \"#4\"]\n---\n"
		  "$(touch /tmp/x) `id` <!-- hostile -->\n### Step 1: Cart [done]\n- [x] adds\n"
		  "### Step 2: Pay\n");
	ok(work_proposals(w, work_task(w, "step-1"), -1, &p, &e), &e);
	assert_true(p.claims_done);
	assert_int_equal(p.n_offences, 0);
	ok(work_settle(w, work_task(w, "step-1"), TASK_DONE, NULL, "abc", &e), &e);
	half = load();
	assert_non_null(strstr(field(half, 0, "body"), "### Step 1: Cart [done]\n- [x] adds\n"));
	ok(work_settle(w, work_task(w, "step-2"), TASK_DONE, NULL, "abd", &e), &e);
	ok(work_close(w, &e), &e);
	assert_int_equal(w->news.n, 0);
	done = load();
	assert_non_null(strstr(field(done, 0, "body"), "### Step 2: Pay [done]\n"));
	assert_true(labelled(done, 0, "status:done"));
	assert_true(labelled(done, 0, "spec"));
	assert_false(labelled(done, 0, "status:in-progress"));
}

static void the_one_in_work_is_gone_on_with_before_the_next(void **state)
{
	cleanup_(work_freep) struct work *w = opened("gh:own/er#7");
	struct err e = {0};

	ok(work_begin(w, work_task(w, "step-1"), &e), &e);
	w = work_free(w);
	w = opened("gh:own/er");
	assert_string_equal(w->source, "gh:own/er#7");
	ok(work_settle(w, work_task(w, "step-1"), TASK_DONE, NULL, "a", &e), &e);
	ok(work_settle(w, work_task(w, "step-2"), TASK_DONE, NULL, "b", &e), &e);
	ok(work_close(w, &e), &e);
	w = work_free(w);
	w = opened("gh:own/er");
	assert_string_equal(w->source, "gh:own/er#5");
}

static void a_blocked_or_stuck_issue_is_labelled_so(void **state)
{
	cleanup_(work_freep) struct work *w = opened("gh:own/er#7");
	cleanup_json json_t *blocked = NULL, *stuck = NULL;
	struct err e = {0};

	ok(work_settle(w, work_task(w, "step-1"), TASK_BLOCKED, "no key", NULL, &e), &e);
	ok(work_settle(w, work_task(w, "step-2"), TASK_BLOCKED, NULL, NULL, &e), &e);
	ok(work_close(w, &e), &e);
	blocked = load();
	assert_true(labelled(blocked, 0, "status:blocked"));
	assert_non_null(strstr(field(blocked, 0, "body"), "Cart [blocked: no key]"));
	ok(work_settle(w, work_task(w, "step-2"), TASK_STUCK, NULL, NULL, &e), &e);
	ok(work_close(w, &e), &e);
	stuck = load();
	assert_true(labelled(stuck, 0, "status:needs-attention"));
	assert_false(labelled(stuck, 0, "status:blocked"));
}

static void a_body_without_tasks_is_one(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_json json_t *done = NULL;
	struct err e = {0};

	save(json_pack("[o]", issue(9, "Fix the\x01 door", "It creaks.", "OPEN", "status:ready")),
	     NULL);
	w = opened("gh:own/er");
	assert_int_equal(w->n, 1);
	assert_string_equal(w->tasks[0]->title, "Fix the  door");
	ok(work_settle(w, w->tasks[0], TASK_DONE, NULL, "a", &e), &e);
	done = load();
	assert_string_equal(field(done, 0, "body"), "It creaks.\n\n- [x] Fix the  door\n");
}

static void what_github_does_not_take_is_written_later(void **state)
{
	cleanup_(work_freep) struct work *w = opened("gh:own/er#7");
	cleanup_json json_t *before = load(), *after = NULL;
	struct err e = {0};

	save(json_incref(json_object_get(before, "issues")), "edit");
	ok(work_begin(w, work_task(w, "step-1"), &e), &e);
	ok(work_settle(w, work_task(w, "step-1"), TASK_DONE, NULL, "a", &e), &e);
	assert_true(w->pending);
	assert_int_equal(w->news.n, 2);
	assert_non_null(strstr(w->news.v[1],
			       "is not written back yet: gh failed for own/er (exit 1): "
			       "error connecting"));
	save(json_incref(json_object_get(before, "issues")), NULL);
	ok(work_reload(w, &e), &e);
	after = load();
	assert_non_null(strstr(field(after, 0, "body"), "Cart [done]"));
	assert_false(w->pending);
}

static void cannot_be(const char *source, int code, const char *say)
{
	cleanup_free char *ws = tree_path("ws");
	struct work *w = NULL;
	struct err e = {0};

	assert_int_equal(work_open(&(struct work_where){ws, -1, false, false}, source, &w, &e),
			 code);
	if (!strstr(e.msg, say))
		fail_msg("'%s' does not say '%s'", e.msg, say);
}

static void what_cannot_be_is_said(void **state)
{
	cannot_be("gh:own/er#5", -EINVAL, "#5: depends on #7, which is not labelled status:done");
	cannot_be("gh:own/er#99", -EIO,
		  "gh failed for own/er (exit 1): GraphQL: Could not resolve");
	cannot_be("gh:own/er#x", -EINVAL, "names no issue; write gh:OWNER/NAME#12");
	cannot_be("gh:-x/er", -EINVAL, "names no repository; write gh:OWNER/NAME");
	cannot_be("gh:own", -EINVAL, "names no repository");
	cannot_be("gh", -EINVAL, "the remote 'origin' is no repository");
	save(json_array(), NULL);
	cannot_be("gh:own/er", -ENODATA, "no open issue is labelled spec and status:ready");
}

static void the_repository_of_the_remote_is_found(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;

	tree_dir("ws/.git/objects");
	tree_dir("ws/.git/refs");
	tree_file("ws/.git/HEAD", 0644, "ref: refs/heads/main\n");
	tree_file("ws/.git/config", 0644,
		  "[remote \"origin\"]\n\turl = git@github.com:own/er.git\n");
	w = opened("gh");
	assert_string_equal(w->source, "gh:own/er#7");
}

static void addresses_of_repositories_are_read(void **state)
{
	static const struct {
		const char *url, *repo;
	} cases[] = {
		{"https://github.com/a/b.git", "a/b"},
		{"https://x:y@github.com/a/b/", "a/b"},
		{"git@github.com:a/b", "a/b"},
		{"ssh://git@github.com:22/a/b.git", "a/b"},
		{"https://ghe.example/a/b", "ghe.example/a/b"},
		{"/srv/git/b.git", NULL},
		{"https://github.com/a", NULL},
		{"git@github.com:--x/b", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *repo = gh_repo_of(cases[i].url);

		if (cases[i].repo)
			assert_string_equal(repo, cases[i].repo);
		else
			assert_null(repo);
	}
}

static json_t *calls(void)
{
	cleanup_free char *path = tree_path("gh/calls.jsonl");
	FILE *f = fopen(path, "re");
	json_t *all = json_array(), *one;

	assert_non_null(f);
	while ((one = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)))
		(void)json_array_append_new(all, one);
	(void)fclose(f);
	return all;
}

static void gh_runs_outside_the_workspace_with_what_it_needs_alone(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_json json_t *all = NULL;
	cleanup_free char *mine = tree_path("ws/bin"), *path = NULL;

	/* A gh that the agent has put where the user's PATH looks first. */
	tree_file("ws/bin/gh", 0755, "#!/bin/sh\ntouch \"$HOME/caught\"; exit 0\n");
	path = xasprintf("%s:%s", mine, getenv("PATH"));
	(void)setenv("PATH", path, 1);
	w = opened("gh:own/er#7");
	all = calls();
	assert_true(json_array_size(all) > 0);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *c = json_array_get(all, i), *env = json_object_get(c, "env");

		assert_string_equal(json_string_value(json_object_get(c, "cwd")), "/");
		for (size_t k = 0; k < json_array_size(env); k++)
			assert_string_not_equal(json_string_value(json_array_get(env, k)),
						"SECRET_OF_MINE");
	}
}

/* What the stand-in took, the real one takes: it gets as far as the network, which is not there. */
static void the_real_gh_takes_the_same_arguments(void **state)
{
	char *env[] = {
		"GH_TOKEN=x",	      "HOME=/nonexistent",    "HTTPS_PROXY=http://127.0.0.1:1",
		"PATH=/usr/bin:/bin", "GH_PROMPT_DISABLED=1", NULL};
	cleanup_json json_t *all = NULL;

	if (faccessat(AT_FDCWD, "/usr/bin/gh", X_OK, 0) < 0)
		skip();
	the_oldest_ready_issue_whose_dependencies_are_done_is_next(state);
	an_issue_goes_from_ready_to_done_with_its_steps_marked(state);
	all = calls();
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *args = json_object_get(json_array_get(all, i), "argv");
		cleanup_strv struct strv argv = {0};
		cleanup_free char *out = NULL;
		cleanup_buf struct buf said;
		struct run run = RUN_INIT;
		struct err e = {0};
		int code = 0;

		buf_init(&said, 64 * KiB);
		strv_push(&argv, "/bin/sh");
		strv_push(&argv, "-c");
		strv_push(&argv, "exec /usr/bin/gh \"$@\" 2>&1 </dev/null");
		strv_push(&argv, "gh");
		for (size_t k = 0; k < json_array_size(args); k++)
			strv_push(&argv, json_string_value(json_array_get(args, k)));
		run.argv = argv.v;
		run.env = env;
		ok(run_collect(&run, 30000, 64 * KiB, &out, &code, &e), &e);
		if (!strstr(out, "api.github.com"))
			fail_msg("call %zu: %s", i, out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GH(the_oldest_ready_issue_whose_dependencies_are_done_is_next),
		WITH_GH(an_issue_goes_from_ready_to_done_with_its_steps_marked),
		WITH_GH(the_one_in_work_is_gone_on_with_before_the_next),
		WITH_GH(a_blocked_or_stuck_issue_is_labelled_so),
		WITH_GH(a_body_without_tasks_is_one),
		WITH_GH(what_github_does_not_take_is_written_later),
		WITH_GH(what_cannot_be_is_said),
		WITH_GH(the_repository_of_the_remote_is_found),
		WITH_GH(addresses_of_repositories_are_read),
		WITH_GH(gh_runs_outside_the_workspace_with_what_it_needs_alone),
		WITH_GH(the_real_gh_takes_the_same_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
