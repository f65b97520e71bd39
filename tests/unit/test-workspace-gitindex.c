#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "workspace/gitindex.h"

static void put_entry(struct buf *b, const char *path, const uint8_t *hash, bool extended)
{
	static const uint8_t zeros[64];
	size_t start = b->len;

	assert_int_equal(buf_append(b, zeros, 40), 0);
	assert_int_equal(buf_append(b, hash, GITINDEX_HASH_LEN), 0);
	assert_int_equal(buf_append(b, extended ? "\x40\0\0\0" : "\0\0", extended ? 4 : 2), 0);
	assert_int_equal(buf_puts(b, path), 0);
	do
		assert_int_equal(buf_append(b, zeros, 1), 0);
	while ((b->len - start) % 8);
}

static void head(struct buf *b, char version, char n)
{
	const char h[12] = {'D', 'I', 'R', 'C', 0, 0, 0, version, 0, 0, 0, n};

	buf_init(b, 64 * KiB);
	assert_int_equal(buf_append(b, h, sizeof(h)), 0);
}

static bool lists(struct buf *b, const char *path, const uint8_t *hash)
{
	return gitindex_lists((const uint8_t *)b->data, b->len, path, hash);
}

static void the_hash_is_that_of_git(void **state)
{
	static const uint8_t empty[] = {0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b,
					0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2, 0xe4, 0x8c, 0x53, 0x91};
	uint8_t got[GITINDEX_HASH_LEN];

	gitindex_hash("", 0, got);
	assert_memory_equal(got, empty, sizeof(got));
}

static void a_path_is_listed_with_its_content_and_with_no_other(void **state)
{
	uint8_t one[GITINDEX_HASH_LEN], two[GITINDEX_HASH_LEN];
	cleanup_buf struct buf b;

	gitindex_hash("one", 3, one);
	gitindex_hash("two", 3, two);
	head(&b, 3, 3);
	put_entry(&b, "a", one, false);
	put_entry(&b, "dir/.env", two, true);
	put_entry(&b, "x.pem", one, false);
	assert_true(lists(&b, "dir/.env", two));
	assert_true(lists(&b, "x.pem", one));
	assert_false(lists(&b, "dir/.env", one));
	assert_false(lists(&b, ".env", two));
}

static void version_4_is_read(void **state)
{
	static const uint8_t zeros[40];
	uint8_t one[GITINDEX_HASH_LEN];
	cleanup_buf struct buf b;

	gitindex_hash("one", 3, one);
	head(&b, 4, 2);
	assert_int_equal(buf_append(&b, zeros, 40), 0);
	assert_int_equal(buf_append(&b, one, 20), 0);
	assert_int_equal(buf_append(&b, "\0\0\0dir/a", 8), 0);
	assert_int_equal(buf_append(&b, "\0", 1), 0);
	assert_int_equal(buf_append(&b, zeros, 40), 0);
	assert_int_equal(buf_append(&b, one, 20), 0);
	assert_int_equal(buf_append(&b, "\0\0\1.env", 7), 0);
	assert_int_equal(buf_append(&b, "\0", 1), 0);
	assert_true(lists(&b, "dir/.env", one));
	assert_false(lists(&b, "dir/a.env", one));
}

static void every_cut_of_an_index_is_taken(void **state)
{
	uint8_t one[GITINDEX_HASH_LEN];
	cleanup_buf struct buf b;

	gitindex_hash("one", 3, one);
	head(&b, 2, 2);
	put_entry(&b, "some/file", one, false);
	put_entry(&b, "some/other", one, false);
	for (size_t n = 0; n < b.len; n++) {
		cleanup_free char *copy = xmalloc(n + 1);

		memcpy(copy, b.data, n);
		assert_false(gitindex_lists((const uint8_t *)copy, n, "some/other", one));
		b.data[7] = b.data[7] == 2 ? 4 : 2;
	}
}

static bool lists_young(const struct buf *b, size_t len, int64_t second)
{
	return gitindex_lists_young((const uint8_t *)b->data, len, GITINDEX_HASH_LEN, second);
}

static void files_as_young_as_the_index_are_found_by_their_second(void **state)
{
	uint8_t one[GITINDEX_HASH_LEN];
	cleanup_buf struct buf b;
	size_t at;

	gitindex_hash("one", 3, one);
	head(&b, 3, 2);
	put_entry(&b, "a", one, false);
	at = b.len;
	put_entry(&b, "b", one, true);
	b.data[at + 8 + 3] = 100; /* the last byte of its second */
	assert_int_equal(buf_append(&b, "TREE\0\0\0\1x", 9), 0);
	assert_int_equal(buf_append(&b, one, sizeof(one)), 0);
	assert_true(lists_young(&b, b.len, 99));
	assert_true(lists_young(&b, b.len, 100));
	assert_false(lists_young(&b, b.len, 101));
}

static void an_index_that_is_cut_or_split_counts_as_young(void **state)
{
	uint8_t one[GITINDEX_HASH_LEN];
	cleanup_buf struct buf b;

	gitindex_hash("one", 3, one);
	head(&b, 2, 1);
	put_entry(&b, "a", one, false);
	for (size_t n = 0; n < b.len; n++)
		assert_true(lists_young(&b, n, 1000));
	assert_false(lists_young(&b, b.len, 1000));
	assert_int_equal(buf_append(&b, "IEOT\0\0\0\0link\0\0\0\0", 16), 0);
	assert_int_equal(buf_append(&b, one, sizeof(one)), 0);
	assert_true(lists_young(&b, b.len, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_that_of_git),
		cmocka_unit_test(a_path_is_listed_with_its_content_and_with_no_other),
		cmocka_unit_test(version_4_is_read),
		cmocka_unit_test(every_cut_of_an_index_is_taken),
		cmocka_unit_test(files_as_young_as_the_index_are_found_by_their_second),
		cmocka_unit_test(an_index_that_is_cut_or_split_counts_as_young),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
