#include "config-tests.h"

#include "base/buf.h"
#include "config/keys.h"

/* The table of keys with old names: a release may have none. */
static struct key renamed[KEY_N];

static int renamed_setup(void **state)
{
	struct place *p;
	int r = place_setup(state);

	memcpy(renamed, keys, sizeof(renamed));
	renamed[KEY_MEMORY].was = "bounds.ram";
	renamed[KEY_AGENT].was = "helper";
	p = *state;
	p->src.renamed = renamed;
	return r;
}

#define with_renamed(fn) cmocka_unit_test_setup_teardown(fn, renamed_setup, place_teardown)

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

static void misspelt_variable_of_an_old_section_is_refused(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_BOUNDS_RAN=97M");
	load_fails(p, "RALPH_BOUNDS_RAN: unknown setting; unset it, or see ralph-config(5)");
}

static void old_and_new_variable_together_are_refused_in_any_order(void **state)
{
	static const char both[] = "RALPH_BOUNDS_RAM: given twice, also as 'RALPH_LIMITS_MEMORY'; "
				   "unset one of them";
	struct place *p = *state;

	strv_push(&p->env, "RALPH_BOUNDS_RAM=97M");
	strv_push(&p->env, "RALPH_LIMITS_MEMORY=98M");
	load_fails(p, both);
	strv_push(&p->env, "RALPH_BOUNDS_RAM=97M");
	free(p->env.v[0]);
	p->env.v[0] = xstrdup("PATH=/bin");
	load_fails(p, both);
}

/* An empty variable is one that is not set. */
static void empty_new_variable_leaves_the_old_one(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_LIMITS_MEMORY=");
	strv_push(&p->env, "RALPH_BOUNDS_RAM=97M");
	load_ok(p);
	assert_int_equal(p->c->limits.memory, 97 * MiB);
}

static void table_of_this_release_is_used_without_another(void **state)
{
	struct place *p = *state;

	p->src.renamed = NULL;
	put(p->user, "helper: claude\n");
	assert_true(load(p) < 0);
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
		with_renamed(old_name_in_a_file_sets_the_key_with_one_notice),
		with_renamed(old_and_new_name_together_are_a_key_given_twice),
		with_renamed(value_under_an_old_name_is_checked_like_any_other),
		with_renamed(old_names_of_variables_and_flags_work_with_a_notice),
		with_renamed(misspelt_variable_of_an_old_section_is_refused),
		with_renamed(old_and_new_variable_together_are_refused_in_any_order),
		with_renamed(empty_new_variable_leaves_the_old_one),
		with_renamed(table_of_this_release_is_used_without_another),
		with_renamed(new_names_give_no_notice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
