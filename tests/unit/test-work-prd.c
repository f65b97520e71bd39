#include "loop-tests.h"

/* Written as people do: odd spacing, unknown fields, an order of its own. */
static const char prd[] =
	"{\n"
	"  \"x-tool\": {\"kept\": [1, 2.50, \"\\u00e9\"]},\n"
	"  \"project\": \"Shop\",   \"branchName\":\"ralph/shop\",\n"
	"  \"description\": \"A shop\",\n"
	"  \"verifyCommands\": [\"make check\", {\"name\": \"lint\", \"command\": \"make "
	"lint\"}],\n"
	"  \"userStories\": [\n"
	"    { \"id\": \"US-1\", \"title\": \"Cart\", \"priority\": 2,\n"
	"      \"acceptanceCriteria\": [\"adds\", \"removes\"],\n"
	"      \"passes\": false, \"notes\": \"\", \"points\": 3 },\n"
	"    { \"id\": 2, \"name\": \"Pay\", \"priority\": 1, \"dependsOn\": [\"US-1\"],\n"
	"      \"qualityGates\": [\"make pay\"],\n"
	"      \"passes\": true },\n"
	"    {\"id\":\"c\",\"title\":\"Tidy\",\"status\":\"in-progress\"}\n"
	"  ]\n"
	"}\n";

static void all_that_is_known_is_read(void **state)
{
	cleanup_listing struct listing l = {0};
	const struct task *t;

	reads(&format_prd, prd, &l);
	assert_string_equal(l.project, "Shop");
	assert_string_equal(l.branch, "ralph/shop");
	assert_string_equal(l.description, "A shop");
	assert_int_equal(l.verify.n, 2);
	assert_string_equal(l.verify.v[1], "make lint");
	assert_int_equal(l.n, 3);
	t = task_in(&l, "US-1");
	assert_string_equal(t->title, "Cart");
	assert_int_equal(t->priority, 2);
	assert_string_equal(t->criteria.v[1], "removes");
	assert_int_equal(t->state, TASK_READY);
	assert_int_equal(t->line, 7);
	t = task_in(&l, "2");
	assert_string_equal(t->title, "Pay");
	assert_string_equal(t->depends.v[0], "US-1");
	assert_string_equal(t->verify.v[0], "make pay");
	assert_int_equal(t->state, TASK_DONE);
	t = task_in(&l, "c");
	assert_true(t->priority > 1000000);
	assert_int_equal(t->state, TASK_READY);
}

static void a_mark_changes_one_value_and_no_other_byte(void **state)
{
	char *done = with(prd, "\"passes\": false", "\"passes\": true");
	char *undone = with(prd, "\"passes\": true", "\"passes\": false");
	char *closed = with(prd, "\"in-progress\"", "\"done\"");
	char *stopped = with(prd, "\"in-progress\"", "\"blocked\"");

	marks(&format_prd, prd, "US-1", TASK_DONE, done);
	marks(&format_prd, done, "US-1", TASK_STUCK, prd);
	marks(&format_prd, prd, "2", TASK_READY, undone);
	marks(&format_prd, prd, "c", TASK_DONE, closed);
	marks(&format_prd, prd, "c", TASK_BLOCKED, stopped);
	marks(&format_prd, prd, "US-1", TASK_BLOCKED, prd);
	free(done);
	free(undone);
	free(closed);
	free(stopped);
}

static void a_missing_value_is_written_as_its_neighbours_are(void **state)
{
	marks(&format_prd, "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\"}]}", "a", TASK_DONE,
	      "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\",\"passes\":true}]}");
	marks(&format_prd,
	      "\xef\xbb\xbf{\"userStories\": [\r\n {\r\n  \"id\" : 7,\r\n  \"title\" : \"t\"\r\n "
	      "}]}",
	      "7", TASK_DONE,
	      "\xef\xbb\xbf{\"userStories\": [\r\n {\r\n  \"id\" : 7,\r\n  \"title\" : \"t\",\r\n"
	      "  \"passes\" : true\r\n }]}");
	marks(&format_prd, "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\"}]}", "a", TASK_READY,
	      "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\"}]}");
}

static void a_word_for_done_that_the_file_uses_is_used(void **state)
{
	marks(&format_prd,
	      "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\",\"status\":\"completed\"},"
	      "{\"id\":\"b\",\"title\":\"t\",\"status\":\"pending\"}]}",
	      "b", TASK_DONE,
	      "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\",\"status\":\"completed\"},"
	      "{\"id\":\"b\",\"title\":\"t\",\"status\":\"completed\"}]}");
}

#define STORY(rest) "{\"userStories\": [\n{\"id\": \"a\", \"title\": \"t\"" rest "}\n]}"

static void what_is_wrong_is_named_with_its_place_and_the_remedy(void **state)
{
	static const struct {
		const char *text, *say;
	} cases[] = {
		{"", "f: is not valid JSON: line 1"},
		{"{\n\"userStories\": [\n}", "f: is not valid JSON: line 3"},
		{"[]", "f:1: is not an object"},
		{"{}", "f:1: userStories: is missing"},
		{"{\"userStories\": {}}", "f:1: userStories: is not a list"},
		{"{\"userStories\": []}", "f:1: userStories: is empty; write at least one story"},
		{"{\"userStories\": [\n3]}", "f:2: userStories[0]: is not an object"},
		{"{\"userStories\": [{\"title\": \"t\"}]}", "userStories[0].id: is missing; give"},
		{"{\"userStories\": [{\"id\": true, \"title\": \"t\"}]}",
		 "userStories[0].id: is no"},
		{"{\"userStories\": [{\"id\": \"a\"}]}", "userStories[0].title: is missing; say"},
		{STORY(", \"passes\": \"yes\""),
		 "f:2: userStories[0].passes: is neither true nor false"},
		{STORY(", \"priority\": \"high\""),
		 "f:2: userStories[0].priority: is not a whole number"},
		{STORY(", \"acceptanceCriteria\": \"x\""),
		 "acceptanceCriteria: is not a list; write"},
		{STORY(", \"acceptanceCriteria\": [1]"),
		 "acceptanceCriteria: has an entry that is no text"},
		{STORY(", \"description\": 1"), "description: is not a string; put it in quotes"},
		{STORY(", \"status\": \"draft\""),
		 "status: is no word that ralph knows; write open"},
		{STORY(", \"dependsOn\": [\"b\"]"),
		 "f:2: 'a' depends on 'b', which is not in the file"},
		{STORY(", \"dependsOn\": [\"a\"]"), "f:2: 'a' depends on itself"},
		{STORY("},\n{\"id\": \"a\", \"title\": \"u\""),
		 "f:3: the id 'a' is used at line 2 already"},
		{STORY(", \"dependsOn\": "
		       "[\"b\"]},\n{\"id\":\"b\",\"title\":\"u\",\"dependsOn\":[\"a\"]"),
		 "depends on itself by way of others; take one"},
		{"{\"userStories\": [], \"userStories\": []}", "duplicate"},
		{"{\n\"project\": \"\xff\"}", "f:2: is not UTF-8"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refused(&format_prd, cases[i].text, cases[i].say);
}

static void what_is_too_large_is_refused(void **state)
{
	struct listing l = {0};
	struct err e = {0};
	char *big = xmalloc(WORK_FILE_MAX + 1);

	memset(big, ' ', WORK_FILE_MAX + 1);
	assert_int_equal(format_prd.read("f", big, WORK_FILE_MAX + 1, &l, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "larger than 2048 KiB; split it"));
	free(big);
}

static void a_claim_notes_and_reviews_of_the_task_move(void **state)
{
	char *notes = with(prd, "\"notes\": \"\"", "\"notes\": \"done by\\nhand\"");
	char *passes = with(notes, "\"passes\": false", "\"passes\": true");
	char *theirs = with(passes, "\"points\": 3", "\"points\": 3, \"reviewNotes\": [\"ok\"]");
	char *want = with(notes, "\"points\": 3", "\"points\": 3, \"reviewNotes\": [\"ok\"]");
	cleanup_proposals struct proposals p = {0};
	char *copy = judged(&format_prd, prd, theirs, "US-1", &p);

	assert_true(p.claims_done);
	assert_string_equal(p.notes, "done by\nhand");
	assert_int_equal(p.n_offences, 0);
	/* The claim is not in it: whether it holds is the host's to say. */
	assert_string_equal(copy, want);
	free(copy);
	free(want);
	free(notes);
	free(passes);
	free(theirs);
}

/* A list with this value of reviewStatus, in a story that says that it passes. */
static enum task_state state_with_review(const char *status)
{
	cleanup_free char *field = xasprintf("\"passes\": true, \"reviewStatus\": %s", status);
	cleanup_free char *text = with(prd, "\"passes\": false", field);
	cleanup_listing struct listing l = {0};
	struct err e = {0};

	if (format_prd.read("f", text, strlen(text), &l, &e) < 0)
		return TASK_STATE_N;
	return l.tasks[0]->state;
}

static void a_story_with_a_pending_review_is_not_done_whatever_passes_says(void **state)
{
	assert_int_equal(state_with_review("null"), TASK_DONE);
	assert_int_equal(state_with_review("\"approved\""), TASK_DONE);
	assert_int_equal(state_with_review("\"needs_review\""), TASK_READY);
	assert_int_equal(state_with_review("\"changes_requested\""), TASK_READY);
	assert_int_equal(state_with_review("\"Approved\""), TASK_STATE_N);
	assert_int_equal(state_with_review("true"), TASK_STATE_N);
}

static void a_mark_as_done_ends_a_pending_review(void **state)
{
	cleanup_free char *text = with(prd, "\"passes\": false",
				       "\"passes\": false, \"reviewStatus\": \"needs_review\"");
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf b;
	struct err e = {0};

	buf_init(&b, WORK_FILE_MAX);
	assert_int_equal(format_prd.read("f", text, strlen(text), &l, &e), 0);
	l.tasks[0]->state = TASK_DONE;
	assert_int_equal(format_prd.mark(text, strlen(text), l.tasks[0], &b), 0);
	assert_non_null(strstr(buf_str(&b), "\"passes\": true, \"reviewStatus\": null"));
}

static void offends(const char *from, const char *to, const char *id, const char *say)
{
	char *theirs = with(prd, from, to);
	cleanup_proposals struct proposals p = {0};
	char *copy = judged(&format_prd, prd, theirs, id, &p);

	if (p.n_offences == 0)
		fail_msg("nobody minds: %s", say);
	if (!strstr(p.offences.v[0], say))
		fail_msg("'%s' does not say '%s'", p.offences.v[0], say);
	assert_string_equal(copy, prd);
	free(copy);
	free(theirs);
}

static void the_result_of_a_review_is_not_the_agents_to_write(void **state)
{
	offends("\"points\": 3", "\"points\": 3, \"reviewStatus\": \"approved\"", "US-1",
		"'reviewStatus' of US-1 was changed");
	offends("\"points\": 3", "\"points\": 3, \"reviewCount\": 0", "US-1",
		"'reviewCount' of US-1 was changed");
	offends("\"points\": 3", "\"points\": 3, \"reviewFeedback\": null", "US-1",
		"'reviewFeedback' of US-1 was changed");
}

static void everything_else_is_put_back_and_said(void **state)
{
	offends("\"adds\", ", "", "US-1", "the criteria of US-1 were changed");
	offends("\"Cart\"", "\"Kart\"", "US-1", "'title' of US-1 was changed");
	offends("\"passes\": true", "\"passes\": false", "US-1",
		"'passes' of 2 was changed, which was not");
	offends("\"passes\": false", "\"passes\": true", "c",
		"'passes' of US-1 was changed, which");
	offends("\"Shop\"", "\"Shed\"", "US-1", "'project' was changed");
	offends("\"project\": \"Shop\",", "", "US-1", "'project' was removed");
	offends("\"make check\", ", "", "US-1", "'verifyCommands' was changed");
	offends("\"points\": 3", "\"points\": 3, \"extra\": 1", "US-1",
		"'extra' of US-1 was changed");
	offends(", \"points\": 3", "", "US-1", "'points' of US-1 was removed");
	offends(",\n    {\"id\":\"c\",\"title\":\"Tidy\",\"status\":\"in-progress\"}", "", "US-1",
		"the story c was removed");
	offends("\"in-progress\"}", "\"in-progress\"}, {\"id\":\"d\",\"title\":\"x\"}", "US-1",
		"1 stories were added");
	offends("\"id\": \"US-1\"", "\"id\": \"US-9\"", "US-1", "the story US-1 was removed");
	offends("\"notes\": \"\"", "\"notes\": 5", "US-1", "the notes of US-1 are no text");
	offends("  ]\n}\n", "", "US-1", "no JSON any more");
	offends("\"userStories\": [", "\"userStories\": 1, \"b\": [", "US-1", "'b' was changed");
}

static void another_order_or_layout_is_put_back(void **state)
{
	static const char put[] = "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\"},"
				  "{\"id\":\"b\",\"title\":\"u\",\"passes\":false}]}";
	static const char turned[] =
		"{\"userStories\": [\n{\"passes\":true,\"title\":\"u\",\"id\":\"b\"},"
		"{\"id\":\"a\",\"title\":\"t\"}]}";
	cleanup_proposals struct proposals p = {0};
	char *copy = judged(&format_prd, put, turned, "b", &p);

	assert_true(p.claims_done);
	assert_int_equal(p.n_offences, 1);
	assert_non_null(strstr(p.offences.v[0], "reordered"));
	assert_string_equal(copy, put);
	free(copy);
}

/* Else an agent could fill the file until the host cannot mark a task as done. */
static void what_leaves_the_host_no_room_does_not_move(void **state)
{
	cleanup_free char *filler = xmalloc(WORK_FILE_MAX - 100 * KiB);
	cleanup_free char *put = NULL, *theirs = NULL;
	cleanup_proposals struct proposals p = {0};
	char *copy;

	memset(filler, 'x', WORK_FILE_MAX - 100 * KiB);
	filler[WORK_FILE_MAX - 100 * KiB - 1] = '\0';
	put = xasprintf("{\"x\":\"%s\",\"userStories\":[{\"id\":\"a\",\"title\":\"t\"}]}", filler);
	theirs = with(put, "\"t\"", "\"t\",\"review\":\"ok\",\"notes\":\"n\"");
	copy = judged(&format_prd, put, theirs, "a", &p);
	assert_int_equal(p.n_offences, 1);
	assert_null(p.notes);
	assert_string_equal(copy, put);
	free(copy);
}

static void offences_are_counted_and_only_some_are_kept(void **state)
{
	cleanup_proposals struct proposals p = {0};
	cleanup_buf struct buf theirs;
	char *copy;

	buf_init(&theirs, 1 * MiB);
	(void)buf_puts(&theirs, "{");
	for (int i = 0; i < 500; i++)
		(void)buf_printf(&theirs, "\"k%d\\u001b[31m\":1,", i);
	(void)buf_puts(&theirs, prd + 1);
	copy = judged(&format_prd, prd, buf_str(&theirs), "US-1", &p);
	assert_int_equal(p.n_offences, 500);
	assert_int_equal(p.offences.n, PROPOSAL_OFFENCES_MAX);
	assert_null(strchr(p.offences.v[0], '\x1b'));
	assert_string_equal(copy, prd);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_known_is_read),
		cmocka_unit_test(a_mark_changes_one_value_and_no_other_byte),
		cmocka_unit_test(a_missing_value_is_written_as_its_neighbours_are),
		cmocka_unit_test(a_word_for_done_that_the_file_uses_is_used),
		cmocka_unit_test(what_is_wrong_is_named_with_its_place_and_the_remedy),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(a_claim_notes_and_reviews_of_the_task_move),
		cmocka_unit_test(a_story_with_a_pending_review_is_not_done_whatever_passes_says),
		cmocka_unit_test(a_mark_as_done_ends_a_pending_review),
		cmocka_unit_test(the_result_of_a_review_is_not_the_agents_to_write),
		cmocka_unit_test(everything_else_is_put_back_and_said),
		cmocka_unit_test(another_order_or_layout_is_put_back),
		cmocka_unit_test(what_leaves_the_host_no_room_does_not_move),
		cmocka_unit_test(offences_are_counted_and_only_some_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
