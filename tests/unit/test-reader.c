#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "reader/reader.h"

static char model[READER_MODEL_MAX + 1];

struct judged {
	bool good;
	char *why; /* the test's */
	struct gw_spend spend;
};

static struct judged judge(bool budget, const char *tools, enum request_kind kind,
			   const char *target, const char *fields, const char *body)
{
	cleanup_free char *head =
		xasprintf("POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %zu\r\n\r\n", target,
			  fields, strlen(body));
	const struct reader_request q = {.credential = "c",
					 .target = target,
					 .kind = kind,
					 .head = head,
					 .n_head = strlen(head),
					 .body = {.p = body, .n = strlen(body), .fd = -1}};
	struct reader_setup setup = {.budget = budget};
	struct judged v;

	strv_push(&setup.tools, tools);
	v.good = reader_judge(&setup, &q, model, &v.spend, &v.why);
	strv_done(&setup.tools);
	return v;
}

static void refused(struct judged v, const char *why)
{
	assert_false(v.good);
	assert_non_null(strstr(v.why, why));
	free(v.why);
}

#define JSON "Content-Type: application/json\r\n"

static void without_a_budget_nothing_is_reserved(void **state)
{
	struct judged v = judge(false, "web_search", REQUEST_MESSAGES, "/v1/messages", JSON,
				"{\"model\":\"m\",\"max_tokens\":7}");

	assert_true(v.good);
	assert_null(v.spend.credential);
	assert_true(judge(false, "x", REQUEST_UNKNOWN, "/v1/anything", "", "").good);
}

static void a_tool_that_is_not_allowed_refuses_the_request(void **state)
{
	static const char body[] = "{\"tools\":[{\"type\":\"web_search_20250305\"}]}";

	refused(judge(false, "x", REQUEST_MESSAGES, "/v1/messages", JSON, body), "'web_search'");
	assert_true(judge(false, "web_search", REQUEST_MESSAGES, "/v1/messages", JSON, body).good);
	assert_true(judge(false, GW_TOOLS_ALL, REQUEST_MESSAGES, "/v1/messages", JSON, body).good);
	refused(judge(false, "x", REQUEST_UNKNOWN, "/v1/messages/batches", JSON, "{}"),
		"'batches'");
	refused(judge(false, "x", REQUEST_UNKNOWN, "/v1/files?a=b", JSON, "{}"), "'files'");
	refused(judge(false, "x", REQUEST_UNKNOWN, "/upload/v1", JSON, "{}"), "'files'");
}

static void a_body_that_others_may_read_differently_is_refused(void **state)
{
	static const struct {
		const char *target, *fields, *body;
	} rows[] = {
		{"/v1/messages", JSON, "{\"a\":"},
		{"/v1/messages", JSON, "[]"},
		{"/v1/messages", JSON JSON, "{}"},
		{"/v1/messages", "Content-Type: multipart/form-data; boundary=x\r\n", "{}"},
		{"/v1/messages", JSON "Content-Encoding: gzip\r\n", "{}"},
		{"/v1/messages?$ct=text", JSON, "{}"},
		{"/v1/messages?a=1&%24req=x", JSON, "{}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		refused(judge(false, "x", REQUEST_MESSAGES, rows[i].target, rows[i].fields,
			      rows[i].body),
			"as one JSON object");
	assert_true(judge(false, "x", REQUEST_MESSAGES, "/v1/messages?a=1&b=2",
			  JSON "Content-Encoding: identity\r\n", "{}")
			    .good);
}

static void a_head_that_cannot_be_read_is_refused(void **state)
{
	const struct reader_request q = {
		.credential = "c", .target = "/", .head = "x", .n_head = 1, .body = {.fd = -1}};
	struct reader_setup setup = {0};
	struct gw_spend spend;
	char *why;

	assert_false(reader_judge(&setup, &q, model, &spend, &why));
	free(why);
}

static void the_most_that_a_request_can_use_is_reserved(void **state)
{
	static const struct {
		enum request_kind kind;
		const char *target, *body, *model;
		uint64_t input, output, answers;
	} rows[] = {
		{REQUEST_MESSAGES, "/v1/messages", "{\"model\":\"m\",\"max_tokens\":7}", "m", 4096,
		 8, 1},
		{REQUEST_CHAT, "/v1/chat", "{\"max_completion_tokens\":5,\"n\":3}", "", 4096, 6, 3},
		{REQUEST_RESPONSES, "/v1/responses", "{\"previous_response_id\":\"r\"}", "",
		 1000000, 0, 1},
		{REQUEST_GEMINI, "/v1/models/g-1:generate",
		 "{\"generationConfig\":{\"maxOutputTokens\":9}}", "g-1", 4096, 10, 1},
		{REQUEST_CONVERSE, "/model/anthropic.x/converse",
		 "{\"inferenceConfig\":{\"maxTokens\":2}}", "anthropic.x", 4096, 3, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct judged v =
			judge(true, "x", rows[i].kind, rows[i].target, JSON, rows[i].body);

		assert_true(v.good);
		assert_string_equal(v.spend.credential, "c");
		assert_string_equal(v.spend.model, rows[i].model);
		assert_int_equal(v.spend.input, rows[i].input == 4096 ? 4096 + strlen(rows[i].body)
								      : rows[i].input);
		assert_int_equal(v.spend.output, rows[i].output);
		assert_int_equal(v.spend.answers, rows[i].answers);
	}
}

static void what_has_no_known_price_is_refused_with_a_budget_only(void **state)
{
	static const char tier[] = "{\"service_tier\":\"priority\"}";
	static const char field[] = JSON "X-Amzn-Bedrock-Service-Tier: priority\r\n";

	refused(judge(true, "x", REQUEST_CHAT, "/v1/chat", JSON, tier), "service tier");
	refused(judge(true, "x", REQUEST_CONVERSE, "/model/m/converse", field, "{}"),
		"service tier");
	refused(judge(true, "x", REQUEST_CHAT, "/v1/chat", JSON,
		      "{\"model\":\"a\",\"model\":\"b\"}"),
		"two models");
	assert_true(judge(false, "x", REQUEST_CHAT, "/v1/chat", JSON, tier).good);
	assert_true(judge(false, "x", REQUEST_CONVERSE, "/model/m/converse", field, "{}").good);
	assert_null(judge(true, "x", REQUEST_FREE, "/v1/count", JSON, "{}").spend.credential);
}

static const char answer_head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				  "Retry-After: 3\r\nX-RateLimit-Left: 9\r\nX-Other: 1\r\n"
				  "Content-Length: 9\r\n\r\n";
static const char usage[] = "{\"model\":\"m\",\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}";

/* The file's bytes, or those at p. */
static bool measure(const char *head, struct reader_body body, uint32_t reservation,
		    enum gw_cost cost, struct gw_usage *ret)
{
	static struct buf limits;
	const struct reader_answer a = {.credential = "c",
					.target = "/v1/models/of-the-path:x",
					.reservation = reservation,
					.status = 200,
					.cost = cost,
					.head = head,
					.n_head = strlen(head),
					.body = body};

	buf_done(&limits);
	buf_init(&limits, GW_LIMITS_MAX);
	return reader_measure(&a, model, &limits, ret);
}

static struct reader_body text(const char *s)
{
	return (struct reader_body){.p = s, .n = strlen(s), .fd = -1};
}

static void an_answer_costs_what_it_says(void **state)
{
	struct gw_usage u;

	assert_true(measure(answer_head, text(usage), 5, GW_COST_USED, &u));
	assert_int_equal(u.cost, GW_COST_USED);
	assert_int_equal(u.input + u.output, 12);
	assert_int_equal(u.reservation, 5);
	assert_string_equal(u.model, "m");
	assert_string_equal(u.limits, "Retry-After: 3\nX-RateLimit-Left: 9\n");
}

static void an_answer_that_does_not_say_costs_its_reservation(void **state)
{
	struct gw_usage u;

	assert_true(measure(answer_head, text("{}"), 5, GW_COST_USED, &u));
	assert_int_equal(u.cost, GW_COST_RESERVED);
	assert_string_equal(u.model, "of-the-path");
	assert_true(measure("nonsense", text(usage), 5, GW_COST_USED, &u));
	assert_int_equal(u.cost, GW_COST_RESERVED);
	assert_true(measure("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", text(usage), 5,
			    GW_COST_USED, &u));
	assert_int_equal(u.cost, GW_COST_RESERVED);
	assert_true(measure("", text(""), 5, GW_COST_NONE, &u));
	assert_int_equal(u.cost, GW_COST_NONE);
	assert_false(measure("", text(""), 0, GW_COST_USED, &u));
}

static void a_long_body_is_read_from_its_file(void **state)
{
	cleanup_fd int fd = fd_memfd("body", usage, strlen(usage));
	struct reader_body body = {.n = strlen(usage), .fd = fd};
	struct gw_usage u;

	assert_true(measure(answer_head, body, 5, GW_COST_USED, &u));
	assert_int_equal(u.cost, GW_COST_USED);
	/* One that is shorter than it was said to be is an answer that was cut. */
	body.n++;
	assert_true(measure(answer_head, body, 5, GW_COST_USED, &u));
	assert_int_equal(u.cost, GW_COST_RESERVED);
}

static unsigned int asked(const char *method, const char *target, const char *body,
			  struct gw_ask *ret, char why[static 100])
{
	const struct reader_ask q = {
		.method = method, .target = target, .body = body, .n = strlen(body)};
	static json_t *doc;
	struct buf text;
	unsigned int status;

	json_decref(doc);
	buf_init(&text, 99);
	status = reader_ask(&q, &doc, ret, &text);
	(void)snprintf(why, 100, "%s", buf_str(&text));
	buf_done(&text);
	strv_done(&ret->choices);
	return status;
}

static void an_ask_is_what_was_written(void **state)
{
	struct gw_ask a;
	char why[100];

	assert_int_equal(asked("POST", "/_ralph/asks",
			       "{\"kind\":\"host\",\"what\":\"a.test\",\"choices\":[\"x\"]}", &a,
			       why),
			 0);
	assert_int_equal(a.verb, GW_ASK_PUT);
	assert_string_equal(a.what, "a.test");
	assert_string_equal(a.why, "");
	assert_int_equal(asked("GET", "/_ralph/asks/abc?wait=30", "", &a, why), 0);
	assert_int_equal(a.verb, GW_ASK_GET);
	assert_string_equal(a.what, "abc");
	assert_int_equal(a.wait_s, 30);
	assert_int_equal(asked("GET", "/_ralph/refused?since=7", "", &a, why), 0);
	assert_int_equal(a.verb, GW_ASK_REFUSED);
	assert_int_equal(a.since, 7);
}

static void a_malformed_ask_is_refused_with_what_is_wrong(void **state)
{
	static const struct {
		const char *method, *target, *body, *why;
		unsigned int status;
	} rows[] = {
		{"POST", "/_ralph/asks", "[]", "a JSON object", 400},
		{"POST", "/_ralph/asks", "{", "a JSON object", 400},
		{"POST", "/_ralph/asks", "{\"choices\":[1]}", "a JSON object", 400},
		{"GET", "/_ralph/asks/abc?wait=31", "", "at most 30", 400},
		{"GET", "/_ralph/asks/abc?weight=3", "", "at most 30", 400},
		{"GET", "/_ralph/asks", "", "POST /_ralph/asks", 405},
		{"GET", "/_ralph/asks/", "", "POST /_ralph/asks", 405},
		{"GET", "/_ralph/asks/0123456789012345678901234567890123", "", "POST", 405},
		{"DELETE", "/_ralph/asks/abc", "", "POST /_ralph/asks", 405},
		{"POST", "/_ralph/refused", "", "POST /_ralph/asks", 405},
		{"GET", "/_ralph/refused?since=x", "", "a number", 400},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gw_ask a;
		char why[100];

		assert_int_equal(asked(rows[i].method, rows[i].target, rows[i].body, &a, why),
				 rows[i].status);
		assert_non_null(strstr(why, rows[i].why));
	}
}

static struct wire_msg message(struct buf *b, int fd)
{
	struct wire_msg m;

	wire_msg_init(&m);
	(void)buf_append(&m.body, b->data, b->len);
	if (fd >= 0)
		m.fds[m.n_fds++] = fd;
	buf_done(b);
	return m;
}

static void frames_say_the_same_on_both_sides(void **state)
{
	const struct reader_answer a = {.credential = "c",
					.target = "/t",
					.reservation = 1,
					.status = 200,
					.cost = GW_COST_RESERVED,
					.head = "h",
					.n_head = 1,
					.body = {.n = 8, .fd = 1}};
	const struct reader_verdict no = {.status = 402, .why = "used up"};
	struct reader_verdict verdict;
	struct reader_answer got;
	struct wire_msg m;
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	reader_put_answer(&b, &a);
	m = message(&b, fcntl(0, F_DUPFD_CLOEXEC, 3));
	assert_int_equal(reader_get_answer(&m, &got), 0);
	assert_int_equal(got.body.n, 8);
	assert_int_equal(got.body.fd, m.fds[0]);
	assert_int_equal(got.cost, GW_COST_RESERVED);
	/* A body in a file comes with the file. */
	closep(&m.fds[0]);
	m.n_fds = 0;
	assert_int_equal(reader_get_answer(&m, &got), -EPROTO);
	wire_msg_done(&m);
	buf_init(&b, WIRE_BODY_MAX);
	reader_put_verdict(&b, &no);
	m = message(&b, -1);
	assert_int_equal(reader_get_verdict(&m, &verdict), 0);
	assert_int_equal(verdict.status, 402);
	assert_string_equal(verdict.why, "used up");
	wire_msg_done(&m);
	buf_init(&b, WIRE_BODY_MAX);
	reader_put_verdict(&b,
			   &(struct reader_verdict){.status = 402, .why = "", .reserved = true});
	m = message(&b, -1);
	assert_int_equal(reader_get_verdict(&m, &verdict), -EPROTO);
	wire_msg_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_budget_nothing_is_reserved),
		cmocka_unit_test(a_tool_that_is_not_allowed_refuses_the_request),
		cmocka_unit_test(a_body_that_others_may_read_differently_is_refused),
		cmocka_unit_test(a_head_that_cannot_be_read_is_refused),
		cmocka_unit_test(the_most_that_a_request_can_use_is_reserved),
		cmocka_unit_test(what_has_no_known_price_is_refused_with_a_budget_only),
		cmocka_unit_test(an_answer_costs_what_it_says),
		cmocka_unit_test(an_answer_that_does_not_say_costs_its_reservation),
		cmocka_unit_test(a_long_body_is_read_from_its_file),
		cmocka_unit_test(an_ask_is_what_was_written),
		cmocka_unit_test(a_malformed_ask_is_refused_with_what_is_wrong),
		cmocka_unit_test(frames_say_the_same_on_both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
