/* What the gateway lets through and what it does not, by every way in. */
#include "live.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

static const struct live_rule rules[] = {
	{.pattern = "allowed.test"},	  {.pattern = "allowed.test:22"},
	{.pattern = "allowed.test:8443"}, {.pattern = "allowed.test:9000"},
	{.pattern = "six.test"},	  {.pattern = "both.test"},
	{.pattern = "dead6.test"},	  {.pattern = "private.test"},
	{.pattern = "loop.test"},	  {.pattern = "meta.test"},
	{.pattern = "mixed.test"},	  {.pattern = "db.test:5432"},
	{.pattern = "localhost:6000"},	  {.pattern = "unknown.test"},
	{.pattern = "*.wild.test"},	  {.pattern = "slow.test"},
	{.pattern = "8.1.1.2:443"},	  {.pattern = "allowed.test:8444"},
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

/* The fatal alert "access denied", and then the end. */
static bool is_alert(int fd)
{
	static const char alert[] = "\x15\x03\x03\x00\x02\x02\x31";
	char b[16];
	ssize_t n = recv(fd, b, sizeof(b), 0);

	return n == 7 && memcmp(b, alert, 7) == 0 && is_closed(fd);
}

/* CONNECT */

static void connect_to_an_allowed_name_carries_tls(void **state)
{
	int fd = tunnel_to("allowed.test:443");
	SSL *s = tls_over(fd, "allowed.test", TRUST_SERVERS);
	cleanup_free char *back = NULL;

	assert_non_null(s);
	tls_put(s, "ping\n");
	back = tls_get(s, "ping\n");
	assert_string_equal(back, "ping\n");
	assert_int_equal(live_event(GW_VERB_CONNECT, GW_ALLOW, "allowed.test")->phase, GW_OPEN);
	tls_close(s);
	{
		const struct gw_event *e = live_event(GW_VERB_CONNECT, GW_ALLOW, "allowed.test");

		assert_int_equal(e->phase, GW_END);
		assert_true(e->up > 100 && e->down > 100);
		assert_string_equal(e->rule, "allowed.test");
		assert_int_equal(e->port, 443);
	}
}

static void connect_to_another_name_is_refused_with_a_remedy(void **state)
{
	cleanup_free char *a =
		ask("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n");

	starts(a, "HTTP/1.1 403 refused by ralph: other.test is not allowed; "
		  "ralph net allow other.test\r\n");
	has(a, "x-should-retry: false");
	has(a, "\"error\":\"refused by ralph\"");
	has(a, "\"host\":\"other.test\"");
	has(a, "ralph net allow other.test");
	(void)live_event(GW_VERB_CONNECT, GW_DENY, "other.test");
	assert_int_equal(live_dns_questions(), 0);
}

/* The host part of a CONNECT, and that it is refused without a look-up. */
static const char *const bad_targets[] = {
	"other.test:443",
	"allowed.test.evil.test:443",
	"xallowed.test:443",
	"secret-data.exfil.test:443",
	"allowed.test:444",
	"wild.test:443",
	"169.254.169.254:80",
	"[fd00:ec2::254]:80",
	"127.0.0.1:80",
	"127.0.0.1:6001",
	"localhost:80",
	"[::1]:80",
	"[::ffff:127.0.0.1]:80",
	"[::ffff:7f00:1]:80",
	"[64:ff9b::7f00:1]:80",
	"0.0.0.0:80",
	"10.9.9.9:80",
	"2130706433:80",
	"0x7f000001:80",
	"0177.0.0.1:80",
	"127.1:80",
	"127.0.0.1.:80",
	"8.1.1.1:443",
	"198.18.0.5:5432",
};

static void connect_in_every_bad_spelling_is_refused_without_a_look_up(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_targets); i++) {
		cleanup_free char *rq = xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
						  bad_targets[i], bad_targets[i]);
		cleanup_free char *a = ask(rq);

		if (strncmp(a, "HTTP/1.1 403 ", 13) != 0 && strncmp(a, "HTTP/1.1 400 ", 13) != 0)
			fail_msg("%s: '%s'", bad_targets[i], a);
		/* The reason phrase is one line of printable ASCII. */
		for (const char *q = a; strncmp(q, "\r\n", 2) != 0; q++)
			assert_true(*q >= ' ' && *q <= '~');
		(void)live_event(GW_VERB_CONNECT, GW_DENY, "");
	}
	assert_int_equal(live_dns_questions(), 0);
}

static void connect_with_case_and_dot_is_the_same_name(void **state)
{
	int fd = tunnel_to("ALLOWED.Test.:443");
	SSL *s = tls_over(fd, "allowed.test", TRUST_SERVERS);

	assert_non_null(s);
	tls_close(s);
}

static void names_that_lead_to_other_places_are_refused_after_the_look_up(void **state)
{
	static const char *const names[] = {"private.test", "loop.test", "meta.test"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup_free char *rq = xasprintf("GET http://%s/seen HTTP/1.1\r\nHost: %s\r\n\r\n",
						  names[i], names[i]);
		cleanup_free char *a = ask(rq);

		starts(a, "HTTP/1.1 403 ");
		(void)live_event(GW_VERB_HTTP, GW_DENY, names[i]);
	}
}

static void a_name_with_good_and_bad_addresses_is_reached_at_a_good_one(void **state)
{
	cleanup_free char *a = ask("GET http://mixed.test/hello HTTP/1.1\r\nHost: mixed.test\r\n"
				   "Connection: close\r\n\r\n");

	starts(a, "HTTP/1.1 200 ");
}

static void an_allowed_name_is_looked_up_once_it_is_asked_for(void **state)
{
	cleanup_free char *a =
		ask("CONNECT unknown.test:443 HTTP/1.1\r\nHost: unknown.test:443\r\n\r\n");

	has(a, "HTTP/1.1 50");
	has(a, "resolved");
	assert_true(live_dns_questions() > 0);
	(void)live_event(GW_VERB_CONNECT, GW_ERROR, "unknown.test");
}

/* ClientHello */

static void connect_with_another_server_name_is_closed(void **state)
{
	int fd = tunnel_to("allowed.test:443");

	assert_null(tls_over(fd, "other.test", TRUST_SERVERS));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test")->reason, "another server");
	(void)close(fd);
}

static void connect_without_a_server_name_is_closed(void **state)
{
	int fd = tunnel_to("allowed.test:443");
	unsigned char *hello;
	size_t n = hello_bytes(NULL, &hello);

	put_bytes(fd, hello, n);
	assert_true(is_alert(fd));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test")->reason, "names no server");
	free(hello);
	(void)close(fd);
}

static void a_hello_in_single_bytes_is_read_like_a_whole_one(void **state)
{
	int fd = tunnel_to("allowed.test:443");
	unsigned char *hello;
	size_t n = hello_bytes("allowed.test", &hello);
	char first;

	for (size_t i = 0; i < n; i++)
		put_bytes(fd, hello + i, 1);
	/* The server's first record: a handshake. */
	assert_int_equal(recv(fd, &first, 1, 0), 1);
	assert_int_equal(first, 0x16);
	free(hello);
	(void)close(fd);
}

static void a_hello_in_several_records_is_read_like_a_whole_one(void **state)
{
	unsigned char *hello, *split;
	size_t n = hello_bytes("other.test", &hello), m = 0;
	int fd = tunnel_to("allowed.test:443");

	split = xmalloc(n * 2);
	for (size_t i = 5; i < n; i += 64) {
		size_t part = n - i < 64 ? n - i : 64;
		unsigned char head[5] = {0x16, 3, 1, 0, (unsigned char)part};

		memcpy(split + m, head, 5);
		memcpy(split + m + 5, hello + i, part);
		m += part + 5;
	}
	put_bytes(fd, split, m);
	assert_true(is_alert(fd));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test")->reason, "another server");
	free(split);
	free(hello);
	(void)close(fd);
}

/* A client whose second ClientHello the test may change, up to the server's HelloRetryRequest. */
struct retry {
	int fd;
	SSL_CTX *ctx;
	SSL *s;
	BIO *in, *out;
};

static size_t retry_out(struct retry *r, unsigned char *b, size_t cap)
{
	int n;

	(void)SSL_connect(r->s);
	n = BIO_read(r->out, b, (int)cap);
	return n > 0 ? (size_t)n : 0;
}

static void retry_start(struct retry *r)
{
	*r = (struct retry){.fd = tunnel_to("allowed.test:8444"),
			    .ctx = SSL_CTX_new(TLS_client_method()),
			    .in = BIO_new(BIO_s_mem()),
			    .out = BIO_new(BIO_s_mem())};
	(void)SSL_CTX_set1_groups_list(r->ctx, "X25519:P-384");
	r->s = SSL_new(r->ctx);
	SSL_set_bio(r->s, r->in, r->out);
	(void)SSL_set_tlsext_host_name(r->s, "allowed.test");
}

/* Sends the first ClientHello, reads the server's wish, and makes the second one. */
static size_t second_hello(struct retry *r, unsigned char *b, size_t cap)
{
	unsigned char first[4096], answer[4096];
	size_t n = retry_out(r, first, sizeof(first));
	ssize_t got;

	put_bytes(r->fd, first, n);
	for (n = 0; n == 0; n = retry_out(r, b, cap)) {
		got = recv(r->fd, answer, sizeof(answer), 0);
		assert_true(got > 0);
		(void)BIO_write(r->in, answer, (int)got);
	}
	return n;
}

static void retry_end(struct retry *r)
{
	SSL_free(r->s);
	SSL_CTX_free(r->ctx);
	(void)close(r->fd);
}

/* Another name of the same length in a ClientHello. */
static void rename_hello(unsigned char *b, size_t n)
{
	unsigned char *name = memmem(b, n, "allowed.test", 12);

	assert_non_null(name);
	memcpy(name, "another.test", 12);
}

static void a_handshake_with_a_retry_passes(void **state)
{
	int fd = tunnel_to("allowed.test:8444");
	SSL *s = tls_over(fd, "allowed.test", TRUST_SERVERS);
	cleanup_free char *a = NULL;

	assert_non_null(s);
	tls_put(s, "echo me");
	a = tls_get(s, "echo me");
	has(a, "echo me");
	tls_close(s);
}

static void a_second_hello_with_another_name_is_refused(void **state)
{
	unsigned char b[4096];
	struct retry r;
	size_t n;

	retry_start(&r);
	n = second_hello(&r, b, sizeof(b));
	rename_hello(b, n);
	put_bytes(r.fd, b, n);
	assert_true(is_closed(r.fd));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test")->reason, "another server");
	retry_end(&r);
}

/* Sent at once, and in single bytes: neither order nor pieces let it through. */
static void a_second_hello_before_the_retry_is_judged_too(void **state)
{
	unsigned char b[4096];
	struct retry r;
	size_t n;

	retry_start(&r);
	n = retry_out(&r, b, sizeof(b));
	put_bytes(r.fd, b, n);
	put_bytes(r.fd, "\x14\x03\x03\x00\x01\x01", 6);
	rename_hello(b, n);
	for (size_t i = 0; i < n; i++)
		put_bytes(r.fd, b + i, 1);
	(void)live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test");
	retry_end(&r);
}

/* Behind a retry only a ClientHello may follow, whatever stands before it. */
static void records_between_two_hellos_hide_nothing(void **state)
{
	static const char *const bad[] = {
		"\x17\x03\x03\x00\x02zz",		/* early data that nobody announced */
		"\x16\x03\x03\x00\x04\x02\x00\x00\x00", /* another message */
		"GET / HTTP/1.1\r\n\r\n",
	};
	static const size_t lengths[] = {7, 9, 18};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		unsigned char b[4096];
		struct retry r;

		retry_start(&r);
		(void)second_hello(&r, b, sizeof(b));
		put_bytes(r.fd, bad[i], lengths[i]);
		(void)live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test");
		retry_end(&r);
	}
}

static void plain_bytes_on_port_443_are_refused(void **state)
{
	int fd = tunnel_to("allowed.test:443");

	put(fd, "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
	assert_true(is_reset(fd));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "allowed.test")->reason, "port 443");
	(void)close(fd);
}

static void tls_on_another_port_must_name_the_server_too(void **state)
{
	int fd = tunnel_to("allowed.test:8443");
	SSL *s = tls_over(fd, "allowed.test", TRUST_SERVERS);

	assert_non_null(s);
	tls_close(s);
	fd = tunnel_to("allowed.test:8443");
	assert_null(tls_over(fd, "other.test", TRUST_SERVERS));
	(void)close(fd);
}

static void a_server_that_speaks_first_is_heard(void **state)
{
	int fd = client_proxy();
	cleanup_free char *banner = NULL, *back = NULL;

	put(fd, "CONNECT allowed.test:22 HTTP/1.1\r\nHost: allowed.test:22\r\n\r\n");
	banner = get(fd, "SSH-2.0-test\r\n");
	starts(banner, "HTTP/1.1 200 ");
	put(fd, "SSH-2.0-client\r\n");
	back = get(fd, "client\r\n");
	has(back, "SSH-2.0-client");
	(void)close(fd);
}

static void bytes_sent_with_the_connect_are_not_lost(void **state)
{
	int fd = client_proxy();
	cleanup_free char *a = NULL;

	put(fd, "CONNECT allowed.test:9000 HTTP/1.1\r\nHost: allowed.test:9000\r\n\r\nearly bird");
	a = get(fd, "early bird");
	starts(a, "HTTP/1.1 200 ");
	(void)close(fd);
}

static void a_tunnel_to_an_allowed_address_needs_no_server_name(void **state)
{
	int fd = tunnel_to("8.1.1.2:443");
	unsigned char *hello;
	size_t n = hello_bytes(NULL, &hello);
	char first;

	put_bytes(fd, hello, n);
	assert_int_equal(recv(fd, &first, 1, 0), 1);
	(void)close(fd);
	free(hello);
	fd = tunnel_to("8.1.1.2:443");
	n = hello_bytes("other.test", &hello);
	put_bytes(fd, hello, n);
	assert_true(is_alert(fd));
	(void)close(fd);
	free(hello);
}

static void half_closed_tunnels_carry_the_rest(void **state)
{
	int fd = tunnel_to("allowed.test:9000");
	cleanup_free char *a = NULL;

	put(fd, "the end");
	(void)shutdown(fd, SHUT_WR);
	a = get(fd, NULL);
	assert_string_equal(a, "the end");
	(void)close(fd);
}

/* One event tells of both, and no other follows. */
static void bytes_and_the_end_that_come_at_once_both_pass(void **state)
{
	int fd = tunnel_to("allowed.test:9000");
	cleanup_free char *echo = NULL, *a = NULL;

	put(fd, "open");
	echo = get(fd, "open");
	assert_int_equal(kill(live_edge(), SIGSTOP), 0);
	put(fd, "the end");
	(void)shutdown(fd, SHUT_WR);
	assert_int_equal(kill(live_edge(), SIGCONT), 0);
	a = get(fd, NULL);
	assert_string_equal(a, "the end");
	(void)close(fd);
}

/* Does the kernel probe a connection of the gateway's to this client? */
static bool is_probed(void)
{
	FILE *f = fopen("/proc/self/net/tcp", "re");
	char line[256];
	bool found = false;

	assert_non_null(f);
	/* Local port 3128, established, with the keep-alive timer. */
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, ":0C38 ") && strstr(line, " 01 00000000:00000000 02:");
	(void)fclose(f);
	return found;
}

static void a_silent_tunnel_lives_and_is_probed(void **state)
{
	struct live_options o = options;
	cleanup_free char *a = NULL;
	int fd;

	o.keepalive_ms = 1000;
	live_start(&o);
	fd = tunnel_to("db.test:5432");
	put(fd, "before");
	a = get(fd, "before");
	for (int i = 0; i < 200 && !is_probed(); i++)
		(void)usleep(50000);
	assert_true(is_probed());
	put(fd, "after");
	free(a);
	a = get(fd, "after");
	has(a, "after");
	(void)close(fd);
}

static void a_bulk_transfer_arrives_whole_and_unchanged(void **state)
{
	enum { N = 8 * 1024 * 1024 };
	int fd = tunnel_to("allowed.test:9000");
	unsigned char *out = xmalloc(N), *in = xmalloc(N);
	size_t sent = 0, got = 0;

	for (size_t i = 0; i < N; i++)
		out[i] = (unsigned char)(i * 2654435761u >> 13);
	(void)fd_set_nonblock(fd, true);
	while (got < N) {
		ssize_t n = sent < N ? send(fd, out + sent, N - sent, MSG_NOSIGNAL) : 0;

		if (n > 0)
			sent += (size_t)n;
		n = recv(fd, in + got, N - got, 0);
		if (n > 0)
			got += (size_t)n;
		else
			assert_true(n < 0 && errno == EAGAIN);
	}
	assert_memory_equal(in, out, N);
	(void)close(fd);
	free(out);
	free(in);
}

/* IPv6 and several addresses */

static void a_name_with_an_ipv6_address_is_reached(void **state)
{
	cleanup_free char *a = ask("GET http://six.test/hello HTTP/1.1\r\nHost: six.test\r\n"
				   "Connection: close\r\n\r\n");

	starts(a, "HTTP/1.1 200 ");
}

static void a_dead_first_address_does_not_stop_the_second(void **state)
{
	cleanup_free char *a = ask("GET http://dead6.test/hello HTTP/1.1\r\nHost: dead6.test\r\n"
				   "Connection: close\r\n\r\n");

	starts(a, "HTTP/1.1 200 ");
}

static void a_deaf_first_address_does_not_stop_the_second(void **state)
{
	cleanup_free char *a = ask("GET http://slow.test/hello HTTP/1.1\r\nHost: slow.test\r\n"
				   "Connection: close\r\n\r\n");

	starts(a, "HTTP/1.1 200 ");
}

static void the_proxy_port_answers_on_ipv6_too(void **state)
{
	cleanup_free char *a = NULL;
	int fd = client("::1", 3128);

	assert_true(fd >= 0);
	put(fd, "GET /_ralph/health HTTP/1.1\r\nHost: x\r\n\r\n");
	a = get(fd, NULL);
	starts(a, "HTTP/1.1 200 ");
	has(a, "{\"ok\":true}");
	(void)close(fd);
}

/* SOCKS5 */

static void socks_request(int fd, const char *name, uint16_t port)
{
	unsigned char rq[300] = {5, 1, 0, 5, 1, 0, 3, (unsigned char)strlen(name)};
	size_t n = strlen(name);

	memcpy(rq + 8, name, n);
	rq[8 + n] = (unsigned char)(port >> 8);
	rq[9 + n] = (unsigned char)port;
	put_bytes(fd, rq, 10 + n);
}

static unsigned char socks_reply(int fd)
{
	unsigned char a[12];
	size_t got = 0;

	while (got < 12) {
		ssize_t n = recv(fd, a + got, 12 - got, 0);

		assert_true(n > 0);
		got += (size_t)n;
	}
	assert_int_equal(a[0], 5);
	assert_int_equal(a[1], 0);
	return a[3];
}

static void socks_to_an_allowed_name_works(void **state)
{
	int fd = client_proxy();
	cleanup_free char *a = NULL;

	socks_request(fd, "allowed.test", 9000);
	assert_int_equal(socks_reply(fd), 0);
	put(fd, "over socks");
	a = get(fd, "over socks");
	(void)close(fd);
	(void)live_event(GW_VERB_SOCKS, GW_ALLOW, "allowed.test");
}

static void socks_to_another_name_is_not_allowed(void **state)
{
	int fd = client_proxy();

	socks_request(fd, "other.test", 443);
	assert_int_equal(socks_reply(fd), 2);
	(void)live_event(GW_VERB_SOCKS, GW_DENY, "other.test");
	assert_int_equal(live_dns_questions(), 0);
	(void)close(fd);
}

static void socks_udp_is_refused(void **state)
{
	static const unsigned char rq[] = {5, 1, 0, 5, 3, 0, 1, 8, 1, 1, 1, 0, 53};
	int fd = client_proxy();

	put_bytes(fd, rq, sizeof(rq));
	assert_true(socks_reply(fd) != 0);
	(void)close(fd);
}

/* DNS and transparent connections */

static void dns_gives_a_stand_in_for_allowed_names_only(void **state)
{
	char a[46], b[46], again[46];

	assert_int_equal(dns_ask("allowed.test", 1, false, a), 0);
	starts(a, "198.1");
	assert_int_equal(dns_ask("six.test", 1, false, b), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(dns_ask("ALLOWED.test", 1, true, again), 0);
	assert_string_equal(a, again);
	assert_int_equal(dns_ask("allowed.test", 28, false, b), 0);
	starts(b, "fd00:7261:6c70:");
	assert_int_equal(dns_ask("secret.exfil.test", 1, false, a), 3);
	assert_string_equal(a, "");
	(void)live_event(GW_VERB_DNS, GW_DENY, "secret.exfil.test");
	assert_int_equal(dns_ask("sub.wild.test", 1, false, a), 0);
	assert_int_equal(dns_ask("wild.test", 1, false, a), 3);
	/* Stand-ins are ours: nobody was asked. */
	assert_int_equal(live_dns_questions(), 0);
}

static void a_stand_in_carries_tls_to_its_name(void **state)
{
	char a[46];
	SSL *s;
	int fd;

	assert_int_equal(dns_ask("allowed.test", 1, false, a), 0);
	fd = client(a, 443);
	assert_true(fd >= 0);
	s = tls_over(fd, "allowed.test", TRUST_SERVERS);
	assert_non_null(s);
	(void)live_event(GW_VERB_TLS, GW_ALLOW, "allowed.test");
	tls_close(s);
	fd = client(a, 443);
	assert_null(tls_over(fd, "other.test", TRUST_SERVERS));
	(void)live_event(GW_VERB_TLS, GW_DENY, "allowed.test");
	(void)close(fd);
}

static void an_ipv6_stand_in_carries_http_to_its_name(void **state)
{
	cleanup_free char *answer = NULL;
	char a[46];
	int fd;

	assert_int_equal(dns_ask("allowed.test", 28, false, a), 0);
	fd = client(a, 80);
	assert_true(fd >= 0);
	put(fd, "GET /hello HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n");
	answer = get(fd, NULL);
	starts(answer, "HTTP/1.1 200 ");
	(void)close(fd);
}

static void a_stand_in_on_port_22_reaches_the_server(void **state)
{
	cleanup_free char *banner = NULL;
	char a[46];
	int fd;

	assert_int_equal(dns_ask("allowed.test", 1, false, a), 0);
	fd = client(a, 22);
	banner = get(fd, "\r\n");
	starts(banner, "SSH-2.0-test");
	(void)live_event(GW_VERB_TCP, GW_ALLOW, "allowed.test");
	(void)close(fd);
}

static void a_pinned_stand_in_serves_its_port(void **state)
{
	cleanup_free char *back = NULL;
	char a[46];
	int fd;

	assert_int_equal(dns_ask("db.test", 1, false, a), 0);
	assert_string_equal(a, "198.18.0.5");
	fd = client(a, 5432);
	assert_true(fd >= 0);
	put(fd, "select 1");
	back = get(fd, "select 1");
	(void)close(fd);
	assert_true(client("198.18.0.6", 5432) < 0);
}

static void an_address_that_stands_for_nothing_is_refused_in_its_protocol(void **state)
{
	cleanup_free char *answer = NULL;
	int fd = client("198.18.77.77", 443);

	assert_true(fd >= 0);
	assert_true(is_alert(fd));
	(void)live_event(GW_VERB_TLS, GW_DENY, "198.18.77.77");
	(void)close(fd);
	fd = client("198.18.77.77", 80);
	answer = get(fd, NULL);
	starts(answer, "HTTP/1.1 403 Forbidden\r\n");
	has(answer, "\"reason\":\"the address stands for no name\"");
	(void)close(fd);
	fd = client("127.0.0.1", 80);
	assert_true(is_reset(fd));
	(void)close(fd);
}

static void a_stand_in_on_a_port_its_rule_does_not_name_is_reset(void **state)
{
	char a[46];
	int fd;

	assert_int_equal(dns_ask("six.test", 1, false, a), 0);
	fd = client(a, 22);
	assert_true(is_reset(fd));
	(void)live_event(GW_VERB_TCP, GW_DENY, "six.test");
	(void)close(fd);
}

static void transparent_http_must_name_its_host(void **state)
{
	cleanup_free char *good = NULL, *bad = NULL;
	char a[46];
	int fd;

	assert_int_equal(dns_ask("allowed.test", 1, false, a), 0);
	fd = client(a, 80);
	put(fd, "GET /hello HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n");
	good = get(fd, NULL);
	starts(good, "HTTP/1.1 200 ");
	(void)close(fd);
	fd = client(a, 80);
	put(fd, "GET /hello HTTP/1.1\r\nHost: other.test\r\n\r\n");
	bad = get(fd, NULL);
	starts(bad, "HTTP/1.1 403 ");
	(void)live_event(GW_VERB_HTTP, GW_DENY, "allowed.test");
	(void)close(fd);
}

static void connect_to_port_80_must_name_its_host(void **state)
{
	cleanup_free char *bad = NULL;
	int fd = tunnel_to("allowed.test:80");

	put(fd, "GET /hello HTTP/1.1\r\nHost: other.test\r\n\r\n");
	bad = get(fd, NULL);
	starts(bad, "HTTP/1.1 403 ");
	(void)close(fd);
}

/* Host services */

static void a_host_service_is_reached_and_nothing_beside_it(void **state)
{
	cleanup_free char *back = NULL;
	int fd = client("127.0.0.1", 6000);

	assert_true(fd >= 0);
	put(fd, "db");
	back = get(fd, "db");
	(void)close(fd);
	(void)live_event(GW_VERB_TCP, GW_ALLOW, "localhost");
	fd = tunnel_to("localhost:6000");
	(void)close(fd);
}

/* Living with the supervisor */

static void a_new_policy_holds_at_once_and_ends_what_it_forbids(void **state)
{
	static const struct live_rule only_other[] = {{.pattern = "other.test:443"}};
	static const struct live_options o = {.rules = only_other, .n_rules = 1};
	int old = tunnel_to("allowed.test:9000"), fd;
	cleanup_free char *a = NULL;
	char addr[46];

	live_policy(&o);
	assert_true(is_closed(old));
	(void)close(old);
	a = ask("CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n");
	starts(a, "HTTP/1.1 403 ");
	assert_int_equal(dns_ask("allowed.test", 1, false, addr), 3);
	fd = tunnel_to("other.test:443");
	(void)close(fd);
}

static void tier(enum policy_tier t, size_t n_denied)
{
	static const struct live_rule denied[] = {{.deny = true, .pattern = "other.test"}};
	struct live_options o = {.rules = denied, .n_rules = n_denied, .tier = t};

	live_policy(&o);
}

static unsigned int status_of(const char *authority)
{
	cleanup_free char *rq =
		xasprintf("GET http://%s/hello HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
			  authority, authority);
	cleanup_free char *a = ask(rq);
	unsigned int status = 0;

	for (const char *p = a + strlen("HTTP/1.1 "); *p >= '0' && *p <= '9'; p++)
		status = status * 10 + (unsigned int)(*p - '0');
	return status;
}

static void wider_tiers_open_what_they_say_and_no_more(void **state)
{
	tier(POLICY_INET, 1);
	assert_int_equal(status_of("allowed.test"), 200);
	assert_int_equal(status_of("other.test"), 403);
	tier(POLICY_INET, 0);
	assert_int_equal(status_of("8.1.1.1"), 200);
	assert_int_equal(status_of("private.test"), 403);
	assert_int_equal(status_of("10.9.9.9"), 403);
	assert_int_equal(status_of("loop.test"), 403);
	assert_int_equal(status_of("meta.test"), 403);
	tier(POLICY_FULL, 0);
	assert_int_equal(status_of("private.test"), 200);
	assert_int_equal(status_of("10.9.9.9"), 200);
	assert_int_equal(status_of("loop.test"), 403);
	assert_int_equal(status_of("127.0.0.1"), 403);
	assert_int_equal(status_of("meta.test"), 403);
	assert_int_equal(status_of("169.254.169.254"), 403);
	assert_int_equal(status_of("[::ffff:169.254.169.254]"), 403);
}

static void a_flood_of_refusals_becomes_few_events(void **state)
{
	size_t denied;

	for (int i = 0; i < 2000; i++) {
		int fd = client("198.18.99.99", 443);

		(void)close(fd);
	}
	(void)live_event(GW_VERB_TLS, GW_DENY, "198.18.99.99");
	denied = live_events_left(GW_DENY);
	assert_true(denied < 1000);
	/* Nothing is lost: the counts add up. */
	for (size_t n = 1; n < 2000;)
		n += live_event(GW_VERB_TLS, GW_DENY, "198.18.99.99")->count;
}

/* The gateway reads the first request, and the edge opens the tunnel. */
static void a_connect_behind_another_request_opens_a_tunnel(void **state)
{
	static const char get_it[] =
		"GET http://allowed.test/hello HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
	static const char tunnel[] =
		"CONNECT allowed.test:9000 HTTP/1.1\r\nHost: allowed.test:9000\r\n\r\n";
	cleanup_free char *hi = NULL, *yes = NULL, *echo = NULL, *no = NULL;
	int fd = client_proxy();

	put(fd, get_it);
	hi = get(fd, "\r\n\r\nhi");
	put(fd, tunnel);
	yes = get(fd, "\r\n\r\n");
	starts(yes, "HTTP/1.1 200 ");
	put(fd, "through");
	echo = get(fd, "through");
	(void)close(fd);
	/* And it is judged there. */
	fd = client_proxy();
	put(fd, get_it);
	free(get(fd, "\r\n\r\nhi"));
	put(fd, "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test\r\n\r\n");
	no = get(fd, NULL);
	starts(no, "HTTP/1.1 403 refused by ralph");
	(void)close(fd);
	(void)live_event(GW_VERB_CONNECT, GW_DENY, "other.test");
}

static void network_ends_with(pid_t pid)
{
	int fd = tunnel_to("allowed.test:9000");

	live_kill(pid);
	assert_true(is_closed(fd));
	(void)close(fd);
	/* The listeners went with it: they were its own. */
	fd = client("127.0.0.1", 3128);
	assert_true(fd < 0);
}

static void killing_the_edge_ends_the_network(void **state)
{
	network_ends_with(live_edge());
}

static void killing_the_gateway_ends_the_network(void **state)
{
	network_ends_with(live_gateway());
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connect_to_an_allowed_name_carries_tls),
		T(connect_to_another_name_is_refused_with_a_remedy),
		T(connect_in_every_bad_spelling_is_refused_without_a_look_up),
		T(connect_with_case_and_dot_is_the_same_name),
		T(names_that_lead_to_other_places_are_refused_after_the_look_up),
		T(a_name_with_good_and_bad_addresses_is_reached_at_a_good_one),
		T(an_allowed_name_is_looked_up_once_it_is_asked_for),
		T(connect_with_another_server_name_is_closed),
		T(connect_without_a_server_name_is_closed),
		T(a_hello_in_single_bytes_is_read_like_a_whole_one),
		T(a_hello_in_several_records_is_read_like_a_whole_one),
		T(a_handshake_with_a_retry_passes),
		T(a_second_hello_with_another_name_is_refused),
		T(a_second_hello_before_the_retry_is_judged_too),
		T(records_between_two_hellos_hide_nothing),
		T(plain_bytes_on_port_443_are_refused),
		T(tls_on_another_port_must_name_the_server_too),
		T(a_server_that_speaks_first_is_heard),
		T(bytes_sent_with_the_connect_are_not_lost),
		T(a_tunnel_to_an_allowed_address_needs_no_server_name),
		T(half_closed_tunnels_carry_the_rest),
		T(bytes_and_the_end_that_come_at_once_both_pass),
		cmocka_unit_test_setup_teardown(a_silent_tunnel_lives_and_is_probed, NULL, down),
		T(a_bulk_transfer_arrives_whole_and_unchanged),
		T(a_name_with_an_ipv6_address_is_reached),
		T(a_dead_first_address_does_not_stop_the_second),
		T(a_deaf_first_address_does_not_stop_the_second),
		T(the_proxy_port_answers_on_ipv6_too),
		T(socks_to_an_allowed_name_works),
		T(socks_to_another_name_is_not_allowed),
		T(socks_udp_is_refused),
		T(dns_gives_a_stand_in_for_allowed_names_only),
		T(a_stand_in_carries_tls_to_its_name),
		T(an_ipv6_stand_in_carries_http_to_its_name),
		T(a_stand_in_on_port_22_reaches_the_server),
		T(a_pinned_stand_in_serves_its_port),
		T(an_address_that_stands_for_nothing_is_refused_in_its_protocol),
		T(a_stand_in_on_a_port_its_rule_does_not_name_is_reset),
		T(transparent_http_must_name_its_host),
		T(connect_to_port_80_must_name_its_host),
		T(a_host_service_is_reached_and_nothing_beside_it),
		T(a_new_policy_holds_at_once_and_ends_what_it_forbids),
		T(wider_tiers_open_what_they_say_and_no_more),
		T(a_flood_of_refusals_becomes_few_events),
		T(a_connect_behind_another_request_opens_a_tunnel),
		T(killing_the_edge_ends_the_network),
		T(killing_the_gateway_ends_the_network),
	};

	live_world();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
