/* Requests with a credential: who may make them, what is sent, and what comes back. */
#include "live.h"

#include <stdio.h>
#include <sys/socket.h>

#define ORIGIN "https://inspected.test"

static const struct live_rule rules[] = {
	{.pattern = "inspected.test", .paths = "/", .credential = "key"},
	{.pattern = "allowed.test:80", .paths = "/", .credential = "key"},
	{.pattern = "other.test", .methods = "GET POST"},
};

static const struct live_options options = {
	.rules = rules, .n_rules = ARRAY_SIZE(rules), .route_url = ORIGIN};

static int up(void **state)
{
	live_start(&options);
	return 0;
}

static int down(void **state)
{
	live_stop();
	return 0;
}

static void has_not(const char *text, const char *part)
{
	if (strcasestr(text, part))
		fail_msg("'%s' is in '%s'", part, text);
}

/* A request to a route; fields: lines with their ends. */
static char *route(const char *line, const char *fields)
{
	cleanup_free char *rq = xasprintf(
		"%s HTTP/1.1\r\nHost: 127.0.0.1:3128\r\nConnection: close\r\n%s\r\n", line, fields);

	return ask(rq);
}

static char *get_route(const char *path)
{
	cleanup_free char *line = xasprintf("GET /_ralph/test/v1/%s", path);

	return route(line, "x-api-key: phantom-token\r\n");
}

/* The body of an answer that a server wrote so that nothing finds secrets in it: see live-echo.c. */
static char *unhex(const char *answer)
{
	const char *p = strstr(answer, "\r\n\r\n");
	struct buf b;

	buf_init(&b, MiB);
	starts(answer, "HTTP/1.1 200 ");
	for (p = p ? p + 4 : ""; p[0] && p[1]; p += 2) {
		unsigned int v = 0;

		for (int i = 0; i < 2; i++)
			v = v << 4 | (unsigned int)(p[i] <= '9' ? p[i] - '0' : p[i] - 'a' + 10);
		(void)buf_putc(&b, (char)~v);
	}
	return b.data ? buf_take(&b) : xstrdup("");
}

static SSL *inspected(const char *host)
{
	cleanup_free char *authority = xasprintf("%s:443", host);

	return tls_over(tunnel_to(authority), host, TRUST_SANDBOX);
}

static char *tls_ask(const char *host, const char *request)
{
	SSL *s = inspected(host);
	char *a;

	assert_non_null(s);
	tls_put(s, request);
	a = tls_get(s, NULL);
	tls_close(s);
	return a;
}

static void the_real_credential_is_set_once_and_every_copy_of_the_clients_is_gone(void **state)
{
	cleanup_free char *a = NULL, *seen = NULL;
	const char *first;

	a = route("POST /_ralph/test/v1/hex?beta=true&key=AIzaSECRET&x=1&access%5ftoken=y"
		  "&X-Amz-Signature=z&%24key=w",
		  "x-api-key: phantom-token\r\nX-Api-Key: sk-real-looking\r\n"
		  "Authorization: Bearer sk-ant-real-looking\r\nauthorization: Basic eDp5\r\n"
		  "api-key: other\r\nx-goog-api-key: AIza\r\nCookie: session=1\r\n"
		  "X-Amz-Security-Token: aws\r\nX-Amz-Date: now\r\nRange: bytes=0-9\r\n"
		  "X-HTTP-Method-Override: DELETE\r\nAccept-Encoding: gzip, br\r\n"
		  "anthropic-version: 2023-06-01\r\nContent-Length: 0\r\n");
	seen = unhex(a);
	starts(seen, "POST /v1/hex?beta=true&x=1 HTTP/1.1\r\nHost: inspected.test\r\n");
	first = strstr(seen, "Authorization: Bearer the-real-key\r\n");
	assert_non_null(first);
	assert_null(strcasestr(first + 10, "authorization"));
	has(seen, "anthropic-version: 2023-06-01\r\n");
	has(seen, "Accept-Encoding: identity\r\n");
	has_not(seen, "phantom");
	has_not(seen, "real-looking");
	has_not(seen, "eDp5");
	has_not(seen, "api-key");
	has_not(seen, "AIza");
	has_not(seen, "cookie");
	has_not(seen, "x-amz");
	has_not(seen, "range");
	has_not(seen, "override");
	has_not(seen, "gzip");
}

static void a_rule_of_an_inspected_host_injects_too(void **state)
{
	cleanup_free char *a = tls_ask(
		"inspected.test", "GET /hex HTTP/1.1\r\nHost: inspected.test\r\nCookie: a=b\r\n"
				  "Authorization: Basic eDpwaGFudG9tLXRva2Vu\r\n"
				  "Connection: close\r\n\r\n");
	cleanup_free char *seen = unhex(a);

	has(seen, "Authorization: Bearer the-real-key\r\n");
	has_not(seen, "basic");
	has_not(seen, "cookie");
}

static void a_credential_is_not_sent_without_tls(void **state)
{
	static const struct live_options plain = {
		.rules = rules, .n_rules = ARRAY_SIZE(rules), .route_url = "http://allowed.test"};
	cleanup_free char *a = ask("GET http://allowed.test/hex HTTP/1.1\r\nHost: allowed.test\r\n"
				   "Connection: close\r\n\r\n");
	cleanup_free char *b = NULL;
	size_t rejected;

	starts(a, "HTTP/1.1 403 ");
	has(a, "TLS");
	assert_int_equal(live_asks(&rejected), 0);
	live_stop();
	live_start(&plain);
	b = get_route("hex");
	starts(b, "HTTP/1.1 503 ");
	has(b, "x-should-retry: false");
	assert_int_equal(live_asks(&rejected), 0);
}

/* What is asked of a route and what it answers; the rest of the log's line is checked apart. */
static const struct {
	const char *name, *line, *fields, *want, *also;
} cases[] = {
	{"no phantom", "GET /_ralph/test/v1/hex", "", "401", "phantom"},
	{"another phantom", "GET /_ralph/test/v1/hex", "x-api-key: phantom-tokem\r\n", "401", ""},
	{"a longer one", "GET /_ralph/test/v1/hex", "x-api-key: phantom-token1\r\n", "401", ""},
	{"of another route", "GET /_ralph/test/v1/hex", "x-api-key: phantom-of-stale\r\n", "401",
	 ""},
	{"as bearer", "GET /_ralph/test/v1/hex", "Authorization: Bearer phantom-token\r\n", "200",
	 ""},
	{"google's field", "GET /_ralph/test/v1/hex", "x-goog-api-key: phantom-token\r\n", "200",
	 ""},
	{"in the path", "GET /_ralph/test/phantom-token/v1/hex", "", "200", ""},
	{"in the path of another", "GET /_ralph/test/phantom-of-stale/v1/hex", "", "401", ""},
	{"in a field of no key", "GET /_ralph/test/v1/hex",
	 "x-api-key: phantom-token\r\nX-Note: phantom-token\r\n", "403", "belong"},
	{"twice in the path", "GET /_ralph/test/phantom-token/v1/phantom-token", "", "403",
	 "belong"},
	{"escaped in the path", "GET /_ralph/test/v1/%70hantom-token",
	 "x-api-key: phantom-token\r\n", "403", "belong"},
	{"in the query", "GET /_ralph/test/v1/hex?q=phantom-token", "x-api-key: phantom-token\r\n",
	 "403", "belong"},
	{"unknown provider", "GET /_ralph/nobody/v1/hex", "x-api-key: phantom-token\r\n", "404",
	 ""},
	{"another method", "DELETE /_ralph/test/v1/hex", "x-api-key: phantom-token\r\n", "403",
	 "not among"},
	{"another path", "POST /_ralph/test/oauth/token",
	 "x-api-key: phantom-token\r\nContent-Length: 0\r\n", "403", "not among"},
	{"a longer segment", "GET /_ralph/test/v10/keys", "x-api-key: phantom-token\r\n", "403",
	 ""},
	{"other case", "GET /_ralph/test/V1/hex", "x-api-key: phantom-token\r\n", "403", ""},
	{"dot segments", "GET /_ralph/test/v1/../oauth/token", "x-api-key: phantom-token\r\n",
	 "403", "more than one way"},
	{"escaped dots", "GET /_ralph/test/v1/%2e%2e/oauth", "x-api-key: phantom-token\r\n", "403",
	 ""},
	{"escaped slash and dots", "GET /_ralph/test/v1/..%2foauth", "x-api-key: phantom-token\r\n",
	 "403", ""},
	{"double slash", "GET /_ralph/test//v1/hex", "x-api-key: phantom-token\r\n", "403", ""},
	{"backslash", "GET /_ralph/test/v1/%5c..%5coauth", "x-api-key: phantom-token\r\n", "403",
	 ""},
	{"a websocket", "GET /_ralph/test/responses",
	 "x-api-key: phantom-token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", "426", ""},
	{"no such credential", "GET /_ralph/none/v1/hex", "x-api-key: phantom-of-none\r\n", "503",
	 ""},
	{"over the budget", "GET /_ralph/broke/v1/hex", "x-api-key: phantom-of-broke\r\n", "402",
	 "ralph: 20 USD of 20 are spent"},
};

static void who_may_ask_a_provider_for_what(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *a = route(cases[i].line, cases[i].fields);
		bool fine = streq(cases[i].want, "200");

		if (strncmp(a + strlen("HTTP/1.1 "), cases[i].want, 3) != 0)
			fail_msg("%s: '%s'", cases[i].name, a);
		has(a, cases[i].also);
		if (!fine)
			has(a, "x-should-retry: false\r\n");
	}
	has(live_event(GW_VERB_HTTP, GW_DENY, "")->path, "/_ralph/test/v1/hex");
}

static void a_phantom_is_never_in_the_log(void **state)
{
	cleanup_free char *a = route("GET /_ralph/test/phantom-token/v1/hex", "");
	cleanup_free char *b =
		route("GET /_ralph/test/v1/phantom-token", "x-api-key: phantom-token\r\n");
	const struct gw_event *e;

	starts(a, "HTTP/1.1 200 ");
	starts(b, "HTTP/1.1 403 ");
	e = live_event(GW_VERB_HTTP, GW_ALLOW, "");
	assert_string_equal(e->path, "/_ralph/test/v1/hex");
	assert_string_equal(e->rule, "credential key");
	e = live_event(GW_VERB_HTTP, GW_DENY, "");
	assert_string_equal(e->path, "/_ralph/test/v1/*************");
}

static void a_phantom_is_refused_at_every_other_host(void **state)
{
	static const char *const fields[] = {
		"Authorization: Bearer phantom-token",
		"X-Anything: (phantom-token)",
		"Authorization: Basic eDpwaGFudG9tLXRva2Vu",
		"Cookie: a=phantom-token",
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		cleanup_free char *rq = xasprintf("GET /seen HTTP/1.1\r\nHost: other.test\r\n%s\r\n"
						  "Connection: close\r\n\r\n",
						  fields[i]);
		cleanup_free char *a = tls_ask("other.test", rq);

		starts(a, "HTTP/1.1 403 ");
		has(a, "phantom");
		assert_non_null(
			strstr(live_event(GW_VERB_HTTP, GW_DENY, "other.test")->reason, "phantom"));
	}
	{
		cleanup_free char *a =
			tls_ask("other.test", "GET /seen?t=%70hantom-token HTTP/1.1\r\n"
					      "Host: other.test\r\nConnection: close\r\n\r\n");
		/* In a body it is left alone. */
		cleanup_free char *b =
			tls_ask("other.test",
				"POST /body HTTP/1.1\r\nHost: other.test\r\n"
				"Content-Length: 13\r\nConnection: close\r\n\r\nphantom-token");

		starts(a, "HTTP/1.1 403 ");
		starts(b, "HTTP/1.1 200 ");
		has(b, "\r\n\r\nphantom-token");
	}
}

static void the_host_field_steers_nothing(void **state)
{
	cleanup_free char *a = ask("GET /_ralph/test/v1/hex HTTP/1.1\r\nHost: evil.test\r\n"
				   "X-Forwarded-Host: evil.test\r\nx-api-key: phantom-token\r\n"
				   "Connection: close\r\n\r\n");
	cleanup_free char *seen = unhex(a);
	cleanup_free char *b = ask(
		"GET http://127.0.0.1:3128/_ralph/test/v1/hex HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n"
		"x-api-key: phantom-token\r\nConnection: close\r\n\r\n");
	cleanup_free char *evil = ask(
		"GET http://evil.test:3128/_ralph/test/v1/hex HTTP/1.1\r\nHost: evil.test:3128\r\n"
		"x-api-key: phantom-token\r\nConnection: close\r\n\r\n");

	starts(seen, "GET /v1/hex HTTP/1.1\r\nHost: inspected.test\r\n");
	starts(b, "HTTP/1.1 200 ");
	starts(evil, "HTTP/1.1 403 ");
}

static void a_route_needs_no_rule_and_makes_none(void **state)
{
	static const struct live_options alone = {.route_url = ORIGIN};
	cleanup_free char *a = NULL, *b = NULL;

	live_start(&alone);
	a = get_route("hex");
	starts(a, "HTTP/1.1 200 ");
	b = ask("CONNECT inspected.test:443 HTTP/1.1\r\nHost: inspected.test:443\r\n\r\n");
	starts(b, "HTTP/1.1 403 ");
}

static void a_private_origin_must_be_the_users_own(void **state)
{
	static const struct live_options named = {.route_url = "https://private.test",
						  .route_private = true},
					 found = {.route_url = "https://private.test"},
					 meta = {.route_url = "https://meta.test",
						 .route_private = true};
	cleanup_free char *a = NULL, *b = NULL, *c = NULL;

	live_start(&named);
	a = get_route("hex");
	starts(a, "HTTP/1.1 200 ");
	live_stop();
	live_start(&found);
	b = get_route("hex");
	starts(b, "HTTP/1.1 403 ");
	live_stop();
	live_start(&meta);
	c = get_route("hex");
	starts(c, "HTTP/1.1 403 ");
}

static void a_route_may_have_trust_of_its_own(void **state)
{
	struct live_options own = {.rules = rules,
				   .n_rules = ARRAY_SIZE(rules),
				   .route_url = ORIGIN,
				   .bad_trust = true},
			    strange = {.route_url = ORIGIN, .route_ca = "/etc/hosts"};
	cleanup_free char *a = NULL, *b = NULL, *c = NULL, *d = NULL;

	own.route_ca = live_ca_file();
	live_start(&own);
	a = get_route("hex");
	starts(a, "HTTP/1.1 200 ");
	/* It counts for the credential's rule as well, and for no other host. */
	c = tls_ask("inspected.test", "GET /hex HTTP/1.1\r\nHost: inspected.test\r\n"
				      "Connection: close\r\n\r\n");
	starts(c, "HTTP/1.1 200 ");
	d = tls_ask("other.test", "GET /hello HTTP/1.1\r\nHost: other.test\r\n"
				  "Connection: close\r\n\r\n");
	starts(d, "HTTP/1.1 502 ");
	live_stop();
	/* What cannot be read is no trust, and nobody else's serves instead. */
	live_start(&strange);
	b = get_route("hex");
	starts(b, "HTTP/1.1 502 ");
}

static void a_server_with_a_wrong_certificate_gets_no_header(void **state)
{
	static const struct live_options wrong = {.route_url = "https://wrongcert.test"};
	cleanup_free char *a = NULL;

	live_start(&wrong);
	a = get_route("echo/plain");
	starts(a, "HTTP/1.1 502 ");
	has(a, "certificate");
}

static void a_request_may_lead_elsewhere_than_its_route(void **state)
{
	static const struct live_options o = {
		.route_url = "https://private.test/base",
		.requests = "GET /v1/hex/** https://inspected.test/hex/there,GET /v1/**"};
	cleanup_free char *a = NULL, *seen = NULL;

	live_start(&o);
	a = get_route("hex/more?x=1");
	seen = unhex(a);
	starts(seen, "GET /hex/there/more?x=1 HTTP/1.1\r\nHost: inspected.test\r\n");
}

static void an_echo_of_the_secret_is_scrubbed(void **state)
{
	cleanup_free char *closed = get_route("echo/close"), *a = get_route("echo/plain");

	has(closed, "<************");
	has_not(closed, "the-real-key");
	starts(a, "HTTP/1.1 200 ");
	has_not(a, "the-real-key");
	has(a, "<************>");
	assert_string_equal(live_event(GW_VERB_HTTP, GW_ALLOW, "inspected.test")->reason,
			    "a secret came back 1 times and was removed");
}

/* A host that a route gives a credential may show it in an answer to any other request. */
static void the_host_of_a_route_does_not_show_its_secret_under_a_rule(void **state)
{
	static const struct live_rule open[] = {{.pattern = "inspected.test", .methods = "GET"}};
	struct live_options o = options;
	cleanup_free char *a = NULL, *b = NULL;

	o.rules = open;
	o.n_rules = 1;
	live_stop();
	live_start(&o);
	a = get_route("echo/plain");
	has(a, "<************>");
	b = tls_ask("inspected.test",
		    "GET /v1/echo/plain HTTP/1.1\r\nHost: inspected.test\r\n"
		    "Authorization: Bearer the-real-key\r\nConnection: close\r\n\r\n");
	has(b, "<************>");
	has_not(b, "the-real-key");
}

static void an_echo_in_base64_heads_and_trailers_is_scrubbed(void **state)
{
	cleanup_free char *b64 = get_route("echo/base64"), *head = get_route("echo/head");
	cleanup_free char *interim = get_route("echo/interim"), *split = get_route("echo/split");

	/* What is left of each is what the bytes around it share with it. */
	has(b64, "****************");
	has_not(b64, "dGhlLXJlYWwta2V5");
	has_not(b64, "ZS1yZWFsLWtle");
	has_not(b64, "LXJlYWwta2V");
	has(head, "X-Echo: ************\r\n");
	has_not(head, "set-cookie");
	has(interim, "Link: <************>\r\n");
	has_not(interim, "the-real-key");
	has(split, "before");
	has(split, "************>");
	has(split, "x-late: ************\r\n");
	has_not(split, "the-real");
	has_not(split, "key>");
}

static void a_stretch_that_is_not_over_waits_and_nothing_else_does(void **state)
{
	int fd = client_proxy();
	cleanup_free char *before = NULL, *rest = NULL;

	put(fd, "GET /_ralph/test/v1/echo/wait HTTP/1.1\r\nHost: x\r\n"
		"x-api-key: phantom-token\r\nConnection: close\r\n\r\n");
	before = get(fd, "<");
	has(before, "before");
	server_go();
	rest = get(fd, NULL);
	(void)close(fd);
	has_not(before, "the-r");
	has_not(rest, "real-key");
	has(rest, "************>");
}

/* The end of a message ends a stretch, but not where a client wrote the length of the message. */
static void a_text_that_calls_itself_grpc_is_searched_as_a_text(void **state)
{
	int fd = client_proxy();
	cleanup_free char *before = NULL, *rest = NULL;

	put(fd, "GET /_ralph/test/v1/echo/grpc HTTP/1.1\r\nHost: x\r\n"
		"x-api-key: phantom-token\r\nConnection: close\r\n\r\n");
	before = get(fd, "<");
	server_go();
	rest = get(fd, NULL);
	(void)close(fd);
	has_not(rest, "l-key");
	has(rest, "************>");
}

/* The length of a compressed text tells how much of it is like the rest. */
static void a_compressed_answer_is_refused(void **state)
{
	static const char *const codings[] = {"gzip", "deflate", "br", "twice"};

	for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
		cleanup_free char *path = xasprintf("echo/%s", codings[i]);
		cleanup_free char *a = get_route(path);

		starts(a, "HTTP/1.1 502 ");
		has_not(a, "the-real-key");
	}
}

static void a_part_of_an_answer_that_nobody_asked_for_is_refused(void **state)
{
	cleanup_free char *part = get_route("echo/part");

	starts(part, "HTTP/1.1 502 ");
	has_not(part, "<the");
}

static void a_redirect_is_passed_on_and_not_followed(void **state)
{
	cleanup_free char *a = get_route("moved");

	starts(a, "HTTP/1.1 302 ");
	has(a, "Location: https://other.test/seen\r\n");
	assert_int_equal(live_events_left(GW_ALLOW), 1);
}

static void a_401_is_answered_by_one_refresh_and_one_retry(void **state)
{
	size_t rejected;
	cleanup_free char *a =
		ask("POST /_ralph/stale/v1/fresh HTTP/1.1\r\nHost: x\r\n"
		    "x-api-key: phantom-of-stale\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
		    "hello");
	cleanup_free char *chunked = NULL, *b = NULL;

	starts(a, "HTTP/1.1 200 ");
	has(a, "\r\n\r\nhello");
	assert_int_equal(live_asks(&rejected), 2);
	assert_int_equal(rejected, 1);
	chunked = ask("POST /_ralph/stale/v1/fresh HTTP/1.1\r\nHost: x\r\n"
		      "x-api-key: phantom-of-stale\r\nTransfer-Encoding: chunked\r\n"
		      "Connection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
	starts(chunked, "HTTP/1.1 200 ");
	has(chunked, "\r\n\r\nabcde");
	(void)live_asks(&rejected);
	/* What cannot be renewed: the server's own answer, and no more attempts. */
	b = ask("GET /_ralph/dead/v1/fresh HTTP/1.1\r\nHost: x\r\n"
		"x-api-key: phantom-of-dead\r\nConnection: close\r\n\r\n");
	starts(b, "HTTP/1.1 401 ");
	has(b, "stale!");
	has(b, "x-should-retry: false\r\n");
	assert_int_equal(live_asks(&rejected), 2);
	assert_int_equal(rejected, 1);
}

static char *post_stale(const char *path, size_t n)
{
	cleanup_free char *body = xmalloc(n);
	cleanup_free char *head = xasprintf(
		"POST /_ralph/stale/v1/%s HTTP/1.1\r\nHost: x\r\nx-api-key: phantom-of-stale\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n",
		path, n);
	int fd = client_proxy();
	char *a;

	memset(body, 'b', n);
	put(fd, head);
	put_bytes(fd, body, n);
	a = get(fd, NULL);
	(void)close(fd);
	return a;
}

static void a_401_before_the_end_of_the_request_is_retried_with_all_of_it(void **state)
{
	cleanup_free char *a = post_stale("fresh/soon", 700000);
	size_t rejected;

	starts(a, "HTTP/1.1 200 ");
	has(a, "Content-Length: 700000\r\n");
	assert_int_equal(live_asks(&rejected), 2);
	assert_int_equal(rejected, 1);
}

static void a_request_too_long_to_be_kept_gets_its_401_and_the_supervisor_is_told(void **state)
{
	struct live_options keeps = options;
	cleanup_free char *a = NULL;
	size_t rejected;

	keeps.keep_ms = 30000;
	live_start(&keeps);
	a = post_stale("fresh/soon", 3 << 20);
	starts(a, "HTTP/1.1 401 ");
	has_not(a, "x-should-retry");
	assert_int_equal(live_asks(&rejected), 2);
	assert_int_equal(rejected, 1);
}

static void a_kept_header_is_forgotten_with_a_401(void **state)
{
	struct live_options keeps = options;
	size_t rejected;

	keeps.keep_ms = 30000;
	live_start(&keeps);
	for (int i = 0; i < 3; i++) {
		cleanup_free char *a =
			ask("GET /_ralph/stale/v1/fresh HTTP/1.1\r\nHost: x\r\n"
			    "x-api-key: phantom-of-stale\r\nConnection: close\r\n\r\n");

		starts(a, "HTTP/1.1 200 ");
	}
	assert_int_equal(live_asks(&rejected), 2);
	assert_int_equal(rejected, 1);
	/* Also when there is nothing newer. */
	for (int i = 0; i < 2; i++) {
		cleanup_free char *a =
			ask("GET /_ralph/dead/v1/fresh HTTP/1.1\r\nHost: x\r\n"
			    "x-api-key: phantom-of-dead\r\nConnection: close\r\n\r\n");

		starts(a, "HTTP/1.1 401 ");
	}
	assert_int_equal(live_asks(&rejected), 4);
	assert_int_equal(rejected, 2);
}

static void a_body_is_read_and_digested_where_it_is_signed(void **state)
{
	static const char
		empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		hello[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
	cleanup_free char *a =
		route("GET /_ralph/signed/v1/hex", "x-api-key: phantom-of-signed\r\n");
	cleanup_free char *b =
		ask("POST /_ralph/signed/v1/hex HTTP/1.1\r\nHost: x\r\n"
		    "x-api-key: phantom-of-signed\r\nContent-Type: application/json\r\n"
		    "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
		    "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n");
	cleanup_free char *none = unhex(a), *body = unhex(b), *want = NULL;

	want = xasprintf("X-Signed: %s  /v1/hex\r\n", empty);
	has(none, want);
	free(want);
	want = xasprintf("X-Signed: %s application/json /v1/hex\r\n", hello);
	has(body, want);
	has(body, "Content-Length: 5\r\n");
	has_not(body, "chunked");
}

static void a_large_body_is_signed_too_and_one_without_end_is_not(void **state)
{
	size_t n = 900000;
	cleanup_free char *body = xmalloc(n + 1);
	cleanup_free char *a = NULL, *seen = NULL, *b = NULL;
	int fd = client_proxy();

	memset(body, 'a', n);
	body[n] = '\0';
	put(fd,
	    "POST /_ralph/signed/v1/upload HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
	    "x-api-key: phantom-of-signed\r\nContent-Length: 900000\r\nConnection: close\r\n\r\n");
	a = get(fd, "\r\n\r\n");
	starts(a, "HTTP/1.1 100 Continue\r\n");
	put_bytes(fd, body, n);
	free(a);
	a = get(fd, NULL);
	(void)close(fd);
	seen = unhex(a);
	assert_string_equal(seen, "900000 the-real-key");
	b = ask("POST /_ralph/signed/v1/upload HTTP/1.1\r\nHost: x\r\n"
		"x-api-key: phantom-of-signed\r\nContent-Length: 99999999\r\n\r\n");
	starts(b, "HTTP/1.1 413 ");
}

static void what_a_provider_says_it_used_is_reported(void **state)
{
	cleanup_free char *a = get_route("usage");
	const struct gw_usage *u = live_usage();

	starts(a, "HTTP/1.1 200 ");
	assert_string_equal(u->credential, "key");
	assert_string_equal(u->model, "claude-opus-5-5");
	assert_int_equal(u->status, 200);
	assert_int_equal(u->input, 10);
	assert_int_equal(u->output, 42);
	assert_int_equal(u->cache_read, 30);
	assert_string_equal(u->limits,
			    "Retry-After: 7\nanthropic-ratelimit-unified-status: allowed\n");
}

static void connections_with_a_credential_serve_nothing_else(void **state)
{
	struct live_options o = options;
	static const struct live_rule open[] = {{.pattern = "inspected.test", .methods = "GET"}};
	cleanup_free char *a = NULL, *b = NULL, *c = NULL, *d = NULL;

	o.rules = open;
	o.n_rules = 1;
	o.requests = "GET /pid";
	live_start(&o);
	a = route("GET /_ralph/test/pid", "x-api-key: phantom-token\r\n");
	b = tls_ask("inspected.test",
		    "GET /pid HTTP/1.1\r\nHost: inspected.test\r\nConnection: close\r\n\r\n");
	c = route("GET /_ralph/stale/pid", "x-api-key: phantom-of-stale\r\n");
	has(a, "pid=");
	has(b, "pid=");
	has(c, "pid=");
	assert_string_not_equal(strstr(a, "pid="), strstr(b, "pid="));
	assert_string_not_equal(strstr(a, "pid="), strstr(c, "pid="));
	/* While the same credential finds its own again. */
	d = route("GET /_ralph/test/pid", "x-api-key: phantom-token\r\n");
	assert_string_equal(strstr(a, "pid="), strstr(d, "pid="));
}

static void old_clients_and_head_are_served(void **state)
{
	cleanup_free char *old =
		ask("GET /_ralph/test/v1/echo/plain HTTP/1.0\r\nx-api-key: phantom-token\r\n\r\n");
	cleanup_free char *head = ask("HEAD /_ralph/test/v1/echo/head HTTP/1.1\r\nHost: x\r\n"
				      "x-api-key: phantom-token\r\nConnection: close\r\n\r\n");

	starts(old, "HTTP/1.1 200 ");
	has(old, "<************>");
	has_not(old, "chunked");
	starts(head, "HTTP/1.1 200 ");
	has(head, "X-Echo: ************\r\n");
}

static void heads_that_could_smuggle_are_refused_with_a_credential_too(void **state)
{
	static const char *const heads[] = {
		"x-api-key: phantom-token\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n",
		"x-api-key: phantom-token\r\nContent-Length: 4\r\nContent-Length: 5\r\n",
		"x-api-key: phantom-token\r\n folded\r\n",
		"x-api-key: phantom-token\r\nX: a\rb\r\n",
		"x-api-key : phantom-token\r\n",
		"x-api-key: phantom-token\r\nConnection: content-length\r\nContent-Length: 0\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		cleanup_free char *a = route("POST /_ralph/test/v1/hex", heads[i]);

		starts(a, "HTTP/1.1 400 ");
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
#define OWN(fn) cmocka_unit_test_setup_teardown(fn, NULL, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_real_credential_is_set_once_and_every_copy_of_the_clients_is_gone),
		T(a_rule_of_an_inspected_host_injects_too),
		T(a_credential_is_not_sent_without_tls),
		T(who_may_ask_a_provider_for_what),
		T(a_phantom_is_never_in_the_log),
		T(a_phantom_is_refused_at_every_other_host),
		T(the_host_field_steers_nothing),
		OWN(a_route_needs_no_rule_and_makes_none),
		OWN(a_private_origin_must_be_the_users_own),
		OWN(a_route_may_have_trust_of_its_own),
		OWN(a_server_with_a_wrong_certificate_gets_no_header),
		OWN(a_request_may_lead_elsewhere_than_its_route),
		T(an_echo_of_the_secret_is_scrubbed),
		T(the_host_of_a_route_does_not_show_its_secret_under_a_rule),
		T(an_echo_in_base64_heads_and_trailers_is_scrubbed),
		T(a_stretch_that_is_not_over_waits_and_nothing_else_does),
		T(a_text_that_calls_itself_grpc_is_searched_as_a_text),
		T(a_compressed_answer_is_refused),
		T(a_part_of_an_answer_that_nobody_asked_for_is_refused),
		T(a_redirect_is_passed_on_and_not_followed),
		T(a_401_is_answered_by_one_refresh_and_one_retry),
		T(a_401_before_the_end_of_the_request_is_retried_with_all_of_it),
		OWN(a_request_too_long_to_be_kept_gets_its_401_and_the_supervisor_is_told),
		OWN(a_kept_header_is_forgotten_with_a_401),
		T(a_body_is_read_and_digested_where_it_is_signed),
		T(a_large_body_is_signed_too_and_one_without_end_is_not),
		T(what_a_provider_says_it_used_is_reported),
		OWN(connections_with_a_credential_serve_nothing_else),
		T(old_clients_and_head_are_served),
		T(heads_that_could_smuggle_are_refused_with_a_credential_too),
	};

	live_world();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
