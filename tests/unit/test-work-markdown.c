#include "loop-tests.h"

static const char boxes[] = "---\n"
			    "branch: ralph/shop # ours\n"
			    "base: 'main'\n"
			    "author: someone\n"
			    "depends: [one.md, \"two\"]\n"
			    "verify:\n"
			    "  - make check\n"
			    "---\n"
			    "# The shop\n"
			    "\n"
			    "Text with a [ ] in it, and - [ ] not at its beginning.\n"
			    "\n"
			    "- [ ] Add the **cart**\r\n"
			    "  more about it\n"
			    "  - [x] adds\n"
			    "  - [ ] removes\n"
			    "  Verify: `make cart`, `make -C x`.\n"
			    "* [X] Pay\n"
			    "1. [ ] Ship it [blocked: no parcels]\n"
			    "   Depends: Pay\n"
			    "```\n"
			    "- [ ] in a fence\n"
			    "```\n"
			    "- [ ] Pay\n"
			    "- [-] not a box\n"
			    "- [ ]\n";

static const char steps[] = "# Spec\r\n"
			    "- [ ] nobody's\r\n"
			    "### Step 1: Make the file [DONE]\r\n"
			    "Verify: it is there, see `ls`.\r\n"
			    "### Step 2. Read it\r\n"
			    "- [ ] one\r\n"
			    "- [x] two\r\n"
			    "**Verify:** `pytest -v`\r\n"
			    "#### Step 2b — Again  \r\n"
			    "Depends on: steps 1, 2\r\n"
			    "### Notes\r\n"
			    "- [ ] not of the step\r\n"
			    "### Step 3: Write it [blocked: who knows]\r\n";

static void boxes_are_tasks_and_those_below_them_criteria(void **state)
{
	cleanup_listing struct listing l = {0};
	const struct task *t;

	reads(&format_plan, boxes, &l);
	assert_int_equal(l.n, 4);
	t = task_in(&l, "add-the-cart");
	assert_string_equal(t->title, "Add the **cart**");
	assert_int_equal(t->criteria.n, 2);
	assert_string_equal(t->criteria.v[1], "removes");
	assert_int_equal(t->verify.n, 2);
	assert_string_equal(t->verify.v[1], "make -C x");
	assert_non_null(strstr(t->description, "more about it"));
	assert_int_equal(t->line, 13);
	assert_int_equal(task_in(&l, "pay")->state, TASK_DONE);
	t = task_in(&l, "ship-it");
	assert_string_equal(t->title, "Ship it");
	assert_int_equal(t->state, TASK_BLOCKED);
	assert_string_equal(t->why, "no parcels");
	assert_string_equal(t->depends.v[0], "pay");
	assert_int_equal(task_in(&l, "pay-2")->state, TASK_READY);
}

static void front_matter_makes_it_a_spec(void **state)
{
	cleanup_listing struct listing l = {0};

	reads(&format_plan, boxes, &l);
	assert_true(l.front);
	assert_string_equal(l.branch, "ralph/shop");
	assert_string_equal(l.base, "main");
	assert_string_equal(l.project, "The shop");
	assert_int_equal(l.depends.n, 2);
	assert_string_equal(l.depends.v[0], "one.md");
	assert_string_equal(l.depends.v[1], "two");
	assert_string_equal(l.verify.v[0], "make check");
}

static void steps_are_tasks_and_boxes_below_them_criteria(void **state)
{
	cleanup_listing struct listing l = {0};
	const struct task *t;

	reads(&format_plan, steps, &l);
	assert_int_equal(l.n, 4);
	assert_int_equal(task_in(&l, "step-1")->state, TASK_DONE);
	assert_int_equal(task_in(&l, "step-1")->verify.n, 0);
	t = task_in(&l, "step-2");
	assert_string_equal(t->title, "Read it");
	assert_int_equal(t->criteria.n, 2);
	assert_string_equal(t->verify.v[0], "pytest -v");
	t = task_in(&l, "step-2b");
	assert_string_equal(t->title, "Again");
	assert_int_equal(t->depends.n, 2);
	assert_string_equal(t->depends.v[0], "step-1");
	assert_int_equal(t->criteria.n, 0);
	assert_int_equal(task_in(&l, "step-3")->state, TASK_BLOCKED);
}

static void marked_as(const char *text, const char *id, enum task_state s, const char *from,
		      const char *to)
{
	char *want = with(text, from, to);

	marks(&format_plan, text, id, s, want);
	free(want);
}

static void a_mark_changes_nothing_else(void **state)
{
	marked_as(boxes, "add-the-cart", TASK_DONE, "- [ ] Add", "- [x] Add");
	marked_as(boxes, "pay-2", TASK_DONE, "- [ ] Pay", "- [x] Pay");
	marked_as(boxes, "add-the-cart", TASK_BLOCKED, "**cart**", "**cart** [blocked: no key]");
	marked_as(steps, "step-2", TASK_DONE, "Read it", "Read it [DONE]");
	marked_as(steps, "step-2b", TASK_BLOCKED, "Again", "Again [blocked: no key]");
}

static void a_mark_is_taken_back(void **state)
{
	char *open = with(boxes, "[X] Pay", "[ ] Pay"),
	     *ship = with(boxes, " [blocked: no parcels]", "");
	char *one = with(steps, " [DONE]", ""),
	     *three = with(steps, " [blocked: who knows]", " [DONE]");

	marks(&format_plan, boxes, "pay", TASK_READY, open);
	marks(&format_plan, boxes, "ship-it", TASK_STUCK, ship);
	marks(&format_plan, steps, "step-1", TASK_READY, one);
	marks(&format_plan, steps, "step-3", TASK_DONE, three);
	free(open);
	free(ship);
	free(one);
	free(three);
}

static void a_reason_cannot_break_its_mark(void **state)
{
	char *text =
		marked(&format_plan, "- [ ] a\n- [ ] b\n", "a", TASK_BLOCKED, "x] y\n- [ ] c [z");
	cleanup_listing struct listing l = {0};

	assert_string_equal(text, "- [ ] a [blocked: x) y - ( ) c (z]\n- [ ] b\n");
	reads(&format_plan, text, &l);
	assert_int_equal(l.n, 2);
	assert_int_equal(task_in(&l, "a")->state, TASK_BLOCKED);
	free(text);
}

static void of_several_marks_the_last_counts_and_all_go(void **state)
{
	marks(&format_plan, "### Step 1: a [blocked: x] [DONE]\n", "step-1", TASK_READY,
	      "### Step 1: a\n");
	marks(&format_plan, "### Step 1: a [done] [blocked: x]\n", "step-1", TASK_DONE,
	      "### Step 1: a [done]\n");
	marks(&format_plan, "- [ ] a [blocked] [blocked: y]\n", "a", TASK_READY, "- [ ] a\n");
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *say;
	} cases[] = {
		{"", "f: there is no task in it; write '- [ ]"},
		{"# Only text\n", "there is no task in it"},
		{"### Step 1:\n", "f:1: the step has no title"},
		{"### Step 1: a\n\n### Step 1: b\n",
		 "f:3: the id 'step-1' is used at line 1 already"},
		{"### Step 1: a\nDepends: 4\n",
		 "f:1: 'step-1' depends on 'step-4', which is not in"},
		{"### Step 1: a\nDepends: 2\n### Step 2: b\nDepends: 1\n", "by way of others"},
		{"---\nbranch: a\nbranch: b\n---\n- [ ] x\n", "f:3: 'branch' is given twice"},
		{"---\nbranch:\n---\n- [ ] x\n", "f:2: has no value that can be read"},
		{"---\ndepends: [a\n---\n- [ ] x\n", "f:2: has no value"},
		{"- [ ] a\n- [ ] \xc3\x28\n", "f:2: is not UTF-8"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refused(&format_plan, cases[i].text, cases[i].say);
}

static void dashes_without_an_end_are_no_front_matter(void **state)
{
	cleanup_listing struct listing l = {0};

	reads(&format_plan, "---\nbranch: x\n- [ ] a\n", &l);
	assert_false(l.front);
	assert_null(l.branch);
	assert_int_equal(l.n, 1);
}

static void ticking_below_the_task_changes_neither_it_nor_its_fingerprint(void **state)
{
	char *theirs = with(boxes, "- [ ] removes", "- [x] removes");
	cleanup_listing struct listing was = {0}, is = {0};
	cleanup_proposals struct proposals p = {0};
	char *copy = judged(&format_plan, boxes, theirs, "add-the-cart", &p);

	assert_string_equal(copy, theirs);
	assert_int_equal(p.n_offences, 0);
	assert_false(p.claims_done);
	reads(&format_plan, boxes, &was);
	reads(&format_plan, copy, &is);
	assert_string_equal(task_in(&was, "add-the-cart")->fingerprint,
			    task_in(&is, "add-the-cart")->fingerprint);
	free(copy);
	free(theirs);
}

static void judged_as(const char *put, const char *from, const char *to, const char *id,
		      bool claims, const char *say)
{
	char *theirs = with(put, from, to);
	cleanup_proposals struct proposals p = {0};
	char *copy = judged(&format_plan, put, theirs, id, &p);

	assert_int_equal(p.claims_done, claims);
	assert_int_equal(p.n_offences > 0, say != NULL);
	if (say && !strstr(p.offences.v[0], say))
		fail_msg("'%s' does not say '%s'", p.offences.v[0], say);
	assert_string_equal(copy, put);
	free(copy);
	free(theirs);
}

static void only_the_tasks_own_mark_is_a_claim(void **state)
{
	judged_as(boxes, "- [ ] Add", "- [x] Add", "add-the-cart", true, NULL);
	judged_as(boxes, "- [ ] Add", "- [x] Add", "pay-2", false,
		  "add-the-cart was marked, which");
	judged_as(steps, "Read it", "Read it [done]", "step-2", true, NULL);
	judged_as(steps, "Read it", "Read it [done]", "step-3", false, "step-2 was marked, which");
	judged_as(boxes, "- [ ] removes", "- [x] removes", "pay", false, NULL);
}

static void everything_else_is_put_back_and_said(void **state)
{
	judged_as(boxes, "more about it", "less", "add-the-cart", false,
		  "changed, first at line 14");
	judged_as(boxes, "  - [ ] removes\n", "", "add-the-cart", false,
		  "changed, first at line 16");
	judged_as(boxes, "1. [ ] Ship it", "1. [ ] Ship", "add-the-cart", false,
		  "removed or renamed");
	judged_as(boxes, "- [ ] Add", "- [ ] New\n- [x] Add", "add-the-cart", true,
		  "new was added");
	judged_as(boxes, "base: 'main'", "base: evil", "add-the-cart", false, "first at line 3");
	judged_as(boxes, "# The shop", "\xff", "add-the-cart", false, "no UTF-8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes_are_tasks_and_those_below_them_criteria),
		cmocka_unit_test(front_matter_makes_it_a_spec),
		cmocka_unit_test(steps_are_tasks_and_boxes_below_them_criteria),
		cmocka_unit_test(a_mark_changes_nothing_else),
		cmocka_unit_test(a_mark_is_taken_back),
		cmocka_unit_test(a_reason_cannot_break_its_mark),
		cmocka_unit_test(of_several_marks_the_last_counts_and_all_go),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(dashes_without_an_end_are_no_front_matter),
		cmocka_unit_test(ticking_below_the_task_changes_neither_it_nor_its_fingerprint),
		cmocka_unit_test(only_the_tasks_own_mark_is_a_claim),
		cmocka_unit_test(everything_else_is_put_back_and_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
