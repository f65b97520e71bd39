/* What is found on a host, and what is said where something is wrong with it. */
#include "cred-home.h"

#include "cred/bearer.h"

static struct home home;

static int setup(void **state)
{
	home_make(&home);
	return 0;
}

static int teardown(void **state)
{
	home_drop(&home);
	return 0;
}

static void expect_missing(const char *service)
{
	cleanup_(cred_ref_done) struct cred_ref r;
	struct err err = {0};

	cred_ref_init(&r);
	if (cred_probe(&home.host, service, &r, &err) != CRED_MISSING)
		fail_msg("%s is there: %s", service, err.msg);
}

/* Unusable, and the message names what is wrong and what to run. */
static void expect_unusable(const char *service, const char *what, const char *remedy)
{
	cleanup_(cred_ref_done) struct cred_ref r;
	struct err err = {0};

	cred_ref_init(&r);
	if (cred_probe(&home.host, service, &r, &err) != CRED_UNUSABLE)
		fail_msg("%s is usable", service);
	if (!strstr(err.msg, what) || !strstr(err.msg, remedy))
		fail_msg("neither '%s' nor '%s' in: %s", what, remedy, err.msg);
	assert_null(strstr(err.msg, "topsecret"));
}

static void expect_found(const char *service, const char *provider, const char *source,
			 struct cred_ref *ret)
{
	struct err err = {0};

	cred_ref_init(ret);
	if (cred_probe(&home.host, service, ret, &err) != CRED_FOUND)
		fail_msg("%s is not found: %s", service, err.msg);
	assert_string_equal(ret->provider->name, provider);
	if (!strstr(ret->source, source))
		fail_msg("'%s' is not from '%s'", ret->source, source);
}

static const char *option(const struct cred_ref *r, const char *name)
{
	return strv_env_get(&r->options, name);
}

static void host_with_nothing_has_nothing(void **state)
{
	static const char *const services[] = {"anthropic", "openai", "gemini",
					       "github",    "npm",    "bearer"};

	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		expect_missing(services[i]);
}

#define AWS_OK                                                                                     \
	"case \"$*\" in\n"                                                                         \
	"'configure export-credentials --format process') echo '{\"Version\":1,\"AccessKeyId\":"   \
	"\"AKIA\",\"SecretAccessKey\":\"topsecret\",\"SessionToken\":\"t\","                       \
	"\"Expiration\":\"2099-01-01T00:00:00Z\"}' ;;\n"                                           \
	"'configure get region') echo eu-west-1 ;;\n"                                              \
	"*) exit 252 ;;\nesac"

static void bedrock_is_found_by_its_switch(void **state)
{
	struct cred_ref r;

	home_program(&home, "aws", AWS_OK);
	expect_missing("anthropic");
	home_env(&home, "CLAUDE_CODE_USE_BEDROCK", "1");
	home_env(&home, "ANTHROPIC_MODEL", "eu.anthropic.x-v1:0");
	expect_found("anthropic", "bedrock", "aws:default", &r);
	assert_string_equal(r.origin, "https://bedrock-runtime.eu-west-1.amazonaws.com");
	assert_string_equal(option(&r, "region"), "eu-west-1");
	assert_string_equal(option(&r, "model"), "eu.anthropic.x-v1:0");
	assert_int_equal(r.expires_ms, 4070908800000);
	assert_true(r.renewable);
	cred_ref_done(&r);
	home_env(&home, "AWS_REGION", "us-west-2");
	expect_found("anthropic", "bedrock", "aws:", &r);
	assert_string_equal(option(&r, "region"), "us-west-2");
	cred_ref_done(&r);
	home_env(&home, "CLAUDE_CODE_USE_BEDROCK", "0");
	expect_missing("anthropic");
}

static void bedrock_is_switched_on_by_claudes_settings(void **state)
{
	struct cred_ref r;

	home_program(&home, "aws",
		     "[ \"$*\" = 'configure export-credentials --format process --profile work' ] "
		     "|| exit 252\necho '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":"
		     "\"topsecret\"}'");
	home_put(&home, ".claude/settings.json", 0600,
		 "{\"env\":{\"CLAUDE_CODE_USE_BEDROCK\":\"true\",\"AWS_REGION\":\"us-east-1\","
		 "\"AWS_PROFILE\":\"work\"}}");
	expect_found("anthropic", "bedrock", "aws:work", &r);
	assert_string_equal(option(&r, "profile"), "work");
	cred_ref_done(&r);
	home_put(&home, ".claude/settings.json", 0600, "{\"env\":{\"CLAUDE_CODE_USE");
	expect_unusable("anthropic", "settings.json", "Claude Code");
}

static void bedrock_is_switched_on_by_the_projects_settings(void **state)
{
	static const char *const files[] = {"work/.claude/settings.json",
					    "work/.claude/settings.local.json"};
	cleanup_free char *project = home_path(&home, "work");
	struct cred_ref r;

	home_program(&home, "aws", AWS_OK);
	home.host.project = project;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		home_put(&home, files[i], 0644,
			 "{\"env\":{\"CLAUDE_CODE_USE_BEDROCK\":\"1\",\"AWS_REGION\":"
			 "\"us-west-1\"}}");
		expect_found("anthropic", "bedrock", "aws:default", &r);
		assert_string_equal(option(&r, "region"), "us-west-1");
		cred_ref_done(&r);
		home_put(&home, files[i], 0644, "{\"env\":{\"CLAUDE_");
		expect_unusable("anthropic", files[i] + strlen("work/"), "Claude Code");
		home_forget(&home, files[i]);
	}
	expect_missing("anthropic");
	home.host.project = NULL;
}

/* An agent or a stranger may have written them. */
static void settings_of_a_project_choose_no_login_and_no_address(void **state)
{
	cleanup_free char *project = home_path(&home, "work");
	cleanup_free char *link = home_path(&home, "work/.claude/settings.json");
	struct cred_ref r;

	home_program(&home, "aws", AWS_OK);
	home.host.project = project;
	home_put(&home, "work/.claude/settings.json", 0644,
		 "{\"env\":{\"CLAUDE_CODE_USE_BEDROCK\":\"1\",\"AWS_PROFILE\":\"admin\"}}");
	expect_unusable("anthropic", "does not choose among your logins",
			"export AWS_PROFILE=admin");
	home_put(&home, "work/.claude/settings.json", 0644,
		 "{\"env\":{\"CLAUDE_CODE_USE_BEDROCK\":\"1\",\"AWS_PROFILE\":\"x;evil\"}}");
	expect_unusable("anthropic", "does not choose", "export AWS_PROFILE=NAME");
	home_env(&home, "AWS_PROFILE", "mine");
	expect_found("anthropic", "bedrock", "aws:mine", &r);
	cred_ref_done(&r);
	home_put(&home, "work/.claude/settings.json", 0644,
		 "{\"env\":{\"CLAUDE_CODE_USE_FOUNDRY\":\"1\",\"CLAUDE_CODE_USE_VERTEX\":\"1\","
		 "\"ANTHROPIC_FOUNDRY_BASE_URL\":\"https://evil.example\"}}");
	expect_missing("anthropic");
	/* Nor is a link followed. */
	home_forget(&home, "work/.claude/settings.json");
	home_put(&home, "elsewhere", 0644, "{\"env\":{\"CLAUDE_CODE_USE_BEDROCK\":\"1\"}}");
	assert_int_equal(symlink("../../elsewhere", link), 0);
	expect_unusable("anthropic", "settings.json", "project");
	home.host.project = NULL;
}

static void messages_about_aws_name_the_profile_in_use(void **state)
{
	home_program(&home, "aws",
		     "echo 'The config profile (x) could not be found' >&2; exit 255");
	home_env(&home, "CLAUDE_CODE_USE_BEDROCK", "1");
	expect_unusable("anthropic", "AWS has no default profile", "list-profiles");
	home_env(&home, "AWS_PROFILE", "of-env");
	expect_unusable("anthropic", "AWS has no profile 'of-env'", "list-profiles");
	home_env(&home, "AWS_PROFILE", "");
	home_put(&home, ".claude/settings.json", 0600, "{\"env\":{\"AWS_PROFILE\":\"of-file\"}}");
	expect_unusable("anthropic", "AWS has no profile 'of-file'", "list-profiles");
}

static void bedrock_that_cannot_work_says_what_to_do(void **state)
{
	home_env(&home, "CLAUDE_CODE_USE_BEDROCK", "1");
	expect_unusable("anthropic", "no 'aws' on your PATH", "install AWS CLI 2");
	home_program(&home, "aws", "exit 2");
	expect_unusable("anthropic", "export-credentials", "install AWS CLI 2.9");
	home_program(&home, "aws",
		     "echo 'Error loading SSO Token: Token for x does not exist' >&2; exit 255");
	expect_unusable("anthropic", "expired", "aws sso login");
	home_program(&home, "aws", "echo '{\"Version\":1,\"AccessKeyId\":\"A\",\"Secr'");
	expect_unusable("anthropic", "not a JSON object", "aws");
	home_program(&home, "aws",
		     "[ \"$2\" = get ] && exit 1\necho '{\"Version\":1,\"AccessKeyId\":\"A\","
		     "\"SecretAccessKey\":\"topsecret\"}'");
	expect_unusable("anthropic", "no AWS region", "aws configure set region");
	home_env(&home, "AWS_REGION", "evil.example/x");
	expect_unusable("anthropic", "is no AWS region", "evil");
	home_env(&home, "AWS_REGION", "us-east-1");
	home_program(&home, "aws",
		     "echo '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\","
		     "\"Expiration\":\"2020-01-01T00:00:00Z\"}'");
	expect_unusable("anthropic", "expired already", "aws sso login");
}

static void bedrock_takes_a_bearer_token_without_aws(void **state)
{
	struct cred_ref r;

	home_env(&home, "CLAUDE_CODE_USE_BEDROCK", "1");
	home_env(&home, "AWS_BEARER_TOKEN_BEDROCK", "topsecret");
	home_env(&home, "AWS_DEFAULT_REGION", "us-east-1");
	expect_found("anthropic", "bedrock", "env:AWS_BEARER_TOKEN_BEDROCK", &r);
	cred_ref_done(&r);
}

#define ADC ".config/gcloud/application_default_credentials.json"

static void vertex_needs_a_project_and_a_login(void **state)
{
	struct cred_ref r;

	home_env(&home, "CLAUDE_CODE_USE_VERTEX", "1");
	expect_unusable("anthropic", "no project", "ANTHROPIC_VERTEX_PROJECT_ID");
	home_env(&home, "ANTHROPIC_VERTEX_PROJECT_ID", "proj-1");
	expect_unusable("anthropic", "no 'gcloud'", "gcloud auth application-default login");
	home_program(&home, "gcloud", "exit 1");
	expect_unusable("anthropic", "nobody is logged in",
			"gcloud auth application-default login");
	home_put(&home, ADC, 0600, "{\"type\":\"authorized_user\",");
	expect_unusable("anthropic", ADC, "gcloud auth application-default login");
	home_put(&home, ADC, 0600,
		 "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":"
		 "\"topsecret\",\"refresh_token\":\"topsecret\",\"quota_project_id\":\"q\"}");
	expect_found("anthropic", "vertex", "file:", &r);
	assert_string_equal(r.origin, "https://us-east5-aiplatform.googleapis.com");
	assert_string_equal(option(&r, "project"), "proj-1");
	assert_string_equal(option(&r, "quota_project"), "q");
	cred_ref_done(&r);
	home_put(&home, ADC, 0600, "{\"type\":\"service_account\"}");
	home_env(&home, "CLOUD_ML_REGION", "global");
	expect_found("anthropic", "vertex",
		     "command:gcloud auth application-default print-access-token", &r);
	assert_string_equal(r.origin, "https://aiplatform.googleapis.com");
	cred_ref_done(&r);
	home_env(&home, "CLOUD_ML_REGION", "x/y");
	expect_unusable("anthropic", "no region", "x/y");
}

static void foundry_needs_a_resource_and_a_key(void **state)
{
	struct cred_ref r;

	home_env(&home, "CLAUDE_CODE_USE_FOUNDRY", "1");
	expect_unusable("anthropic", "no resource", "ANTHROPIC_FOUNDRY_RESOURCE");
	home_env(&home, "ANTHROPIC_FOUNDRY_RESOURCE", "corp");
	expect_unusable("anthropic", "no key", "ANTHROPIC_FOUNDRY_API_KEY");
	home_env(&home, "ANTHROPIC_FOUNDRY_API_KEY", "topsecret");
	expect_found("anthropic", "foundry", "env:ANTHROPIC_FOUNDRY_API_KEY", &r);
	assert_string_equal(r.origin, "https://corp.services.ai.azure.com/anthropic");
	cred_ref_done(&r);
	home_env(&home, "ANTHROPIC_FOUNDRY_BASE_URL", "http://corp.test/");
	expect_unusable("anthropic", "ANTHROPIC_FOUNDRY_BASE_URL", "https://");
}

static void codex_login_comes_before_a_key_of_the_environment(void **state)
{
	struct cred_ref r;

	home_env(&home, "OPENAI_API_KEY", "topsecret");
	expect_found("openai", "openai-key", "env:OPENAI_API_KEY", &r);
	cred_ref_done(&r);
	home_put(&home, ".codex/auth.json", 0600,
		 "{\"auth_mode\":\"chatgpt\",\"tokens\":{\"access_token\":\"topsecret\","
		 "\"refresh_token\":\"topsecret\",\"account_id\":\"a\"}}");
	expect_found("openai", "openai-chatgpt", "/.codex/auth.json", &r);
	assert_true(r.renewable);
	cred_ref_done(&r);
	home_put(&home, ".codex/auth.json", 0600,
		 "{\"auth_mode\":\"apikey\",\"OPENAI_API_KEY\":\"topsecret\"}");
	expect_found("openai", "openai-key", "codex:", &r);
	cred_ref_done(&r);
	home_env(&home, "CODEX_API_KEY", "topsecret");
	expect_found("openai", "openai-key", "env:CODEX_API_KEY", &r);
	cred_ref_done(&r);
}

static void codex_file_that_is_wrong_says_what_to_run(void **state)
{
	home_put(&home, ".codex/auth.json", 0600, "");
	expect_missing("openai");
	home_put(&home, ".codex/auth.json", 0600, "{\"tokens\":{\"access_token\":\"topsec");
	expect_unusable("openai", "not a whole JSON document", "codex login");
	home_put(&home, ".codex/auth.json", 0600, "{\"tokens\":{}}");
	expect_unusable("openai", "no access token", "codex login");
	/* {"exp":1000}, and nothing to renew it with */
	home_put(&home, ".codex/auth.json", 0600,
		 "{\"tokens\":{\"access_token\":\"e30.eyJleHAiOjEwMDB9.x\"}}");
	expect_unusable("openai", "expired and cannot be renewed", "codex login");
}

static void file_that_others_may_read_is_warned_of(void **state)
{
	struct cred_ref r;

	home_put(&home, ".codex/auth.json", 0644,
		 "{\"auth_mode\":\"apikey\",\"OPENAI_API_KEY\":\"topsecret\"}");
	expect_found("openai", "openai-key", "codex:", &r);
	assert_non_null(r.warning);
	assert_non_null(strstr(r.warning, "chmod 600"));
	cred_ref_done(&r);
}

#define GEMINI ".gemini/oauth_creds.json"

static void gemini_login_or_key_as_the_user_chose(void **state)
{
	struct cred_ref r;

	home_put(&home, GEMINI, 0600,
		 "{\"access_token\":\"topsecret\",\"refresh_token\":\"topsecret\","
		 "\"expiry_date\":4070908800000}");
	expect_found("gemini", "gemini-oauth", "file:", &r);
	assert_int_equal(r.expires_ms, 4070908800000);
	cred_ref_done(&r);
	home_env(&home, "GEMINI_API_KEY", "topsecret");
	expect_found("gemini", "gemini-key", "env:GEMINI_API_KEY", &r);
	cred_ref_done(&r);
	home_put(&home, ".gemini/settings.json", 0600,
		 "{\"security\":{\"auth\":{\"selectedType\":\"oauth-personal\"}}}");
	expect_found("gemini", "gemini-oauth", "file:", &r);
	cred_ref_done(&r);
}

static void gemini_login_that_has_expired_needs_a_way_to_renew(void **state)
{
	struct cred_ref r;

	home_put(&home, GEMINI, 0600, "{\"access_token\":\"topsecret\",\"expiry_date\":1000}");
	expect_unusable("gemini", "expired and cannot be renewed", "gemini");
	home_put(&home, GEMINI, 0600,
		 "{\"access_token\":\"topsecret\",\"refresh_token\":\"r\",\"expiry_date\":1000}");
	expect_unusable("gemini", "no 'gemini' on your PATH", GEMINI);
	home_program(&home, "gemini", "exit 0");
	expect_unusable("gemini", "does not say with which client", GEMINI);
	home_put(&home, "bin/bundle.js", 0644,
		 "var OAUTH_CLIENT_ID = \"1-a.example\";\nvar OAUTH_CLIENT_SECRET = \"s\";");
	expect_found("gemini", "gemini-oauth", "file:", &r);
	cred_ref_done(&r);
	home_put(&home, GEMINI, 0600, "[1,2");
	expect_unusable("gemini", "not a whole JSON document", "gemini");
}

static void github_is_asked_of_gh(void **state)
{
	struct cred_ref r;

	home_program(&home, "gh", "exit 1");
	expect_unusable("github", "gh has no token", "gh auth login");
	home_program(&home, "gh", "[ \"$*\" = 'auth token' ] && echo gho_topsecret");
	expect_found("github", "github", "command:gh auth token", &r);
	assert_null(r.provider->endpoint);
	cred_ref_done(&r);
	home_env(&home, "GH_TOKEN", "topsecret");
	expect_found("github", "github", "env:GH_TOKEN", &r);
	cred_ref_done(&r);
}

static void npm_is_found_in_its_file(void **state)
{
	struct cred_ref r;

	home_put(&home, ".npmrc", 0600, "registry=https://r.test/\n");
	expect_missing("npm");
	home_put(&home, ".npmrc", 0600, "//r.test/:_authToken=topsecret\n");
	expect_found("npm", "npm", "file:", &r);
	cred_ref_done(&r);
}

static void source_that_gives_nothing_is_an_error_at_once(void **state)
{
	cleanup_free char *path = home_path(&home, "token"), *source = xasprintf("file:%s", path);
	cleanup_(cred_ref_done) struct cred_ref r;
	struct err err = {0};

	cred_ref_init(&r);
	assert_int_equal(cred_named(&home.host, "x", "env:NOT_SET", &r, &err), CRED_UNUSABLE);
	assert_non_null(strstr(err.msg, "'x': NOT_SET is not set"));
	assert_int_equal(cred_named(&home.host, "x", source, &r, &err), CRED_UNUSABLE);
	assert_non_null(strstr(err.msg, "is not there"));
	home_put(&home, "token", 0600, "");
	assert_int_equal(cred_named(&home.host, "x", source, &r, &err), CRED_UNUSABLE);
	assert_non_null(strstr(err.msg, "is empty"));
	home_put(&home, "token", 0604, "topsecret");
	assert_int_equal(cred_named(&home.host, "x", source, &r, &err), CRED_FOUND);
	assert_string_equal(r.provider->name, "bearer");
	assert_non_null(strstr(r.warning, "chmod 600"));
	assert_int_equal(cred_named(&home.host, "github", source, &r, &err), CRED_FOUND);
	assert_string_equal(r.provider->placeholder, "GH_TOKEN");
	assert_int_equal(cred_named(&home.host, "unheard-of", NULL, &r, &err), CRED_MISSING);
	assert_non_null(strstr(err.msg, "name its source"));
}

/* Counting tokens is not making any. */
static bool is_count(const char *path)
{
	return strstr(path, "/count_tokens") || strstr(path, "/count-tokens") ||
	       strstr(path, ":countTokens") || strstr(path, "/input_tokens");
}

static void no_row_lets_credentials_be_made_or_listed(void **state)
{
	static const char *const bad[] = {"token", "key",  "oauth", "credential", "login",
					  "iam",   "user", "admin", "org",	  "/files"};

	for (size_t i = 0; i < cred_provider_count(); i++) {
		const struct cred_provider *p = cred_provider_at(i);

		for (const char *const *row = p->requests; row && *row; row++) {
			const char *path = strchr(*row, ' ') + 1;

			assert_true(strncmp(*row, "POST ", 5) == 0 ||
				    strncmp(*row, "GET ", 4) == 0);
			/* Never a whole host. */
			assert_true(path[0] == '/' && path[1] && path[1] != ' ');
			for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
				if (strstr(path, bad[k]) && !strstr(path, ":retrieveUserQuota") &&
				    !is_count(path))
					fail_msg("%s: %s", p->name, *row);
		}
	}
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(host_with_nothing_has_nothing),
		T(bedrock_is_found_by_its_switch),
		T(bedrock_is_switched_on_by_claudes_settings),
		T(bedrock_is_switched_on_by_the_projects_settings),
		T(settings_of_a_project_choose_no_login_and_no_address),
		T(messages_about_aws_name_the_profile_in_use),
		T(bedrock_that_cannot_work_says_what_to_do),
		T(bedrock_takes_a_bearer_token_without_aws),
		T(vertex_needs_a_project_and_a_login),
		T(foundry_needs_a_resource_and_a_key),
		T(codex_login_comes_before_a_key_of_the_environment),
		T(codex_file_that_is_wrong_says_what_to_run),
		T(file_that_others_may_read_is_warned_of),
		T(gemini_login_or_key_as_the_user_chose),
		T(gemini_login_that_has_expired_needs_a_way_to_renew),
		T(github_is_asked_of_gh),
		T(npm_is_found_in_its_file),
		T(source_that_gives_nothing_is_an_error_at_once),
		T(no_row_lets_credentials_be_made_or_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
