#include "tests.h"

#include "base/mem.h"
#include "loop/verdict.h"

/* Every row is a promise of ralph-loop(7); "as ok" is a run that ended in order. */
/* clang-format off */
static const struct {
	const char *what;
	struct facts facts;
	enum verdict verdict;
	bool progress, give_back;
	enum task_state state;
} table[] = {
	{"said, verified, committed: done",
	 {.claims = true, .verified = true, .committed = true, .new_head = true, .needs_commit = true},
	 VERDICT_DONE, true, false, TASK_DONE},
	{"a commit of an earlier attempt is one",
	 {.claims = true, .verified = true, .committed = true, .needs_commit = true},
	 VERDICT_DONE, true, false, TASK_DONE},
	{"a promise asks for the same check",
	 {.last_words = LAST_WORDS_COMPLETE, .verified = true, .committed = true, .needs_commit = true},
	 VERDICT_DONE, true, false, TASK_DONE},
	{"a promise without verification is not believed",
	 {.last_words = LAST_WORDS_COMPLETE, .committed = true, .new_head = true, .needs_commit = true},
	 VERDICT_UNVERIFIED, true, false, TASK_READY},
	{"said without a commit",
	 {.claims = true, .verified = true, .needs_commit = true},
	 VERDICT_NO_COMMIT, false, false, TASK_READY},
	{"said, with a file that was verified and is in no commit",
	 {.claims = true, .verified = true, .committed = true, .new_head = true, .loose = true, .needs_commit = true},
	 VERDICT_LOOSE, true, false, TASK_READY},
	{"verified and committed, but not said",
	 {.verified = true, .committed = true, .new_head = true, .needs_commit = true},
	 VERDICT_PROGRESS, true, false, TASK_READY},
	{"nothing at all", {.needs_commit = true}, VERDICT_NO_PROGRESS, false, false, TASK_READY},
	{"a better verification is progress", {.better = true}, VERDICT_PROGRESS, true, false, TASK_READY},
	{"commits that were taken back are none",
	 {.claims = true, .verified = true, .rejected = true, .needs_commit = true},
	 VERDICT_REJECTED, false, false, TASK_READY},
	{"where there is no repository, no commit is asked for",
	 {.claims = true, .verified = true}, VERDICT_DONE, true, false, TASK_DONE},
	{"blocked comes before done",
	 {.claims = true, .verified = true, .committed = true, .last_words = LAST_WORDS_BLOCKED},
	 VERDICT_BLOCKED, true, false, TASK_BLOCKED},
	{"a question", {.last_words = LAST_WORDS_DECIDE}, VERDICT_DECIDE, true, false, TASK_DECIDE},
	{"the words of a run that failed count for nothing",
	 {.end = RUN_FAILED, .claims = true, .verified = true, .committed = true, .last_words = LAST_WORDS_COMPLETE},
	 VERDICT_FAILED, false, false, TASK_READY},
	{"nor do its questions", {.end = RUN_FAILED, .last_words = LAST_WORDS_DECIDE}, VERDICT_FAILED, false, false, TASK_READY},
	{"but its commits are progress", {.end = RUN_TOO_LONG, .new_head = true}, VERDICT_FAILED, true, false, TASK_READY},
	{"silence", {.end = RUN_SILENT}, VERDICT_FAILED, false, false, TASK_READY},
	{"empty output", {.end = RUN_EMPTY}, VERDICT_FAILED, false, false, TASK_READY},
	{"a lost sandbox", {.end = RUN_LOST}, VERDICT_FAILED, false, false, TASK_READY},
	{"a failed run with bad commits", {.end = RUN_FAILED, .rejected = true}, VERDICT_REJECTED, false, false, TASK_READY},
	{"a rate limit gives the attempt back", {.end = RUN_LIMITED, .claims = true, .verified = true},
	 VERDICT_LIMITED, false, true, TASK_READY},
	{"an outage too, whatever was committed", {.end = RUN_OUTAGE, .claims = true, .verified = true, .new_head = true},
	 VERDICT_OUTAGE, true, true, TASK_READY},
	{"an iteration that the loop's time ended", {.end = RUN_OVERTIME}, VERDICT_INTERRUPTED, false, true, TASK_READY},
	{"a credential too", {.end = RUN_CREDENTIAL}, VERDICT_CREDENTIAL, false, true, TASK_READY},
	{"what cannot be run", {.end = RUN_NOT_STARTED}, VERDICT_BROKEN, false, true, TASK_READY},
	{"stopped by the user", {.end = RUN_STOPPED, .claims = true, .verified = true, .committed = true},
	 VERDICT_INTERRUPTED, false, true, TASK_READY},
	{"cut off by a kill", {.end = RUN_INTERRUPTED, .new_head = true}, VERDICT_INTERRUPTED, true, true, TASK_READY},
};
/* clang-format on */

static void each_set_of_facts_has_its_verdict(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct judgement j;

		verdict_judge(&table[i].facts, &j);
		if (j.verdict != table[i].verdict || j.progress != table[i].progress ||
		    j.give_back != table[i].give_back || j.state != table[i].state)
			fail_msg("%s: %s", table[i].what, verdict_name(j.verdict));
		assert_non_null(j.why);
		assert_int_equal(j.give_back, verdict_gives_back(j.verdict));
	}
}

/* Whatever else holds: without all three there is no done. */
static void nothing_is_done_without_word_proof_and_commit(void **state)
{
	for (unsigned bits = 0; bits < 1u << 9; bits++) {
		for (int end = 0; end < RUN_END_N; end++) {
			const struct facts f = {
				.end = (enum run_end)end,
				.last_words = bits & 1 ? LAST_WORDS_COMPLETE : LAST_WORDS_NONE,
				.claims = bits & 2,
				.new_head = bits & 4,
				.rejected = bits & 8,
				.committed = bits & 16,
				.verified = bits & 32,
				.better = bits & 64,
				.needs_commit = true,
				.has_task = bits & 128,
				.loose = bits & 256,
			};
			struct judgement j;

			verdict_judge(&f, &j);
			if (j.state != TASK_DONE)
				continue;
			assert_int_equal(f.end, RUN_OK);
			assert_true(f.claims || f.last_words == LAST_WORDS_COMPLETE);
			assert_true(f.verified);
			assert_true(f.committed);
			assert_false(f.loose);
			assert_false(f.rejected);
		}
	}
}

static void what_is_done_is_called_what_the_host_has_seen(void **state)
{
	static const struct {
		bool proved, committed;
		const char *why;
	} rows[] = {
		{true, true, "verified and committed"},
		{true, false, "verified"},
		{false, true, "committed; no command verifies it"},
		{false, false, "the agent says so; no command verifies it"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct facts f = {.claims = true,
					.verified = true,
					.proved = rows[i].proved,
					.committed = rows[i].committed};
		struct judgement j;

		verdict_judge(&f, &j);
		assert_int_equal(j.verdict, VERDICT_DONE);
		assert_string_equal(j.why, rows[i].why);
	}
}

static void only_a_provider_that_is_away_is_waited_for(void **state)
{
	for (int v = 0; v < VERDICT_N; v++)
		assert_int_equal(verdict_waits((enum verdict)v),
				 v == VERDICT_LIMITED || v == VERDICT_OUTAGE);
}

static void every_verdict_and_every_end_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int v = 0; v < VERDICT_N; v++) {
		assert_non_null(verdict_name((enum verdict)v));
		for (int other = 0; other < v; other++)
			assert_string_not_equal(verdict_name((enum verdict)v),
						verdict_name((enum verdict)other));
	}
	for (int e = 0; e < RUN_END_N; e++) {
		assert_non_null(run_end_name((enum run_end)e));
		for (int other = 0; other < e; other++)
			assert_string_not_equal(run_end_name((enum run_end)e),
						run_end_name((enum run_end)other));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_set_of_facts_has_its_verdict),
		cmocka_unit_test(nothing_is_done_without_word_proof_and_commit),
		cmocka_unit_test(what_is_done_is_called_what_the_host_has_seen),
		cmocka_unit_test(only_a_provider_that_is_away_is_waited_for),
		cmocka_unit_test(every_verdict_and_every_end_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
