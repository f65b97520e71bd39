/*
 * Answers that come before the end of their request. The server reads strictly and records each
 * request that it read: it must have seen what was sent as a request, and nothing else. Bodies are
 * requests themselves (script_byte()), so that each byte of one that is taken for the beginning of
 * a request shows.
 */
#include "live.h"

#include <fcntl.h>
#include <stdio.h>

#define SMALL 26
#define LARGE (64 * 1024 - 512) /* with its head, one read of the gateway's */

static const struct live_rule rules[] = {{.pattern = "allowed.test:8080"}};

static const struct live_options options = {.rules = rules,
					    .n_rules = ARRAY_SIZE(rules),
					    .route_url = "https://other.test:8443",
					    .keep_ms = 60000,
					    .no_events = true};

static int up(void **state)
{
	script_forget();
	live_start(&options);
	return 0;
}

static int down(void **state)
{
	live_stop();
	return 0;
}

struct early {
	const char *status, *end;
	bool chunked;
	bool route;   /* to a provider's endpoint, with its credential */
	size_t size;  /* of the body */
	size_t at;    /* the server answers then, */
	bool waits;   /* and the client sends the rest after it has the answer */
	size_t tries; /* of the first request */
};

static unsigned int last; /* requests have names of their own: /is1, /is2 … */

static void put_start(struct buf *b, const struct early *e, const char *method, const char *end)
{
	const char *base = e->route ? "/_ralph/test/v1" : "http://allowed.test:8080";

	(void)buf_printf(b, "%s %s/is%u/%s/%zu HTTP/1.1\r\nHost: %s\r\n", method, base, ++last, end,
			 e->at, e->route ? "x" : "allowed.test:8080");
	if (e->route)
		(void)buf_puts(b, "Authorization: Bearer phantom-token\r\n");
}

static void put_payload(struct buf *b, size_t from, size_t to)
{
	for (; from < to; from++)
		(void)buf_putc(b, script_byte(from));
}

/* The bytes of the request; *ret_at is where its byte `at` ends. */
static void put_request(struct buf *b, const struct early *e, size_t *ret_at)
{
	cleanup_free char *end = xasprintf("%s/%s", e->status, e->end);
	size_t half = e->size / 2;

	put_start(b, e, "POST", end);
	if (!e->chunked) {
		(void)buf_printf(b, "Content-Length: %zu\r\n\r\n", e->size);
		*ret_at = b->len + e->at;
		put_payload(b, 0, e->size);
		return;
	}
	(void)buf_printf(b, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", half);
	*ret_at = b->len + e->at;
	put_payload(b, 0, half);
	(void)buf_printf(b, "\r\n%zx\r\n", e->size - half);
	if (e->at > half)
		*ret_at = b->len + e->at - half;
	put_payload(b, half, e->size);
	(void)buf_puts(b, "\r\n0\r\n\r\n");
}

static void plain_request(struct buf *b, const struct early *e)
{
	struct early simple = *e;

	simple.at = 0;
	put_start(b, &simple, "GET", "200/keep");
	(void)buf_puts(b, "\r\n");
}

/* How many whole answers came, until there are `most` or the connection ended. */
static size_t answers(int fd, size_t most)
{
	size_t n = 0;

	while (n < most) {
		cleanup_free char *text = get(fd, "\r\n\r\ndone");
		const char *p = text;

		if (!strstr(text, "\r\n\r\ndone"))
			return n;
		while ((p = strstr(p, "\r\n\r\ndone")) != NULL) {
			p += 8;
			n++;
		}
	}
	return n;
}

/* One line of the record; counts[i] is how often request `first + i` may still come. The request
 * that was answered early may be cut, the others not. */
static void check_line(const struct early *e, unsigned int first, size_t counts[static 3])
{
	const char *line = script_line();

	for (unsigned int i = 0; i < 3; i++) {
		const char *with = e->route ? " with" : "";
		cleanup_free char *whole = xasprintf("is%u whole%s", first + i, with);
		cleanup_free char *cut = xasprintf("is%u cut%s", first + i, with);

		if (counts[i] && (streq(line, whole) || (i == 0 && streq(line, cut)))) {
			counts[i]--;
			return;
		}
	}
	fail_msg("after %s/%s at %zu of %zu%s%s%s, is%u to is%u, the server read '%s'", e->status,
		 e->end, e->at, e->size, e->chunked ? ", chunked" : "",
		 e->route ? ", with a credential" : "", e->waits ? ", waiting" : "", first,
		 first + 2, line);
}

/* Sends the request and one behind it; how many answers came. */
static size_t send_two(const struct early *e, int fd)
{
	cleanup_buf struct buf b;
	size_t at, got = 0;

	buf_init(&b, 256 * KiB);
	put_request(&b, e, &at);
	if (e->waits) {
		put_bytes(fd, b.data, at);
		got = answers(fd, 1);
		assert_int_equal(got, 1);
		buf_consume(&b, at);
	}
	plain_request(&b, e);
	put_bytes(fd, b.data, b.len);
	return got + answers(fd, 2 - got);
}

/* On another connection: what a pool or a buffer still held would come with this one. */
static void send_third(const struct early *e)
{
	cleanup_fd int fd = client_proxy();
	cleanup_buf struct buf b;

	buf_init(&b, 64 * KiB);
	plain_request(&b, e);
	put_bytes(fd, b.data, b.len);
	assert_int_equal(answers(fd, 1), 1);
}

static void run(const struct early *e)
{
	bool deaf = streq(e->end, "deaf") || streq(e->end, "stuck");
	size_t counts[3] = {e->tries, 0, 1}, lines;
	unsigned int first = last + 1;
	cleanup_fd int fd = client_proxy();

	counts[1] = send_two(e, fd) == 2;
	send_third(e);
	for (size_t i = 0; deaf && i < e->tries; i++)
		server_go();
	for (lines = counts[0] + counts[1] + counts[2]; lines; lines--)
		check_line(e, first, counts);
}

static const char *const answers_with[] = {"200", "401", "413", "100", "103"};

static void small_case(struct early e)
{
	/* With a credential the rest of the body is read before a 401 is answered or repeated. */
	bool repeated = e.route && streq(e.status, "401");

	e.size = SMALL;
	e.tries = repeated ? 2 : 1;
	run(&e);
	e.waits = !repeated;
	if (e.waits)
		run(&e);
}

/* Small bodies: the answer at each byte of them; the server closes its connection or not. */
static void small(bool chunked, bool route)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers_with); i++)
		for (size_t at = 0; at <= SMALL; at += route ? 5 : 1)
			small_case((struct early){.status = answers_with[i],
						  .end = (at + i) % 2 ? "keep" : "close",
						  .chunked = chunked,
						  .route = route,
						  .at = at});
}

static void an_answer_at_each_byte_of_a_body_leaves_the_next_request_alone(void **state)
{
	small(false, false);
}

static void an_answer_at_each_byte_of_a_chunked_body_leaves_the_next_request_alone(void **state)
{
	small(true, false);
}

/* Large ones, of which the server takes no more than what it has read when it answers. */
static void large(const char *end, bool chunked, bool route)
{
	static const size_t places[] = {0, 1, 1000, 4096, 9999};

	for (size_t i = 0; i < ARRAY_SIZE(answers_with); i++)
		for (size_t k = 0; k < ARRAY_SIZE(places); k++)
			run(&(struct early){.status = answers_with[i],
					    .end = end,
					    .chunked = chunked,
					    .route = route,
					    .size = LARGE,
					    .at = places[k],
					    .tries = route && streq(answers_with[i], "401") ? 2
											    : 1});
}

static void a_body_that_the_server_did_not_take_is_sent_to_nobody_else(void **state)
{
	large("deaf", false, false);
	large("deaf", true, false);
}

static void a_body_that_was_not_taken_ends_the_connection_that_it_belongs_to(void **state)
{
	large("stuck", false, false);
	large("stuck", true, false);
}

static void nothing_is_smuggled_to_a_server_with_a_credential(void **state)
{
	small(false, true);
	small(true, true);
	large("deaf", false, true);
	large("deaf", true, true);
	large("stuck", false, true);
}

/* The answer is our own 502, or the connection ends: the second request is not read. */
static void a_server_that_closes_within_a_body_gets_nothing_of_it_again(void **state)
{
	for (size_t i = 0; i < 2 * (SMALL + 1); i++) {
		struct early e = {.status = "200",
				  .end = "gone",
				  .chunked = i % 2,
				  .size = SMALL,
				  .at = i / 2};
		cleanup_fd int fd = client_proxy();

		assert_int_equal(send_two(&e, fd), 0);
		send_third(&e);
		check_line(&e, last - 2, (size_t[3]){0, 0, 1});
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

/* The gateway's sockets take little, so that most of a large body stays in its own buffers. */
static void small_sockets(void)
{
	int fd;

	live_outside();
	fd = open("/proc/sys/net/ipv4/tcp_wmem", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "4096 4096 4096", 14) != 14) {
		(void)fprintf(stderr, "skipped: tcp_wmem cannot be set\n");
		exit(77);
	}
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_answer_at_each_byte_of_a_body_leaves_the_next_request_alone),
		T(an_answer_at_each_byte_of_a_chunked_body_leaves_the_next_request_alone),
		T(a_body_that_the_server_did_not_take_is_sent_to_nobody_else),
		T(a_body_that_was_not_taken_ends_the_connection_that_it_belongs_to),
		T(nothing_is_smuggled_to_a_server_with_a_credential),
		T(a_server_that_closes_within_a_body_gets_nothing_of_it_again),
	};

	live_world();
	small_sockets();
	return (cmocka_set_test_filter(getenv("TEST_FILTER")),
		cmocka_run_group_tests(tests, NULL, NULL));
}
