#include "tests.h"

#include "web/web-session.h"

#define NOW ((uint64_t)1000000)

static struct sessions s;
static char cookie[REQUEST_HALF_LEN + 1], key[REQUEST_HALF_LEN + 1];

static const struct session *enter(enum web_level level, uint64_t now)
{
	char link[REQUEST_HALF_LEN + 1];
	const struct session *v = NULL;

	assert_int_equal(sessions_link(&s, level, now, link), 0);
	assert_int_equal(sessions_login(&s, link, now, cookie, key, &v), 200);
	return v;
}

static int begin(void **state)
{
	s = (struct sessions){.most = LEVEL_GRANT};
	return 0;
}

static void a_link_works_once(void **state)
{
	char link[REQUEST_HALF_LEN + 1];
	const struct session *v = NULL;

	assert_int_equal(sessions_link(&s, LEVEL_STEER, NOW, link), 0);
	assert_int_equal(sessions_login(&s, link, NOW, cookie, key, &v), 200);
	assert_int_equal(v->level, LEVEL_STEER);
	assert_int_equal(sessions_login(&s, link, NOW, cookie, key, &v), 403);
}

static void a_link_is_too_old_after_ten_minutes(void **state)
{
	char link[REQUEST_HALF_LEN + 1];
	const struct session *v = NULL;

	assert_int_equal(sessions_link(&s, LEVEL_LOOK, NOW, link), 0);
	assert_int_equal(sessions_login(&s, link, NOW + LINK_MS, cookie, key, &v), 403);
}

static void neither_half_is_worth_anything_alone(void **state)
{
	char other[REQUEST_HALF_LEN + 1], first[REQUEST_HALF_LEN + 1];

	(void)enter(LEVEL_LOOK, NOW);
	memcpy(first, cookie, sizeof(first));
	memcpy(other, key, sizeof(other));
	assert_non_null(sessions_check(&s, cookie, key, NOW));
	assert_null(sessions_check(&s, cookie, cookie, NOW));
	assert_null(sessions_check(&s, key, key, NOW));
	assert_null(sessions_check(&s, "", "", NOW));
	(void)enter(LEVEL_LOOK, NOW);
	assert_null(sessions_check(&s, cookie, other, NOW));
	assert_null(sessions_check(&s, first, key, NOW));
}

static void a_session_ends_idle_old_or_revoked(void **state)
{
	const struct session *v = enter(LEVEL_LOOK, NOW);
	uint64_t now = NOW;
	char id[SESSION_ID_LEN + 1];

	memcpy(id, v->id, sizeof(id));
	assert_null(sessions_check(&s, cookie, key, NOW + SESSION_IDLE_MS));
	(void)enter(LEVEL_LOOK, NOW);
	for (; now < NOW + SESSION_LIFE_MS; now += SESSION_IDLE_MS / 2)
		assert_non_null(sessions_check(&s, cookie, key, now));
	assert_null(sessions_check(&s, cookie, key, now));
	v = enter(LEVEL_LOOK, now + 60000);
	memcpy(id, v->id, sizeof(id));
	assert_true(sessions_end(&s, id));
	assert_false(sessions_end(&s, id));
	assert_null(sessions_check(&s, cookie, key, now + 60000));
}

/* The hand closes the streams of a session when it ends, whatever ended it. */
static void a_session_leaves_the_list_when_it_ends_and_says_when_that_will_be(void **state)
{
	char ids[SESSIONS_MAX][SESSION_ID_LEN + 1], first[SESSION_ID_LEN + 1];
	uint64_t day = SESSION_IDLE_MS;

	assert_int_equal(sessions_valid(&s, NOW, ids), 0);
	memcpy(first, enter(LEVEL_LOOK, NOW)->id, sizeof(first));
	assert_int_equal(sessions_valid(&s, NOW, ids), NOW + day);
	assert_string_equal(ids[0], first);
	for (uint64_t now = NOW; now < NOW + SESSION_LIFE_MS; now += day - 1)
		assert_non_null(sessions_check(&s, cookie, key, now));
	assert_int_equal(sessions_valid(&s, NOW + SESSION_LIFE_MS - 1, ids), NOW + SESSION_LIFE_MS);
	assert_int_equal(sessions_valid(&s, NOW + SESSION_LIFE_MS, ids), 0);
	assert_string_equal(ids[0], "");
}

static void one_session_too_many_takes_the_place_of_the_idlest(void **state)
{
	char ids[SESSIONS_MAX][SESSION_ID_LEN + 1], first[SESSION_ID_LEN + 1];
	uint64_t now = NOW;

	memcpy(first, enter(LEVEL_LOOK, now)->id, sizeof(first));
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		now += 60000;
		(void)enter(LEVEL_LOOK, now);
	}
	(void)sessions_valid(&s, now, ids);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		assert_string_not_equal(ids[i], "");
		assert_string_not_equal(ids[i], first);
	}
}

static void read_only_caps_every_link(void **state)
{
	s.most = LEVEL_LOOK;
	assert_int_equal(enter(LEVEL_GRANT, NOW)->level, LEVEL_LOOK);
}

static void logins_and_acts_have_a_rate(void **state)
{
	const struct session *v = NULL;
	struct session *own;

	(void)enter(LEVEL_GRANT, NOW);
	own = sessions_check(&s, cookie, key, NOW);
	for (int i = 1; i < WEB_LOGINS_A_MINUTE; i++)
		assert_int_equal(sessions_login(&s, "wrong", NOW, cookie, key, &v), 403);
	assert_int_equal(sessions_login(&s, "wrong", NOW + 59999, cookie, key, &v), 429);
	assert_int_equal(sessions_login(&s, "wrong", NOW + 60000, cookie, key, &v), 403);
	for (int i = 0; i < WEB_ACTS_A_MINUTE; i++)
		assert_true(session_may_act(own, NOW));
	assert_false(session_may_act(own, NOW + 1));
	assert_true(session_may_act(own, NOW + 60000));
}

static void a_nonce_is_good_once(void **state)
{
	struct session *own;

	(void)enter(LEVEL_GRANT, NOW);
	own = sessions_check(&s, cookie, key, NOW);
	assert_true(session_new_nonce(own, "0123456789"));
	assert_false(session_new_nonce(own, "0123456789"));
	assert_true(session_new_nonce(own, "0123456780"));
}

static void the_list_has_no_half_of_a_session(void **state)
{
	const struct session *v = enter(LEVEL_GRANT, NOW);
	cleanup_json json_t *j = sessions_json(&s, v, NOW);
	cleanup_free char *text = json_dumps(j, 0);

	assert_non_null(strstr(text, v->id));
	assert_null(strstr(text, cookie));
	assert_null(strstr(text, key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_link_works_once, begin),
		cmocka_unit_test_setup(a_link_is_too_old_after_ten_minutes, begin),
		cmocka_unit_test_setup(neither_half_is_worth_anything_alone, begin),
		cmocka_unit_test_setup(a_session_ends_idle_old_or_revoked, begin),
		cmocka_unit_test_setup(
			a_session_leaves_the_list_when_it_ends_and_says_when_that_will_be, begin),
		cmocka_unit_test_setup(one_session_too_many_takes_the_place_of_the_idlest, begin),
		cmocka_unit_test_setup(read_only_caps_every_link, begin),
		cmocka_unit_test_setup(logins_and_acts_have_a_rate, begin),
		cmocka_unit_test_setup(a_nonce_is_good_once, begin),
		cmocka_unit_test_setup(the_list_has_no_half_of_a_session, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
