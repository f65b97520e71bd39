#include "tests.h"

#include <fcntl.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/strv.h"
#include "config/config.h"

/* ralph-config(5) has one heading "## key" per key, with its type, default and variable below. */

static void read_page(struct buf *b)
{
	buf_init(b, 256 * KiB);
	assert_int_equal(path_read(AT_FDCWD, SOURCE_ROOT "/man/ralph-config.5.scd", b), 0);
}

static void every_key_has_its_heading_default_and_variable(void **state)
{
	struct config_key k;
	cleanup_buf struct buf b;

	read_page(&b);
	for (size_t i = 0; config_key(i, &k); i++) {
		cleanup_free char *head = xasprintf("\n## %s\n", k.name);
		cleanup_free char *line =
			xasprintf("default: *%s*, variable: *%s*\n",
				  *k.default_value ? k.default_value : "none", k.env);
		const char *at = strstr(buf_str(&b), head), *end, *found;

		if (!at)
			fail_msg("ralph-config(5) does not describe %s", k.name);
		end = strstr(at + strlen(head), "\n## ");
		found = strstr(at, line);
		if (!found || (end && found > end))
			fail_msg("ralph-config(5), %s: there is no line '%s'", k.name, line);
		for (const char *const *c = k.choices; c && *c; c++) {
			cleanup_free char *word = xasprintf("*%s*", *c);

			found = strstr(at, word);
			if (!found || (end && found > end))
				fail_msg("ralph-config(5), %s: %s is missing", k.name, *c);
		}
	}
}

static void every_heading_is_a_key(void **state)
{
	cleanup_buf struct buf b;
	size_t n = 0, n_keys = 0;
	struct config_key k;

	read_page(&b);
	while (config_key(n_keys, &k))
		n_keys++;
	for (const char *at = buf_str(&b); (at = strstr(at, "\n## ")); at++, n++) {
		size_t len = strcspn(at + 4, "\n"), i = 0;

		while (config_key(i, &k) &&
		       !(strlen(k.name) == len && memcmp(k.name, at + 4, len) == 0))
			i++;
		if (i == n_keys)
			fail_msg("ralph-config(5) describes %.*s, which is no key", (int)len,
				 at + 4);
	}
	assert_int_equal(n, n_keys);
}

static void entries_and_table_are_the_same_keys(void **state)
{
	struct config *c = config_new();
	struct config_entry *e = NULL;
	struct config_key k;
	size_t n = 0;

	assert_int_equal(config_entries(c, &e, &n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(config_key(i, &k));
		assert_string_equal(k.name, e[i].key);
		assert_string_equal(*k.default_value ? k.default_value : "\"\"", e[i].value);
		assert_string_equal(e[i].origin, "default");
	}
	assert_false(config_key(n, &k));
	config_entries_free(e, n);
	(void)config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_its_heading_default_and_variable),
		cmocka_unit_test(every_heading_is_a_key),
		cmocka_unit_test(entries_and_table_are_the_same_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
