#include "tests.h"

#include "events/refused.h"
#include "view/refused-line.h"

#include <stdio.h>

static char *line_since(const struct refused *r, uint64_t mark)
{
	cleanup_strv struct strv hosts = {0};
	bool others = refused_since(r, mark, &hosts);

	return refused_line(&hosts, others);
}

static void nothing_refused_is_no_line(void **state)
{
	static struct refused r;

	assert_null(line_since(&r, 0));
}

static void each_host_is_named_once(void **state)
{
	static struct refused r;
	cleanup_free char *one = NULL, *two = NULL;

	refused_add(&r, "a.example");
	one = line_since(&r, 0);
	assert_string_equal(one, "1 host refused: a.example");
	refused_add(&r, "b.example");
	refused_add(&r, "a.example");
	two = line_since(&r, 0);
	assert_string_equal(two, "2 hosts refused: a.example, b.example");
}

static void a_command_is_told_of_its_own_time_alone(void **state)
{
	static struct refused r;
	cleanup_free char *line = NULL;
	uint64_t mark;

	refused_add(&r, "before.example");
	refused_add(&r, "again.example");
	mark = r.now;
	assert_null(line_since(&r, mark));
	refused_add(&r, "again.example");
	line = line_since(&r, mark);
	assert_string_equal(line, "1 host refused: again.example");
}

static void names_are_escaped_and_cut(void **state)
{
	static struct refused r;
	cleanup_free char *line = NULL, *cut = NULL;
	char longer[1000];

	refused_add(&r, "a\033[2J\n\xff");
	line = line_since(&r, 0);
	for (const char *p = line; *p; p++)
		assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	refused_add(&r, longer);
	refused_add(&r, longer);
	assert_int_equal(r.n, 2);
	cut = line_since(&r, 1);
	assert_true(strlen(cut) < 120);
}

static void a_flood_of_names_is_one_bounded_line(void **state)
{
	static struct refused r;
	cleanup_free char *some = NULL, *many = NULL;
	uint64_t mark;

	for (int i = 0; i < 12; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "h%d.example", i);
		refused_add(&r, host);
	}
	some = line_since(&r, 0);
	assert_string_equal(some, "12 hosts refused: h0.example, h1.example, h2.example, "
				  "h3.example, h4.example, h5.example, h6.example, h7.example "
				  "and 4 more");
	for (int i = 0; i < 10000; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "flood%d.example", i);
		refused_add(&r, host);
	}
	many = line_since(&r, 0);
	assert_non_null(strstr(many, "more than 32 hosts refused: "));
	assert_non_null(strstr(many, " and others"));
	assert_true(strlen(many) < 1000);
	/* What was forgotten came before. */
	mark = r.now;
	refused_add(&r, "last.example");
	free(many);
	many = line_since(&r, mark);
	assert_string_equal(many, "1 host refused: last.example");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_refused_is_no_line),
		cmocka_unit_test(each_host_is_named_once),
		cmocka_unit_test(a_command_is_told_of_its_own_time_alone),
		cmocka_unit_test(names_are_escaped_and_cut),
		cmocka_unit_test(a_flood_of_names_is_one_bounded_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
