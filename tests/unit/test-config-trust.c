#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "config/trust.h"

struct place {
	char dir[64];
	char *records;
	struct err err;
};

static int make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/ralph-test-trust.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->records = path_join(p->dir, "state/trust");
	*state = p;
	return 0;
}

static int clear(void **state)
{
	struct place *p = *state;

	assert_int_equal(path_remove_tree(AT_FDCWD, p->dir, &p->err), 0);
	free(p->records);
	free(p);
	return 0;
}

static void trust_is_of_one_project_and_one_content(void **state)
{
	struct place *p = *state;
	char hash[TRUST_HASH_LEN + 1];
	struct trust t = {0};

	assert_int_equal(trust_get(p->records, "/a", &t, &p->err), -ENOENT);
	assert_int_equal(trust_set(p->records, "/a", "one", 3, &p->err), 0);
	assert_int_equal(trust_get(p->records, "/a", &t, &p->err), 0);
	trust_hash("one", 3, hash);
	assert_string_equal(t.sha256, hash);
	assert_string_equal(t.project, "/a");
	assert_true(t.since > 0);
	trust_done(&t);
	assert_int_equal(trust_get(p->records, "/a/", &t, &p->err), -ENOENT);
	/* The next one takes its place. */
	assert_int_equal(trust_set(p->records, "/a", "two", 3, &p->err), 0);
	assert_int_equal(trust_get(p->records, "/a", &t, &p->err), 0);
	assert_string_not_equal(t.sha256, hash);
	trust_done(&t);
	assert_int_equal(trust_revoke(p->records, "/a", &p->err), 0);
	assert_int_equal(trust_revoke(p->records, "/a", &p->err), -ENOENT);
}

static void trust_hash_is_sha256(void **state)
{
	char hash[TRUST_HASH_LEN + 1];

	trust_hash("abc", 3, hash);
	assert_string_equal(hash,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void trust_list_is_sorted_and_leaves_nonsense_out(void **state)
{
	struct place *p = *state;
	struct trust *all = NULL;
	cleanup_free char *junk = NULL, *other = NULL;
	size_t n = 1;
	int fd;

	assert_int_equal(trust_list(p->records, &all, &n, &p->err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(trust_set(p->records, "/b", "x", 1, &p->err), 0);
	assert_int_equal(trust_set(p->records, "/a", "x", 1, &p->err), 0);
	other = path_join(p->records, "notes");
	junk = xasprintf("%s/%064d.json", p->records, 7);
	for (int i = 0; i < 2; i++) {
		fd = open(i ? junk : other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "{", 1), 1);
		(void)close(fd);
	}
	assert_int_equal(trust_list(p->records, &all, &n, &p->err), 0);
	assert_int_equal(n, 2);
	assert_string_equal(all[0].project, "/a");
	assert_string_equal(all[1].project, "/b");
	trust_list_free(all, n);
}

/* A record that was put in another's place, or is damaged, is no trust: it is an error. */
static void trust_of_another_projects_record_is_refused(void **state)
{
	struct place *p = *state;
	cleanup_free char *a = NULL, *b = NULL;
	char key[TRUST_HASH_LEN + 1];
	struct trust t = {0};

	assert_int_equal(trust_set(p->records, "/a", "x", 1, &p->err), 0);
	trust_hash("/a", 2, key);
	a = xasprintf("%s/%s.json", p->records, key);
	trust_hash("/b", 2, key);
	b = xasprintf("%s/%s.json", p->records, key);
	assert_int_equal(rename(a, b), 0);
	assert_int_equal(trust_get(p->records, "/b", &t, &p->err), -EINVAL);
	assert_int_equal(truncate(b, 10), 0);
	assert_true(trust_get(p->records, "/b", &t, &p->err) < 0);
}

static void trust_in_a_path_that_is_no_utf8_is_refused(void **state)
{
	struct place *p = *state;

	assert_int_equal(trust_set(p->records, "/a\xff", "x", 1, &p->err), -EINVAL);
	assert_int_equal(p->err.exit_code, 2);
}

static void trust_records_are_closed_to_others(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(trust_set(p->records, "/a", "x", 1, &p->err), 0);
	assert_int_equal(stat(p->records, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
}

#define with_place(test) cmocka_unit_test_setup_teardown(test, make, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_place(trust_is_of_one_project_and_one_content),
		cmocka_unit_test(trust_hash_is_sha256),
		with_place(trust_list_is_sorted_and_leaves_nonsense_out),
		with_place(trust_of_another_projects_record_is_refused),
		with_place(trust_in_a_path_that_is_no_utf8_is_refused),
		with_place(trust_records_are_closed_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
