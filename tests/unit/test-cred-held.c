/* The other half of the rows: from a reference to the fields of a request, and renewals. The
 * program that would talk to the network is a script that notes what it was asked. */
#include "cred-home.h"

#include "base/fd.h"
#include "base/json/json.h"
#include "cred/hold/hold.h"

#define DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define NOW_MS 1794772800000ULL /* 2026-11-15T20:00:00Z */

static struct home home;
static struct cred *cred;

static int setup(void **state)
{
	home_make(&home);
	home_env(&home, "PATH", "/bin:/usr/bin");
	home.host.now_ms = NOW_MS;
	cred = NULL;
	return 0;
}

static int teardown(void **state)
{
	cred = cred_free(cred);
	home_drop(&home);
	return 0;
}

static void hold(const char *provider, const char *source)
{
	struct err err = {0};

	cred = cred_new(&home.host, provider, "name", source, "https://h.test", &err);
	if (!cred)
		fail_msg("%s", err.msg);
}

static void hold_file(const char *provider, const char *name)
{
	cleanup_free char *path = home_path(&home, name), *source = xasprintf("file:%s", path);

	hold(provider, source);
}

static int ask(const char *target, bool rejected, const char *digest, struct cred_header *h,
	       struct err *err)
{
	struct cred_request r = {
		.method = "POST",
		.host = "h.test",
		.target = target,
		.port = 443,
		.content_type = "application/json",
		.body_sha256 = digest,
		.rejected = rejected,
	};

	*err = (struct err){0};
	cred_header_init(h);
	return cred_answer(cred, &r, h, err);
}

/* One answer must have this field, and the secret must be among what is scrubbed. */
static void expect(const char *target, bool rejected, const char *field, const char *secret)
{
	cleanup_(cred_header_done) struct cred_header h;
	struct err err;

	if (ask(target, rejected, DIGEST, &h, &err) < 0)
		fail_msg("%s", err.msg);
	if (!strv_has(&h.set, field))
		fail_msg("not '%s' but '%s'", field, h.set.n ? h.set.v[0] : "nothing");
	assert_true(strv_has(&h.secrets, secret));
	assert_true(strv_has(&h.drop, "authorization"));
}

static void expect_error(bool rejected, const char *what)
{
	cleanup_(cred_header_done) struct cred_header h;
	struct err err;

	assert_true(ask("/", rejected, DIGEST, &h, &err) < 0);
	if (!strstr(err.msg, what))
		fail_msg("not '%s': %s", what, err.msg);
	assert_null(strstr(err.msg, "topsecret"));
}

static char *read_home(const char *name)
{
	cleanup_free char *path = home_path(&home, name);
	struct buf b;

	buf_init(&b, MiB);
	assert_true(path_read(AT_FDCWD, path, &b) >= 0);
	return buf_take(&b);
}

static size_t lines_in(const char *name)
{
	cleanup_free char *text = read_home(name);
	size_t n = 0;

	for (char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

/* What the server says from now on. */
static void answer(unsigned status, const char *body)
{
	cleanup_json json_t *j = json_pack("{si ss}", "status", (int)status, "body", body);
	cleanup_free char *text = json_dumps(j, 0);
	cleanup_free char *script =
		xasprintf("{ cat; echo \"$@\"; } >>%s/asked\ncat %s/answer", home.dir, home.dir);

	home_put(&home, "answer", 0600, text);
	home_program(&home, "fetch", script);
}

static void aws(const char *key, const char *secret, const char *expires)
{
	cleanup_free char *script =
		xasprintf("echo run >>%s/runs\necho '{\"Version\":1,\"AccessKeyId\":\"%s\","
			  "\"SecretAccessKey\":\"%s\",\"SessionToken\":\"tok-%s\"%s%s%s}'",
			  home.dir, key, secret, secret, expires ? ",\"Expiration\":\"" : "",
			  expires ? expires : "", expires ? "\"" : "");

	home_program(&home, "aws", script);
}

static void hold_bedrock(void)
{
	cleanup_free char *program = xasprintf("program=%s/bin/aws", home.dir);

	hold("bedrock", "aws:default");
	strv_push(&cred->options, "region=us-east-1");
	strv_push(&cred->options, program);
}

/* The access key that signed. */
static void expect_signed_by(const char *key)
{
	cleanup_(cred_header_done) struct cred_header h;
	cleanup_free char *want = xasprintf("Authorization: AWS4-HMAC-SHA256 Credential=%s/", key);
	struct err err;

	if (ask("/model/x/invoke", false, DIGEST, &h, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(h.set.n, 4);
	if (strncmp(h.set.v[3], want, strlen(want)) != 0)
		fail_msg("%s", h.set.v[3]);
	/* A signature is for one request. */
	assert_int_equal(h.keep_ms, 0);
	assert_int_equal(h.secrets.n, 2);
}

static void every_row_has_a_holder(void **state)
{
	for (size_t i = 0; i < cred_provider_count(); i++)
		assert_non_null(cred_holder_find(cred_provider_at(i)->name));
	assert_null(cred_holder_find("openai_key"));
	assert_null(cred_holder_find("openai-ke"));
	assert_null(cred_holder_find("openai-key2"));
	assert_null(cred_holder_find(""));
}

static void bedrock_signs_when_it_knows_the_body(void **state)
{
	cleanup_(cred_header_done) struct cred_header h;
	struct err err;

	aws("AKIA1", "topsecret", NULL);
	hold_bedrock();
	assert_int_equal(ask("/model/x/invoke", false, "", &h, &err), -ENODATA);
	expect_signed_by("AKIA1");
	expect_signed_by("AKIA1");
	assert_int_equal(lines_in("runs"), 1);
}

static void bedrock_uses_what_was_replaced_with_the_next_request(void **state)
{
	aws("AKIA1", "one", "2026-11-15T21:00:00Z");
	home_put(&home, ".aws/credentials", 0600, "[default]\n");
	hold_bedrock();
	expect_signed_by("AKIA1");
	aws("AKIA2", "two", "2026-11-15T21:00:00Z");
	expect_signed_by("AKIA1");
	home_put(&home, ".aws/credentials", 0600, "[default]\nx=1\n");
	expect_signed_by("AKIA2");
	aws("AKIA3", "three", "2026-11-15T21:00:00Z");
	home_put(&home, ".aws/sso/cache/new.json", 0600, "{}");
	expect_signed_by("AKIA3");
	assert_int_equal(lines_in("runs"), 3);
}

static void bedrock_renews_before_the_end_and_lasts_through_a_failure(void **state)
{
	aws("AKIA1", "one", "2026-11-15T21:00:00Z");
	hold_bedrock();
	expect_signed_by("AKIA1");
	home_program(&home, "aws", "echo 'SSO Token has expired' >&2; exit 255");
	home.host.now_ms = NOW_MS + 57 * 60 * 1000;
	cred->loaded_ms = 0; /* it was not just now */
	expect_signed_by("AKIA1");
	home.host.now_ms = NOW_MS + 61 * 60 * 1000;
	expect_error(false, "run: aws sso login");
	aws("AKIA2", "two", "2026-11-15T23:00:00Z");
	expect_signed_by("AKIA2");
}

static void bedrock_keys_without_an_end_last_as_long_as_aws_gives_them(void **state)
{
	home_put(&home, ".aws/credentials", 0600, "[default]\n");
	aws("AKIA1", "one", NULL);
	hold_bedrock();
	expect_signed_by("AKIA1");
	home_program(&home, "aws", "echo 'no credentials found' >&2; exit 253");
	home_forget(&home, ".aws/credentials");
	expect_error(false, "no credentials");
	expect_error(false, "no credentials");
}

static void bedrock_bearer_token_is_sent_as_one(void **state)
{
	home_env(&home, "AWS_BEARER_TOKEN_BEDROCK", "topsecret");
	hold("bedrock", "env:AWS_BEARER_TOKEN_BEDROCK");
	expect("/model/x/invoke", false, "Authorization: Bearer topsecret", "topsecret");
}

#define AUTH ".codex/auth.json"
#define CHATGPT(access, refresh)                                                                   \
	"{\"auth_mode\":\"chatgpt\",\"tokens\":{\"access_token\":\"" access                        \
	"\",\"refresh_token\":\"" refresh "\",\"account_id\":\"acct\"},\"kept\":{\"x\":1}}"

static void chatgpt_login_goes_with_its_account(void **state)
{
	home_put(&home, AUTH, 0600, CHATGPT("one", "r1"));
	hold_file("openai-chatgpt", AUTH);
	expect("/responses", false, "Authorization: Bearer one", "one");
	expect("/responses", false, "chatgpt-account-id: acct", "one");
	/* What the user replaced is used at once. */
	home_put(&home, AUTH, 0600, CHATGPT("two", "r2"));
	expect("/responses", false, "Authorization: Bearer two", "two");
	/* Somebody is writing it. */
	home_put(&home, AUTH, 0600, "{\"tok");
	expect("/responses", false, "Authorization: Bearer two", "two");
}

static void chatgpt_login_is_renewed_once_and_its_file_kept(void **state)
{
	cleanup_free char *asked = NULL, *saved = NULL;

	answer(200, "{\"access_token\":\"two\",\"refresh_token\":\"r2\",\"expires_in\":3600}");
	home_put(&home, AUTH, 0600, CHATGPT("one", "r1"));
	hold_file("openai-chatgpt", AUTH);
	expect("/responses", false, "Authorization: Bearer one", "one");
	expect("/responses", true, "Authorization: Bearer two", "two");
	expect("/responses", false, "Authorization: Bearer two", "two");
	asked = read_home("asked");
	assert_non_null(strstr(asked, "auth.openai.com/oauth/token"));
	assert_non_null(strstr(asked, "r1"));
	assert_int_equal(lines_in("asked"), 1);
	saved = read_home(AUTH);
	assert_non_null(strstr(saved, "\"r2\""));
	assert_non_null(strstr(saved, "\"kept\""));
	assert_non_null(strstr(saved, "2026-11-15T20:00:00Z"));
}

static void refuse_often(void)
{
	for (int i = 0; i < 150; i++)
		expect_error(true, "no newer one");
}

static void refusals_renew_once_a_minute_and_less_often_while_they_go_on(void **state)
{
	answer(200, "{\"access_token\":\"two\",\"refresh_token\":\"r2\",\"expires_in\":3600}");
	home_put(&home, AUTH, 0600, CHATGPT("one", "r1"));
	hold_file("openai-chatgpt", AUTH);
	expect("/responses", false, "Authorization: Bearer one", "one");
	expect("/responses", true, "Authorization: Bearer two", "two");
	refuse_often();
	assert_int_equal(lines_in("asked"), 1);
	/* A minute later. */
	cred->again_ms = now_ms();
	refuse_often();
	assert_int_equal(lines_in("asked"), 2);
	assert_int_equal(cred->again_wait, 2 * CRED_AGAIN_MS);
	/* A refusal after a time without any. */
	cred->again_ms = now_ms() - cred->again_wait - 1;
	refuse_often();
	assert_int_equal(lines_in("asked"), 3);
	assert_int_equal(cred->again_wait, CRED_AGAIN_MS);
	/* However long they go on. */
	cred->again_wait = CRED_AGAIN_MAX_MS;
	cred->again_ms = now_ms();
	refuse_often();
	assert_int_equal(cred->again_wait, CRED_AGAIN_MAX_MS);
	/* A value that came from elsewhere is used at once. */
	home_put(&home, AUTH, 0600, CHATGPT("theirs", "r3"));
	expect("/responses", true, "Authorization: Bearer theirs", "theirs");
}

static void refusals_do_not_run_the_users_command_each_time(void **state)
{
	cleanup_free char *source =
		xasprintf("command:echo run >>%s/runs; cat %s/token", home.dir, home.dir);

	home_put(&home, "token", 0600, "one\n");
	hold("bearer", source);
	expect("/", false, "Authorization: Bearer one", "one");
	home_put(&home, "token", 0600, "two\n");
	expect("/", true, "Authorization: Bearer two", "two");
	refuse_often();
	assert_int_equal(lines_in("runs"), 2);
}

static void somebody_elses_renewal_is_taken(void **state)
{
	answer(200, "{\"access_token\":\"ours\"}");
	home_put(&home, AUTH, 0600, CHATGPT("one", "r1"));
	hold_file("openai-chatgpt", AUTH);
	expect("/responses", false, "Authorization: Bearer one", "one");
	home_put(&home, AUTH, 0600, CHATGPT("theirs", "r2"));
	expect("/responses", true, "Authorization: Bearer theirs", "theirs");
}

static void login_that_was_replaced_meanwhile_is_not_overwritten(void **state)
{
	cleanup_free char *script =
		xasprintf("cp %s/other %s/" AUTH "\ncat %s/answer", home.dir, home.dir, home.dir);
	cleanup_free char *saved = NULL;

	answer(200, "{\"access_token\":\"ours\",\"refresh_token\":\"r9\"}");
	home_put(&home, "other", 0600, CHATGPT("theirs", "r2"));
	home_program(&home, "fetch", script);
	home_put(&home, AUTH, 0600, CHATGPT("one", "r1"));
	hold_file("openai-chatgpt", AUTH);
	expect("/responses", false, "Authorization: Bearer one", "one");
	expect("/responses", true, "Authorization: Bearer theirs", "theirs");
	saved = read_home(AUTH);
	assert_null(strstr(saved, "r9"));
}

static void login_that_has_ended_says_what_to_run_and_stays(void **state)
{
	cleanup_free char *before = NULL, *after = NULL;

	/* {"exp":1000} */
	home_put(&home, AUTH, 0600, CHATGPT("e30.eyJleHAiOjEwMDB9.x", "r1"));
	before = read_home(AUTH);
	hold_file("openai-chatgpt", AUTH);
	answer(400, "{\"error\":\"invalid_grant\"}");
	expect_error(false, "run: codex login");
	after = read_home(AUTH);
	assert_string_equal(before, after);
}

static void codex_key_is_read_from_its_file(void **state)
{
	cleanup_free char *path = home_path(&home, AUTH), *source = xasprintf("codex:%s", path);

	home_put(&home, AUTH, 0600, "{\"auth_mode\":\"apikey\",\"OPENAI_API_KEY\":\"sk-1\"}");
	hold("openai-key", source);
	expect("/v1/responses", false, "Authorization: Bearer sk-1", "sk-1");
	home_put(&home, AUTH, 0600, "{\"auth_mode\":\"apikey\",\"OPENAI_API_KEY\":\"sk-2\"}");
	expect("/v1/responses", false, "Authorization: Bearer sk-2", "sk-2");
}

#define GEMINI ".gemini/oauth_creds.json"

static void gemini_login_is_renewed_with_the_programs_client(void **state)
{
	cleanup_free char *bin = home_path(&home, "bin"), *path = xasprintf("%s:/bin", bin);
	cleanup_free char *asked = NULL, *saved = NULL;

	home_env(&home, "PATH", path);
	home_program(&home, "gemini", "exit 0");
	home_put(&home, "bin/x.js", 0644,
		 "OAUTH_CLIENT_ID = \"id.example\"; OAUTH_CLIENT_SECRET = \"sec\";");
	home_put(&home, GEMINI, 0600,
		 "{\"access_token\":\"old\",\"refresh_token\":\"r/1\",\"expiry_date\":1000}");
	answer(200, "{\"access_token\":\"new\",\"expires_in\":3600}");
	hold_file("gemini-oauth", GEMINI);
	expect("/v1internal:generateContent", false, "Authorization: Bearer new", "new");
	asked = read_home("asked");
	assert_non_null(
		strstr(asked, "client_id=id.example&client_secret=sec&refresh_token=r%2F1"));
	saved = read_home(GEMINI);
	assert_non_null(strstr(saved, "1794776400000"));
	assert_int_equal(lines_in("asked"), 1);
	answer(400, "{\"error\":\"invalid_grant\"}");
	home.host.now_ms = NOW_MS + 3700 * 1000;
	expect_error(false, "run: gemini");
}

static void gemini_key_goes_into_its_own_field(void **state)
{
	home_env(&home, "GEMINI_API_KEY", "AIza1");
	hold("gemini-key", "env:GEMINI_API_KEY");
	expect("/v1beta/models/x:generateContent", false, "x-goog-api-key: AIza1", "AIza1");
}

#define ADC "adc.json"

static void vertex_token_is_fetched_and_kept(void **state)
{
	home_put(&home, ADC, 0600,
		 "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\","
		 "\"refresh_token\":\"r\"}");
	hold_file("vertex", ADC);
	strv_push(&cred->options, "quota_project=q");
	answer(503, "{}");
	expect_error(false, "status 503");
	answer(200, "{\"access_token\":\"ya29.a\",\"expires_in\":3600}");
	cred->retry_ms = 0;
	expect("/v1/projects/p", false, "Authorization: Bearer ya29.a", "ya29.a");
	expect("/v1/projects/p", false, "x-goog-user-project: q", "ya29.a");
	assert_int_equal(lines_in("asked"), 2);
	answer(400, "{\"error\":\"invalid_grant\"}");
	home.host.now_ms = NOW_MS + 3700 * 1000;
	expect_error(false, "gcloud auth application-default login");
}

static void vertex_token_of_gcloud_is_kept_a_while(void **state)
{
	cleanup_free char *source = xasprintf("command:echo >>%s/runs; echo ya29.b", home.dir);

	hold("vertex", source);
	expect("/", false, "Authorization: Bearer ya29.b", "ya29.b");
	expect("/", false, "Authorization: Bearer ya29.b", "ya29.b");
	assert_int_equal(lines_in("runs"), 1);
	expect_error(true, "no newer one");
	assert_int_equal(lines_in("runs"), 2);
}

static void foundry_key_goes_into_its_own_field(void **state)
{
	home_env(&home, "ANTHROPIC_FOUNDRY_API_KEY", "k");
	hold("foundry", "env:ANTHROPIC_FOUNDRY_API_KEY");
	expect("/v1/messages", false, "x-api-key: k", "k");
}

static void github_token_is_a_password_for_git_and_a_bearer_token_else(void **state)
{
	hold("github", "command:echo ghp_x");
	expect("/repos/o/r", false, "Authorization: Bearer ghp_x", "ghp_x");
	expect("/o/r.git/info/refs?service=git-upload-pack", false,
	       "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3g=", "ghp_x");
	expect("/o/r.git/git-receive-pack", false,
	       "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3g=", "eC1hY2Nlc3MtdG9rZW46Z2hwX3g=");
}

static void bearer_of_a_file_is_read_each_time(void **state)
{
	home_put(&home, "token", 0600, "one\n");
	hold_file("bearer", "token");
	expect("/", false, "Authorization: Bearer one", "one");
	home_put(&home, "token", 0600, "two\n");
	expect("/", false, "Authorization: Bearer two", "two");
	home_put(&home, "token", 0600, "a b\r\nHost: evil\n");
	expect_error(false, "no token");
}

static void npm_token_goes_to_its_registry_alone(void **state)
{
	home_put(&home, ".npmrc", 0600, "//h.test/:_authToken=npm_1\n");
	hold_file("npm", ".npmrc");
	expect("/left-pad", false, "Authorization: Bearer npm_1", "npm_1");
	home_put(&home, ".npmrc", 0600, "//other.test/:_authToken=topsecret\n");
	expect_error(false, "no token for h.test");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(every_row_has_a_holder),
		T(bedrock_signs_when_it_knows_the_body),
		T(bedrock_uses_what_was_replaced_with_the_next_request),
		T(bedrock_renews_before_the_end_and_lasts_through_a_failure),
		T(bedrock_keys_without_an_end_last_as_long_as_aws_gives_them),
		T(bedrock_bearer_token_is_sent_as_one),
		T(chatgpt_login_goes_with_its_account),
		T(chatgpt_login_is_renewed_once_and_its_file_kept),
		T(refusals_renew_once_a_minute_and_less_often_while_they_go_on),
		T(refusals_do_not_run_the_users_command_each_time),
		T(somebody_elses_renewal_is_taken),
		T(login_that_was_replaced_meanwhile_is_not_overwritten),
		T(login_that_has_ended_says_what_to_run_and_stays),
		T(codex_key_is_read_from_its_file),
		T(gemini_login_is_renewed_with_the_programs_client),
		T(gemini_key_goes_into_its_own_field),
		T(vertex_token_is_fetched_and_kept),
		T(vertex_token_of_gcloud_is_kept_a_while),
		T(foundry_key_goes_into_its_own_field),
		T(github_token_is_a_password_for_git_and_a_bearer_token_else),
		T(bearer_of_a_file_is_read_each_time),
		T(npm_token_goes_to_its_registry_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
