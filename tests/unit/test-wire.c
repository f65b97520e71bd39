#include "tests.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/wire.h"

static int pair[2];

static int set_up(void **state)
{
	struct err e;

	return wire_pair(pair, &e);
}

static int tear_down(void **state)
{
	closep(&pair[0]);
	closep(&pair[1]);
	return 0;
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void frame_fields_come_back_as_they_went(void **state)
{
	cleanup_strv struct strv in, out;
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader r;
	cleanup_buf struct buf b;
	const char *bytes;
	size_t n;

	strv_init(&in);
	strv_init(&out);
	strv_push(&in, "a");
	strv_push(&in, "");
	strv_push(&in, "b\nc");
	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, UINT32_MAX);
	wire_put_u64(&b, UINT64_MAX - 1);
	wire_put_bytes(&b, "x\0y", 3);
	wire_put_str(&b, "");
	wire_put_strv(&b, &in);
	assert_int_equal(wire_send(pair[0], WIRE_EXEC, 42, &b, NULL, 0), 0);
	wire_msg_init(&m);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	assert_int_equal(m.type, WIRE_EXEC);
	assert_int_equal(m.id, 42);
	wire_read(&r, &m);
	assert_true(wire_get_u32(&r) == UINT32_MAX);
	assert_true(wire_get_u64(&r) == UINT64_MAX - 1);
	bytes = wire_get_bytes(&r, &n);
	assert_int_equal(n, 3);
	assert_memory_equal(bytes, "x\0y", 3);
	assert_string_equal(wire_get_str(&r), "");
	wire_get_strv(&r, &out);
	assert_int_equal(out.n, 3);
	assert_string_equal(out.v[2], "b\nc");
	assert_int_equal(wire_read_end(&r), 0);
}

static void frame_of_any_size_up_to_the_maximum_passes(void **state)
{
	static const size_t sizes[] = {0, 1, WIRE_INLINE_MAX - 4, WIRE_INLINE_MAX - 3,
				       WIRE_BODY_MAX - 4};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		cleanup_free char *data = xcalloc(1, sizes[i] + 1);
		cleanup_wire_msg struct wire_msg m;
		cleanup_buf struct buf b;
		struct wire_reader r;
		size_t n;

		memset(data, 'x', sizes[i]);
		buf_init(&b, WIRE_BODY_MAX);
		wire_put_bytes(&b, data, sizes[i]);
		assert_int_equal(wire_send(pair[0], WIRE_INFO, 0, &b, NULL, 0), 0);
		wire_msg_init(&m);
		assert_int_equal(wire_recv(pair[1], &m), 1);
		assert_int_equal(m.n_fds, 0);
		wire_read(&r, &m);
		assert_memory_equal(wire_get_bytes(&r, &n), data, sizes[i]);
		assert_int_equal(n, sizes[i]);
		assert_int_equal(wire_read_end(&r), 0);
	}
}

static void frame_whose_body_is_a_file_is_read_as_any_other(void **state)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf b;
	struct wire_reader r;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), file;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_str(&b, "not read by who sends it");
	file = fd_memfd("test", b.data, b.len);
	assert_true(file >= 0);
	assert_int_equal(wire_send_file(pair[0], WIRE_SPAWN, 7, file, (uint32_t)b.len, &null, 1),
			 0);
	wire_msg_init(&m);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	assert_int_equal(m.type, WIRE_SPAWN);
	assert_int_equal(m.id, 7);
	assert_int_equal(m.n_fds, 1);
	wire_read(&r, &m);
	assert_string_equal(wire_get_str(&r), "not read by who sends it");
	assert_int_equal(wire_read_end(&r), 0);
	closep(&null);
	closep(&file);
}

static void frame_beyond_the_maximum_is_not_sent(void **state)
{
	cleanup_free char *data = xcalloc(1, WIRE_BODY_MAX);
	cleanup_buf struct buf b;
	int fds[WIRE_FDS_MAX + 1] = {0};

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_bytes(&b, data, WIRE_BODY_MAX);
	assert_int_equal(wire_send(pair[0], WIRE_INFO, 0, &b, NULL, 0), -EMSGSIZE);
	assert_int_equal(wire_send(pair[0], WIRE_INFO, 0, NULL, fds, WIRE_FDS_MAX + 1), -EMSGSIZE);
}

static void frame_descriptors_come_with_it_and_close_on_exec(void **state)
{
	cleanup_wire_msg struct wire_msg m;
	struct stat a, b;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fds[WIRE_FDS_MAX], taken;
	unsigned before = open_fds();

	for (size_t i = 0; i < WIRE_FDS_MAX; i++)
		fds[i] = null;
	assert_int_equal(wire_send(pair[0], WIRE_UP, 0, NULL, fds, WIRE_FDS_MAX), 0);
	wire_msg_init(&m);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	assert_int_equal(m.n_fds, WIRE_FDS_MAX);
	taken = wire_take_fd(&m, 3);
	assert_true(fcntl(taken, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(taken, &a) | fstat(null, &b), 0);
	assert_int_equal(a.st_rdev, b.st_rdev);
	assert_int_equal(wire_take_fd(&m, 3), -1);
	assert_int_equal(wire_take_fd(&m, WIRE_FDS_MAX), -1);
	wire_msg_done(&m);
	closep(&taken);
	assert_int_equal(open_fds(), before);
	closep(&null);
}

static void frame_end_of_stream_is_told_from_an_empty_one(void **state)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader r;

	wire_msg_init(&m);
	assert_int_equal(wire_send(pair[0], WIRE_STOPPED, 0, NULL, NULL, 0), 0);
	closep(&pair[0]);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	wire_read(&r, &m);
	assert_int_equal(wire_read_end(&r), 0);
	assert_int_equal(wire_get_u32(&r), 0);
	assert_int_equal(wire_read_end(&r), -EPROTO);
	assert_int_equal(wire_recv(pair[1], &m), 0);
	assert_int_equal(wire_send(pair[1], WIRE_STOPPED, 0, NULL, NULL, 0), -EPIPE);
}

static void frame_sent_before_the_end_is_read_though_ours_was_not(void **state)
{
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	assert_int_equal(wire_send(pair[1], WIRE_EXEC, 0, NULL, NULL, 0), 0);
	assert_int_equal(wire_send(pair[0], WIRE_FAILED, 7, NULL, NULL, 0), 0);
	closep(&pair[0]);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	assert_int_equal(m.id, 7);
	assert_int_equal(wire_recv(pair[1], &m), 0);
}

static void frame_for_a_peer_that_reset_is_told_as_for_one_that_is_gone(void **state)
{
	assert_int_equal(wire_send(pair[1], WIRE_EXEC, 0, NULL, NULL, 0), 0);
	closep(&pair[0]);
	assert_int_equal(wire_send(pair[1], WIRE_EXEC, 0, NULL, NULL, 0), -EPIPE);
	assert_int_equal(wire_send(pair[1], WIRE_EXEC, 0, NULL, NULL, 0), -EPIPE);
}

/* magic, type, id, flags, length, descriptors */
static void frame_with_a_head_that_lies_is_refused_and_its_descriptors_closed(void **state)
{
	static const uint32_t heads[][6] = {
		{0x52414c30, 1, 0, 0, 0, 0},	      {0x52414c31, 1, 0, 2, 0, 0},
		{0x52414c31, 1, 0, 0, 1, 0},	      {0x52414c31, 1, 0, 0, 0, 1},
		{0x52414c31, 1, 0, 1, 0, 0},	      {0x52414c31, 1, 0, 1, 0xffffffff, 0},
		{0x52414c31, 1, 0, 0, 0, 0xffffffff},
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		cleanup_wire_msg struct wire_msg m;

		wire_msg_init(&m);
		assert_int_equal(send(pair[0], heads[i], sizeof(heads[i]), 0), sizeof(heads[i]));
		assert_int_equal(wire_recv(pair[1], &m), -EPROTO);
		assert_int_equal(m.n_fds, 0);
	}
}

static void send_with_fd(const uint32_t *head, size_t size, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c = {{0}};
	struct iovec iov = {(void *)head, size};
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
	struct cmsghdr *cm = CMSG_FIRSTHDR(&mh);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	assert_int_equal(sendmsg(pair[0], &mh, 0), (ssize_t)size);
}

static void frame_whose_memory_file_is_none_is_refused(void **state)
{
	const uint32_t head[] = {0x52414c31, 1, 0, 1, 100, 0};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), shrunk = memfd_create("x", MFD_CLOEXEC);
	unsigned before = open_fds();
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	send_with_fd(head, sizeof(head), null);
	assert_int_equal(wire_recv(pair[1], &m), -EPROTO);
	assert_int_equal(ftruncate(shrunk, 50), 0);
	send_with_fd(head, sizeof(head), shrunk);
	assert_int_equal(wire_recv(pair[1], &m), -EPROTO);
	/* Descriptors nobody announced, on an empty packet too. */
	send_with_fd(head, 4, null);
	assert_int_equal(wire_recv(pair[1], &m), -EPROTO);
	assert_int_equal(open_fds(), before);
	closep(&null);
	closep(&shrunk);
}

static void frame_longer_than_its_head_says_is_refused(void **state)
{
	static const uint32_t frame[] = {0x52414c31, 1, 0, 0, 0, 0, 0x41414141};
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	assert_int_equal(send(pair[0], frame, sizeof(frame), 0), sizeof(frame));
	assert_int_equal(wire_recv(pair[1], &m), -EPROTO);
}

static void frame_whose_memory_file_is_beyond_the_maximum_is_refused(void **state)
{
	static const uint32_t head[] = {0x52414c31, 1, 0, 1, WIRE_BODY_MAX + 1, 0};
	cleanup_fd int fd = memfd_create("x", MFD_CLOEXEC);
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	m.body.max = 2 * WIRE_BODY_MAX; /* the frame's own limit holds, not only the buffer's */
	assert_int_equal(ftruncate(fd, WIRE_BODY_MAX + 1), 0);
	send_with_fd(head, sizeof(head), fd);
	assert_int_equal(wire_recv(pair[1], &m), -EPROTO);
}

static void read_misfit_is_sticky_and_never_leaves_the_body(void **state)
{
	static const struct {
		const char *body;
		size_t n;
	} bad[] = {
		{"", 0},
		{"\1\0\0", 3},
		{"\xff\xff\xff\xff", 4}, /* longer than there is */
		{"\2\0\0\0ab", 6},	 /* a string without its end */
		{"\3\0\0\0a\0\0", 7},	 /* with one inside */
		{"\0\0\0\0", 4},	 /* of no length at all */
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_wire_msg struct wire_msg m;
		struct wire_reader r;

		wire_msg_init(&m);
		assert_int_equal(buf_append(&m.body, bad[i].body, bad[i].n), 0);
		wire_read(&r, &m);
		assert_null(wire_get_str(&r));
		assert_true(r.bad);
		assert_int_equal(wire_get_u64(&r), 0);
		assert_int_equal(wire_read_end(&r), -EPROTO);
	}
}

static void read_vector_that_claims_too_many_strings_is_refused(void **state)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_strv struct strv out;
	struct wire_reader r;

	strv_init(&out);
	wire_msg_init(&m);
	wire_put_u32(&m.body, WIRE_STRV_MAX + 1);
	wire_read(&r, &m);
	wire_get_strv(&r, &out);
	assert_true(r.bad);
	assert_int_equal(out.n, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(frame_fields_come_back_as_they_went),
		T(frame_of_any_size_up_to_the_maximum_passes),
		T(frame_whose_body_is_a_file_is_read_as_any_other),
		T(frame_beyond_the_maximum_is_not_sent),
		T(frame_descriptors_come_with_it_and_close_on_exec),
		T(frame_end_of_stream_is_told_from_an_empty_one),
		T(frame_sent_before_the_end_is_read_though_ours_was_not),
		T(frame_for_a_peer_that_reset_is_told_as_for_one_that_is_gone),
		T(frame_with_a_head_that_lies_is_refused_and_its_descriptors_closed),
		T(frame_whose_memory_file_is_none_is_refused),
		T(frame_longer_than_its_head_says_is_refused),
		T(frame_whose_memory_file_is_beyond_the_maximum_is_refused),
		T(read_misfit_is_sticky_and_never_leaves_the_body),
		T(read_vector_that_claims_too_many_strings_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
