#include "tests.h"

#include <assert.h>
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "build-config.h"
#include "wire/fleet.h"
#include "wire/gateway-proto.h"

/* tests/lib/fleet-*.py speak both protocols, and have these numbers. */
static_assert(GW_HEADER == 85 && GW_HEADER_IS == 86, "the numbers of tests/lib/fleet-*.py");
static_assert(FLEET_HELLO == 10 && FLEET_PACK == 19, "the numbers of tests/lib/fleet-*.py");

#define A40 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define LEASE "0123456789abcdef0123456789abcdef"

static struct fleet_in in;
static struct fleet_out out;
static struct err err;

static int set_up(void **state)
{
	fleet_in_init(&in, FLEET_NODE);
	fleet_out_init(&out);
	return 0;
}

static int tear_down(void **state)
{
	fleet_in_done(&in);
	fleet_out_done(&out);
	return 0;
}

/* What was put comes in, one byte at a time. */
static int next_slowly(struct fleet_msg *m)
{
	int r = fleet_next(&in, m);

	while (r == 0 && fleet_out_pending(&out)) {
		assert_int_equal(fleet_in_add(&in, out.queue.data + out.sent, 1), 0);
		out.sent++;
		r = fleet_next(&in, m);
	}
	return r;
}

static int frame(uint32_t type, uint32_t id, uint32_t len, const char *body, size_t n, char end)
{
	const uint32_t head[] = {htole32(type), htole32(id), htole32(len)};
	struct fleet_msg m;

	assert_int_equal(fleet_in_add(&in, head, sizeof(head)), 0);
	assert_int_equal(fleet_in_add(&in, body, n), 0);
	assert_int_equal(fleet_in_add(&in, &end, 1), 0);
	return fleet_next(&in, &m);
}

static void messages_come_back_as_they_went(void **state)
{
	const struct fleet_hello hello = {
		.protocol = FLEET_PROTOCOL,
		.version = RALPH_VERSION,
		.node = "node-1",
		.job = "slurm 17",
		.engine = "native",
		.usable = true,
		.why = "",
		.agents = json_pack("[{ss ss}]", "name", "claude", "version", "2"),
		.slots = 1,
		.pid = 7,
		.time_ms = 99,
	};
	struct fleet_hello got;
	struct fleet_msg m;

	assert_int_equal(fleet_put(&out, FLEET_LINE, 3, "a\nb", 3), 0);
	assert_int_equal(fleet_put_json(&out, FLEET_HELLO, 0, fleet_hello_json(&hello)), 0);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(m.type, FLEET_LINE);
	assert_int_equal(m.id, 3);
	assert_memory_equal(m.data, "a\nb", 3);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_hello_read(&m, &got, &err), 0);
	assert_string_equal(got.job, "slurm 17");
	assert_true(got.usable);
	assert_int_equal(got.time_ms, 99);
	assert_int_equal(fleet_same_version(got.protocol, got.version, got.node, &err), 0);
	assert_int_equal(next_slowly(&m), 0);
	fleet_done(&got);
	json_decref((json_t *)hello.agents);
}

static void a_long_message_is_many_frames(void **state)
{
	size_t n = 3 * FLEET_BODY_MAX + 17;
	cleanup_free char *body = xmalloc(n);
	struct fleet_msg m;

	for (size_t i = 0; i < n; i++)
		body[i] = (char)(i * 7);
	assert_int_equal(fleet_put(&out, FLEET_RECORD, 0, body, n), 0);
	assert_int_equal(fleet_put(&out, FLEET_LINE, 0, "after", 5), 0);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(m.type, FLEET_RECORD);
	assert_int_equal(m.len, n);
	assert_memory_equal(m.data, body, n);
	assert_int_equal(next_slowly(&m), 1);
	assert_memory_equal(m.data, "after", 5);
}

static void pieces_of_a_pack_come_between_others(void **state)
{
	struct fleet_msg m;

	assert_int_equal(fleet_put_piece(&out, FLEET_PACK, 0, "x", 1, true), 0);
	assert_int_equal(fleet_put(&out, FLEET_LINE, 0, "l", 1), 0);
	assert_int_equal(fleet_put_piece(&out, FLEET_PACK, 0, "y", 1, false), 0);
	assert_int_equal(next_slowly(&m), 1);
	assert_true(m.type == FLEET_PACK && m.more);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(m.type, FLEET_LINE);
	assert_int_equal(next_slowly(&m), 1);
	assert_true(m.type == FLEET_PACK && !m.more);
}

static void garbage_is_refused(void **state)
{
	struct {
		uint32_t type, id, len;
		char end;
	} rows[] = {
		{FLEET_NONE, 0, 1, '\n'},
		{FLEET_TYPE_N, 0, 1, '\n'},
		{0x6c6c6568, 0x77206f, 0x646c726f, '\n'},
		{FLEET_TASK, 0, 1, '\n'}, /* the other direction */
		{FLEET_LINE, FLEET_SLOTS_MAX, 1, '\n'},
		{FLEET_LINE, 0, FLEET_BODY_MAX + 1, '\n'},
		{FLEET_LINE, 0, UINT32_MAX, '\n'},
		{FLEET_LINE, 0, 1, 'x'},	       /* no newline */
		{FLEET_LINE | FLEET_MORE, 0, 1, '\n'}, /* one frame only */
		{FLEET_HELLO | FLEET_MORE, 0, 1, '\n'},
		{FLEET_RECORD | FLEET_MORE, 0, 0, '\n'}, /* nothing, and more to come */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(frame(rows[i].type, rows[i].id, rows[i].len, "z",
				       rows[i].len ? 1 : 0, rows[i].end),
				 -EPROTO);
		fleet_in_done(&in);
		fleet_in_init(&in, FLEET_NODE);
	}
}

static void a_truncated_frame_is_no_message(void **state)
{
	struct fleet_msg m;

	assert_int_equal(fleet_put(&out, FLEET_LINE, 0, "hello", 5), 0);
	assert_int_equal(fleet_in_add(&in, out.queue.data, out.queue.len - 1), 0);
	assert_int_equal(fleet_next(&in, &m), 0);
	assert_int_equal(fleet_in_add(&in, "\n", 1), 0);
	assert_int_equal(fleet_next(&in, &m), 1);
}

static void reordered_frames_are_refused(void **state)
{
	/* Another type, or the same of another slot, in the middle of a message. */
	assert_int_equal(frame(FLEET_RECORD | FLEET_MORE, 0, 1, "a", 1, '\n'), 0);
	assert_int_equal(frame(FLEET_LINE, 0, 1, "b", 1, '\n'), -EPROTO);
	fleet_in_done(&in);
	fleet_in_init(&in, FLEET_NODE);
	assert_int_equal(frame(FLEET_RECORD | FLEET_MORE, 0, 1, "a", 1, '\n'), 0);
	assert_int_equal(frame(FLEET_RECORD, 1, 1, "b", 1, '\n'), -EPROTO);
}

static void an_endless_message_is_refused(void **state)
{
	cleanup_free char *body = xcalloc(1, FLEET_BODY_MAX);
	int r = 0;
	size_t n = 0;

	for (; r == 0 && n < 1000; n++)
		r = frame(FLEET_RECORD | FLEET_MORE, 0, FLEET_BODY_MAX, body, FLEET_BODY_MAX, '\n');
	assert_int_equal(r, -EPROTO);
	assert_int_equal(n, FLEET_MESSAGE_MAX / FLEET_BODY_MAX + 1);
}

static void the_queue_is_bounded(void **state)
{
	cleanup_free char *body = xcalloc(1, FLEET_MESSAGE_MAX);
	size_t n = 0;

	assert_int_equal(fleet_put(&out, FLEET_LINE, 0, body, FLEET_BODY_MAX + 1), -ENOBUFS);
	assert_int_equal(fleet_put(&out, FLEET_RECORD, 0, body, FLEET_MESSAGE_MAX + 1), -ENOBUFS);
	while (fleet_put(&out, FLEET_LINE, 0, body, FLEET_BODY_MAX) == 0)
		n++;
	assert_true(n > 100 && n < 129);
}

static void a_pipe_that_is_full_loses_nothing(void **state)
{
	cleanup_free char *body = xcalloc(1, FLEET_MESSAGE_MAX);
	struct fleet_msg m = {0};
	int fds[2], r = 0;

	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	memset(body, 'q', FLEET_MESSAGE_MAX);
	assert_int_equal(fleet_put(&out, FLEET_RECORD, 0, body, FLEET_MESSAGE_MAX), 0);
	while (r == 0) {
		(void)fleet_out_write(&out, fds[1]);
		assert_int_equal(fleet_in_read(&in, fds[0]), 1);
		r = fleet_next(&in, &m);
	}
	assert_int_equal(r, 1);
	assert_int_equal(m.len, FLEET_MESSAGE_MAX);
	assert_memory_equal(m.data, body, m.len);
	closep(&fds[0]);
	closep(&fds[1]);
}

static int verdict(const char *text, struct fleet_verdict *ret)
{
	const struct fleet_msg m = {.type = FLEET_VERDICT, .data = text, .len = strlen(text)};

	return fleet_verdict_read(&m, ret, &err);
}

static void a_verdict_is_checked(void **state)
{
#define VERDICT(lease, head, code)                                                                 \
	"{\"lease\": \"" lease "\", \"head\": \"" head "\", \"since\": \"\", \"sha256\": \"" B64   \
	"\", \"bytes\": 5, \"code\": " code ", \"why\": \"\"}"
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"lease\"",
		VERDICT("0123", A40, "0"),
		VERDICT(LEASE, "HEAD", "0"),
		VERDICT(LEASE, "../../refs/heads/main", "0"),
		VERDICT(LEASE, A40, "-1"),
		VERDICT(LEASE, A40, "1e3"),
		VERDICT(LEASE, A40, "99999999999999999999999"),
		VERDICT(LEASE, A40, "\"0\""),
		VERDICT(LEASE, A40, "0, \"summary\": 7"),
		VERDICT(LEASE, A40, "0, \"code\": 1"),
	};
	struct fleet_verdict v;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(verdict(bad[i], &v), -EPROTO);
		assert_null(v.doc);
		assert_non_null(strstr(err.msg, "VERDICT"));
	}
	assert_int_equal(verdict(VERDICT(LEASE, A40, "3"), &v), 0);
	assert_int_equal(v.code, 3);
	assert_string_equal(v.pack.lease, LEASE);
	assert_int_equal(v.pack.bytes, 5);
	assert_null(v.summary);
	fleet_done(&v);
}

static void a_task_goes_both_ways(void **state)
{
	cleanup_json json_t *list = json_pack("{s[]}", "userStories"), *none = json_array();
	const struct fleet_task t = {
		.lease = LEASE,
		.epoch = 2,
		.loop = "demo",
		.task = "US-1",
		.base = A40,
		.start = A40,
		.branch = "ralph/demo-US-1",
		.author_name = "A U Thor \xc3\xa9",
		.author_email = "a@example.org",
		.config = "agent: command\n",
		.flags = none,
		.list = list,
		.request = list,
		.credentials = none,
		.egress = "node",
	};
	struct fleet_task got;
	struct fleet_msg m;

	fleet_in_done(&in);
	fleet_in_init(&in, FLEET_HOME);
	assert_int_equal(fleet_put_json(&out, FLEET_TASK, 0, fleet_task_json(&t)), 0);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_task_read(&m, &got, &err), 0);
	assert_string_equal(got.config, t.config);
	assert_null(got.prompt);
	assert_true(json_equal((json_t *)got.list, list));
	fleet_done(&got);
}

static void two_versions_are_both_named(void **state)
{
	assert_int_equal(fleet_same_version(FLEET_PROTOCOL, "9.9.9", "node-1", &err),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(err.msg, "node-1"));
	assert_non_null(strstr(err.msg, "9.9.9"));
	assert_non_null(strstr(err.msg, RALPH_VERSION));
	assert_int_equal(fleet_same_version(FLEET_PROTOCOL + 1, RALPH_VERSION, "node-1", &err),
			 -EPROTONOSUPPORT);
}

static void small_bodies_go_both_ways(void **state)
{
	const struct fleet_ask ask = {.line = 2, .number = 8, .kind = 77, .body = "abc", .len = 3};
	const struct fleet_open open = {.channel = 5, .target = "example.org:443"};
	struct fleet_ask ask_is;
	struct fleet_open open_is;
	uint32_t channel, value;
	uint64_t number, time_ms;
	struct fleet_msg m;
	const char *p;
	size_t n;

	assert_int_equal(fleet_ask_put(&out, FLEET_ASK, 1, &ask), 0);
	assert_int_equal(fleet_open_put(&out, 1, &open), 0);
	assert_int_equal(fleet_data_put(&out, 1, 5, "data", 4), 0);
	assert_int_equal(fleet_pair_put(&out, FLEET_CLOSE, 1, 5, 0), 0);
	assert_int_equal(fleet_ping_put(&out, FLEET_PONG, 6, 1234), 0);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_ask_read(&m, &ask_is), 0);
	assert_true(ask_is.line == 2 && ask_is.number == 8 && ask_is.kind == 77);
	assert_int_equal(ask_is.len, 3);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_open_read(&m, &open_is), 0);
	assert_string_equal(open_is.target, "example.org:443");
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_data_read(&m, &channel, &p, &n), 0);
	assert_memory_equal(p, "data", n);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_pair_read(&m, &channel, &value), 0);
	assert_true(channel == 5 && value == 0);
	assert_int_equal(fleet_data_read(&m, &channel, &p, &n), 0);
	assert_int_equal(next_slowly(&m), 1);
	assert_int_equal(fleet_ping_read(&m, &number, &time_ms), 0);
	assert_true(number == 6 && time_ms == 1234);
	m.len = 3;
	assert_int_equal(fleet_ping_read(&m, &number, &time_ms), -EPROTO);
	assert_int_equal(fleet_ask_read(&m, &ask_is), -EPROTO);
	assert_int_equal(fleet_open_read(&m, &open_is), -EPROTO);
	assert_int_equal(fleet_pair_read(&m, &channel, &value), -EPROTO);
	assert_int_equal(fleet_data_read(&m, &channel, &p, &n), -EPROTO);
}

static void names_of_files_have_no_path(void **state)
{
	assert_true(fleet_log_name_valid("iteration-001.jsonl", 19));
	assert_false(fleet_log_name_valid("", 0));
	assert_false(fleet_log_name_valid("../x", 4));
	assert_false(fleet_log_name_valid("a/b", 3));
	assert_false(fleet_log_name_valid(".x", 2));
	assert_false(fleet_log_name_valid("a\0b", 3));
}

static void names_of_conversations_stay_below_a_home(void **state)
{
	static const char *const good[] = {"iteration-001.jsonl",
					   "home/.claude/projects/-w/a.jsonl", "home/a",
					   "home/..a/b.."};
	static const char *const bad[] = {"home/",     "home/../x", "home/a/..", "home/.",
					  "home//a",   "home/a/",   "/home/a",	 "home/a b",
					  "home/a\nb", "other/a",   "../home/a", ""};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(fleet_log_path_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(fleet_log_path_valid(bad[i], strlen(bad[i])));
}

static void leases_differ(void **state)
{
	char a[FLEET_LEASE_LEN + 1], b[FLEET_LEASE_LEN + 1];

	assert_int_equal(fleet_lease_make(a), 0);
	assert_int_equal(fleet_lease_make(b), 0);
	assert_int_equal(strlen(a), FLEET_LEASE_LEN);
	assert_string_not_equal(a, b);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(messages_come_back_as_they_went),
		TEST(a_long_message_is_many_frames),
		TEST(pieces_of_a_pack_come_between_others),
		TEST(garbage_is_refused),
		TEST(a_truncated_frame_is_no_message),
		TEST(reordered_frames_are_refused),
		TEST(an_endless_message_is_refused),
		TEST(the_queue_is_bounded),
		TEST(a_pipe_that_is_full_loses_nothing),
		TEST(a_verdict_is_checked),
		TEST(a_task_goes_both_ways),
		TEST(two_versions_are_both_named),
		TEST(small_bodies_go_both_ways),
		TEST(names_of_files_have_no_path),
		TEST(names_of_conversations_stay_below_a_home),
		TEST(leases_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
