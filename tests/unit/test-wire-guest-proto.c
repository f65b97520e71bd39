#include "tests.h"

#include "wire/guest-proto.h"

#include <sys/resource.h>
#include <sys/socket.h>

static struct guest_listener listeners[] = {
	{.family = AF_INET, .addr = {127, 0, 0, 53}, .udp = true, .port = 53},
	{.family = AF_INET6, .port = 443, .backlog = 128},
};
static struct guest_rule rules[] = {{GUEST_RO, "/"}, {GUEST_DEV, "/dev"}};
static struct guest_rlimit rlimits[] = {{RLIMIT_NPROC, 512, UINT64_MAX}};

static struct guest_setup example(void)
{
	return (struct guest_setup){
		.hostname = "box",
		.routes = true,
		.landlock = GUEST_LANDLOCK_REQUIRED,
		.oom_score_adj = 500,
		.listeners = listeners,
		.n_listeners = ARRAY_SIZE(listeners),
		.rules = rules,
		.n_rules = ARRAY_SIZE(rules),
		.rlimits = rlimits,
		.n_rlimits = ARRAY_SIZE(rlimits),
		.logins = {"/home/u/.claude/login"},
		.n_logins = 1,
	};
}

static int decode(const struct guest_setup *s, size_t cut, struct guest_setup *ret, struct err *err,
		  struct wire_msg *m)
{
	wire_msg_init(m);
	guest_setup_put(&m->body, s);
	m->body.len -= cut;
	return guest_setup_get(m, ret, err);
}

static void what_is_put_is_what_is_got(void **state)
{
	cleanup_guest_setup struct guest_setup got = {0};
	cleanup_wire_msg struct wire_msg m;
	struct guest_setup s = example();
	struct err err = {0};

	assert_int_equal(decode(&s, 0, &got, &err, &m), 0);
	assert_string_equal(got.hostname, "box");
	assert_true(got.routes);
	assert_int_equal(got.landlock, GUEST_LANDLOCK_REQUIRED);
	assert_int_equal(got.oom_score_adj, 500);
	assert_int_equal(got.n_listeners, 2);
	assert_memory_equal(got.listeners[0].addr, listeners[0].addr, 16);
	assert_true(got.listeners[0].udp);
	assert_int_equal(got.listeners[1].family, AF_INET6);
	assert_int_equal(got.listeners[1].port, 443);
	assert_int_equal(got.listeners[1].backlog, 128);
	assert_int_equal(got.n_rules, 2);
	assert_int_equal(got.rules[1].access, GUEST_DEV);
	assert_string_equal(got.rules[1].path, "/dev");
	assert_int_equal(got.n_rlimits, 1);
	assert_true(got.rlimits[0].hard == UINT64_MAX);
	assert_int_equal(got.n_logins, 1);
	assert_string_equal(got.logins[0], "/home/u/.claude/login");
}

static void a_body_cut_anywhere_is_refused(void **state)
{
	struct guest_setup s = example();
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	guest_setup_put(&b, &s);
	for (size_t cut = 1; cut <= b.len; cut++) {
		struct guest_setup got = {0};
		cleanup_wire_msg struct wire_msg m;
		struct err err = {0};

		assert_int_equal(decode(&s, cut, &got, &err, &m), -EPROTO);
		assert_null(got.listeners);
	}
}

static void values_without_a_meaning_are_refused(void **state)
{
	struct guest_listener odd_listener = {.family = AF_UNIX};
	struct guest_rule odd_rule = {GUEST_ACCESS_N, "/"}, relative = {GUEST_RW, "ws"};
	struct guest_rlimit odd_rlimit = {.resource = 16};

	for (int i = 0; i < 7; i++) {
		struct guest_setup s = example(), got = {0};
		cleanup_wire_msg struct wire_msg m;
		struct err err = {0};

		s.oom_score_adj = i == 0 ? 1001 : 0;
		s.landlock = i == 1 ? GUEST_LANDLOCK_N : GUEST_LANDLOCK_OFF;
		s.n_listeners = s.n_rules = s.n_rlimits = 1;
		if (i == 2)
			s.listeners = &odd_listener;
		if (i == 3)
			s.rules = &odd_rule;
		if (i == 4)
			s.rules = &relative;
		if (i == 5)
			s.rlimits = &odd_rlimit;
		if (i == 6)
			s.logins[0] = "login";
		assert_true(decode(&s, 0, &got, &err, &m) < 0);
		assert_true(err.msg[0] != '\0');
	}
}

static void listeners_beyond_one_frame_come_in_several(void **state)
{
	assert_int_equal(guest_up_frames(0), 1);
	assert_int_equal(guest_up_frames(WIRE_FDS_MAX), 1);
	assert_int_equal(guest_up_frames(WIRE_FDS_MAX + 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_what_is_got),
		cmocka_unit_test(a_body_cut_anywhere_is_refused),
		cmocka_unit_test(values_without_a_meaning_are_refused),
		cmocka_unit_test(listeners_beyond_one_frame_come_in_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
