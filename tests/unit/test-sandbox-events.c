#include "tree.h"

#include "base/buf.h"
#include "base/fd.h"
#include "sandbox/events.h"

static struct events log_;

static void reopen(void)
{
	cleanup_fd int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e;

	events_close(&log_);
	assert_int_equal(events_open(dir, &log_, &e), 0);
}

static int set_up(void **state)
{
	log_ = (struct events){.fd = -1};
	if (tree_make(state) < 0)
		return -1;
	reopen();
	return 0;
}

static int tear_down(void **state)
{
	events_close(&log_);
	return tree_remove(state);
}

static void append(const char *text)
{
	assert_int_equal(write(log_.fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void chain_goes_on_after_reopening(void **state)
{
	char before[sizeof(log_.chain)];

	assert_int_equal(events_add(&log_, "one", NULL), 0);
	assert_int_equal(events_add(&log_, "two", json_pack("{si}", "n", 2)), 0);
	memcpy(before, log_.chain, sizeof(before));
	reopen();
	assert_int_equal(log_.seq, 2);
	assert_string_equal(log_.chain, before);
	assert_int_equal(events_add(&log_, "three", NULL), 0);
	assert_int_equal(log_.seq, 3);
	assert_string_not_equal(log_.chain, before);
}

static void chain_of_a_new_log_begins_with_nothing(void **state)
{
	assert_int_equal(log_.seq, 0);
	assert_string_equal(log_.chain, "");
}

static void chain_depends_on_everything_before(void **state)
{
	char first[sizeof(log_.chain)];

	assert_int_equal(events_add(&log_, "a", json_pack("{si}", "n", 1)), 0);
	memcpy(first, log_.chain, sizeof(first));
	assert_int_equal(strlen(first), EVENTS_HASH_LEN);
	log_.seq = 0;
	log_.chain[0] = '\0';
	assert_int_equal(events_add(&log_, "a", json_pack("{si}", "n", 2)), 0);
	assert_string_not_equal(log_.chain, first);
}

/* A crash while writing: the line is ended and stays, the chain goes on from the last whole one. */
static void torn_last_line_is_ended_and_the_chain_goes_on(void **state)
{
	char before[sizeof(log_.chain)];
	cleanup_fd int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	assert_int_equal(events_add(&log_, "one", NULL), 0);
	memcpy(before, log_.chain, sizeof(before));
	append("{\"seq\":2,\"time\":\"20");
	reopen();
	assert_int_equal(log_.seq, 1);
	assert_string_equal(log_.chain, before);
	/* And once more, before anything was added. */
	reopen();
	assert_int_equal(log_.seq, 1);
	assert_string_equal(log_.chain, before);
	assert_int_equal(events_add(&log_, "two", NULL), 0);
	assert_int_equal(path_read(dir, "events.jsonl", &b), 0);
	assert_non_null(strstr(buf_str(&b), "\"20\n{\"seq\":2,"));
}

static void log_of_nothing_but_a_torn_line_begins_anew(void **state)
{
	append("{\"seq\"");
	reopen();
	assert_int_equal(log_.seq, 0);
	assert_string_equal(log_.chain, "");
}

static void details_cannot_replace_number_time_and_type(void **state)
{
	cleanup_fd int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	assert_int_equal(
		events_add(&log_, "real", json_pack("{si ss}", "seq", 99, "type", "forged")), 0);
	assert_int_equal(path_read(dir, "events.jsonl", &b), 0);
	j = json_loads(buf_str(&b), 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(j, "seq")), 1);
	assert_string_equal(json_string_value(json_object_get(j, "type")), "real");
}

static void log_that_is_a_link_is_refused(void **state)
{
	cleanup_fd int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct events other = {.fd = -1};
	struct err e;

	assert_int_equal(unlinkat(dir, "events.jsonl", 0), 0);
	tree_link("events.jsonl", "elsewhere");
	assert_int_equal(events_open(dir, &other, &e), -ELOOP);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(chain_goes_on_after_reopening),
		T(chain_of_a_new_log_begins_with_nothing),
		T(chain_depends_on_everything_before),
		T(torn_last_line_is_ended_and_the_chain_goes_on),
		T(log_of_nothing_but_a_torn_line_begins_anew),
		T(details_cannot_replace_number_time_and_type),
		T(log_that_is_a_link_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
