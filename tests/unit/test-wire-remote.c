#include "tests.h"

#include "wire/remote.h"

#include <string.h>
#include <unistd.h>

static struct remote_hello example(void)
{
	struct remote_hello h = {.row = 258, .v6 = true, .addr = {0xfd, 1, [15] = 9}, .port = 443};

	memset(h.token, 'a', REMOTE_TOKEN_LEN);
	return h;
}

static void a_hello_is_got_as_it_was_put(void **state)
{
	struct remote_hello h = example(), got = {0};
	uint8_t b[REMOTE_HELLO_LEN];

	remote_hello_put(b, &h);
	assert_int_equal(remote_hello_get(b, &got), 0);
	assert_memory_equal(got.token, h.token, REMOTE_TOKEN_LEN);
	assert_int_equal(got.row, 258);
	assert_true(got.v6);
	assert_memory_equal(got.addr, h.addr, 16);
	assert_int_equal(got.port, 443);
}

static void what_does_not_begin_as_a_hello_is_none(void **state)
{
	struct remote_hello h = example(), got;
	uint8_t b[REMOTE_HELLO_LEN];

	remote_hello_put(b, &h);
	for (size_t i = 1; i <= sizeof(b); i++)
		assert_true(remote_hello_may(b, i));
	b[7] ^= 1;
	assert_true(remote_hello_may(b, 7));
	assert_false(remote_hello_may(b, 8));
	assert_int_equal(remote_hello_get(b, &got), -EPROTO);
	assert_false(remote_hello_may((const uint8_t *)"GET / HTTP/1.1", 14));
	remote_hello_put(b, &h);
	b[8 + REMOTE_TOKEN_LEN + 2] = 2; /* no family has this number */
	assert_int_equal(remote_hello_get(b, &got), -EPROTO);
}

/* What is written is read back; the bytes in between are the caller's to spoil. */
static int through_a_pipe(const void *bytes, size_t n, struct wire_msg *m, struct buf *program)
{
	int p[2], r;

	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], bytes, n), (ssize_t)n);
	(void)close(p[1]);
	r = remote_recv(p[0], m, program);
	(void)close(p[0]);
	return r;
}

static void a_frame_crosses_a_stream_with_its_program(void **state)
{
	cleanup_buf struct buf body, program, got_program;
	struct wire_msg m;
	char bytes[4096];
	int p[2];
	ssize_t n;

	buf_init(&body, 64);
	buf_init(&program, 64);
	wire_put_u32(&body, 7);
	assert_int_equal(buf_puts(&program, "elf"), 0);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(remote_send(p[1], WIRE_SPAWN, 9, &body, &program), 0);
	n = read(p[0], bytes, sizeof(bytes));
	assert_true(n > 0);
	assert_int_equal(through_a_pipe(bytes, (size_t)n, &m, &got_program), 1);
	assert_int_equal(m.type, WIRE_SPAWN);
	assert_int_equal(m.id, 9);
	assert_int_equal(m.body.len, body.len);
	assert_string_equal(buf_str(&got_program), "elf");
	wire_msg_done(&m);
	/* Every cut is an error, but for the one before the first byte. */
	for (ssize_t cut = 0; cut < n; cut++) {
		cleanup_buf struct buf none;

		assert_int_equal(through_a_pipe(bytes, (size_t)cut, &m, &none), cut ? -EPROTO : 0);
		wire_msg_done(&m);
	}
	(void)close(p[0]);
	(void)close(p[1]);
}

static void a_frame_larger_than_its_limit_is_refused_before_room_is_made(void **state)
{
	const uint32_t heads[][4] = {{WIRE_SPAWN, 1, WIRE_BODY_MAX + 1, 0},
				     {WIRE_SPAWN, 1, 0, REMOTE_PROGRAM_MAX + 1},
				     {WIRE_SPAWN, 1, UINT32_MAX, UINT32_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		cleanup_buf struct buf program;
		struct wire_msg m;

		assert_int_equal(through_a_pipe(heads[i], sizeof(heads[i]), &m, &program), -EPROTO);
		wire_msg_done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_is_got_as_it_was_put),
		cmocka_unit_test(what_does_not_begin_as_a_hello_is_none),
		cmocka_unit_test(a_frame_crosses_a_stream_with_its_program),
		cmocka_unit_test(a_frame_larger_than_its_limit_is_refused_before_room_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
