#include "tests.h"

#include "web/verbs.h"

static const struct verb_args good = {
	.workspace = "/home/you/shop",
	.task = "US-1",
	.sandbox = "agent-loop-x",
	.host = "docs.example.org:443",
	.quarantine = "0123abcd",
	.ask = "89abcdef",
	.text = "blue; rm -rf /",
};

static int words(const char *name, const struct verb_args *a)
{
	cleanup_strv struct strv v = {0};
	struct err err;

	return verb_words(verb_find(name), a, &v, &err);
}

static void every_act_is_a_command_that_can_be_shown(void **state)
{
	for (size_t i = 0; i < n_verbs; i++) {
		cleanup_free char *line = verb_line(&verbs[i], &good);

		assert_non_null(line);
		assert_non_null(strstr(line, "ralph "));
	}
	assert_int_equal(n_verbs, 18);
}

static void no_act_starts_an_agent_or_changes_a_setting(void **state)
{
	static const char *const never[] = {"run",   "exec",   "shell",	     "build", "loop",
					    "plan",  "up",     "audit",	     "cp",    "apply",
					    "rm",    "gc",     "config",     "trust", "ports",
					    "image", "logout", "store-token"};

	for (size_t i = 0; i < n_verbs; i++)
		for (size_t k = 0; k < ARRAY_SIZE(never); k++)
			assert_string_not_equal(verbs[i].words[0], never[k]);
}

static void what_gives_an_agent_more_needs_the_highest_level(void **state)
{
	static const char *const more[] = {"allow-once",  "allow-sandbox", "allow-project",
					   "release",	  "resume",	   "ask-once",
					   "ask-sandbox", "ask-loop",	   "ask-project"};

	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		assert_int_equal(verb_find(more[i])->level, LEVEL_GRANT);
	for (size_t i = 0; i < n_verbs; i++)
		assert_true(verbs[i].level > LEVEL_LOOK);
}

static void a_line_is_quoted_for_a_shell(void **state)
{
	cleanup_free char *answer = verb_line(verb_find("answer"), &good),
			  *stop = verb_line(verb_find("stop"), &good);

	assert_string_equal(answer, "ralph answer -C /home/you/shop -t US-1 -- 'blue; rm -rf /'");
	assert_string_equal(stop, "cd /home/you/shop && ralph stop");
}

static void an_argument_of_another_form_is_refused(void **state)
{
	static const char *const hosts[] = {"*.example.org:443",
					    "example.org",
					    "10.0.0.7:443",
					    "localhost:80",
					    "[::1]:80",
					    "@npm",
					    "EXAMPLE.org:443",
					    "example.org:0443",
					    "--user",
					    "metadata.google.internal:80"};
	static const char *const boxes[] = {"", "-x", "../x", "A", "a/b", "--all"};
	static const char *const ids[] = {"", "0123abcg", "--all", "0123abcd0", "../../x"};
	static const char *const paths[] = {"", "relative", "/a/../b", "/a//b", "--help"};
	struct verb_args a;

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		a = good;
		a.host = hosts[i];
		assert_int_equal(words("allow-sandbox", &a), -EINVAL);
		assert_int_equal(words("deny", &a), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++) {
		a = good;
		a.sandbox = boxes[i];
		assert_int_equal(words("deny", &a), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		a = good;
		a.quarantine = ids[i];
		assert_int_equal(words("drop", &a), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		a = good;
		a.workspace = paths[i];
		assert_int_equal(words("pause", &a), -EINVAL);
		assert_int_equal(words("stop", &a), -EINVAL);
	}
	a = good;
	a.task = "a\nb";
	assert_int_equal(words("reopen", &a), -EINVAL);
	a = good;
	a.text = "";
	assert_int_equal(words("answer", &a), -EINVAL);
	assert_int_equal(words("answer", &(struct verb_args){0}), -EINVAL);
}

static void a_verb_that_is_in_no_table_is_none(void **state)
{
	assert_null(verb_find("run"));
	assert_null(verb_find(""));
	assert_int_equal(level_of("root"), LEVEL_N);
	assert_int_equal(level_of("steer"), LEVEL_STEER);
	assert_string_equal(level_name(LEVEL_GRANT), "grant");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_act_is_a_command_that_can_be_shown),
		cmocka_unit_test(no_act_starts_an_agent_or_changes_a_setting),
		cmocka_unit_test(what_gives_an_agent_more_needs_the_highest_level),
		cmocka_unit_test(a_line_is_quoted_for_a_shell),
		cmocka_unit_test(an_argument_of_another_form_is_refused),
		cmocka_unit_test(a_verb_that_is_in_no_table_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
