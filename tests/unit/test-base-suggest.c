#include "tests.h"

#include "base/mem.h"
#include "base/text/suggest.h"

static const char *const words[] = {"memory", "pids", "timeout", "tmp", "open_files"};

static const char *near(const char *word)
{
	return suggest(word, words, ARRAY_SIZE(words));
}

static void suggest_swapped_letters_finds_the_word(void **state)
{
	assert_string_equal(near("memroy"), "memory");
}

static void suggest_missing_or_added_letter_finds_the_word(void **state)
{
	assert_string_equal(near("timout"), "timeout");
	assert_string_equal(near("pidss"), "pids");
	assert_string_equal(near("openfiles"), "open_files");
}

static void suggest_prefers_the_nearest(void **state)
{
	static const char *const two[] = {"abcdef", "abcdeg"};

	assert_string_equal(suggest("abcdegg", two, 2), "abcdeg");
}

static void suggest_far_words_gives_nothing(void **state)
{
	char huge[4096];

	assert_null(near("zebra"));
	assert_null(near(""));
	assert_null(near("xyz"));
	memset(huge, 'm', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_null(near(huge));
	assert_null(suggest("a", NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suggest_swapped_letters_finds_the_word),
		cmocka_unit_test(suggest_missing_or_added_letter_finds_the_word),
		cmocka_unit_test(suggest_prefers_the_nearest),
		cmocka_unit_test(suggest_far_words_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
