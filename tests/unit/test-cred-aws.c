#include "cred-home.h"

#include <stdlib.h>

#include "cred/aws.h"

static int parse(const char *text, struct aws_keys *k)
{
	struct err err = {0};
	int r = aws_keys_parse(text, strlen(text), k, &err);

	/* Whatever is wrong, the message is no place for it. */
	assert_null(strstr(err.msg, "topsecret"));
	return r;
}

static void keys_are_read_as_aws_prints_them(void **state)
{
	cleanup_(aws_keys_done) struct aws_keys k = {0}, lasting = {0};

	assert_int_equal(parse("{\"Version\": 1, \"AccessKeyId\": \"AKIA1\", \"SecretAccessKey\": "
			       "\"topsecret/+\", \"SessionToken\": \"T==\", \"Expiration\": "
			       "\"2026-11-15T20:00:00+00:00\"}",
			       &k),
			 0);
	assert_string_equal(k.access_key, "AKIA1");
	assert_string_equal(k.secret_key, "topsecret/+");
	assert_string_equal(k.token, "T==");
	assert_int_equal(k.expires_ms, 1794772800000);
	assert_int_equal(parse("{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\","
			       "\"SessionToken\":null}",
			       &lasting),
			 0);
	assert_null(lasting.token);
	assert_int_equal(lasting.expires_ms, 0);
}

static void what_are_no_keys_is_refused_without_quoting_them(void **state)
{
	static const char *const bad[] = {
		"",
		"topsecret",
		"[\"topsecret\"]",
		"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\"",
		"{\"AccessKeyId\":\"A\"}",
		"{\"Version\":2,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\"}",
		"{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"topsecret\"}",
		"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\\r\\nHost: x\"}",
		"{\"AccessKeyId\":\"A/20200101\",\"SecretAccessKey\":\"topsecret\"}",
		"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\",\"Expiration\":\"soon\"}",
		"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\",\"Expiration\":7}",
	};
	struct aws_keys k = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(parse(bad[i], &k) < 0);
		assert_null(k.secret_key);
	}
}

static void remedy_fits_what_aws_complains_about(void **state)
{
	static const struct {
		int code;
		const char *said, *profile, *want;
	} cases[] = {
		{2, NULL, NULL, "install AWS CLI 2.9"},
		{255, "Error loading SSO Token: Token for https://x does not exist", "dev",
		 "aws sso login --profile dev"},
		{255, "Error when retrieving token from sso: Token has expired and refresh failed",
		 NULL, "run: aws sso login"},
		{253, "The SSO session associated with this profile has expired", NULL,
		 "aws sso login"},
		{253,
		 "Unable to retrieve credentials: Error when retrieving credentials from "
		 "custom-process: topsecret",
		 "x", "credential_process of profile 'x'"},
		{255, "The config profile (nope) could not be found", "nope", "set AWS_PROFILE"},
		{253, "Unable to retrieve credentials: no credentials found", NULL,
		 "aws configure"},
		{1, NULL, NULL, "exit 1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {0};

		assert_true(aws_explain(cases[i].code, cases[i].said, cases[i].profile, &err) < 0);
		if (!strstr(err.msg, cases[i].want))
			fail_msg("%s: %s", cases[i].want, err.msg);
		assert_null(strstr(err.msg, "topsecret"));
	}
}

static void region_can_stand_in_a_host_name(void **state)
{
	cleanup_free char *plain = aws_domain("eu-west-1"), *china = aws_domain("cn-north-1");

	assert_true(aws_region_is_sane("us-gov-west-1"));
	assert_false(aws_region_is_sane(""));
	assert_false(aws_region_is_sane("evil.example/"));
	assert_false(aws_region_is_sane("us-east-1 "));
	assert_false(aws_region_is_sane("-x"));
	assert_string_equal(plain, "eu-west-1.amazonaws.com");
	assert_string_equal(china, "cn-north-1.amazonaws.com.cn");
}

static void stamp_changes_with_the_files_of_aws(void **state)
{
	struct home h;
	uint64_t files, caches;

	home_make(&h);
	files = aws_stamp(&h.host, false);
	caches = aws_stamp(&h.host, true);
	assert_true(files == aws_stamp(&h.host, false));
	home_put(&h, ".aws/credentials", 0600, "[default]\n");
	assert_true(files != aws_stamp(&h.host, false));
	assert_true(caches == aws_stamp(&h.host, true));
	files = aws_stamp(&h.host, false);
	home_put(&h, ".aws/credentials", 0600, "[default]\nx=1\n");
	assert_true(files != aws_stamp(&h.host, false));
	home_put(&h, ".aws/sso/cache/a.json", 0600, "{}");
	assert_true(caches != aws_stamp(&h.host, true));
	files = aws_stamp(&h.host, false);
	home_env(&h, "AWS_CONFIG_FILE", "~/other");
	home_put(&h, "other", 0600, "");
	assert_true(files != aws_stamp(&h.host, false));
	home_drop(&h);
}

#define KEYS "{\\\"Version\\\":1,\\\"AccessKeyId\\\":\\\"A\\\",\\\"SecretAccessKey\\\":\\\"S\\\"}"

static void older_aws_before_one_that_can_is_passed_over(void **state)
{
	cleanup_(aws_keys_done) struct aws_keys k = {0};
	cleanup_free char *program = NULL, *want = NULL, *path = NULL;
	struct err err = {0};
	struct home h;

	home_make(&h);
	assert_int_equal(aws_export(&h.host, NULL, &program, &k, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no 'aws' on your PATH"));
	home_program(&h, "aws", "exit 2");
	assert_int_equal(aws_export(&h.host, NULL, &program, &k, &err), -ENOTSUP);
	assert_null(program);
	home_put(&h, "new/aws", 0755,
		 "#!/bin/sh\n[ \"$*\" = 'configure export-credentials --format process --profile "
		 "p' ] || exit 1\necho \"" KEYS "\"\n");
	path = xasprintf("%s/bin:relative:%s/new", h.dir, h.dir);
	home_env(&h, "PATH", path);
	assert_int_equal(aws_export(&h.host, "p", &program, &k, &err), 0);
	want = home_path(&h, "new/aws");
	assert_string_equal(program, want);
	assert_string_equal(k.secret_key, "S");
	home_drop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_read_as_aws_prints_them),
		cmocka_unit_test(what_are_no_keys_is_refused_without_quoting_them),
		cmocka_unit_test(remedy_fits_what_aws_complains_about),
		cmocka_unit_test(region_can_stand_in_a_host_name),
		cmocka_unit_test(stamp_changes_with_the_files_of_aws),
		cmocka_unit_test(older_aws_before_one_that_can_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
