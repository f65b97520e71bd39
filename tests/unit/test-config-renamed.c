#include "config-tests.h"

#include "base/buf.h"
#include "config/keys.h"

/* Stands in the place of the table's column: no key has an old name in every release. */
const char *key_was(enum key_id id)
{
	return id == KEY_MEMORY ? "bounds.ram" : id == KEY_AGENT ? "helper" : NULL;
}

static const char *notice(const struct place *p, size_t i)
{
	const char *text = i < p->c->notices.n ? p->c->notices.v[i] : "";

	return strncmp(text, p->dir, strlen(p->dir)) == 0 ? text + strlen(p->dir) + 1 : text;
}

static void old_name_in_a_file_sets_the_key_with_one_notice(void **state)
{
	struct place *p = *state;

	put(p->user, "helper: claude\nbounds:\n  ram: 99M\nlimits: {pids: 99}\n");
	put(p->project, "bounds: {ram: 98M}\n");
	load_ok(p);
	assert_string_equal(p->c->agent, "claude");
	assert_int_equal(p->c->limits.memory, 98 * MiB);
	assert_int_equal(p->c->notices.n, 3);
	assert_string_equal(notice(p, 0),
			    "user.yaml:1: 'helper' is now 'agent'; the old name works "
			    "until the next release");
	assert_string_equal(notice(p, 1), "user.yaml:3: 'bounds.ram' is now 'limits.memory'; "
					  "the old name works until the next release");
}

static void old_and_new_name_together_are_a_key_given_twice(void **state)
{
	struct place *p = *state;

	put(p->user, "limits: {memory: 99M}\nbounds: {ram: 98M}\n");
	load_fails(p, "user.yaml:2:10: bounds.ram: given twice; remove one of them");
}

static void value_under_an_old_name_is_checked_like_any_other(void **state)
{
	struct place *p = *state;

	put(p->user, "bounds: {ram: 1}\n");
	load_fails(p, "user.yaml:1:15: limits.memory: '1' is too small; use at least 64M");
	put(p->user, "bounds: {memory: 99M}\n");
	load_fails(p, "user.yaml:1:10: bounds.memory: unknown key; did you mean 'limits.memory'?");
}

static void old_names_of_variables_and_flags_work_with_a_notice(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_BOUNDS_RAM=97M");
	strv_push(&p->flags, "helper=claude");
	load_ok(p);
	assert_int_equal(p->c->limits.memory, 97 * MiB);
	assert_string_equal(p->c->agent, "claude");
	assert_int_equal(p->c->notices.n, 2);
	assert_string_equal(notice(p, 0), "'RALPH_BOUNDS_RAM' is now 'RALPH_LIMITS_MEMORY'; "
					  "the old name works until the next release");
	assert_string_equal(notice(p, 1), "'helper' is now 'agent'; the old name works until the "
					  "next release");
}

static void new_names_give_no_notice(void **state)
{
	struct place *p = *state;

	put(p->user, "agent: claude\nlimits: {pids: 99}\n");
	load_ok(p);
	assert_int_equal(p->c->notices.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_place(old_name_in_a_file_sets_the_key_with_one_notice),
		with_place(old_and_new_name_together_are_a_key_given_twice),
		with_place(value_under_an_old_name_is_checked_like_any_other),
		with_place(old_names_of_variables_and_flags_work_with_a_notice),
		with_place(new_names_give_no_notice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
