/* The files in which other programs keep their logins, and what servers answer. */
#include "cred-home.h"

#include "base/json/json.h"
#include "cred/bearer.h"
#include "cred/gemini.h"
#include "cred/openai.h"
#include "cred/requests.h"

static json_t *doc(const char *text)
{
	struct err err = {0};
	json_t *j = NULL;

	if (json_parse(text, strlen(text), &j, &err) < 0)
		fail_msg("%s", err.msg);
	return j;
}

/* {"alg":"none"}.{"exp":1794772800,"x":"é"} */
#define JWT "eyJhbGciOiJub25lIn0.eyJleHAiOjE3OTQ3NzI4MDAsIngiOiLDqSJ9.sig"

static void codex_file_holds_a_key_or_a_login(void **state)
{
	cleanup_json json_t *key = doc("{\"auth_mode\":\"apikey\",\"OPENAI_API_KEY\":\"sk-1\"}");
	cleanup_json json_t *old = doc("{\"OPENAI_API_KEY\":\"sk-2\"}");
	cleanup_json json_t *login = doc(
		"{\"auth_mode\":\"chatgpt\",\"OPENAI_API_KEY\":\"sk-3\",\"tokens\":{\"id_token\":"
		"\"i\",\"access_token\":\"" JWT
		"\",\"refresh_token\":\"r\",\"account_id\":\"acct\"},\"x\":1}");
	cleanup_(file_login_done) struct file_login a = {0}, b = {0}, c = {0}, none = {0};
	struct err err = {0};

	assert_int_equal(codex_key_parse(key, &a, &err), 0);
	assert_string_equal(a.access, "sk-1");
	assert_int_equal(codex_login_parse(key, &none, &err), -ENOENT);
	assert_int_equal(codex_key_parse(old, &b, &err), 0);
	assert_string_equal(b.access, "sk-2");
	assert_int_equal(codex_key_parse(login, &none, &err), -ENOENT);
	assert_int_equal(codex_login_parse(login, &c, &err), 0);
	assert_string_equal(c.access, JWT);
	assert_string_equal(c.refresh, "r");
	assert_string_equal(c.account, "acct");
	assert_int_equal(c.expires_ms, 1794772800000);
}

static void codex_login_is_renewed_in_place(void **state)
{
	cleanup_json json_t *j =
		doc("{\"auth_mode\":\"chatgpt\",\"tokens\":{\"id_token\":\"i\",\"access_token\":"
		    "\"a\",\"refresh_token\":\"r\",\"account_id\":\"acct\",\"more\":2},\"x\":1}");
	struct oauth_tokens fresh = {.access = (char *)"a2", .refresh = (char *)"r2"};
	cleanup_json json_t *want =
		doc("{\"auth_mode\":\"chatgpt\",\"tokens\":{\"id_token\":\"i\",\"access_token\":"
		    "\"a2\",\"refresh_token\":\"r2\",\"account_id\":\"acct\",\"more\":2},\"x\":1,"
		    "\"last_refresh\":\"2026-11-15T20:00:00Z\"}");

	codex_login_update(j, &fresh, 1794772800000);
	assert_true(json_equal(j, want));
}

static void gemini_file_holds_a_login(void **state)
{
	cleanup_json json_t *j = doc("{\"access_token\":\"a\",\"refresh_token\":\"r\",\"scope\":"
				     "\"s\",\"expiry_date\":1794772800000,\"id_token\":\"i\"}");
	cleanup_json json_t *only = doc("{\"refresh_token\":\"r\"}"), *empty = doc("{}");
	cleanup_json json_t *bad = doc("{\"access_token\":\"a\\nb\"}");
	cleanup_(file_login_done) struct file_login l = {0}, o = {0}, none = {0};
	struct oauth_tokens fresh = {.access = (char *)"a2", .expires_ms = 1794776400000};
	struct err err = {0};

	assert_int_equal(gemini_login_parse(j, &l, &err), 0);
	assert_string_equal(l.access, "a");
	assert_string_equal(l.refresh, "r");
	assert_int_equal(l.expires_ms, 1794772800000);
	assert_int_equal(gemini_login_parse(only, &o, &err), 0);
	assert_int_equal(o.expires_ms, 1); /* to be renewed at once */
	assert_int_equal(gemini_login_parse(empty, &none, &err), -EINVAL);
	assert_int_equal(gemini_login_parse(bad, &none, &err), -EINVAL);
	gemini_login_update(j, &fresh, 0);
	assert_string_equal(json_string_value(json_object_get(j, "access_token")), "a2");
	assert_string_equal(json_string_value(json_object_get(j, "refresh_token")), "r");
	assert_int_equal(json_integer_value(json_object_get(j, "expiry_date")), 1794776400000);
}

static void client_is_found_in_the_program_that_has_it(void **state)
{
	static const char with[] =
		"if (process.env.OAUTH_CLIENT_ID) {}\nvar OAUTH_CLIENT_ID = "
		"\"12-ab.apps.googleusercontent.com\";\nvar OAUTH_CLIENT_SECRET='GX-1_x';";
	static const char *const without[] = {
		"",
		"OAUTH_CLIENT_ID",
		"OAUTH_CLIENT_ID = \"x\"",
		"OAUTH_CLIENT_ID = \"x; OAUTH_CLIENT_SECRET = \"y\"",
		"OAUTH_CLIENT_ID = x; OAUTH_CLIENT_SECRET = y;",
	};
	cleanup_(google_user_done) struct google_user u = {0};

	assert_true(gemini_client_find(with, strlen(with), &u));
	assert_string_equal(u.client_id, "12-ab.apps.googleusercontent.com");
	assert_string_equal(u.client_secret, "GX-1_x");
	google_user_done(&u);
	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		assert_false(gemini_client_find(without[i], strlen(without[i]), &u));
}

static void google_user_is_one_type_of_several(void **state)
{
	cleanup_json json_t *j =
		doc("{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\","
		    "\"refresh_token\":\"r\",\"quota_project_id\":\"q\"}");
	cleanup_json json_t *service = doc("{\"type\":\"service_account\",\"private_key\":\"k\"}");
	cleanup_json json_t *half = doc("{\"type\":\"authorized_user\",\"client_id\":\"c\"}");
	cleanup_json json_t *none = doc("{}");
	cleanup_(google_user_done) struct google_user u = {0}, v = {0};
	struct err err = {0};

	assert_int_equal(google_user_parse(j, &u, &err), 0);
	assert_string_equal(u.refresh, "r");
	assert_string_equal(u.quota_project, "q");
	assert_int_equal(google_user_parse(service, &v, &err), -ENOENT);
	assert_int_equal(google_user_parse(half, &v, &err), -EINVAL);
	assert_int_equal(google_user_parse(none, &v, &err), -EINVAL);
}

static void answer_of_a_token_server_is_read_strictly(void **state)
{
	static const char *const bad[] = {
		"",
		"topsecret",
		"{}",
		"[]",
		"{\"access_token\":7}",
		"{\"access_token\":\"\"}",
		"{\"access_token\":\"topsecret\\n\"}",
		"{\"access_token\":\"topsecret\",\"expires_in\":\"1\"}",
		"{\"access_token\":\"topsecret\",\"expires_in\":99999999999}",
		"{\"access_token\":\"topsecret\",\"refresh_token\":\"a b\\u0000\"}",
	};
	cleanup_(oauth_tokens_done) struct oauth_tokens t = {0}, jwt = {0};
	struct err err = {0};

	assert_int_equal(oauth_answer_parse("{\"access_token\":\"a\",\"expires_in\":3600,"
					    "\"refresh_token\":\"r\",\"id_token\":\"i\"}",
					    1000, &t, &err),
			 0);
	assert_string_equal(t.access, "a");
	assert_string_equal(t.refresh, "r");
	assert_int_equal(t.expires_ms, 3601000);
	assert_int_equal(oauth_answer_parse("{\"access_token\":\"" JWT "\"}", 1000, &jwt, &err), 0);
	assert_int_equal(jwt.expires_ms, 1794772800000);
	assert_null(jwt.refresh);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct oauth_tokens none = {0};
		struct err e = {0};

		assert_int_equal(oauth_answer_parse(bad[i], 0, &none, &e), -EPROTO);
		assert_null(strstr(e.msg, "topsecret"));
	}
}

static void end_of_a_login_is_told_from_a_passing_failure(void **state)
{
	assert_true(oauth_is_final(400, "{\"error\":\"invalid_grant\"}"));
	assert_true(oauth_is_final(401, "{\"error\":{\"code\":\"refresh_token_reused\"}}"));
	assert_false(oauth_is_final(500, "{\"error\":\"invalid_grant\"}"));
	assert_false(oauth_is_final(400, "{\"error\":\"invalid_request\"}"));
	assert_false(oauth_is_final(400, "invalid_grant"));
	assert_false(oauth_is_final(401, "{\"error\":[]}"));
}

static void form_is_escaped(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 256);
	oauth_form_add(&b, "a", "x y&z=/1~");
	oauth_form_add(&b, "b", "");
	assert_string_equal(buf_str(&b), "a=x%20y%26z%3D%2F1~&b=");
}

static void npm_token_is_the_one_of_that_registry(void **state)
{
	static const char rc[] = "; a comment\n"
				 "registry=https://npm.corp.test/\n"
				 "//npm.corp.test/:_authToken=one\r\n"
				 "  //other.test:8443/npm/:_authToken = \"two\"\n"
				 "//env.test/:_authToken=${NPM_SECRET}\n"
				 "//unset.test/:_authToken=${NOT_SET}\n"
				 "//password.test/:_password=three\n"
				 "//evilnpm.corp.test/:_authToken=four\n";
	static const struct {
		const char *host;
		uint16_t port;
		const char *want;
	} cases[] = {
		{"npm.corp.test", 443, "one"}, {"npm.corp.test", 444, NULL},
		{"other.test", 8443, "two"},   {"other.test", 443, NULL},
		{"env.test", 443, "from-env"}, {"unset.test", 443, NULL},
		{"password.test", 443, NULL},  {"corp.test", 443, NULL},
		{"NPM.corp.test", 443, "one"},
	};
	struct home h;

	home_make(&h);
	home_env(&h, "NPM_SECRET", "from-env");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *t = npmrc_token(&h.host, rc, cases[i].host, cases[i].port);

		if (cases[i].want)
			assert_string_equal(t, cases[i].want);
		else
			assert_null(t);
	}
	home_drop(&h);
}

static void git_is_told_from_other_requests(void **state)
{
	assert_true(bearer_is_git("/o/r.git/info/refs?service=git-upload-pack"));
	assert_true(bearer_is_git("/o/r/git-receive-pack"));
	assert_true(bearer_is_git("/o/r.git/info/lfs/objects/batch"));
	assert_false(bearer_is_git("/repos/o/r"));
	assert_false(bearer_is_git("/repos/o/r?path=/info/refs"));
	assert_false(bearer_is_git("/"));
}

static void what_makes_credentials_is_told_in_every_spelling(void **state)
{
	static const struct {
		const char *provider, *target;
		bool minting;
	} cases[] = {
		{"github", "/user", false},
		{"github", "/repos/o/r/pulls?x=/user/keys", false},
		{"github", "/repos/o/r/actions/runs", false},
		{"github", "/graphql", false},
		{"github", "/repos/o/r/contents/.github/x..y", false},
		{"github", "/o/r.git/info/refs?service=git-upload-pack", false},
		{"github", "/user/keys", true},
		{"github", "/user/keys/1", true},
		{"github", "/USER/Keys", true},
		{"github", "/user/%6beys", true},
		{"github", "/user%2fkeys", true},
		{"github", "//user/keys", true},
		{"github", "/x/../user/keys", true},
		{"github", "/x/%2e%2e/user/keys", true},
		{"github", "/user%252fkeys", true},
		{"github", "/user\\keys", true},
		{"github", "/repos/o/r/keys", true},
		{"github", "/repos/o/r/hooks/1", true},
		{"github", "/repositories/1/keys", true},
		{"github", "/repositories/1/actions/secrets/public-key", true},
		{"github", "/repositories/1", false},
		{"github", "/repos/o/r/actions/secrets/X", true},
		{"github", "/repos/o/r/actions/runners/registration-token", true},
		{"github", "/orgs/o/personal-access-tokens", true},
		{"github", "/api/v3/user/keys", true},
		{"github", "/api/v3/user", false},
		{"github", "/login/oauth/access_token", true},
		{"npm", "/left-pad", false},
		{"npm", "/@scope%2fname", false},
		{"npm", "/-/npm/v1/tokens", true},
		{"npm", "/-/user/org.couchdb.user:x", true},
		{"npm", "/-/npm/v1/security/advisories/bulk", false},
		{"bearer", "/user/keys", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (bearer_is_minting(cases[i].provider, cases[i].target) != cases[i].minting)
			fail_msg("%s %s", cases[i].provider, cases[i].target);
}

static void requests_take_the_options_and_leave_the_users_origin_alone(void **state)
{
	static const char *const rows[] = {"POST /model/", "GET /p https://bedrock.{domain}/p",
					   "GET /x/{missing}", "GET /{project}/y", NULL};
	static const struct cred_provider p = {.requests = rows};
	cleanup_strv struct strv plain, own;
	struct cred_ref r;

	cred_ref_init(&r);
	strv_init(&plain);
	strv_init(&own);
	r.provider = &p;
	strv_push(&r.options, "domain=eu-west-1.amazonaws.com");
	strv_push(&r.options, "project=q");
	cred_requests(&r, false, &plain);
	assert_int_equal(plain.n, 3);
	assert_string_equal(plain.v[0], "POST /model/");
	assert_string_equal(plain.v[1], "GET /p https://bedrock.eu-west-1.amazonaws.com/p");
	assert_string_equal(plain.v[2], "GET /q/y");
	cred_requests(&r, true, &own);
	assert_int_equal(own.n, 3);
	assert_string_equal(own.v[1], "GET /p");
	r.provider = NULL;
	cred_ref_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codex_file_holds_a_key_or_a_login),
		cmocka_unit_test(codex_login_is_renewed_in_place),
		cmocka_unit_test(gemini_file_holds_a_login),
		cmocka_unit_test(client_is_found_in_the_program_that_has_it),
		cmocka_unit_test(google_user_is_one_type_of_several),
		cmocka_unit_test(answer_of_a_token_server_is_read_strictly),
		cmocka_unit_test(end_of_a_login_is_told_from_a_passing_failure),
		cmocka_unit_test(form_is_escaped),
		cmocka_unit_test(npm_token_is_the_one_of_that_registry),
		cmocka_unit_test(git_is_told_from_other_requests),
		cmocka_unit_test(what_makes_credentials_is_told_in_every_spelling),
		cmocka_unit_test(requests_take_the_options_and_leave_the_users_origin_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
