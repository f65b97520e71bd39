#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/mask.h"
#include "base/mem.h"

static void masks_to(const char *value, const char *want)
{
	cleanup_free char *got = mask_text(value);

	assert_string_equal(got, want);
}

static void mask_shows_the_first_four_of_sixteen_or_more(void **state)
{
	masks_to("sk-ant-api03-abcdefWXYZ", "sk-a…");
	masks_to("1234567890123456", "1234…");
}

static void mask_of_fewer_than_sixteen_characters_shows_nothing(void **state)
{
	masks_to("123456789012345", "***");
	masks_to("123456789012", "***");
	masks_to("x", "***");
	masks_to("", "***");
	/* Characters, not bytes. */
	masks_to("äöüäöüäöüäöüäöü", "***");
	masks_to("äöüäöüäöüäöüäöüä", "äöüä…");
}

static void mask_takes_any_bytes(void **state)
{
	masks_to("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		 "\xff\xff\xff\xff…");
	masks_to("abcdefghijklmno\xe2\x82", "abcd…");
}

static void mask_knows_secrets_by_their_names(void **state)
{
	static const char *const secret[] = {
		"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD",
		"db_password",	     "MY_SECRET",    "DB_PWD",
		"HTTP_AUTH",	     "CLIENTSECRET", "OPENAIKEY",
		"OPENAIKEY2",	     "MYSECRETS",    "MY_KEYFILE_TEXT",
		"secretsauce",	     "PASS",	     "SENTRY_DSN",
		"AWS_SESSION_TOKEN", "CREDENTIALS",  "npm_config_//registry/:_authToken",
	};
	static const char *const plain[] = {
		"PATH",
		"PWD",
		"OLDPWD",
		"KEYBOARD",
		"TERM",
		"TOKENIZERS_PARALLELISM",
		"LANG",
		"AUTHOR_NAME",
		"COMPASS",
		"MONKEY",
		"KEYBOARD_LAYOUT",
		"VIM_KEYMAP",
		"CI",
		"GIT_AUTHOR_NAME",
		"GIT_CONFIG_KEY_0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		if (!mask_is_secret(secret[i], "x"))
			fail_msg("%s is shown", secret[i]);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (mask_is_secret(plain[i], "value"))
			fail_msg("%s is masked", plain[i]);
	/* Where a secret lies is none; nor is nothing. */
	assert_false(mask_is_secret("AWS_SHARED_CREDENTIALS_FILE", "/home/you/.aws/credentials"));
	assert_true(mask_is_secret("AWS_SHARED_CREDENTIALS_FILE", "hunter2"));
	assert_false(mask_is_secret("API_KEY", ""));
}

static void mask_knows_secrets_by_their_shape(void **state)
{
	/* In two parts, so that no scanner takes this file for a leak. */
	static const char *const secret[] = {
		"sk-"
		"ant-api03-0123456789abcdef",
		"ghp_"
		"0123456789abcdefghijABCDEFGHIJ012345",
		"AKIA"
		"IOSFODNN7EXAMPLE",
		"eyJ"
		"hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
		"https://me:hunter2@git.example/x",
		"postgres://user:pw@db.example:5432/x",
		"-----BEGIN OPENSSH PRIVATE KEY-----",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"0123456789abcdef0123456789abcdef",
		"Authorization: Bearer sk-"
		"ant-api03-0123456789abcdef",
		"--key=sk-"
		"ant-api03-0123456789abcdef",
	};
	static const char *const plain[] = {
		"xterm-256color",
		"/usr/local/bin:/usr/bin:/nix/store/0123456789abcdef0123456789abcdef-x/bin",
		"http://127.0.0.1:3128",
		"https://me@git.example/x",
		"localhost,127.0.0.1,::1",
		"a perfectly ordinary sentence of more than thirty-two characters",
		"agent-loop-claude-feature-with-a-long-name-2",
		"1",
		"sk-",
	};

	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		if (!mask_is_secret("X", secret[i]))
			fail_msg("%s is shown", secret[i]);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (mask_is_secret("X", plain[i]))
			fail_msg("%s is masked", plain[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mask_shows_the_first_four_of_sixteen_or_more),
		cmocka_unit_test(mask_of_fewer_than_sixteen_characters_shows_nothing),
		cmocka_unit_test(mask_takes_any_bytes),
		cmocka_unit_test(mask_knows_secrets_by_their_names),
		cmocka_unit_test(mask_knows_secrets_by_their_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
