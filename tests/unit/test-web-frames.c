#include "tests.h"

#include "base/fd.h"
#include "web/frames.h"
#include "web/web.h"

static void an_ask_arrives_as_it_was_sent(void **state)
{
	const struct web_ask a = {.kind = WEB_ACT,
				  .cookie = "c",
				  .key = "k",
				  .path = "/p",
				  .body = "{}",
				  .n_body = 2};
	cleanup_wire_msg struct wire_msg m;
	struct web_ask b;
	struct err err;
	int pair[2];

	assert_int_equal(wire_pair(pair, &err), 0);
	assert_int_equal(web_send_ask(pair[0], 7, &a), 0);
	wire_msg_init(&m);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	assert_int_equal(m.id, 7);
	assert_int_equal(web_get_ask(&m, &b), 0);
	assert_int_equal(b.kind, WEB_ACT);
	assert_string_equal(b.cookie, "c");
	assert_string_equal(b.path, "/p");
	assert_int_equal(b.n_body, 2);
	closep(&pair[0]);
	closep(&pair[1]);
}

static void a_large_answer_arrives_whole(void **state)
{
	cleanup_free char *text = xmalloc(WEB_ANSWER_MAX);
	cleanup_wire_msg struct wire_msg m;
	struct web_answer a;
	struct err err;
	int pair[2];

	memset(text, 'x', WEB_ANSWER_MAX);
	assert_int_equal(wire_pair(pair, &err), 0);
	assert_int_equal(web_send_answer(pair[0], 9,
					 &(struct web_answer){.status = 200,
							      .cookie = "id",
							      .body = text,
							      .n_body = WEB_ANSWER_MAX}),
			 0);
	wire_msg_init(&m);
	assert_int_equal(wire_recv(pair[1], &m), 1);
	assert_int_equal(web_get_answer(&m, &a), 0);
	assert_int_equal(a.n_body, WEB_ANSWER_MAX);
	assert_string_equal(a.cookie, "id");
	closep(&pair[0]);
	closep(&pair[1]);
}

static void a_frame_of_another_form_is_refused(void **state)
{
	cleanup_wire_msg struct wire_msg m;
	struct web_answer answer;
	struct web_ask ask;

	wire_msg_init(&m);
	buf_init(&m.body, 1024);
	m.type = (enum wire_type)(unsigned)WEB_ASK;
	assert_int_equal(web_get_ask(&m, &ask), -EPROTO);
	wire_put_u32(&m.body, WEB_KIND_N);
	for (int i = 0; i < 4; i++)
		wire_put_str(&m.body, "");
	assert_int_equal(web_get_ask(&m, &ask), -EPROTO);
	assert_int_equal(web_get_answer(&m, &answer), -EPROTO);
	m.type = (enum wire_type)(unsigned)WEB_ANSWER;
	buf_clear(&m.body);
	wire_put_u32(&m.body, 99);
	wire_put_str(&m.body, "");
	wire_put_str(&m.body, "");
	assert_int_equal(web_get_answer(&m, &answer), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ask_arrives_as_it_was_sent),
		cmocka_unit_test(a_large_answer_arrives_whole),
		cmocka_unit_test(a_frame_of_another_form_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
