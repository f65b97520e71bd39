#include "tree.h"

#include "loop-tests.h"
#include "work/draft.h"

#define OLD                                                                                        \
	"{\"userStories\":[{\"id\":\"a\",\"title\":\"A\",\"passes\":true},"                        \
	"{\"id\":\"b\",\"title\":\"B\",\"passes\":false}]}"
#define NEW                                                                                        \
	"{\"userStories\":[{\"id\":\"a\",\"title\":\"A\",\"passes\":true},"                        \
	"{\"id\":\"b\",\"title\":\"B\",\"passes\":%s},{\"id\":\"c\",\"title\":\"C\"}]}"

static char *content(const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct buf b;

	buf_init(&b, WORK_FILE_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0)
		(void)buf_puts(&b, "(nothing)");
	return buf_take(&b);
}

static void holds(const char *rel, const char *want)
{
	cleanup_free char *text = content(rel);

	assert_string_equal(text, want);
}

static struct draft *put(const char *source)
{
	struct draft *d = NULL;
	struct err e = {0};

	if (draft_put(&(struct work_where){tree, -1, false, false}, source, &d, &e) < 0)
		fail_msg("%s", e.msg);
	return d;
}

static int take(struct draft *d, struct proposals *p)
{
	struct err e = {0};
	int r = draft_take(d, p, &e);

	if (r < 0)
		fail_msg("%s", e.msg);
	return r;
}

static void a_new_list_is_taken_over(void **state)
{
	cleanup_(draft_freep) struct draft *d = NULL;
	cleanup_proposals struct proposals p = {0};
	cleanup_strv struct strv own = {0};
	cleanup_free char *new = xasprintf(NEW, "false");

	tree_file(".ralph/prd.json", 0644, OLD);
	d = put(NULL);
	draft_agents_own(d, &own);
	assert_string_equal(own.v[0], ".ralph/agent");
	assert_string_equal(draft_path(d), ".ralph/agent/prd.json");
	tree_file(".ralph/agent/prd.json", 0644, new);
	assert_int_equal(take(d, &p), 1);
	assert_int_equal(p.n_offences, 0);
	holds(".ralph/prd.json", new);
}

static void where_there_is_none_a_list_begins(void **state)
{
	cleanup_(draft_freep) struct draft *d = put(NULL);
	cleanup_proposals struct proposals p = {0}, q = {0};

	assert_int_equal(take(d, &p), 0);
	holds(".ralph/prd.json", "(nothing)");
	tree_file(".ralph/agent/prd.json", 0644, OLD);
	assert_int_equal(take(d, &q), 1);
	/* Nothing was done before. */
	assert_int_equal(q.n_offences, 1);
	{
		cleanup_free char *want = with(OLD, "true", "false");

		holds(".ralph/prd.json", want);
	}
}

static void nothing_becomes_done_by_planning(void **state)
{
	cleanup_(draft_freep) struct draft *d = NULL;
	cleanup_proposals struct proposals p = {0};
	cleanup_free char *claims = xasprintf(NEW, "true"), *want = xasprintf(NEW, "false");

	tree_file("prd.json", 0644, OLD);
	d = put("prd.json");
	tree_file("prd.json", 0644, claims);
	assert_int_equal(take(d, &p), 1);
	assert_non_null(strstr(p.offences.v[0], "b was marked as done in a plan"));
	holds("prd.json", want);
}

static void what_cannot_be_read_is_put_back(void **state)
{
	cleanup_(draft_freep) struct draft *d = NULL;
	cleanup_proposals struct proposals p = {0}, q = {0};
	cleanup_free char *path = tree_path("plan.md");

	tree_file("plan.md", 0644, "- [ ] a\n");
	d = put("plan.md");
	tree_file("plan.md", 0644, "no tasks\n");
	assert_int_equal(take(d, &p), 0);
	assert_non_null(
		strstr(p.offences.v[0], "cannot be read, and was put back: plan.md: there"));
	holds("plan.md", "- [ ] a\n");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(take(d, &q), 0);
	assert_non_null(strstr(q.offences.v[0], "no plain file"));
	holds("plan.md", "- [ ] a\n");
}

static void planning_that_was_cut_short_leaves_the_old_list(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct draft *d;
	struct err e = {0};

	tree_file("plan.md", 0644, "- [ ] a\n");
	d = put("plan.md");
	tree_file("plan.md", 0644, "- [x] a\n");
	(void)draft_free(d); /* killed */
	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, "plan.md", &w, &e),
			 0);
	holds("plan.md", "- [ ] a\n");
	assert_non_null(strstr(w->news.v[0], "planning was cut short: plan.md was put back"));
	w = work_free(w);
	tree_file("plan.md", 0644, "- [x] a\n");
	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, "plan.md", &w, &e),
			 0);
	holds("plan.md", "- [x] a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(a_new_list_is_taken_over),
		WITH_TREE(where_there_is_none_a_list_begins),
		WITH_TREE(nothing_becomes_done_by_planning),
		WITH_TREE(what_cannot_be_read_is_put_back),
		WITH_TREE(planning_that_was_cut_short_leaves_the_old_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
