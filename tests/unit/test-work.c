#include "tree.h"

#include "loop-tests.h"
#include "work/shared-file.h"
#include "work/work-state.h"

#define PRD                                                                                        \
	"{\n  \"project\": \"p\",\n  \"userStories\": [\n"                                         \
	"    {\"id\": \"a\", \"title\": \"A\", \"priority\": 2, \"acceptanceCriteria\": [\"x\"], " \
	"\"passes\": false},\n"                                                                    \
	"    {\"id\": \"b\", \"title\": \"B\", \"priority\": 1, \"dependsOn\": [\"a\"], "          \
	"\"passes\": false},\n"                                                                    \
	"    {\"id\": \"c\", \"title\": \"C\", \"priority\": 3, \"passes\": false}\n  ]\n}\n"

static struct work *opened(const char *source)
{
	struct work *w = NULL;
	struct err e = {0};

	if (work_open(&(struct work_where){tree, -1, false, false}, source, &w, &e) < 0)
		fail_msg("%s", e.msg);
	return w;
}

static char *content(const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct buf b;

	buf_init(&b, WORK_PROGRESS_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0) {
		buf_done(&b);
		return xstrdup("(nothing)");
	}
	return buf_take(&b);
}

static void holds(const char *rel, const char *want)
{
	cleanup_free char *text = content(rel);

	assert_string_equal(text, want);
}

static void edit(const char *rel, const char *from, const char *to)
{
	cleanup_free char *text = content(rel), *new = with(text, from, to);

	tree_file(rel, 0644, new);
}

static bool news(struct work *w, const char *say)
{
	for (size_t i = 0; i < w->news.n; i++)
		if (strstr(w->news.v[i], say))
			return true;
	return false;
}

static void ok(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* A turn on the task, as far as the agent. */
static void begin(struct work *w, struct task *t)
{
	struct err e = {0};

	ok(work_begin(w, t, &e), &e);
	ok(work_put_copy(w, -1, &e), &e);
}

static void propose(struct work *w, struct task *t, struct proposals *p)
{
	struct err e = {0};

	ok(work_proposals(w, t, -1, p, &e), &e);
}

static void settle(struct work *w, struct task *t, enum task_state s)
{
	struct err e = {0};

	ok(work_settle(w, t, s, NULL, s == TASK_DONE ? "abc" : NULL, &e), &e);
}

static void the_next_task_is_the_most_urgent_that_nothing_holds(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct task *both[4] = {0};

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	/* b is more urgent, but waits for a. */
	assert_string_equal(work_next(w, 0)->id, "a");
	assert_int_equal(work_independent(w, 0, both, 4), 2);
	assert_string_equal(both[1]->id, "c");
	work_task(w, "a")->state = TASK_DONE;
	assert_string_equal(work_next(w, 0)->id, "b");
	work_task(w, "b")->attempts = 3;
	assert_string_equal(work_next(w, 3)->id, "c");
	work_task(w, "c")->state = TASK_STUCK;
	assert_null(work_next(w, 3));
	assert_int_equal(work_count(w, 3).held, 1);
	assert_int_equal(work_count(w, 3).stuck, 1);
}

static void a_done_task_is_marked_in_the_source_and_stays_done(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_free char *want = with(PRD, "false", "true");

	tree_file("prd.json", 0640, PRD);
	w = opened(NULL);
	settle(w, work_task(w, "a"), TASK_DONE);
	holds("prd.json", want);
	w = work_free(w);
	w = opened(NULL);
	assert_int_equal(work_task(w, "a")->state, TASK_DONE);
	assert_string_equal(work_task(w, "a")->commit, "abc");
	assert_int_equal(w->news.n, 0);
}

static void what_the_agent_made_of_its_file_is_a_proposal(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_proposals struct proposals p = {0};

	tree_file("prd.json", 0644, PRD);
	tree_file("progress.txt", 0644, "start\n");
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	edit("prd.json", "\"passes\": false", "\"passes\": true, \"notes\": \"n\"");
	edit("prd.json", "\"title\": \"C\"", "\"title\": \"D\"");
	tree_file("progress.txt", 0644, "start\nmore\n");
	propose(w, work_task(w, "a"), &p);
	assert_true(p.claims_done);
	assert_true(p.progressed);
	assert_int_equal(p.n_offences, 1);
	assert_string_equal(work_task(w, "a")->notes, "n");
	settle(w, work_task(w, "a"), TASK_READY);
	{
		cleanup_free char *want =
			with(PRD, "\"passes\": false", "\"passes\": false, \"notes\": \"n\"");

		holds("prd.json", want);
	}
	holds("progress.txt", "start\nmore\n");
	/* What was put back can be looked at. */
	{
		cleanup_free char *aside = content(".ralph/state/put-back/1-prd.json");

		assert_non_null(strstr(aside, "\"title\": \"D\""));
	}
}

static void below_ralph_the_agent_has_a_copy(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_proposals struct proposals p = {0};
	cleanup_strv struct strv own = {0};

	tree_file(".ralph/prd.json", 0644, PRD);
	tree_file(".ralph/progress.txt", 0644, "start\n");
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	work_agents_own(w, &own);
	assert_string_equal(own.v[0], ".ralph/agent");
	assert_string_equal(work_copy_path(w), ".ralph/agent/prd.json");
	holds(".ralph/agent/prd.json", PRD);
	edit(".ralph/agent/prd.json", "\"passes\": false", "\"passes\": true, \"review\": 1");
	tree_file(".ralph/agent/progress.txt", 0644, "start\nmore\n");
	/* The user may edit meanwhile: nobody else reaches it. */
	edit(".ralph/prd.json", "\"title\": \"C\"", "\"title\": \"Cc\"");
	propose(w, work_task(w, "a"), &p);
	assert_true(p.claims_done);
	assert_int_equal(p.n_offences, 0);
	settle(w, work_task(w, "a"), TASK_DONE);
	holds(".ralph/progress.txt", "start\nmore\n");
	{
		cleanup_free char *titled = with(PRD, "\"title\": \"C\"", "\"title\": \"Cc\"");
		cleanup_free char *want =
			with(titled, "\"passes\": false", "\"passes\": true, \"review\": 1");

		holds(".ralph/prd.json", want);
	}
}

static void replaced(void (*how)(const char *path), const char *say)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_proposals struct proposals p = {0};
	cleanup_free char *prd = tree_path("plans/prd.json"),
			  *log = tree_path("plans/progress.txt");
	struct stat st;

	tree_file("plans/prd.json", 0600, PRD);
	tree_file("plans/progress.txt", 0600, "start\n");
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	assert_int_equal(unlink(prd), 0);
	assert_int_equal(unlink(log), 0);
	how(prd);
	how(log);
	propose(w, work_task(w, "a"), &p);
	assert_false(p.claims_done);
	assert_int_equal(p.n_offences, 2);
	if (!strstr(p.offences.v[0], say))
		fail_msg("'%s' does not say '%s'", p.offences.v[0], say);
	holds("plans/prd.json", PRD);
	holds("plans/progress.txt", "start\n");
	assert_int_equal(lstat(prd, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	settle(w, work_task(w, "a"), TASK_READY);
	w = work_free(w);
	{
		cleanup_free char *ralph = tree_path(".ralph");
		struct err e = {0};

		assert_int_equal(path_remove_tree(AT_FDCWD, ralph, &e), 0);
	}
}

static void nothing(const char *path)
{
}

static void a_link(const char *path)
{
	assert_int_equal(symlink("/etc/passwd", path), 0);
}

static void a_pipe(const char *path)
{
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void a_directory(const char *path)
{
	cleanup_free char *deep = path_join(path, "a/b/c");
	struct err e = {0};

	assert_int_equal(path_mkdirs(deep, 0700, &e), 0);
}

static void a_hole(const char *path)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
}

static void whatever_takes_the_place_of_a_file_gives_way(void **state)
{
	replaced(nothing, "was removed");
	replaced(a_link, "no plain file");
	replaced(a_pipe, "no plain file");
	replaced(a_directory, "no plain file");
	replaced(a_hole, "far too large");
}

static void a_directory_that_became_a_link_is_not_followed(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_proposals struct proposals p = {0};
	cleanup_free char *dir = tree_path("plans"), *away = tree_path("away");

	tree_file("plans/prd.json", 0644, PRD);
	tree_dir("outside");
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	assert_int_equal(rename(dir, away), 0);
	tree_link("plans", "outside");
	propose(w, work_task(w, "a"), &p);
	assert_int_equal(p.n_offences, 1);
	holds("outside/prd.json", "(nothing)");
	holds("plans/prd.json", PRD);
}

static void what_a_cut_turn_left_is_not_taken_for_the_users(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;

	tree_file("prd.json", 0644, PRD);
	tree_file("progress.txt", 0644, "start\n");
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	edit("prd.json", "\"passes\": false", "\"passes\": true");
	tree_file("progress.txt", 0644, "gone\n");
	w = work_free(w); /* killed */
	w = opened(NULL);
	assert_int_equal(work_task(w, "a")->state, TASK_READY);
	assert_int_equal(work_task(w, "a")->attempts, 1);
	assert_true(news(w, "the turn on a was cut short"));
	holds("prd.json", PRD);
	holds("progress.txt", "start\n");
}

static void looking_disturbs_no_turn(void **state)
{
	cleanup_(work_freep) struct work *w = NULL, *other = NULL;
	cleanup_free char *edited = with(PRD, "\"passes\": false", "\"passes\": true");
	struct err e = {0};

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	tree_file("prd.json", 0644, edited);
	ok(work_look(&(struct work_where){tree, -1, false, false}, NULL, &other, &e), &e);
	assert_int_equal(work_task(other, "a")->state, TASK_BUSY);
	holds("prd.json", edited);
}

static void what_died_between_state_and_source_is_written_later(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_free char *want = with(PRD, "false", "true");
	struct err e = {0};

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	work_task(w, "a")->state = TASK_DONE;
	ok(work_save(w, &e), &e);
	w = work_free(w); /* killed */
	w = opened(NULL);
	assert_int_equal(work_task(w, "a")->state, TASK_DONE);
	ok(work_reload(w, &e), &e);
	holds("prd.json", want);
	assert_int_equal(w->news.n, 0);
}

static void the_users_edits_are_taken_over(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct task *a;
	struct err e = {0};

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	a = work_task(w, "a");
	settle(w, a, TASK_DONE);
	edit("prd.json", "\"title\": \"A\"", "\"title\": \"Aa\"");
	edit("prd.json", "\n  ]\n}", ",{\"id\": \"d\", \"title\": \"D\"}\n  ]\n}");
	ok(work_reload(w, &e), &e);
	assert_ptr_equal(work_task(w, "a"), a);
	assert_string_equal(a->title, "Aa");
	assert_int_equal(a->state, TASK_DONE);
	assert_int_equal(w->n, 4);
	assert_true(news(w, "d is new"));
	edit("prd.json", ",{\"id\": \"d\", \"title\": \"D\"}", "");
	ok(work_reload(w, &e), &e);
	assert_int_equal(w->n, 3);
	assert_true(news(w, "d is no longer in prd.json"));
}

static void a_done_task_that_asks_for_something_else_is_reopened(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_free char *want = with(PRD, "\"x\"", "\"y\"");

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	settle(w, work_task(w, "a"), TASK_DONE);
	edit("prd.json", "\"x\"", "\"y\"");
	w = work_free(w);
	w = opened(NULL);
	assert_true(news(w, "a asks for something else now: it is reopened"));
	assert_int_equal(work_task(w, "a")->state, TASK_READY);
	{
		struct err e = {0};

		ok(work_reload(w, &e), &e);
	}
	holds("prd.json", want);
}

static void a_task_that_the_user_changes_and_marks_as_done_is_done(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct err e = {0};

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	edit("prd.json", "\"x\"], \"passes\": false", "\"y\"], \"passes\": true");
	ok(work_reload(w, &e), &e);
	assert_int_equal(work_task(w, "a")->state, TASK_DONE);
}

static void a_task_that_the_user_opens_or_closes_is_open_or_closed(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct err e = {0};

	tree_file("plan.md", 0644, "- [ ] one\n- [ ] two\n");
	w = opened("plan.md");
	settle(w, work_task(w, "one"), TASK_DONE);
	holds("plan.md", "- [x] one\n- [ ] two\n");
	tree_file("plan.md", 0644, "- [ ] one\n- [x] two\n");
	ok(work_reload(w, &e), &e);
	assert_int_equal(work_task(w, "one")->state, TASK_READY);
	assert_int_equal(work_task(w, "one")->attempts, 0);
	assert_null(work_task(w, "one")->commit);
	assert_int_equal(work_task(w, "two")->state, TASK_DONE);
	assert_true(news(w, "one is marked as open"));
	assert_true(news(w, "two is marked as done"));
}

static void a_file_that_the_user_breaks_loses_nothing(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_free char *want = with(PRD, "false", "true");
	struct err e = {0};

	tree_file(".ralph/prd.json", 0644, PRD);
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	tree_file(".ralph/prd.json", 0644, "{ half");
	settle(w, work_task(w, "a"), TASK_DONE);
	assert_true(w->pending);
	assert_true(news(w, "is not written back yet: .ralph/prd.json: is not valid JSON"));
	holds(".ralph/prd.json", "{ half");
	assert_int_equal(work_reload(w, &e), -EINVAL);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	tree_file(".ralph/prd.json", 0644, PRD);
	ok(work_reload(w, &e), &e);
	holds(".ralph/prd.json", want);
	assert_false(w->pending);
}

static void an_attempt_that_was_none_is_given_back(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct err e = {0};

	tree_file("prd.json", 0644, PRD);
	w = opened(NULL);
	begin(w, work_task(w, "a"));
	edit("prd.json", "\"passes\": false", "\"passes\": true");
	ok(work_give_back(w, work_task(w, "a"), &e), &e);
	assert_int_equal(work_task(w, "a")->attempts, 0);
	assert_int_equal(work_task(w, "a")->state, TASK_READY);
	holds("prd.json", PRD);
	assert_null(w->open);
}

static void worktrees_have_copies_of_their_own(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_proposals struct proposals p = {0}, q = {0};
	cleanup_fd int one = -1, two = -1;
	cleanup_free char *p1 = tree_path("t1"), *p2 = tree_path("t2");
	struct err e = {0};

	tree_file(".ralph/prd.json", 0644, PRD);
	tree_file(".ralph/progress.txt", 0644, "start\n");
	tree_dir("t1");
	tree_dir("t2");
	one = open(p1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	two = open(p2, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w = opened(NULL);
	ok(work_begin(w, work_task(w, "a"), &e), &e);
	ok(work_begin(w, work_task(w, "c"), &e), &e);
	ok(work_put_copy(w, one, &e), &e);
	ok(work_put_copy(w, two, &e), &e);
	holds("t2/.ralph/agent/.gitignore", "*\n");
	edit("t1/.ralph/agent/prd.json", "\"passes\": false", "\"passes\": true, \"notes\": \"1\"");
	tree_file("t1/.ralph/agent/progress.txt", 0644, "start\none\n");
	tree_file("t2/.ralph/agent/progress.txt", 0644, "start\ntwo\n");
	edit("t2/.ralph/agent/prd.json", "\"title\": \"C\", \"priority\": 3, \"passes\": false",
	     "\"title\": \"C\", \"priority\": 3, \"passes\": true");
	ok(work_proposals(w, work_task(w, "a"), one, &p, &e), &e);
	ok(work_proposals(w, work_task(w, "c"), two, &q, &e), &e);
	assert_true(p.claims_done && q.claims_done);
	assert_int_equal(p.n_offences + q.n_offences, 0);
	settle(w, work_task(w, "a"), TASK_DONE);
	settle(w, work_task(w, "c"), TASK_DONE);
	holds(".ralph/progress.txt", "start\none\ntwo\n");
	{
		cleanup_free char *x =
			with(PRD, "\"passes\": false", "\"passes\": true, \"notes\": \"1\"");
		cleanup_free char *want = with(x, "\"priority\": 3, \"passes\": false",
					       "\"priority\": 3, \"passes\": true");

		holds(".ralph/prd.json", want);
	}
}

static void a_spec_waits_for_those_it_names(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct err e = {0};

	tree_file("specs/a.md", 0644, "---\nbranch: a\n---\n### Step 1: x [done]\n### Step 2: y\n");
	tree_file("specs/b.md", 0644, "---\nbranch: b\nbase: a\ndepends: [a]\n---\n- [ ] z\n");
	assert_int_equal(
		work_open(&(struct work_where){tree, -1, false, false}, "specs/b.md", &w, &e),
		-EINVAL);
	assert_non_null(
		strstr(e.msg, "depends on 'a', where 1 of 2 tasks are done; build that first"));
	w = opened("specs/a.md");
	settle(w, work_task(w, "step-2"), TASK_DONE);
	holds("specs/a.md", "---\nbranch: a\n---\n### Step 1: x [done]\n### Step 2: y [done]\n");
	w = work_free(w);
	w = opened("specs/b.md");
	assert_int_equal(w->kind, WORK_SPEC);
	assert_string_equal(w->branch, "b");
	assert_string_equal(w->base, "a");
	assert_true(news(w, "specs/a.md was worked on before; it is specs/b.md now"));
}

static void of_a_directory_of_specs_one_after_the_other_is_next(void **state)
{
	cleanup_(work_freep) struct work *w = NULL;
	struct err e = {0};

	tree_file("specs/README.md", 0644, "Notes.\n");
	tree_file("specs/a.md", 0644, "---\ndepends: [b]\n---\n- [ ] x\n");
	tree_file("specs/b.md", 0644, "---\nbranch: b\n---\n- [ ] y\n- [ ] z\n");
	w = opened("specs");
	assert_string_equal(w->source, "specs/b.md");
	settle(w, work_task(w, "y"), TASK_DONE);
	w = work_free(w);
	w = opened("specs");
	assert_string_equal(w->source, "specs/b.md");
	settle(w, work_task(w, "z"), TASK_DONE);
	w = work_free(w);
	w = opened("specs");
	assert_string_equal(w->source, "specs/a.md");
	settle(w, work_task(w, "x"), TASK_DONE);
	w = work_free(w);
	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, "specs", &w, &e),
			 -ENODATA);
	assert_non_null(strstr(e.msg, "has no spec that is left to do"));
	tree_file("specs/c.md", 0644, "---\ndepends: [d]\n---\n- [ ] x\n");
	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, "specs", &w, &e),
			 -ENODATA);
	assert_non_null(strstr(e.msg, "specs/c.md: depends on 'd', which is not beside it"));
}

static void state_that_cannot_be_read_is_said(void **state)
{
	struct work *w = NULL;
	struct err e = {0};

	tree_file("prd.json", 0644, PRD);
	tree_file(".ralph/state/tasks.json", 0600, "{ torn");
	assert_true(work_open(&(struct work_where){tree, -1, false, false}, NULL, &w, &e) < 0);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	assert_non_null(strstr(e.msg, ".ralph/state/tasks.json: line 1"));
	assert_non_null(strstr(e.msg, "remove it"));
}

static void a_source_that_is_not_there_is_said(void **state)
{
	struct work *w = NULL;
	struct err e = {0};

	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, NULL, &w, &e),
			 -ENOENT);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	assert_non_null(strstr(e.msg, "there is no list of work here"));
	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, "x.md", &w, &e),
			 -EINVAL);
	assert_non_null(strstr(e.msg, "there is no 'x.md'"));
	tree_link("prd.json", "/etc/passwd");
	assert_int_equal(work_open(&(struct work_where){tree, -1, false, false}, NULL, &w, &e),
			 -EINVAL);
	assert_non_null(strstr(e.msg, "must be a plain file"));
}

static void init_and_the_loop_ignore_the_same(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64 * KiB);
	assert_int_equal(path_read(AT_FDCWD, SOURCE_ROOT "/data/init/gitignore", &b), 0);
	assert_string_equal(buf_str(&b), work_gitignore);
}

/* The agent writes in the workspace: a link there would show it any file, and have it written. */
static void a_list_behind_a_link_that_leads_out_is_refused(void **state)
{
	static const char *const wishes[] = {"plan.md", "specs", "specs/a.md", "in/../plan.md"};
	cleanup_free char *workspace = tree_path("ws");
	struct work *w = NULL;
	struct err e = {0};

	tree_file("out/plan.md", 0600, "- [ ] a\n");
	tree_file("out/a.md", 0600, "---\nid: a\n---\n- [ ] a\n");
	tree_file("ws/in/real.md", 0600, "- [ ] a\n");
	tree_link("ws/plan.md", "../out/plan.md");
	tree_link("ws/specs", "../out");
	tree_link("ws/near.md", "in/real.md");
	for (size_t i = 0; i < ARRAY_SIZE(wishes); i++) {
		assert_true(work_open(&(struct work_where){workspace, -1, false, false}, wishes[i],
				      &w, &e) < 0);
		assert_non_null(strstr(e.msg, "leads out of the workspace"));
	}
	/* What the user names outside, and a link that stays inside, are lists as before. */
	assert_int_equal(
		work_open(&(struct work_where){workspace, -1, false, false}, "near.md", &w, &e), 0);
	work_free(w);
	assert_int_equal(work_open(&(struct work_where){workspace, -1, false, false},
				   "../out/plan.md", &w, &e),
			 0);
	work_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(the_next_task_is_the_most_urgent_that_nothing_holds),
		WITH_TREE(a_done_task_is_marked_in_the_source_and_stays_done),
		WITH_TREE(what_the_agent_made_of_its_file_is_a_proposal),
		WITH_TREE(below_ralph_the_agent_has_a_copy),
		WITH_TREE(whatever_takes_the_place_of_a_file_gives_way),
		WITH_TREE(a_directory_that_became_a_link_is_not_followed),
		WITH_TREE(what_a_cut_turn_left_is_not_taken_for_the_users),
		WITH_TREE(looking_disturbs_no_turn),
		WITH_TREE(what_died_between_state_and_source_is_written_later),
		WITH_TREE(the_users_edits_are_taken_over),
		WITH_TREE(a_done_task_that_asks_for_something_else_is_reopened),
		WITH_TREE(a_task_that_the_user_changes_and_marks_as_done_is_done),
		WITH_TREE(a_task_that_the_user_opens_or_closes_is_open_or_closed),
		WITH_TREE(a_file_that_the_user_breaks_loses_nothing),
		WITH_TREE(an_attempt_that_was_none_is_given_back),
		WITH_TREE(worktrees_have_copies_of_their_own),
		WITH_TREE(a_spec_waits_for_those_it_names),
		WITH_TREE(of_a_directory_of_specs_one_after_the_other_is_next),
		WITH_TREE(state_that_cannot_be_read_is_said),
		WITH_TREE(a_source_that_is_not_there_is_said),
		cmocka_unit_test(init_and_the_loop_ignore_the_same),
		WITH_TREE(a_list_behind_a_link_that_leads_out_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
