/* Requests through the gateway: forwarding, inspection, credentials, the host's proxy. */
#include "live.h"

#include <stdio.h>
#include <sys/socket.h>

static const struct live_rule rules[] = {
	{.pattern = "allowed.test"},
	{.pattern = "other.test"},
	{.pattern = "inspected.test",
	 .methods = "GET",
	 .paths = "/hello /seen /sse /pid /ws /big /close"},
	{.pattern = "inspected.test", .methods = "POST", .paths = "/body"},
	{.pattern = "fetch.test:80", .git = "fetch"},
};

static const struct live_options options = {.rules = rules, .n_rules = ARRAY_SIZE(rules)};

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
	if (strstr(text, part))
		fail_msg("'%s' is in '%s'", part, text);
}

/* Proxy cases as data: what is sent to the proxy port and what must, and must not, come back. */
struct proxy_case {
	const char *name, *request, *want, *also, *never;
};

static const struct proxy_case cases[] = {
	{"absolute-form is forwarded in origin-form",
	 "GET http://allowed.test/seen?a=b HTTP/1.1\r\nHost: allowed.test\r\nX-Own: 1\r\n"
	 "Connection: close\r\n\r\n",
	 "HTTP/1.1 200 OK", "GET /seen?a=b HTTP/1.1\r\nHost: allowed.test\r\n", "http://"},
	{"hop-by-hop fields stay here",
	 "GET http://allowed.test/seen HTTP/1.1\r\nHost: allowed.test\r\nProxy-Authorization: x\r\n"
	 "Proxy-Connection: keep-alive\r\nConnection: close, X-Mine\r\nX-Mine: y\r\n\r\n",
	 "HTTP/1.1 200 OK", "GET /seen", "X-Mine"},
	{"a body with a length arrives",
	 "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\n"
	 "Connection: close\r\n\r\nhello",
	 "HTTP/1.1 200 OK", "\r\n\r\nhello", NULL},
	{"a chunked body arrives chunked, trailers included",
	 "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\n"
	 "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
	 "3;ext=1\r\nabc\r\n0\r\nx-t: 1\r\n\r\n",
	 "HTTP/1.1 200 OK", "3\r\nabc\r\n0\r\nx-t: 1\r\n\r\n", "ext"},
	{"100-continue comes from the server",
	 "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 2\r\n"
	 "Expect: 100-continue\r\nConnection: close\r\n\r\nok",
	 "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", "\r\n\r\nok", NULL},
	{"an answer without a length ends with the connection",
	 "GET http://allowed.test/close HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "HTTP/1.1 200 OK",
	 "until the end", NULL},
	{"HTTP/1.0 gets no chunks",
	 "GET http://allowed.test/hello HTTP/1.0\r\nHost: allowed.test\r\n\r\n", "HTTP/1.1 200 OK",
	 "Connection: close", "chunked"},
	{"HEAD has no body",
	 "HEAD http://allowed.test/nowhere HTTP/1.1\r\nHost: allowed.test\r\nConnection: "
	 "close\r\n\r\n",
	 "HTTP/1.1 404 ", "", NULL},
	{"a host that no rule allows", "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	 "HTTP/1.1 403 ", "\"host\":\"evil.test\"", NULL},
	{"Host and target disagree", "GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	 "HTTP/1.1 400 ", "", NULL},
	{"userinfo", "GET http://allowed.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	 "HTTP/1.1 400 ", "", NULL},
	{"https in absolute-form",
	 "GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "HTTP/1.1 400 ",
	 "CONNECT", NULL},
	{"plain HTTP to port 443",
	 "GET http://allowed.test:443/ HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n", "HTTP/1.1 403 ",
	 "x-should-retry: false", NULL},
	{"origin-form", "GET /hello HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "HTTP/1.1 400 ",
	 "absolute", NULL},
	{"length and coding",
	 "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\n"
	 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	 "HTTP/1.1 400 ", "", "200 OK"},
	{"two lengths",
	 "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\n"
	 "Content-Length: 5\r\n\r\nabcde",
	 "HTTP/1.1 400 ", "", "200 OK"},
	{"obs-fold",
	 "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nX: a\r\n b\r\n\r\n",
	 "HTTP/1.1 400 ", "", "200 OK"},
	{"bare LF", "GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n", "HTTP/1.1 400 ",
	 "", "200 OK"},
	{"a bad chunk size",
	 "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\n"
	 "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
	 "HTTP/1.1 400 ", "", "200 OK"},
	{"no Host", "GET http://allowed.test/ HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", "", NULL},
	{"unknown provider", "GET /_ralph/nobody/v1 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 ",
	 "no provider", NULL},
	{"a server that smuggles",
	 "GET http://allowed.test/smuggle HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "HTTP/1.1 502 ",
	 "", "200 OK"},
	{"a server that says nothing",
	 "POST http://allowed.test/die HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 0\r\n\r\n",
	 "HTTP/1.1 502 ", "without an answer", "x-should-retry"},
	{"git fetch",
	 "GET http://fetch.test/a/b/info/refs?service=git-upload-pack HTTP/1.1\r\n"
	 "Host: fetch.test\r\nConnection: close\r\n\r\n",
	 "HTTP/1.1 404 ", "", "ralph"},
	{"git push where fetch is allowed",
	 "GET http://fetch.test/a/b/info/refs?service=git-receive-pack HTTP/1.1\r\n"
	 "Host: fetch.test\r\n\r\n",
	 "HTTP/1.1 403 ", "git", NULL},
};

static void proxy_cases_hold(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *a = ask(cases[i].request);

		if (strncmp(a, cases[i].want, strlen(cases[i].want)) != 0 ||
		    !strstr(a, cases[i].also) || (cases[i].never && strstr(a, cases[i].never)))
			fail_msg("%s: '%s'", cases[i].name, a);
	}
}

static void a_cut_answer_is_not_passed_on_as_complete(void **state)
{
	int fd = client_proxy();
	char b[512];
	ssize_t n = 1;

	put(fd, "GET http://allowed.test/cut HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	while (n > 0)
		n = recv(fd, b, sizeof(b), 0);
	assert_int_equal(n, -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(fd);
	(void)live_event(GW_VERB_HTTP, GW_ERROR, "allowed.test");
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	cleanup_free char *a =
		ask("GET http://allowed.test/hello HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
		    "GET http://other.test/seen HTTP/1.1\r\nHost: other.test\r\n\r\n"
		    "GET http://allowed.test/close HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	const char *first = strstr(a, "\r\n\r\nhi"), *second = strstr(a, "GET /seen");
	const char *third = strstr(a, "until the end");

	assert_true(first && second && third && first < second && second < third);
}

static void requests_share_a_connection_to_the_server(void **state)
{
	static const char rq[] =
		"GET http://allowed.test/pid HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
	cleanup_free char *a = NULL, *b = NULL, *c = NULL;
	int fd = client_proxy();

	put(fd, rq);
	a = get(fd, "pid=");
	put(fd, rq);
	b = get(fd, "pid=");
	(void)close(fd);
	assert_string_equal(strstr(a, "pid="), strstr(b, "pid="));
	/* Another client gets it from the pool, once the gateway has seen the first one go. */
	while (live_health().idle_upstreams == 0)
		;
	fd = client_proxy();
	put(fd, rq);
	c = get(fd, "pid=");
	(void)close(fd);
	assert_string_equal(strstr(a, "pid="), strstr(c, "pid="));
}

static void a_server_that_says_too_much_is_not_used_again(void **state)
{
	cleanup_free char *a = NULL, *b = NULL;
	int fd = client_proxy();

	put(fd, "GET http://allowed.test/extra HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	a = get(fd, "hi");
	has_not(a, "poison");
	put(fd, "GET http://allowed.test/hello HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	b = get(fd, "hi");
	has_not(b, "poison");
	(void)close(fd);
}

static void a_request_that_may_be_repeated_survives_a_dead_connection(void **state)
{
	static const char rq[] =
		"GET http://allowed.test/once HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
	int fd = client_proxy();

	for (int i = 0; i < 3; i++) {
		cleanup_free char *a = NULL;

		put(fd, rq);
		a = get(fd, "once");
		starts(a, "HTTP/1.1 200 ");
	}
	(void)close(fd);
}

static void a_request_that_may_not_be_repeated_is_not(void **state)
{
	static const char rq[] = "POST http://allowed.test/once HTTP/1.1\r\nHost: allowed.test\r\n"
				 "Content-Length: 0\r\n\r\n";
	cleanup_free char *a = NULL, *b = NULL;
	int fd = client_proxy();

	put(fd, rq);
	a = get(fd, "once");
	starts(a, "HTTP/1.1 200 ");
	put(fd, rq);
	b = get(fd, NULL);
	starts(b, "HTTP/1.1 502 ");
	(void)close(fd);
}

static void an_answer_before_the_end_of_the_request_arrives(void **state)
{
	static char block[64 * 1024];
	cleanup_free char *a = NULL;
	int fd = client_proxy();

	put(fd, "POST http://allowed.test/early HTTP/1.1\r\nHost: allowed.test\r\n"
		"Content-Length: 100000000\r\n\r\n");
	put_bytes(fd, block, sizeof(block));
	a = get(fd, NULL);
	starts(a, "HTTP/1.1 413 ");
	has(a, "too big");
	(void)close(fd);
}

static void an_event_stream_leaves_piece_by_piece(void **state)
{
	cleanup_free char *first = NULL, *second = NULL;
	int fd = client_proxy();

	put(fd, "GET http://allowed.test/sse HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	/* The server waits for us before it sends the second one. */
	first = get(fd, "data: first\n\n");
	has_not(first, "second");
	server_go();
	second = get(fd, "x-trailer: end\r\n\r\n");
	has(second, "data: second");
	(void)close(fd);
}

static void a_websocket_becomes_a_counted_tunnel(void **state)
{
	cleanup_free char *a = NULL, *back = NULL;
	const struct gw_event *e;
	int fd = client_proxy();

	put(fd, "GET http://allowed.test/ws HTTP/1.1\r\nHost: allowed.test\r\n"
		"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	a = get(fd, "from-server");
	starts(a, "HTTP/1.1 101 ");
	put(fd, "frame-from-client");
	back = get(fd, "frame-from-client");
	(void)close(fd);
	do
		e = live_event(GW_VERB_HTTP, GW_ALLOW, "allowed.test");
	while (e->status || e->phase != GW_END);
	assert_true(e->up >= strlen("frame-from-client"));
}

/* Inspection */

static SSL *inspected(const char *authority, const char *sni)
{
	return tls_over(tunnel_to(authority), sni, TRUST_SANDBOX);
}

static char *tls_ask(const char *request)
{
	SSL *s = inspected("inspected.test:443", "inspected.test");
	char *a;

	assert_non_null(s);
	tls_put(s, request);
	a = tls_get(s, NULL);
	tls_close(s);
	return a;
}

static void an_inspected_request_that_is_allowed_reaches_the_server(void **state)
{
	cleanup_free char *a = tls_ask("GET /seen HTTP/1.1\r\nHost: inspected.test\r\n"
				       "Authorization: mine\r\nConnection: close\r\n\r\n");
	const struct gw_event *e;

	starts(a, "HTTP/1.1 200 ");
	has(a, "GET /seen HTTP/1.1\r\nHost: inspected.test\r\n");
	has(a, "Authorization: mine");
	e = live_event(GW_VERB_HTTP, GW_ALLOW, "inspected.test");
	assert_string_equal(e->method, "GET");
	assert_string_equal(e->path, "/seen");
	assert_int_equal(e->status, 200);
}

static void fields_that_name_another_method_path_or_host_stay_here(void **state)
{
	cleanup_free char *a = tls_ask(
		"GET /seen HTTP/1.1\r\nHost: inspected.test\r\nX-HTTP-Method-Override: DELETE\r\n"
		"x-http-method: DELETE\r\nX_HTTP_Method_Override: DELETE\r\n"
		"X-Original-URL: /admin\r\nX-Rewrite-Url: /admin\r\nX-Forwarded-Host: other\r\n"
		"Forwarded: host=other\r\nX-Own: mine\r\nConnection: close\r\n\r\n");
	cleanup_free char *b = tls_ask(
		"POST /body HTTP/1.1\r\nHost: inspected.test\r\nTransfer-Encoding: chunked\r\n"
		"Connection: close\r\n\r\n3\r\nabc\r\n0\r\nX-Original-URL: /admin\r\n"
		"X-Own: mine\r\nX-HTTP-Method-Override: DELETE\r\n\r\n");
	cleanup_free char *d = tls_ask(
		"POST /body HTTP/1.1\r\nHost: inspected.test\r\nTransfer-Encoding: chunked\r\n"
		"Connection: close\r\n\r\n3\r\nabc\r\n0\r\nX-Original-URL: /admin\r\n\r\n");

	has(a, "X-Own: mine\r\n");
	has_not(a, "DELETE");
	has_not(a, "admin");
	has_not(a, "other");
	has(b, "3\r\nabc\r\n0\r\nX-Own: mine\r\n\r\n");
	has(d, "3\r\nabc\r\n0\r\n\r\n");
}

static void an_inspected_path_with_dot_segments_is_sent_without(void **state)
{
	cleanup_free char *a = tls_ask("GET /./seen/./x HTTP/1.1\r\nHost: inspected.test\r\n"
				       "Connection: close\r\n\r\n");

	has(a, "GET /seen/x HTTP/1.1\r\n");
}

static void a_client_that_ends_its_direction_gets_its_answer(void **state)
{
	cleanup_fd int fd = client_proxy();
	cleanup_free char *first = NULL, *rest = NULL;

	put(fd, "GET http://allowed.test/sse HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	first = get(fd, "data: first");
	has(first, "data: first");
	server_go();
	rest = get(fd, NULL);
	has(rest, "data: second");
	(void)live_event(GW_VERB_HTTP, GW_ALLOW, "allowed.test");
}

static void the_server_of_a_client_that_is_gone_is_let_go(void **state)
{
	struct linger now = {.l_onoff = 1};
	int fd = client_proxy();
	cleanup_free char *first = NULL;

	put(fd, "GET http://allowed.test/sse HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	first = get(fd, "data: first");
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(fd);
	/* The server has not gone on: only the client's end can be the reason. */
	(void)live_event(GW_VERB_HTTP, GW_ERROR, "allowed.test");
	server_go();
}

static void an_inspected_request_by_another_method_or_path_is_refused(void **state)
{
	static const char *const bad[] = {
		"DELETE /hello HTTP/1.1\r\nHost: inspected.test\r\n\r\n",
		"GET /admin HTTP/1.1\r\nHost: inspected.test\r\n\r\n",
		"GET /hello/../admin HTTP/1.1\r\nHost: inspected.test\r\n\r\n",
		"GET /hello/%2e%2e/admin HTTP/1.1\r\nHost: inspected.test\r\n\r\n",
		"GET /body HTTP/1.1\r\nHost: inspected.test\r\n\r\n",
		"POST /hello HTTP/1.1\r\nHost: inspected.test\r\nContent-Length: 0\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_free char *a = tls_ask(bad[i]);

		starts(a, "HTTP/1.1 403 ");
		(void)live_event(GW_VERB_HTTP, GW_DENY, "inspected.test");
	}
}

static void an_inspected_request_with_another_host_is_refused(void **state)
{
	cleanup_free char *a = tls_ask("GET /hello HTTP/1.1\r\nHost: allowed.test\r\n\r\n");

	starts(a, "HTTP/1.1 403 ");
}

static void an_inspected_connection_with_another_server_name_is_closed(void **state)
{
	assert_null(inspected("inspected.test:443", "allowed.test"));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "inspected.test")->reason, "another server");
}

static void an_inspected_connection_serves_many_requests(void **state)
{
	SSL *s = inspected("inspected.test:443", "inspected.test");

	for (int i = 0; i < 50; i++) {
		cleanup_free char *a = NULL;

		tls_put(s, "POST /body HTTP/1.1\r\nHost: inspected.test\r\n"
			   "Transfer-Encoding: chunked\r\n\r\n4\r\nping\r\n0\r\n\r\n");
		a = tls_get(s, "0\r\n\r\n");
		has(a, "4\r\nping\r\n0\r\n\r\n");
	}
	tls_close(s);
}

static void a_large_inspected_answer_arrives_whole(void **state)
{
	cleanup_free char *a = tls_ask("GET /big HTTP/1.1\r\nHost: inspected.test\r\n"
				       "Connection: close\r\n\r\n");
	const char *body = strstr(a, "\r\n\r\n");

	assert_non_null(body);
	assert_int_equal(strlen(body + 4), 64 * MiB);
}

static void an_inspected_event_stream_leaves_piece_by_piece(void **state)
{
	cleanup_free char *first = NULL, *second = NULL;
	SSL *s = inspected("inspected.test:443", "inspected.test");

	tls_put(s, "GET /sse HTTP/1.1\r\nHost: inspected.test\r\n\r\n");
	first = tls_get(s, "data: first\n\n");
	server_go();
	second = tls_get(s, "x-trailer: end\r\n\r\n");
	tls_close(s);
}

static void an_inspected_websocket_is_a_tunnel(void **state)
{
	cleanup_free char *a = NULL, *back = NULL;
	SSL *s = inspected("inspected.test:443", "inspected.test");

	tls_put(s, "GET /ws HTTP/1.1\r\nHost: inspected.test\r\nConnection: Upgrade\r\n"
		   "Upgrade: websocket\r\n\r\n");
	a = tls_get(s, "from-server");
	starts(a, "HTTP/1.1 101 ");
	tls_put(s, "through both");
	back = tls_get(s, "through both");
	tls_close(s);
}

static void plain_http_to_an_inspected_host_is_decided_too(void **state)
{
	cleanup_free char *good = ask("GET http://inspected.test/seen HTTP/1.1\r\n"
				      "Host: inspected.test\r\nConnection: close\r\n\r\n");
	cleanup_free char *bad = ask("GET http://inspected.test/admin HTTP/1.1\r\n"
				     "Host: inspected.test\r\n\r\n");

	starts(good, "HTTP/1.1 200 ");
	starts(bad, "HTTP/1.1 403 ");
}

static void a_stand_in_of_an_inspected_host_is_inspected(void **state)
{
	cleanup_free char *a = NULL;
	char addr[46];
	SSL *s;

	assert_int_equal(dns_ask("inspected.test", 1, false, addr), 0);
	s = tls_over(client(addr, 443), "inspected.test", TRUST_SANDBOX);
	assert_non_null(s);
	tls_put(s, "GET /admin HTTP/1.1\r\nHost: inspected.test\r\n\r\n");
	a = tls_get(s, NULL);
	starts(a, "HTTP/1.1 403 ");
	tls_close(s);
}

static void a_client_of_http2_alone_has_it(void **state)
{
	int fd = tunnel_to("inspected.test:443");
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *s = SSL_new(ctx);
	const unsigned char *chosen;
	unsigned int n;

	(void)SSL_set_alpn_protos(s, (const unsigned char *)"\x02h2", 3);
	(void)SSL_set_tlsext_host_name(s, "inspected.test");
	(void)SSL_set_fd(s, fd);
	assert_int_equal(SSL_connect(s), 1);
	SSL_get0_alpn_selected(s, &chosen, &n);
	assert_int_equal(n, 2);
	assert_memory_equal(chosen, "h2", 2);
	SSL_free(s);
	SSL_CTX_free(ctx);
	(void)close(fd);
}

/* Other set-ups */

static const struct live_rule bad_cert_rules[] = {{.pattern = "inspected.test", .paths = "/"},
						  {.pattern = "wrongcert.test", .paths = "/"}};

static void untrusted(bool bad_trust, const char *host)
{
	struct live_options o = {.rules = bad_cert_rules, .n_rules = 2, .bad_trust = bad_trust};
	cleanup_free char *to = xasprintf("%s:443", host);
	cleanup_free char *rq = xasprintf("GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	cleanup_free char *a = NULL;
	SSL *s;

	live_start(&o);
	s = inspected(to, host);
	assert_non_null(s);
	tls_put(s, rq);
	a = tls_get(s, NULL);
	starts(a, "HTTP/1.1 502 ");
	tls_close(s);
	live_stop();
}

static void a_server_nobody_vouches_for_is_refused(void **state)
{
	untrusted(true, "inspected.test");
}

static void a_server_with_another_hosts_certificate_is_refused(void **state)
{
	untrusted(false, "wrongcert.test");
}

static void trust_may_be_a_hashed_directory(void **state)
{
	static const struct live_options o = {
		.rules = rules, .n_rules = ARRAY_SIZE(rules), .trust_dir = true};
	cleanup_free char *a = NULL;

	live_start(&o);
	a = tls_ask("GET /hello HTTP/1.1\r\nHost: inspected.test\r\nConnection: close\r\n\r\n");
	starts(a, "HTTP/1.1 200 ");
	live_stop();
}

static void the_hosts_proxy_is_asked_by_name_after_policy(void **state)
{
	static const struct live_options o = {.rules = rules,
					      .n_rules = ARRAY_SIZE(rules),
					      .https_proxy = "http://us%65r:pw@proxy.corp:8080",
					      .http_proxy = "http://proxy.corp:8080",
					      .no_proxy = "other.test"};
	cleanup_free char *tunnel = NULL, *plain = NULL, *refused = NULL, *direct = NULL;
	unsigned char *hello;
	size_t n;
	int fd;

	live_start(&o);
	fd = tunnel_to("allowed.test:443");
	n = hello_bytes("allowed.test", &hello);
	put_bytes(fd, hello, n);
	free(hello);
	tunnel = get(fd, "\r\n\r\n");
	starts(tunnel, "CONNECT allowed.test:443 HTTP/1.1\r\n");
	has(tunnel, "Proxy-Authorization: Basic dXNlcjpwdw==");
	(void)close(fd);
	plain = ask("GET http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\nConnection: "
		    "close\r\n\r\n");
	has(plain, "GET http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\n");
	refused = ask("CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n");
	starts(refused, "HTTP/1.1 403 ");
	direct = ask("GET http://other.test/seen HTTP/1.1\r\nHost: other.test\r\n"
		     "Connection: close\r\n\r\n");
	has(direct, "\r\n\r\nGET /seen HTTP/1.1");
	live_stop();
}

static void a_head_that_does_not_come_is_timed_out(void **state)
{
	static const struct live_options o = {
		.rules = rules, .n_rules = ARRAY_SIZE(rules), .head_ms = 200};
	cleanup_free char *a = NULL;
	int fd;

	live_start(&o);
	fd = client_proxy();
	put(fd, "GET http://allowed.test/");
	a = get(fd, NULL);
	starts(a, "HTTP/1.1 408 ");
	(void)close(fd);
	live_stop();
}

static void a_name_that_resolves_slowly_is_given_up(void **state)
{
	static const struct live_rule r[] = {{.pattern = "unknown.test"},
					     {.pattern = "allowed.test"}};
	static const struct live_options o = {.rules = r, .n_rules = 2, .lookup_ms = 200};
	cleanup_free char *a = NULL, *b = NULL;

	live_start(&o);
	a = ask("GET http://unknown.test/ HTTP/1.1\r\nHost: unknown.test\r\n\r\n");
	starts(a, "HTTP/1.1 504 ");
	b = ask("GET http://allowed.test/hello HTTP/1.1\r\nHost: allowed.test\r\n"
		"Connection: close\r\n\r\n");
	starts(b, "HTTP/1.1 200 ");
	live_stop();
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
#define OWN(fn) cmocka_unit_test_setup_teardown(fn, NULL, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(proxy_cases_hold),
		T(a_cut_answer_is_not_passed_on_as_complete),
		T(pipelined_requests_are_answered_in_order),
		T(requests_share_a_connection_to_the_server),
		T(a_server_that_says_too_much_is_not_used_again),
		T(a_request_that_may_be_repeated_survives_a_dead_connection),
		T(a_request_that_may_not_be_repeated_is_not),
		T(an_answer_before_the_end_of_the_request_arrives),
		T(an_event_stream_leaves_piece_by_piece),
		T(a_websocket_becomes_a_counted_tunnel),
		T(an_inspected_request_that_is_allowed_reaches_the_server),
		T(fields_that_name_another_method_path_or_host_stay_here),
		T(an_inspected_path_with_dot_segments_is_sent_without),
		T(a_client_that_ends_its_direction_gets_its_answer),
		T(the_server_of_a_client_that_is_gone_is_let_go),
		T(an_inspected_request_by_another_method_or_path_is_refused),
		T(an_inspected_request_with_another_host_is_refused),
		T(an_inspected_connection_with_another_server_name_is_closed),
		T(an_inspected_connection_serves_many_requests),
		T(a_large_inspected_answer_arrives_whole),
		T(an_inspected_event_stream_leaves_piece_by_piece),
		T(an_inspected_websocket_is_a_tunnel),
		T(plain_http_to_an_inspected_host_is_decided_too),
		T(a_stand_in_of_an_inspected_host_is_inspected),
		T(a_client_of_http2_alone_has_it),
		OWN(a_server_nobody_vouches_for_is_refused),
		OWN(a_server_with_another_hosts_certificate_is_refused),
		OWN(trust_may_be_a_hashed_directory),
		OWN(the_hosts_proxy_is_asked_by_name_after_policy),
		OWN(a_head_that_does_not_come_is_timed_out),
		OWN(a_name_that_resolves_slowly_is_given_up),
	};

	live_world();
	return (cmocka_set_test_filter(getenv("TEST_FILTER")),
		cmocka_run_group_tests(tests, NULL, NULL));
}
