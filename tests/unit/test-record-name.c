#include "tests.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "record/name.h"

static const char id1[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const char id2[] = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

static void a_plain_branch_gives_the_plain_name(void **state)
{
	cleanup_free char *n = name_make("claude", "main", "src", id1, false);

	assert_string_equal(n, "agent-loop-claude-main");
}

static void without_a_branch_the_directory_names_it(void **state)
{
	cleanup_free char *n = name_make("command", NULL, "site", id1, false);

	assert_string_equal(n, "agent-loop-command-site");
}

static void what_sanitising_changed_gets_eight_digits(void **state)
{
	cleanup_free char *n = name_make("claude", "feature/a", "src", id1, false);

	assert_int_equal(strncmp(n, "agent-loop-claude-feature-a-", 28), 0);
	assert_int_equal(strspn(n + 28, "0123456789abcdef"), 8);
	assert_int_equal(strlen(n), 36);
}

static void a_name_another_workspace_has_gets_digits_of_its_own(void **state)
{
	cleanup_free char *a = name_make("claude", "main", "src", id1, true);
	cleanup_free char *b = name_make("claude", "main", "src", id2, true);

	assert_string_not_equal(a, b);
	assert_true(name_valid(a));
}

/* Inputs that look alike after sanitising, cutting or suffixing. */
static char **inputs(size_t *ret_n)
{
	static const char *const fixed[] = {
		"feature/a",
		"feature-a",
		"Feature-a",
		"feature_a",
		"feature--a",
		"-feature-a",
		"feature-a-",
		"feature.a",
		"feature a",
		"fe\xc3\xa4ture",
		"fe\xc3\xb6ture",
		"\xe6\x97\xa5\xe6\x9c\xac",
		"\xe6\x9c\xac\xe6\x97\xa5",
		"x",
		"X",
		"---",
		"--",
		"-",
		"a",
		"b-c",
		"c",
		"deadbeef",
		"a-deadbeef",
		"x-00112233",
	};
	size_t n = 0, cap = ARRAY_SIZE(fixed) * 2 + 200;
	char **v = xcalloc(cap, sizeof(*v));

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		v[n++] = xstrdup(fixed[i]);
	for (size_t i = 30; i < 80; i++) {
		char *s = xmalloc(i + 1);

		memset(s, 'a', i);
		s[i] = '\0';
		v[n++] = s;
		s = xstrdup(s);
		s[i - 1] = 'b';
		v[n++] = s;
		s = xstrdup(s);
		s[i - 1] = '-';
		v[n++] = s;
	}
	/* Names as they come out, taken as branches again. */
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		cleanup_free char *name = name_make("claude", fixed[i], "d", id1, false);

		v[n] = xstrdup(name + strlen("agent-loop-claude-"));
		for (size_t k = 0; k < n; k++)
			if (streq(v[k], v[n])) {
				free(v[n--]);
				break;
			}
		n++;
	}
	*ret_n = n;
	return v;
}

static void two_branches_of_one_workspace_never_share_a_name(void **state)
{
	size_t n;
	char **in = inputs(&n);
	char **out = xcalloc(n, sizeof(*out));

	for (size_t i = 0; i < n; i++) {
		out[i] = name_make("claude", in[i], "d", id1, false);
		if (!name_valid(out[i]))
			fail_msg("'%s' gives '%s'", in[i], out[i]);
		for (size_t k = 0; k < i; k++)
			if (streq(out[i], out[k]))
				fail_msg("'%s' and '%s' give '%s'", in[i], in[k], out[i]);
	}
	for (size_t i = 0; i < n; i++) {
		free(in[i]);
		free(out[i]);
	}
	free(in);
	free(out);
}

static void a_dash_in_the_agent_cannot_move_into_the_branch(void **state)
{
	cleanup_free char *a = name_make("a-b", "c", "d", id1, false);
	cleanup_free char *b = name_make("a", "b-c", "d", id1, false);

	assert_string_not_equal(a, b);
}

static void the_same_input_gives_the_same_name(void **state)
{
	cleanup_free char *a = name_make("codex", "Fix/Thing", "d", id1, false);
	cleanup_free char *b = name_make("codex", "Fix/Thing", "e", id1, false);

	assert_string_equal(a, b);
}

static void a_long_agent_leaves_room_for_the_branch(void **state)
{
	cleanup_free char *n =
		name_make("an-agent-with-a-name-far-longer-than-any-that-there-is-today-or-later",
			  "main", "d", id1, false);

	assert_true(name_valid(n));
	assert_non_null(strstr(n, "-main-"));
}

static void names_that_are_paths_or_options_are_not_valid(void **state)
{
	assert_false(name_valid(""));
	assert_false(name_valid("-x"));
	assert_false(name_valid("x-"));
	assert_false(name_valid("a/b"));
	assert_false(name_valid(".."));
	assert_false(name_valid("A"));
	assert_false(name_valid("a\n"));
	assert_true(name_valid("a-1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_branch_gives_the_plain_name),
		cmocka_unit_test(without_a_branch_the_directory_names_it),
		cmocka_unit_test(what_sanitising_changed_gets_eight_digits),
		cmocka_unit_test(a_name_another_workspace_has_gets_digits_of_its_own),
		cmocka_unit_test(two_branches_of_one_workspace_never_share_a_name),
		cmocka_unit_test(a_dash_in_the_agent_cannot_move_into_the_branch),
		cmocka_unit_test(the_same_input_gives_the_same_name),
		cmocka_unit_test(a_long_agent_leaves_room_for_the_branch),
		cmocka_unit_test(names_that_are_paths_or_options_are_not_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
