#include "loop-tests.h"

#include "work/progress.h"

static const char journal[] = "# Progress\n"
			      "## Codebase Patterns\n"
			      "- use make\n"
			      "---\n"
			      "## US-1\n"
			      "did it\n";

static struct buf of(const char *text)
{
	struct buf b;

	buf_init(&b, WORK_PROGRESS_MAX);
	(void)buf_puts(&b, text);
	return b;
}

static void becomes(const char *put, const char *theirs, const char *now, const char *want,
		    const char *say)
{
	struct buf a = of(put), b = of(theirs), c = of(now), ret = of("");
	cleanup_proposals struct proposals p = {0};
	bool moved = progress_judge(&a, &b, &c, &ret, &p);

	assert_string_equal(buf_str(&ret), want);
	assert_int_equal(moved, !streq(now, want));
	assert_int_equal(p.n_offences > 0, say != NULL);
	if (say && !strstr(p.offences.v[0], say))
		fail_msg("'%s' does not say '%s'", p.offences.v[0], say);
	buf_done(&a);
	buf_done(&b);
	buf_done(&c);
	buf_done(&ret);
}

static void what_is_appended_stays(void **state)
{
	char *theirs = xasprintf("%s## US-2\nmore", journal);

	becomes(journal, theirs, journal, theirs, NULL);
	becomes("", "first\n", "", "first\n", NULL);
	becomes(journal, journal, journal, journal, NULL);
	free(theirs);
}

static void the_head_may_be_edited_while_text_is_appended(void **state)
{
	char *edited = with(journal, "- use make\n", "- use ninja\n- and ccache\n");
	char *theirs = xasprintf("%smore\n", edited);

	becomes(journal, theirs, journal, theirs, NULL);
	free(edited);
	free(theirs);
}

static void a_first_head_goes_to_the_top(void **state)
{
	becomes("one\n", "one\n## Codebase Patterns\n- x\n---\ntwo\n", "one\n",
		"## Codebase Patterns\n- x\none\n---\ntwo\n", NULL);
}

static void what_was_written_before_is_put_back(void **state)
{
	char *changed = with(journal, "did it", "did nothing"),
	     *cut = with(journal, "## US-1\ndid it\n", "");
	char *beheaded = with(journal, "## Codebase Patterns\n- use make\n", "");

	becomes(journal, changed, journal, journal, "changed above its end");
	becomes(journal, cut, journal, journal, "changed above its end");
	becomes(journal, "", journal, journal, "changed above its end");
	becomes(journal, beheaded, journal, journal, "the head of progress.txt was removed");
	becomes(journal, "\xff", journal, journal, "no UTF-8");
	free(changed);
	free(cut);
	free(beheaded);
}

static void two_turns_at_once_both_keep_what_they_wrote(void **state)
{
	char *now = xasprintf("%sby another\n", journal);
	char *mine_head = with(journal, "- use make\n", "- use make\n- mine\n");
	char *mine = xasprintf("%sby me\n", mine_head);
	char *both = with(now, "- use make\n", "- use make\n- theirs\n");
	char *joined = with(both, "- theirs\n", "- theirs\n- mine\n");
	char *want = xasprintf("%sby me\n", joined);

	becomes(journal, mine, both, want, NULL);
	free(now);
	free(mine_head);
	free(mine);
	free(both);
	free(joined);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_appended_stays),
		cmocka_unit_test(the_head_may_be_edited_while_text_is_appended),
		cmocka_unit_test(a_first_head_goes_to_the_top),
		cmocka_unit_test(what_was_written_before_is_put_back),
		cmocka_unit_test(two_turns_at_once_both_keep_what_they_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
