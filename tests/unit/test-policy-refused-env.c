#include "tests.h"

#include "policy/refused-env.h"

static int check(const char *name, const char *value, const char *pattern, struct err *err)
{
	cleanup_strv struct strv patterns = {0};

	*err = (struct err){0};
	if (pattern)
		strv_split(&patterns, pattern, ',');
	return refused_env_check(name, value, &patterns, "dev.yaml:3", err);
}

static void refused(const char *name, const char *value, const char *pattern)
{
	struct err err;

	if (check(name, value, pattern, &err) == 0)
		fail_msg("%s=%s went through", name, value ? value : "(unset)");
	assert_int_equal(err.exit_code, EXIT_REFUSED);
	assert_non_null(strstr(err.msg, "dev.yaml:3"));
	assert_non_null(strstr(err.msg, name));
	if (value && strlen(value) > 20)
		assert_null(strstr(err.msg, value));
}

static void taken(const char *name, const char *value, const char *pattern)
{
	struct err err;

	if (check(name, value, pattern, &err) < 0)
		fail_msg("%s", err.msg);
}

static void tokens_of_an_identity_are_refused_by_name_even_when_unset(void **state)
{
	refused("GITHUB_TOKEN", NULL, NULL);
	refused("GITHUB_TOKEN", "x", NULL);
	refused("GH_ENTERPRISE_TOKEN", NULL, NULL);
	taken("MY_GITHUB_TOKEN_NAME", "x", NULL);
	taken("EDITOR", NULL, NULL);
}

static void patterns_hold_for_names_and_values_case_aside(void **state)
{
	refused("ACME_URL", "x", "ACME_*");
	refused("acme_url", NULL, "ACME_*");
	refused("URL", "https://git.acme.example/", "*.acme.example*");
	refused("USER_NAME", "me@ACME.example", "@acme.example");
	taken("PACME_URL", "x", "ACME_*");
	taken("URL", NULL, "@acme.example");
	refused("B", "x", "other,b");
}

static void patterns_with_its_signs_are_regular_expressions_too(void **state)
{
	refused("MY_VENDOR_URL", "x", "MYCORP|VENDOR");
	refused("mycorp", NULL, "MYCORP|VENDOR");
	refused("URL", "https://git.mycorp.example", "mycorp\\.example|vendor");
	refused("ACME_1", "x", "^ACME_[0-9]$");
	taken("ACME_12", "x", "^ACME_[0-9]$");
	taken("OTHER", "x", "MYCORP|VENDOR");
	/* A glob in parentheses: names as an expression, values as a glob. */
	refused("MY_ACME_URL", "x", "(ACME_*)");
	taken("URL", "acme", "(ACME_*)");
	/* As an expression it would match the empty string, and so every name. */
	refused("ACME_URL", "x", "A*,(A*)");
	taken("MINE", "x", "A*,(A*)");
	taken("MINE", "x", "(.*)");
	/* One that can only be meant as an expression stays one. */
	refused("MINE", "x", "MYCORP|VENDOR|");
	/* The user's expression is never half of one. */
	refused("ANY", "x", "(");
}

static void expressions_that_are_none_or_have_no_bound_are_told(void **state)
{
	static const char *const wrong[] = {
		"(",
		"a)(",
		"\\",
		"a{1,2}{1,2}{1,2}$",
		"(a{1,100})",
		"(a)\\1",
		"([)",
		/* regcomp() would double it with each sign and take all memory. */
		"\\++++++++++++++++++++++++++++++++++++++++",
		/* regexec() would take minutes. */
		"\\+?+?+++++++",
		"((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)",
	};
	static const char *const right[] = {
		"*_CORP",	    "[a",
		"a{1,2}{1,2}{1,2}", "A|B",
		"^A_{1,9}$",	    "^([A-Z]+_)+(TOKEN|KEY)$",
		"^A\\+?$",	    "^[*+]?B[]+]*$",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (!refused_env_wrong(wrong[i]))
			fail_msg("%s is taken", wrong[i]);
	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		if (refused_env_wrong(right[i]))
			fail_msg("%s is not taken", right[i]);
}

static void values_that_look_like_a_secret_are_refused(void **state)
{
	static const char *const bad[] = {
		"sk-"
		"ant-"
		"0123456789abcdefghij",
		"Bearer gh"
		"p_"
		"0123456789abcdefghij0123",
		"https://x:github_pat_11AAAAAAA0abcdefghijklm@github.com/",
		"AKIAIOSFODNN7EXAMPLE",
		"AIzaSyA0123456789abcdefghijklmnopqrstuv",
		"xoxb-123456789012-abcdefghijkl",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nx",
		"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkoifQ.x",
	};
	static const char *const good[] = {
		"sk-", "phantom", "task-ant-hill", "AKIA", "https://example.org/sk-ant",
		"1",   "eyJ",	  "risk-free"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refused("VALUE", bad[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		taken("VALUE", good[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_of_an_identity_are_refused_by_name_even_when_unset),
		cmocka_unit_test(patterns_hold_for_names_and_values_case_aside),
		cmocka_unit_test(patterns_with_its_signs_are_regular_expressions_too),
		cmocka_unit_test(expressions_that_are_none_or_have_no_bound_are_told),
		cmocka_unit_test(values_that_look_like_a_secret_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
