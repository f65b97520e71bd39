#include "tests.h"

#include "policy/request.h"

static struct host host(const char *text)
{
	struct host h;
	struct err e;

	assert_int_equal(host_parse(text, strlen(text), &h, &e), 0);
	return h;
}

/* Lists are written "a,b"; NULL is empty. */
static void add(struct policy *p, const char *methods, const char *paths, const char *git,
		const char *credential)
{
	cleanup_(net_rule_done) struct net_rule t = {
		.pattern = xstrdup("api.example.com"),
		.credential = credential ? xstrdup(credential) : NULL,
	};
	struct err e = {0};

	strv_split(&t.methods, methods ? methods : "", ',');
	strv_split(&t.paths, paths ? paths : "", ',');
	strv_split(&t.git, git ? git : "", ',');
	if (policy_add(p, &t, &e) < 0)
		fail_msg("%s", e.msg);
}

static struct verdict ask(const struct policy *p, const char *method, const char *target, size_t n,
			  struct buf *out)
{
	struct host h = host("api.example.com");
	struct verdict v, ret;

	policy_name(p, &h, 443, &v);
	assert_true(v.allow && v.inspect);
	policy_request(p, &v, &h, 443, method, target, n, out, &ret);
	return ret;
}

struct row {
	const char *methods, *paths, *git;
	const char *method, *target;
	const char *sent; /* NULL: refused */
	enum policy_reason reason;
};

static const struct row rows[] = {
	{"GET", NULL, NULL, "GET", "/a//b/../c%2f", "/a//b/../c%2f", POLICY_BY_RULE},
	{"GET", NULL, NULL, "HEAD", "/", "/", POLICY_BY_RULE},
	{"GET", NULL, NULL, "POST", "/", NULL, POLICY_DENY_METHOD},
	{"GET", NULL, NULL, "get", "/", NULL, POLICY_DENY_METHOD},
	{"GET", NULL, NULL, "GETX", "/", NULL, POLICY_DENY_METHOD},
	{"OPTIONS", NULL, NULL, "OPTIONS", "*", "*", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "OPTIONS", "*", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "DELETE", "/v1", "/v1", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "CONNECT", "/v1", NULL, POLICY_DENY_METHOD},
	{NULL, "/v1", NULL, "GET", "/v1/", "/v1/", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/x/y", "/v1/x/y", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1?a=/../b", "/v1?a=/../b", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v10", NULL, POLICY_DENY_PATH},
	{NULL, "/v1", NULL, "GET", "/v", NULL, POLICY_DENY_PATH},
	{NULL, "/v1", NULL, "GET", "/", NULL, POLICY_DENY_PATH},
	{NULL, "/v1", NULL, "GET", "/V1", NULL, POLICY_DENY_PATH},
	{NULL, "/v1", NULL, "GET", "/x?/v1", NULL, POLICY_DENY_PATH},
	{NULL, "/v1/", NULL, "GET", "/v1", NULL, POLICY_DENY_PATH},
	{NULL, "/v1/", NULL, "GET", "/v1/", "/v1/", POLICY_BY_RULE},
	{NULL, "/v1/", NULL, "GET", "/v1/x", "/v1/x", POLICY_BY_RULE},
	{NULL, "/", NULL, "GET", "/anything", "/anything", POLICY_BY_RULE},
	{"GET", "/v1", NULL, "POST", "/v1", NULL, POLICY_DENY_METHOD},
	{"GET", "/v1", NULL, "GET", "/v2", NULL, POLICY_DENY_PATH},
	/* one form: decoded where decoding changes nothing, and that is what is sent */
	{NULL, "/v1", NULL, "GET", "/%76%31/%7euser", "/v1/~user", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/a%3ab%c3%bc", "/v1/a%3Ab%C3%BC", POLICY_BY_RULE},
	{NULL, "/%7Ea", NULL, "GET", "/~a", "/~a", POLICY_BY_RULE},
	{NULL, "/a%3a", NULL, "GET", "/a%3A", "/a%3A", POLICY_BY_RULE},
	{NULL, "/a%3a", NULL, "GET", "/a:", NULL, POLICY_DENY_PATH},
	/* "." segments, as flat repositories of apt have them */
	{NULL, "/v1", NULL, "GET", "/v1/./x", "/v1/x", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/./v1/././x?a=/./", "/v1/x?a=/./", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/%2E/x", "/v1/x", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/.", "/v1/", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/./.", "/v1/", POLICY_BY_RULE},
	{NULL, "/v1/", NULL, "GET", "/./v1", NULL, POLICY_DENY_PATH},
	{NULL, "/v1/./a", NULL, "GET", "/v1/a/b", "/v1/a/b", POLICY_BY_RULE},
	{NULL, "/", NULL, "GET", "/.", "/", POLICY_BY_RULE},
	/* dots and slashes in disguise: overlong, full-width, folded, escaped twice */
	{NULL, "/v1", NULL, "GET", "/v1/%c0%ae%c0%ae/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/..%c0%afadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/..%c1%9cadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%e0%80%ae.", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%f0%80%80%af", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%f8%80%80%80%ae", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%ef%bc%8e%ef%bc%8e/", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%EF%BC%8Fadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%ef%bc%bcadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%ef%bc%852e", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%e2%80%a5/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%e2%88%95admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%25c0%25ae/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%25ef%25bc%258e", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%fcber", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%c3", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%c3/%bc", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%ed%a0%80", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%e2%82%ac%f0%9f%98%80", "/v1/%E2%82%AC%F0%9F%98%80",
	 POLICY_BY_RULE},
	/* what can be read in two ways */
	{NULL, "/v1", NULL, "GET", "/v1/../admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/..", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/./../x", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/.//x", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/.;a/x", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/.%2fx", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1%2f./x", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%2e%2e/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/.%2E/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/..%2fadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/x%2f..%2f..%2fadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/..;/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/..;a=b/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1//x", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "//v1", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%2fx", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1\\..\\admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%5c..%5cadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%252e%252e/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%252fadmin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%252%65%252%65/admin", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%25%32e", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%25252e", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%00", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%0d%0aX:", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%4", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/%zz", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/a b", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/\xc3\xbc", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1#x", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1?x#y", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "http://api.example.com/v1", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, "/v1", NULL, "GET", "/v1/...", "/v1/...", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/..a", "/v1/..a", POLICY_BY_RULE},
	{NULL, "/v1", NULL, "GET", "/v1/100%25", "/v1/100%25", POLICY_BY_RULE},
	/* %2f: a prefix must hold in both readings */
	{NULL, "/@s%2fpkg", NULL, "GET", "/@s%2Fpkg", "/@s%2Fpkg", POLICY_BY_RULE},
	{NULL, "/@s", NULL, "GET", "/@s%2fpkg", NULL, POLICY_DENY_PATH},
	{NULL, "/@s/pkg", NULL, "GET", "/@s%2fpkg", NULL, POLICY_DENY_PATH},
	{NULL, "/v1", NULL, "GET", "/v1/a%2fb", "/v1/a%2Fb", POLICY_BY_RULE},
	{NULL, "/", NULL, "GET", "/@s%2fpkg", "/@s%2Fpkg", POLICY_BY_RULE},
	/* git */
	{NULL, NULL, "fetch", "GET", "/o/r.git/info/refs?service=git-upload-pack",
	 "/o/r.git/info/refs?service=git-upload-pack", POLICY_BY_RULE},
	{NULL, NULL, "fetch", "GET", "/o/r/info/refs?service=git-upload-pack",
	 "/o/r/info/refs?service=git-upload-pack", POLICY_BY_RULE},
	{NULL, NULL, "fetch", "POST", "/o/r.git/git-upload-pack", "/o/r.git/git-upload-pack",
	 POLICY_BY_RULE},
	{NULL, NULL, "fetch", "GET", "/o/r.git/git-upload-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "POST", "/o/r/info/refs?service=git-upload-pack", NULL,
	 POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/o/r/info/refs?service=git-receive-pack", NULL,
	 POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "POST", "/o/r/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/o/r/info/refs", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/o/r/HEAD", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/o/r/objects/info/packs", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/o/r/info/refs?service=git-upload-pack&x=1", NULL,
	 POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/o/r/info/refs?x=1&service=git-upload-pack", NULL,
	 POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/info/refs?service=git-upload-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch", "GET", "/", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "fetch o/r", "POST", "/o/r/git-upload-pack", "/o/r/git-upload-pack",
	 POLICY_BY_RULE},
	{NULL, NULL, "fetch o/r", "POST", "/o/x/git-upload-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "GET", "/o/r.git/info/refs?service=git-receive-pack",
	 "/o/r.git/info/refs?service=git-receive-pack", POLICY_BY_RULE},
	{NULL, NULL, "push o/r", "POST", "/o/r/git-receive-pack", "/o/r/git-receive-pack",
	 POLICY_BY_RULE},
	{NULL, NULL, "push o/r.git", "POST", "/o/r/git-receive-pack", "/o/r/git-receive-pack",
	 POLICY_BY_RULE},
	{NULL, NULL, "push o/r", "POST", "/o/r/git-upload-pack", "/o/r/git-upload-pack",
	 POLICY_BY_RULE},
	{NULL, NULL, "push o/r", "POST", "/o/x/git-upload-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "POST", "/o/x/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "POST", "/o/r2/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "POST", "/x/o/r/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "POST", "/o/r/x/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "POST", "/o%2Fr/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push o/r", "POST", "/o/../x/y/git-receive-pack", NULL, POLICY_DENY_AMBIGUOUS},
	{NULL, NULL, "fetch,push o/r", "POST", "/a/b/git-upload-pack", "/a/b/git-upload-pack",
	 POLICY_BY_RULE},
	{NULL, NULL, "fetch,push o/r", "POST", "/a/b/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, NULL, "push g/s/r", "POST", "/g/s/r.git/git-receive-pack",
	 "/g/s/r.git/git-receive-pack", POLICY_BY_RULE},
	/* git requests are git's, whatever methods and paths say */
	{NULL, "/", "fetch", "GET", "/o/r/issues", "/o/r/issues", POLICY_BY_RULE},
	{NULL, "/", "fetch", "POST", "/o/r/git-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, "/", "fetch", "POST", "/o/r/%67it-receive-pack", NULL, POLICY_DENY_GIT},
	{NULL, "/", "fetch", "POST", "/o/r/git-receive-pack?x", NULL, POLICY_DENY_GIT},
	{NULL, "/", "fetch", "POST", "/o/r/git-receive-pack/", NULL, POLICY_DENY_GIT},
	{NULL, "/", "fetch", "GET", "/o/r/info/refs?service=git%2dreceive-pack", NULL,
	 POLICY_DENY_GIT},
};

static void requests_are_decided_on_one_form_and_that_form_is_sent(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
		cleanup_buf struct buf out;
		struct verdict v;

		buf_init(&out, REQUEST_TARGET_MAX);
		add(p, rows[i].methods, rows[i].paths, rows[i].git, NULL);
		v = ask(p, rows[i].method, rows[i].target, strlen(rows[i].target), &out);
		if (v.allow != !!rows[i].sent || v.reason != rows[i].reason)
			fail_msg("row %zu: %s %s is %s (%s)", i, rows[i].method, rows[i].target,
				 v.allow ? "allowed" : "refused", policy_reason_name(v.reason));
		assert_string_equal(buf_str(&out), rows[i].sent ? rows[i].sent : "");
	}
}

static void the_form_that_is_sent_is_a_fixed_point(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf a, b;
		size_t n;

		buf_init(&a, REQUEST_TARGET_MAX);
		buf_init(&b, REQUEST_TARGET_MAX);
		if (request_canon(rows[i].target, strlen(rows[i].target), &a, &n) < 0)
			continue;
		assert_int_equal(request_canon(a.data, a.len, &b, &n), 0);
		assert_string_equal(buf_str(&a), buf_str(&b));
	}
}

static void a_nul_in_a_target_is_refused(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
	cleanup_buf struct buf out;

	buf_init(&out, REQUEST_TARGET_MAX);
	add(p, NULL, "/v1", NULL, NULL);
	assert_false(ask(p, "GET", "/v1/\0/x", 7, &out).allow);
	assert_false(ask(p, "GET", "/v1?\0", 5, &out).allow);
}

static void rules_of_one_host_are_joined(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
	cleanup_buf struct buf out;
	struct verdict v;

	buf_init(&out, REQUEST_TARGET_MAX);
	add(p, "GET", "/a", NULL, NULL);
	add(p, "POST", "/b", NULL, "key");
	v = ask(p, "POST", "/b", 2, &out);
	assert_true(v.allow);
	assert_int_equal(v.rule, 1);
	assert_true(ask(p, "GET", "/a", 2, &out).allow);
	assert_false(ask(p, "POST", "/a", 2, &out).allow);
	assert_false(ask(p, "GET", "/b", 2, &out).allow);
}

/* The credential that the request carries, or "none", or why it is refused. */
static const char *carries(const struct policy *p, const char *method, const char *target)
{
	cleanup_buf struct buf out;
	const char *credential;
	struct verdict v;

	buf_init(&out, REQUEST_TARGET_MAX);
	v = ask(p, method, target, strlen(target), &out);
	credential = policy_credential(p, &v);
	if (!v.allow)
		return policy_reason_name(v.reason);
	return credential ? credential : "none";
}

static void a_credential_goes_with_the_requests_of_its_own_rule_alone(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_INET);

	add(p, "GET", "/a", NULL, NULL);
	add(p, "POST", "/a", NULL, "writer");
	add(p, "GET", "/b", NULL, "reader");
	assert_string_equal(carries(p, "GET", "/a/x"), "none");
	assert_string_equal(carries(p, "HEAD", "/a/x"), "none");
	assert_string_equal(carries(p, "POST", "/a/x"), "writer");
	assert_string_equal(carries(p, "GET", "/b"), "reader");
	assert_string_equal(carries(p, "POST", "/b"), "method");
}

static void without_paths_the_method_decides_which_credential(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_INET);

	add(p, "GET", NULL, NULL, NULL);
	add(p, "POST", NULL, NULL, "writer");
	assert_string_equal(carries(p, "GET", "/"), "none");
	assert_string_equal(carries(p, "POST", "/"), "writer");
}

static void the_rule_that_describes_a_request_most_narrowly_gives_the_credential(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_INET);

	add(p, NULL, "/a", NULL, "wide");
	add(p, NULL, "/a/b", NULL, "narrow");
	add(p, "GET", "/a/b/c", NULL, NULL);
	assert_string_equal(carries(p, "GET", "/a/x"), "wide");
	assert_string_equal(carries(p, "GET", "/a/b"), "narrow");
	assert_string_equal(carries(p, "GET", "/a/b/c"), "none");
	assert_string_equal(carries(p, "POST", "/a/b/c"), "narrow");
}

static void a_path_that_two_servers_read_differently_has_no_credential(void **state)
{
	static const char *const two_faced[] = {
		"/api/open%2Fx", "/api/open%2fx", "/api/open;v=1/x", "/api/open;/x",
		"/api%2Fopen/x", "/api;x/open",	  "/api/Open/x",     "/api/ope%6E%2Fx"};
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_INET);

	add(p, NULL, "/", NULL, "wide");
	add(p, NULL, "/api/open", NULL, NULL);
	assert_string_equal(carries(p, "GET", "/api/open/x"), "none");
	for (size_t i = 0; i < ARRAY_SIZE(two_faced); i++)
		assert_string_equal(carries(p, "GET", two_faced[i]), "ambiguous-path");
	assert_string_equal(carries(p, "GET", "/@scope%2Fname"), "wide");
	assert_string_equal(carries(p, "GET", "/Api/other;v=1"), "wide");
}

static void a_repository_that_a_rule_names_has_that_rules_credential(void **state)
{
	static const char *const fetch_mine = "/me/x/info/refs?service=git-upload-pack",
				 *const fetch_other = "/you/y/info/refs?service=git-upload-pack",
				 *const push_mine = "/me/x/info/refs?service=git-receive-pack";
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_INET);

	add(p, NULL, NULL, "fetch", NULL);
	add(p, NULL, NULL, "push me/x", "mine");
	assert_string_equal(carries(p, "GET", fetch_other), "none");
	assert_string_equal(carries(p, "GET", fetch_mine), "mine");
	assert_string_equal(carries(p, "GET", push_mine), "mine");
}

static void equal_rules_with_different_credentials_refuse_the_request(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_INET);

	add(p, "GET", "/a", NULL, "one");
	add(p, "GET", "/a", NULL, NULL);
	assert_string_equal(carries(p, "GET", "/a"), "one");
	add(p, "GET", "/a", NULL, "two");
	add(p, "GET", "/a/b", NULL, "two");
	assert_string_equal(carries(p, "GET", "/a"), "two-credentials");
	assert_string_equal(carries(p, "GET", "/a/b"), "two");
}

#define AT(member) offsetof(struct net_rule, member)
static void bad_lists_of_a_rule_are_refused_with_the_remedy(void **state)
{
	static const struct {
		size_t list;
		const char *text, *says;
	} bad[] = {
		{AT(methods), "get", "capitals"},
		{AT(methods), "GET /", "capitals"},
		{AT(methods), "CONNECT", "cannot be allowed"},
		{AT(paths), "v1", "begins with '/'"},
		{AT(paths), "/v1/*", "prefix without '*'"},
		{AT(paths), "/v1?x", "prefix without '*'"},
		{AT(paths), "/v1/../x", "'..'"},
		{AT(paths), "//", "empty"},
		{AT(git), "push", "push OWNER/REPO"},
		{AT(git), "push *", "push OWNER/REPO"},
		{AT(git), "push o", "push OWNER/REPO"},
		{AT(git), "push o/", "push OWNER/REPO"},
		{AT(git), "push /o/r", "push OWNER/REPO"},
		{AT(git), "push o/../r", "push OWNER/REPO"},
		{AT(git), "push  o/r", "push OWNER/REPO"},
		{AT(git), "clone", "push OWNER/REPO"},
		{AT(git), "", "push OWNER/REPO"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_(net_rule_done) struct net_rule rule = {0};
		struct err e = {0};

		strv_push((void *)((char *)&rule + bad[i].list), bad[i].text);
		assert_int_equal(request_read_lists(&rule, &e), -EINVAL);
		if (!strstr(e.msg, bad[i].says))
			fail_msg("'%s' does not say '%s'", e.msg, bad[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_decided_on_one_form_and_that_form_is_sent),
		cmocka_unit_test(the_form_that_is_sent_is_a_fixed_point),
		cmocka_unit_test(a_nul_in_a_target_is_refused),
		cmocka_unit_test(rules_of_one_host_are_joined),
		cmocka_unit_test(a_credential_goes_with_the_requests_of_its_own_rule_alone),
		cmocka_unit_test(without_paths_the_method_decides_which_credential),
		cmocka_unit_test(
			the_rule_that_describes_a_request_most_narrowly_gives_the_credential),
		cmocka_unit_test(a_path_that_two_servers_read_differently_has_no_credential),
		cmocka_unit_test(a_repository_that_a_rule_names_has_that_rules_credential),
		cmocka_unit_test(equal_rules_with_different_credentials_refuse_the_request),
		cmocka_unit_test(bad_lists_of_a_rule_are_refused_with_the_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
