#include "tests.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/proc.h"
#include "cred/hold/sigv4.h"

/* The keys, time and results that AWS publishes with its description of the signature. */
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define DATE "20150830T123600Z"
#define NOW_MS 1440938160000ULL
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sigv4_keys suite = {
	.access_key = "AKIDEXAMPLE",
	.secret_key = SECRET,
	.region = "us-east-1",
	.service = "service",
};

static void expect(const struct sigv4_keys *k, const char *target, const char *const *fields,
		   const char *signature)
{
	cleanup_free char *canonical = NULL;
	cleanup_strv struct strv v;
	struct err err = {0};
	char got[65];

	strv_init(&v);
	for (; *fields; fields++)
		strv_push(&v, *fields);
	assert_int_equal(sigv4_canonical("GET", target, &v, EMPTY, &canonical, &err), 0);
	assert_int_equal(sigv4_signature(k, DATE, canonical, got, &err), 0);
	assert_string_equal(got, signature);
}

static void published_signatures_are_reproduced(void **state)
{
	static const char *const plain[] = {"host:example.amazonaws.com", "x-amz-date:" DATE, NULL};
	static const char *const iam[] = {
		"content-type:application/x-www-form-urlencoded; charset=utf-8",
		"host:iam.amazonaws.com", "x-amz-date:" DATE, NULL};
	struct sigv4_keys k = suite;

	/* get-vanilla, get-vanilla-query-order-key-case, get-vanilla-query-unreserved */
	expect(&k, "/", plain, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
	expect(&k, "/?Param2=value2&Param1=value1", plain,
	       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
	expect(&k,
	       "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz="
	       "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	       plain, "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197");
	k.service = "iam";
	expect(&k, "/?Action=ListUsers&Version=2010-05-08", iam,
	       "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

static char *canonical_of(const char *target)
{
	cleanup_strv struct strv none;
	struct err err = {0};
	char *ret = NULL;

	strv_init(&none);
	assert_int_equal(sigv4_canonical("GET", target, &none, EMPTY, &ret, &err), 0);
	return ret;
}

static void expect_canonical(const char *target, const char *path_and_query)
{
	cleanup_free char *got = canonical_of(target);
	cleanup_free char *want = xasprintf("GET\n%s\n\n\n" EMPTY, path_and_query);

	assert_string_equal(got, want);
}

static void path_is_encoded_again_and_query_is_put_into_order(void **state)
{
	expect_canonical("/model/anthropic.claude-v1:0/invoke",
			 "/model/anthropic.claude-v1%3A0/invoke\n");
	expect_canonical("/model/a%3A0%2Fb/invoke", "/model/a%253A0%252Fb/invoke\n");
	expect_canonical("/x?b=2&a=1", "/x\na=1&b=2");
	expect_canonical("/x?a=2&a=1&a", "/x\na=&a=1&a=2");
	/* The shorter name first, although '=' sorts behind '1' and before 'a'. */
	expect_canonical("/x?a1=1&a=2&aa=3&a-=4", "/x\na=2&a-=4&a1=1&aa=3");
	expect_canonical("/x?type=a:b/c%20d", "/x\ntype=a%3Ab%2Fc%20d");
	expect_canonical("/x?a=%zz&b=%4", "/x\na=%25zz&b=%254");
	expect_canonical("/x?", "/x\n");
}

static void what_cannot_be_signed_is_an_error(void **state)
{
	struct sigv4_request r = {.method = "GET", .host = "h", .target = "/", .body_sha256 = ""};
	cleanup_free char *long_target = xmalloc(SIGV4_TARGET_MAX + 3);
	cleanup_strv struct strv set;
	struct err err = {0};

	strv_init(&set);
	assert_int_equal(sigv4_sign(&suite, &r, NOW_MS, &set, &err), -EINVAL);
	r.body_sha256 = EMPTY;
	r.target = "x";
	assert_int_equal(sigv4_sign(&suite, &r, NOW_MS, &set, &err), -EINVAL);
	memset(long_target, 'a', SIGV4_TARGET_MAX + 2);
	long_target[0] = '/';
	long_target[SIGV4_TARGET_MAX + 2] = '\0';
	r.target = long_target;
	assert_int_equal(sigv4_sign(&suite, &r, NOW_MS, &set, &err), -EINVAL);
	assert_int_equal(set.n, 0);
}

/* What botocore signs for the same requests. */
static void botocore_signs_the_same(void **state)
{
	static const struct {
		const char *method, *target, *content_type, *token;
	} cases[] = {
		{"POST", "/model/us.anthropic.claude-sonnet-5-5-v1:0/invoke", "application/json",
		 NULL},
		{"POST", "/model/us.anthropic.claude-sonnet-5-5-v1%3A0/invoke-with-response-stream",
		 "application/json", "FwoGZXIvYXdzEXAMPLE//token+with=signs"},
		{"GET", "/inference-profiles?type=SYSTEM_DEFINED", NULL, "t"},
		{"GET", "/inference-profiles?maxResults=10&type=A&nextToken=x%2Fy%3D&empty=", NULL,
		 NULL},
		{"GET",
		 "/inference-profiles/"
		 "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fx",
		 NULL, "t"},
		{"POST", "/model/a~b_c.d-e/invoke", "application/json; charset=utf-8", NULL},
	};
	cleanup_buf struct buf lines;
	cleanup_strv struct strv ours, theirs;
	cleanup_free char *out = NULL, *path = NULL;
	char *argv[] = {(char *)"/bin/sh",
			(char *)"-c",
			(char *)"exec /usr/bin/python3 \"$0\" <\"$1\"",
			(char *)SOURCE_ROOT "/tests/lib/sigv4-botocore.py",
			NULL,
			NULL};
	struct err err = {0};
	int code = 0, fd;

	buf_init(&lines, 64 * KiB);
	strv_init(&ours);
	strv_init(&theirs);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sigv4_keys k = suite;
		struct sigv4_request r = {
			.method = cases[i].method,
			.host = "bedrock-runtime.us-east-1.amazonaws.com",
			.target = cases[i].target,
			.content_type = cases[i].content_type,
			.body_sha256 = EMPTY,
		};
		cleanup_strv struct strv set;

		strv_init(&set);
		k.service = "bedrock";
		k.token = cases[i].token;
		assert_int_equal(sigv4_sign(&k, &r, NOW_MS, &set, &err), 0);
		assert_int_equal(set.n, k.token ? 4 : 3);
		assert_string_equal(set.v[0], "X-Amz-Date: " DATE);
		strv_push(&ours, set.v[set.n - 1] + strlen("Authorization: "));
		(void)buf_printf(&lines, "%s\t%s\t%s\t%s\t%s\t%s\t%s\thttps://%s%s\t%s\t%s\n",
				 k.access_key, k.secret_key, k.token ? k.token : "-", k.region,
				 k.service, DATE, r.method, r.host, r.target,
				 r.content_type ? r.content_type : "-", r.body_sha256);
	}
	fd = fd_memfd("requests", lines.data, lines.len);
	assert_true(fd >= 0);
	argv[4] = path = xasprintf("/proc/%d/fd/%d", (int)getpid(), fd);
	assert_int_equal(run_capture(argv, NULL, 30000, 64 * KiB, &out, &code, &err), 0);
	(void)close(fd);
	assert_int_equal(code, 0);
	strv_split(&theirs, out, '\n');
	assert_int_equal(theirs.n, ours.n);
	for (size_t i = 0; i < ours.n; i++)
		assert_string_equal(ours.v[i], theirs.v[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_signatures_are_reproduced),
		cmocka_unit_test(path_is_encoded_again_and_query_is_put_into_order),
		cmocka_unit_test(what_cannot_be_signed_is_an_error),
		cmocka_unit_test(botocore_signs_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
