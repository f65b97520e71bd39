/* Edge and gateway, each with a taken-over other half: the test. */
#include "live.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "wire/edge-proto.h"

static const struct live_rule rules[] = {
	{.pattern = "allowed.test"},
	{.pattern = "allowed.test:9000"},
	{.pattern = "private.test"},
	{.pattern = "inspected.test", .methods = "GET", .paths = "/hello"},
};

static struct live_options edge_alone = {.rules = rules,
					 .n_rules = ARRAY_SIZE(rules),
					 .route_url = "https://other.test:8443",
					 .no_gateway = true};
static struct live_options gateway_alone = {
	.rules = rules, .n_rules = ARRAY_SIZE(rules), .no_edge = true};

static int up_edge(void **state)
{
	live_start(&edge_alone);
	return 0;
}

static int up_gateway(void **state)
{
	live_start(&gateway_alone);
	return 0;
}

static int down(void **state)
{
	live_stop();
	return 0;
}

/* Has the program ended, by the end of its line? */
static bool has_ended(int line)
{
	for (;;) {
		struct pollfd p = {.fd = line, .events = POLLIN};
		cleanup_wire_msg struct wire_msg m;

		wire_msg_init(&m);
		if (poll(&p, 1, 5000) <= 0)
			return false;
		if (wire_recv(line, &m) <= 0)
			return true;
	}
}

/* The answer to a dial; its status, and the connection where that is 0. */
static unsigned dial(const char *host, uint16_t port, bool route, int *ret_fd, char reason[256])
{
	const struct edge_dial_frame f = {.host = host, .port = port, .route = route};
	static uint32_t id = 100;
	struct edge_dialled_frame is;
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf b;

	wire_msg_init(&m);
	buf_init(&b, WIRE_BODY_MAX);
	edge_put_dial(&b, &f);
	assert_int_equal(wire_send(live_dials(), (enum wire_type)EDGE_DIAL, ++id, &b, NULL, 0), 0);
	assert_int_equal(wire_recv(live_dials(), &m), 1);
	assert_int_equal((int)m.type, EDGE_DIAL_IS);
	assert_int_equal(m.id, id);
	assert_int_equal(edge_get_dialled(&m, &is), 0);
	*ret_fd = wire_take_fd(&m, 0);
	if (*ret_fd >= 0)
		assert_int_equal(fd_set_nonblock(*ret_fd, false), 0);
	(void)snprintf(reason, 256, "%s", is.reason);
	return is.status;
}

static void the_edge_dials_what_the_rules_allow_whoever_asks(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
	} no[] = {{"other.test", 443},
		  {"allowed.test", 22},
		  {"127.0.0.1", 80},
		  {"localhost", 9000},
		  {"8.1.1.1", 80},
		  {"169.254.169.254", 80},
		  {"meta.test", 80},
		  {"private.test", 80},
		  {"10.9.9.9", 80},
		  {"allowed.test\n", 80},
		  {"", 80},
		  {"[::1]", 80},
		  {"0x7f.1", 80}};
	char why[256];
	int fd;

	assert_int_equal(dial("allowed.test", 9000, false, &fd, why), 0);
	put(fd, "hello");
	free(get(fd, "hello"));
	(void)close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
		unsigned status = dial(no[i].host, no[i].port, false, &fd, why);

		if (status != 403 || fd >= 0 || !why[0])
			fail_msg("%s:%u: %u '%s'", no[i].host, no[i].port, status, why);
	}
}

static void the_edge_dials_for_a_route_its_own_origin_and_no_other(void **state)
{
	char why[256];
	int fd;

	assert_int_equal(dial("other.test", 8443, true, &fd, why), 0);
	(void)close(fd);
	assert_int_equal(dial("other.test", 443, true, &fd, why), 403);
	assert_int_equal(dial("private.test", 8443, true, &fd, why), 403);
	/* And without that word the rules decide. */
	assert_int_equal(dial("other.test", 8443, false, &fd, why), 403);
}

static void send_conn(int line, enum gw_type type, const struct edge_conn_frame *f, int fd)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	edge_put_conn(&b, f);
	assert_int_equal(wire_send(line, (enum wire_type)type, 0, &b, &fd, fd >= 0), 0);
}

static void a_frame_that_no_gateway_sends_ends_the_edge(void **state)
{
	const struct edge_conn_frame f = {.host = "", .row = 4}; /* not the proxy port */

	send_conn(live_dials(), EDGE_BACK, &f, 0);
	assert_true(has_ended(live_dials()));
}

/* The CONNECT is judged as if it had come by the listener. */
static void a_connection_that_comes_back_is_judged_like_a_new_one(void **state)
{
	static const char rq[] = "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test\r\n\r\n";
	const struct edge_conn_frame f = {.host = "", .bytes = rq, .n_bytes = sizeof(rq) - 1};
	cleanup_free char *answer = NULL;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	send_conn(live_dials(), EDGE_BACK, &f, pair[1]);
	(void)close(pair[1]);
	answer = get(pair[0], NULL);
	starts(answer, "HTTP/1.1 403 refused by ralph: other.test is not allowed");
	(void)close(pair[0]);
}

/* Hands a client of this kind to the gateway, and returns what the gateway sends to it. */
static char *hand_over(const struct edge_conn_frame *f)
{
	char *answer;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	send_conn(live_arrivals(), EDGE_CONN, f, pair[1]);
	(void)close(pair[1]);
	answer = get(pair[0], NULL);
	(void)close(pair[0]);
	return answer;
}

static void the_gateway_judges_what_it_is_handed(void **state)
{
	static const char rq[] = "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n";
	struct edge_conn_frame f = {.first = EDGE_HTTP,
				    .host = "other.test",
				    .port = 80,
				    .bytes = rq,
				    .n_bytes = sizeof(rq) - 1};
	cleanup_free char *not_allowed = hand_over(&f), *renamed = NULL, *path = NULL, *tls = NULL;
	static const char inspected[] = "GET /secret HTTP/1.1\r\nHost: inspected.test\r\n\r\n";
	cleanup_free unsigned char *hello = NULL;

	has(not_allowed, "HTTP/1.1 403 ");
	f.host = "allowed.test";
	renamed = hand_over(&f);
	has(renamed, "HTTP/1.1 403 ");
	f.host = "inspected.test";
	f.bytes = inspected;
	f.n_bytes = sizeof(inspected) - 1;
	path = hand_over(&f);
	has(path, "HTTP/1.1 403 ");
	/* TLS ends here for hosts that are inspected, and for no other. */
	f = (struct edge_conn_frame){.first = EDGE_TLS, .host = "allowed.test", .port = 443};
	f.n_bytes = hello_bytes("allowed.test", &hello);
	f.bytes = (char *)hello;
	tls = hand_over(&f);
	assert_string_equal(tls, "");
}

/* Nobody has asked for it. */
static void an_answer_to_no_question_is_dropped(void **state)
{
	const struct edge_dialled_frame f = {.reason = "", .remedy = "", .rule = ""};
	static const char rq[] = "GET /_ralph/health HTTP/1.1\r\nHost: x\r\n\r\n";
	const struct edge_conn_frame next = {
		.first = EDGE_PROXY, .host = "", .bytes = rq, .n_bytes = sizeof(rq) - 1};
	cleanup_free char *answer = NULL;
	cleanup_buf struct buf b;
	int fd = 0;

	buf_init(&b, WIRE_BODY_MAX);
	edge_put_dialled(&b, &f);
	for (uint32_t id = 0; id < 64; id++)
		assert_int_equal(
			wire_send(live_dials(), (enum wire_type)EDGE_DIAL_IS, id, &b, &fd, 1), 0);
	answer = hand_over(&next);
	has(answer, "{\"ok\":true}");
}

static void a_frame_that_no_edge_sends_ends_the_gateway(void **state)
{
	const struct edge_conn_frame f = {.first = EDGE_HTTP, .host = "no host at all"};

	send_conn(live_arrivals(), EDGE_CONN, &f, 0);
	assert_true(has_ended(live_arrivals()));
}

static void a_descriptor_that_is_no_connection_harms_nobody(void **state)
{
	static const char rq[] = "GET /_ralph/health HTTP/1.1\r\nHost: x\r\n\r\n";
	const struct edge_conn_frame f = {
		.first = EDGE_PROXY, .host = "", .bytes = rq, .n_bytes = sizeof(rq) - 1};
	cleanup_free char *answer = NULL;
	cleanup_fd int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup_fd int memory = fd_memfd("x", "text", 4);

	send_conn(live_arrivals(), EDGE_CONN, &f, file);
	send_conn(live_arrivals(), EDGE_CONN, &f, memory);
	answer = hand_over(&f);
	has(answer, "{\"ok\":true}");
}

#define E(fn) cmocka_unit_test_setup_teardown(fn, up_edge, down)
#define G(fn) cmocka_unit_test_setup_teardown(fn, up_gateway, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		E(the_edge_dials_what_the_rules_allow_whoever_asks),
		E(the_edge_dials_for_a_route_its_own_origin_and_no_other),
		E(a_frame_that_no_gateway_sends_ends_the_edge),
		E(a_connection_that_comes_back_is_judged_like_a_new_one),
		G(the_gateway_judges_what_it_is_handed),
		G(an_answer_to_no_question_is_dropped),
		G(a_frame_that_no_edge_sends_ends_the_gateway),
		G(a_descriptor_that_is_no_connection_harms_nobody),
	};

	live_world();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
