#include "tests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "policy/policy.h"
#include "wire/gateway-proto.h"

/* A body as if it had been received. */
static struct wire_msg message(struct buf *b)
{
	struct wire_msg m;

	wire_msg_init(&m);
	m.body = *b;
	*b = (struct buf){0};
	return m;
}

static struct gw_config *sample(void)
{
	struct gw_config *c = gw_config_new();
	struct gw_route *route;
	struct net_rule *r;

	c->sandbox = xstrdup("box");
	c->no_proxy = xstrdup("a,b");
	c->head_ms = 7;
	c->policy.tier = POLICY_INET;
	route = gw_route_add(c, "p", "https://h/", "cred");
	route->phantom = xstrdup("sk-phantom");
	route->private = true;
	strv_push(&route->requests, "POST /v1/");
	r = net_policy_add(&c->policy, true, "a.test", "here");
	r = net_policy_add(&c->policy, false, "b.test", "there");
	strv_push(&r->methods, "GET");
	strv_push(&r->paths, "/x");
	r->credential = xstrdup("key");
	return c;
}

static void a_configuration_arrives_as_it_was_sent(void **state)
{
	struct gw_config *c = sample(), *got = NULL;
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_config(&b, c);
	m = message(&b);
	assert_int_equal(gw_get_config(&m, &got), 0);
	assert_string_equal(got->sandbox, "box");
	assert_null(got->http_proxy);
	assert_string_equal(got->no_proxy, "a,b");
	assert_int_equal(got->head_ms, 7);
	assert_int_equal(got->n_routes, 1);
	assert_string_equal(got->routes[0].credential, "cred");
	assert_string_equal(got->routes[0].phantom, "sk-phantom");
	assert_null(got->routes[0].ca_file);
	assert_true(got->routes[0].private);
	assert_string_equal(got->routes[0].requests.v[0], "POST /v1/");
	assert_int_equal(got->rules->tier, POLICY_INET);
	assert_int_equal(got->rules->n_rules, 2);
	assert_true(got->rules->rules[0].text.deny);
	assert_int_equal(got->rules->rules[0].pattern.kind, PATTERN_NAME);
	assert_string_equal(got->rules->rules[0].pattern.name, "a.test");
	assert_string_equal(got->rules->rules[1].text.paths.v[0], "/x");
	assert_string_equal(got->rules->rules[1].text.credential, "key");
	wire_msg_done(&m);
	(void)gw_config_free(c);
	(void)gw_config_free(got);
}

static void a_cut_body_is_refused_wherever_it_was_cut(void **state)
{
	struct gw_config *c = sample(), *got = NULL;
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_config(&b, c);
	m = message(&b);
	for (size_t n = m.body.len; n-- > 0;) {
		m.body.len = n;
		assert_int_equal(gw_get_config(&m, &got), -EPROTO);
	}
	assert_null(got);
	wire_msg_done(&m);
	(void)gw_config_free(c);
}

static int event_with_host(const char *host)
{
	struct gw_event e = {.host = host, .method = "", .path = "", .rule = "", .reason = ""}, got;
	struct wire_msg m;
	struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_event(&b, &e);
	m = message(&b);
	r = gw_get_event(&m, &got);
	if (r == 0)
		assert_string_equal(got.host, host);
	wire_msg_done(&m);
	return r;
}

static void an_event_that_could_forge_a_line_is_refused(void **state)
{
	assert_int_equal(event_with_host("a.test"), 0);
	assert_int_equal(event_with_host("a.test\nallow b.test"), -EPROTO);
	assert_int_equal(event_with_host("a\x1b[2J"), -EPROTO);
	assert_int_equal(event_with_host("\xc3\xa4.test"), -EPROTO);
}

static void listeners_have_a_descriptor_each_or_none_at_all(void **state)
{
	struct gw_listener rows[] = {
		{.kind = GW_LISTEN_PROXY, .addr = "127.0.0.1", .port = 3128},
		{.kind = GW_LISTEN_DNS_UDP, .addr = "127.0.0.53", .port = 53},
	};
	struct gw_listener *got;
	struct wire_msg m;
	struct buf b;
	size_t n;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_listeners(&b, rows, ARRAY_SIZE(rows));
	m = message(&b);
	m.fds[0] = m.fds[1] = -1;
	m.n_fds = 1;
	assert_int_equal(gw_get_listeners(&m, &got, &n), -EPROTO);
	for (m.n_fds = 0; m.n_fds <= 2; m.n_fds += 2) {
		assert_int_equal(gw_get_listeners(&m, &got, &n), 0);
		assert_int_equal(n, 2);
		assert_string_equal(got[0].addr, "127.0.0.1");
		assert_int_equal(got[1].port, 53);
		free(got);
	}
	m.n_fds = 0;
	wire_msg_done(&m);
}

static void a_use_of_a_credential_arrives_whole_or_not_at_all(void **state)
{
	const struct cred_use use = {
		.credential = "c", .host = "h", .port = 443, .method = "GET", .rule = "h GET /x"};
	struct cred_use got;
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_use(&b, &use);
	m = message(&b);
	assert_int_equal(gw_get_use(&m, &got), 0);
	assert_string_equal(got.credential, "c");
	assert_string_equal(got.rule, "h GET /x");
	assert_int_equal(got.port, 443);
	m.body.len--;
	assert_int_equal(gw_get_use(&m, &got), -EPROTO);
	wire_msg_done(&m);
}

static void an_ask_and_a_usage_arrive_whole(void **state)
{
	const struct gw_header_ask ask = {.credential = "c",
					  .host = "h",
					  .port = 443,
					  .method = "POST",
					  .target = "/x",
					  .content_type = "a/b",
					  .rejected = true};
	const struct gw_usage usage = {.credential = "c",
				       .model = "m",
				       .reservation = 9,
				       .cost = GW_COST_RESERVED,
				       .status = 200,
				       .input = 3,
				       .output = 4,
				       .cache_read = 5,
				       .cache_write = 6};
	struct gw_header_ask got_ask;
	struct gw_usage got;
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_header_ask(&b, &ask);
	m = message(&b);
	assert_int_equal(gw_get_header_ask(&m, &got_ask), 0);
	assert_string_equal(got_ask.content_type, "a/b");
	assert_string_equal(got_ask.body_sha256, "");
	assert_true(got_ask.rejected);
	wire_msg_done(&m);
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_usage(&b, &usage);
	m = message(&b);
	assert_int_equal(gw_get_usage(&m, &got), 0);
	assert_string_equal(got.model, "m");
	assert_int_equal(got.reservation, 9);
	assert_int_equal(got.cost, GW_COST_RESERVED);
	assert_int_equal(got.cache_write, 6);
	assert_string_equal(got.limits, "");
	wire_msg_done(&m);
}

static void a_question_for_the_budget_is_within_bounds(void **state)
{
	struct gw_spend ask = {
		.credential = "c", .model = "m", .input = 3, .output = 4, .answers = 2};
	uint64_t *const numbers[] = {&ask.input, &ask.output, &ask.answers};
	struct gw_spend got;
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_spend(&b, &ask);
	m = message(&b);
	assert_int_equal(gw_get_spend(&m, &got), 0);
	assert_string_equal(got.model, "m");
	assert_int_equal(got.input + got.output + got.answers, 9);
	wire_msg_done(&m);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		*numbers[i] = GW_TOKENS_MAX + 1;
		buf_init(&b, WIRE_BODY_MAX);
		gw_put_spend(&b, &ask);
		m = message(&b);
		assert_int_equal(gw_get_spend(&m, &got), -EPROTO);
		wire_msg_done(&m);
		*numbers[i] = 1;
	}
}

static void a_header_arrives_and_too_many_fields_are_refused(void **state)
{
	struct gw_header h, got;
	struct wire_msg m;
	struct buf b;

	gw_header_init(&h);
	h.keep_ms = 5;
	strv_push(&h.set, "A: b");
	strv_push(&h.secrets, "b");
	h.message = xstrdup("why");
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_header(&b, &h);
	m = message(&b);
	assert_int_equal(gw_get_header(&m, &got), 0);
	assert_string_equal(got.set.v[0], "A: b");
	assert_int_equal(got.keep_ms, 5);
	assert_string_equal(got.secrets.v[0], "b");
	assert_string_equal(got.message, "why");
	gw_header_done(&got);
	wire_msg_done(&m);
	for (int i = 0; i < GW_HEADER_FIELDS_MAX; i++)
		strv_push(&h.set, "C: d");
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_header(&b, &h);
	m = message(&b);
	assert_int_equal(gw_get_header(&m, &got), -EPROTO);
	wire_msg_done(&m);
	gw_header_done(&h);
}

static void a_policy_alone_arrives_as_it_was_sent_or_not_at_all(void **state)
{
	struct gw_config *c = sample();
	size_t len;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_policy(&b, &c->policy);
	len = b.len;
	buf_done(&b);
	for (size_t cut = 0; cut <= len; cut++) {
		struct net_policy got = {0};
		struct wire_msg m;

		buf_init(&b, WIRE_BODY_MAX);
		gw_put_policy(&b, &c->policy);
		b.len -= cut;
		m = message(&b);
		if (cut == 0) {
			assert_int_equal(gw_get_policy(&m, &got), 0);
			assert_int_equal(got.tier, POLICY_INET);
			assert_int_equal(got.n_rules, 2);
			assert_string_equal(got.rules[1].pattern, "b.test");
			assert_string_equal(got.rules[1].methods.v[0], "GET");
			net_policy_clear(&got);
		} else {
			assert_int_equal(gw_get_policy(&m, &got), -EPROTO);
			assert_int_equal(got.n_rules, 0);
		}
		wire_msg_done(&m);
	}
	(void)gw_config_free(c);
}

/* Every field has its place: two programs of one version, and records, agree about them. */
static void a_rule_travels_in_these_bytes(void **state)
{
	static const char bytes[] = "\1\0\0\0" /* allowlist */
				    "\1\0\0\0" /* one rule */
				    "\0\0\0\0" /* allow */
				    "\2\0\0\0a\0"
				    "\1\0\0\0\0" /* no source */
				    "\1\0\0\0\4\0\0\0GET\0"
				    "\1\0\0\0\3\0\0\0/x\0"
				    "\0\0\0\0" /* no git */
				    "\1\0\0\0\2\0\0\0k\0"
				    "\0\0\0"; /* no end; the last byte is the string's */
	cleanup_(net_policy_clear) struct net_policy p = {.tier = POLICY_ALLOWLIST};
	struct net_rule *r = net_policy_add(&p, false, "a", NULL);
	cleanup_buf struct buf b;

	strv_push(&r->methods, "GET");
	strv_push(&r->paths, "/x");
	r->credential = xstrdup("k");
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_policy(&b, &p);
	assert_int_equal(b.len, sizeof(bytes));
	assert_memory_equal(b.data, bytes, sizeof(bytes));
}

static void a_policy_of_an_unknown_tier_or_of_too_many_rules_is_refused(void **state)
{
	static const uint32_t heads[][2] = {
		{POLICY_TIER_N, 0}, {UINT32_MAX, 0}, {POLICY_INET, NET_RULES_MAX + 1}};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct net_policy got = {0};
		struct wire_msg m;
		struct buf b;

		buf_init(&b, WIRE_BODY_MAX);
		wire_put_u32(&b, heads[i][0]);
		wire_put_u32(&b, heads[i][1]);
		m = message(&b);
		assert_int_equal(gw_get_policy(&m, &got), -EPROTO);
		assert_int_equal(got.tier, POLICY_NONE);
		wire_msg_done(&m);
	}
}

static void a_health_report_arrives_whole(void **state)
{
	const struct gw_health sent = {1, 2, 3, 4, UINT64_MAX, 6, 7, 8};
	struct gw_health got = {0};
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_health(&b, &sent);
	m = message(&b);
	assert_int_equal(gw_get_health(&m, &got), 0);
	assert_int_equal(got.connections, 1);
	assert_int_equal(got.lookups, 4);
	assert_true(got.accepted == UINT64_MAX);
	assert_int_equal(got.bytes_down, 8);
	m.body.len--;
	assert_int_equal(gw_get_health(&m, &got), -EPROTO);
	wire_msg_done(&m);
}

/* A message takes only so many descriptors: the rest comes in further ones. */
static void listeners_beyond_one_message_are_all_handed_over(void **state)
{
	enum { N = 2 * WIRE_FDS_MAX + 3 };
	struct gw_listener rows[N] = {0}, *got = NULL;
	int fds[N], pair[2];
	size_t seen = 0, n;
	struct err e;

	assert_int_equal(wire_pair(pair, &e), 0);
	for (size_t i = 0; i < N; i++) {
		rows[i].port = (uint16_t)(1000 + i);
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	assert_int_equal(gw_send_listeners(pair[0], rows, fds, N), 0);
	while (seen < N) {
		struct wire_msg m;

		wire_msg_init(&m);
		assert_int_equal(wire_recv(pair[1], &m), 1);
		assert_int_equal(gw_get_listeners(&m, &got, &n), 0);
		assert_int_equal(m.n_fds, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(got[i].port, 1000 + seen++);
		free(got);
		wire_msg_done(&m);
	}
	for (size_t i = 0; i < N; i++)
		(void)close(fds[i]);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void everything_has_a_name(void **state)
{
	for (int v = 0; v < GW_VERB_N; v++)
		assert_string_not_equal(gw_verb_name(v), "?");
	for (int v = 0; v < GW_VERDICT_N; v++)
		assert_string_not_equal(gw_verdict_name(v), "?");
	for (int k = 0; k < GW_LISTEN_N; k++)
		assert_string_not_equal(gw_listen_kind_name(k), "?");
	assert_string_equal(gw_verb_name(GW_VERB_N), "?");
	assert_string_equal(gw_verdict_name(GW_VERDICT_N), "?");
	assert_string_equal(gw_listen_kind_name(GW_LISTEN_N), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_arrives_as_it_was_sent),
		cmocka_unit_test(a_cut_body_is_refused_wherever_it_was_cut),
		cmocka_unit_test(an_event_that_could_forge_a_line_is_refused),
		cmocka_unit_test(listeners_have_a_descriptor_each_or_none_at_all),
		cmocka_unit_test(a_use_of_a_credential_arrives_whole_or_not_at_all),
		cmocka_unit_test(an_ask_and_a_usage_arrive_whole),
		cmocka_unit_test(a_question_for_the_budget_is_within_bounds),
		cmocka_unit_test(a_header_arrives_and_too_many_fields_are_refused),
		cmocka_unit_test(a_policy_alone_arrives_as_it_was_sent_or_not_at_all),
		cmocka_unit_test(a_rule_travels_in_these_bytes),
		cmocka_unit_test(a_policy_of_an_unknown_tier_or_of_too_many_rules_is_refused),
		cmocka_unit_test(a_health_report_arrives_whole),
		cmocka_unit_test(listeners_beyond_one_message_are_all_handed_over),
		cmocka_unit_test(everything_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
