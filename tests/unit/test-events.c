#include "tree.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/fd.h"
#include "events/events-verify.h"
#include "events/events.h"
#include "events/usage.h"

static struct events log_;
static int dir_;

static void reopen(void)
{
	off_t max = log_.max;
	struct err e;

	events_close(&log_);
	assert_int_equal(events_open(dir_, &log_, &e), 0);
	if (max)
		log_.max = max;
}

static int set_up(void **state)
{
	log_ = (struct events)EVENTS_INIT;
	if (tree_make(state) < 0)
		return -1;
	dir_ = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	reopen();
	return 0;
}

static int tear_down(void **state)
{
	events_close(&log_);
	(void)close(dir_);
	return tree_remove(state);
}

static void append(const char *text)
{
	assert_int_equal(write(log_.fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void add(const char *type, json_t *details)
{
	assert_int_equal(events_add(&log_, type, details), 0);
}

static void add_many(int n)
{
	for (int i = 0; i < n; i++)
		add("some", json_pack("{si ss}", "n", i, "text", "0123456789012345678901234567"));
}

static struct verify verify(void)
{
	struct err e = {0};
	struct verify v;

	assert_int_equal(events_verify(dir_, &v, &e), 0);
	verify_done(&v);
	return v;
}

static char *content(const char *name)
{
	struct buf b;

	buf_init(&b, 16 * MiB);
	assert_int_equal(path_read(dir_, name, &b), 0);
	return buf_take(&b);
}

static void put(const char *name, const char *text, size_t n)
{
	assert_int_equal(path_write_atomic(dir_, name, text, n, 0600, 0), 0);
}

static void chain_goes_on_after_reopening(void **state)
{
	struct chain before;

	add("one", NULL);
	add("two", json_pack("{si}", "n", 2));
	before = log_.chain;
	reopen();
	assert_int_equal(log_.chain.seq, 2);
	assert_string_equal(log_.chain.hash, before.hash);
	add("three", NULL);
	assert_int_equal(log_.chain.seq, 3);
	assert_string_not_equal(log_.chain.hash, before.hash);
	assert_false(verify().broken);
}

static void chain_of_a_new_log_begins_with_nothing(void **state)
{
	assert_int_equal(log_.chain.seq, 0);
	assert_string_equal(log_.chain.hash, "");
	assert_false(verify().broken);
}

static void chain_depends_on_everything_before(void **state)
{
	struct chain first;

	add("a", json_pack("{si}", "n", 1));
	first = log_.chain;
	assert_int_equal(strlen(first.hash), CHAIN_HASH_LEN);
	log_.chain = (struct chain){0};
	add("a", json_pack("{si}", "n", 2));
	assert_string_not_equal(log_.chain.hash, first.hash);
}

/* A crash while writing: the line is ended and stays, and the next record says what it is. */
static void torn_last_line_is_admitted_by_the_record_behind_it(void **state)
{
	cleanup_free char *text = NULL;
	struct verify v;

	add("one", NULL);
	append("{\"seq\":2,\"time\":\"20");
	v = verify();
	assert_false(v.broken);
	assert_int_equal(v.notes, 1);
	reopen();
	assert_int_equal(log_.chain.seq, 2);
	/* And once more, before anything was added: once is enough. */
	reopen();
	assert_int_equal(log_.chain.seq, 2);
	add("two", NULL);
	text = content(EVENTS_FILE);
	assert_non_null(strstr(text, "\"20\n{\"seq\":2,"));
	assert_non_null(strstr(text, "\"torn\":{\"bytes\":20,"));
	v = verify();
	assert_false(v.broken);
	assert_int_equal(v.records, 3);
	assert_int_equal(v.notes, 1);
}

static void another_half_line_than_the_admitted_one_is_found(void **state)
{
	cleanup_free char *text = NULL;
	char *half;

	add("one", NULL);
	append("{\"half\"");
	reopen();
	add("two", NULL);
	text = content(EVENTS_FILE);
	half = strstr(text, "{\"half\"");
	half[2] = 'H';
	put(EVENTS_FILE, text, strlen(text));
	assert_true(verify().broken);
	/* And none at all. */
	memmove(half, half + 8, strlen(half + 8) + 1);
	put(EVENTS_FILE, text, strlen(text));
	assert_true(verify().broken);
}

static void record_that_lacks_only_its_newline_is_not_whole(void **state)
{
	cleanup_free char *text = NULL;

	add("one", NULL);
	add("two", NULL);
	text = content(EVENTS_FILE);
	put(EVENTS_FILE, text, strlen(text) - 1);
	assert_true(verify().broken);
	reopen();
	assert_true(log_.chain.seq >= 3);
	assert_true(verify().broken);
}

static void log_of_nothing_but_a_torn_line_begins_anew(void **state)
{
	append("{\"seq\"");
	reopen();
	assert_int_equal(log_.chain.seq, 1);
	assert_false(verify().broken);
}

static void details_cannot_replace_number_time_type_and_chain(void **state)
{
	cleanup_json json_t *j = NULL;
	cleanup_free char *text = NULL;

	add("real", json_pack("{si ss ss}", "seq", 99, "type", "forged", "chain", "forged"));
	text = content(EVENTS_FILE);
	j = json_loads(text, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(j, "seq")), 1);
	assert_string_equal(json_string_value(json_object_get(j, "type")), "real");
	assert_null(strstr(text, "forged"));
	assert_false(verify().broken);
}

static void strings_are_ascii_whatever_they_hold(void **state)
{
	cleanup_free char *text = NULL;

	add("x", json_pack("{so so}", "a", json_text("\x1b[31m\x9b\n\r\b \xe2\x80\xae \xff"), "b",
			   json_text("\"},\n{\"seq\":9}")));
	text = content(EVENTS_FILE);
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (*p >= ' ' && *p < 0x7f));
	assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
	assert_false(verify().broken);
}

static void record_that_is_too_long_is_cut_and_stays_one(void **state)
{
	cleanup_free char *big = xmalloc(EVENTS_LINE_MAX + 1), *text = NULL;
	json_t *many = json_array();

	memset(big, 'x', EVENTS_LINE_MAX);
	big[EVENTS_LINE_MAX] = '\0';
	add("long", json_pack("{ss si}", "text", big, "n", 5));
	for (int i = 0; i < 40000; i++)
		(void)json_array_append_new(many, json_integer(i));
	add("longer", json_pack("{so}", "many", many));
	text = content(EVENTS_FILE);
	assert_true(strlen(text) < 4096);
	assert_non_null(strstr(text, "\"n\":5"));
	assert_non_null(strstr(text, "\"cut\":true"));
	assert_false(verify().broken);
}

static void log_that_is_a_link_is_refused(void **state)
{
	struct events other = EVENTS_INIT;
	struct err e;

	assert_int_equal(unlinkat(dir_, EVENTS_FILE, 0), 0);
	tree_link(EVENTS_FILE, "elsewhere");
	assert_int_equal(events_open(dir_, &other, &e), -ELOOP);
}

static unsigned files_and_bytes(off_t *ret_bytes)
{
	unsigned n = 0;

	*ret_bytes = 0;
	for (unsigned i = 0; i < 100; i++) {
		char name[EVENTS_NAME_SIZE];
		struct stat st;

		if (fstatat(dir_, events_name(i, name), &st, 0) < 0)
			continue;
		n++;
		*ret_bytes += st.st_size;
	}
	return n;
}

static void rotated_log_is_bounded_and_what_is_left_is_proved(void **state)
{
	struct verify v;
	off_t bytes;

	log_.max = 4096;
	for (int i = 0; i < 40; i++) {
		add_many(10);
		v = verify();
		assert_false(v.broken);
		assert_int_equal(v.last.seq, log_.chain.seq);
		if (i % 7 == 0)
			reopen();
	}
	assert_int_equal(files_and_bytes(&bytes), EVENTS_OLD_MAX + 1);
	assert_true(bytes < (EVENTS_OLD_MAX + 1) * (4096 + 1024));
	assert_true(v.first > 1);
	assert_int_equal(v.records, v.last.seq - v.first + 1);
}

static void every_missing_file_is_found(void **state)
{
	log_.max = 2048;
	add_many(400);
	for (unsigned i = 0; i <= EVENTS_OLD_MAX; i++) {
		char name[EVENTS_NAME_SIZE];
		cleanup_free char *text = content(events_name(i, name));

		assert_int_equal(unlinkat(dir_, name, 0), 0);
		assert_true(verify().broken);
		put(name, text, strlen(text));
		assert_false(verify().broken);
	}
}

struct sum {
	uint64_t requests, usd, tokens;
};

static void on_usage(void *arg, const struct usage_event *e)
{
	struct sum *s = arg;

	s->requests += e->requests;
	s->usd += e->micro_usd;
	s->tokens += usage_all(&e->tokens);
}

static void what_was_used_is_not_lost_with_the_files(void **state)
{
	struct sum s = {0};
	struct err e;

	log_.max = 2048;
	for (int i = 0; i < 500; i++) {
		add("usage", json_pack("{ss ss si si si}", "credential", "anthropic", "model",
				       i % 3 ? "claude-a" : "claude-b", "input", 10, "output", i,
				       "micro_usd", 7));
		add("net", json_pack("{ss}", "host", "\"usage\""));
	}
	assert_int_equal(usage_each(dir_, on_usage, &s, &e), 0);
	assert_int_equal(s.requests, 500);
	assert_int_equal(s.usd, 3500);
	assert_int_equal(s.tokens, 500 * 10 + 499 * 500 / 2);
}

static void carried_sums_have_a_limit_and_lose_nothing(void **state)
{
	struct sum s = {0};
	struct err e;

	log_.max = 64 * KiB;
	for (int i = 0; i < 3000; i++) {
		cleanup_free char *model = xasprintf("model-%d", i);

		add("usage", json_pack("{ss si}", "model", model, "input", 1));
	}
	assert_int_equal(usage_each(dir_, on_usage, &s, &e), 0);
	assert_int_equal(s.requests, 3000);
	assert_int_equal(s.tokens, 3000);
}

/* Two files, and the crash of turning to a third. */
static void crash_in_rotation(void)
{
	struct stat st;

	log_.max = 2048;
	for (int i = 0; i < 100 && fstatat(dir_, "events.1.jsonl", &st, 0) < 0; i++)
		add_many(1);
	add_many(2);
	assert_int_equal(renameat(dir_, "events.1.jsonl", dir_, "events.2.jsonl"), 0);
	assert_int_equal(renameat(dir_, EVENTS_FILE, dir_, "events.1.jsonl"), 0);
}

static void crash_while_a_new_file_is_begun_is_gone_on_from(void **state)
{
	/* The newest was moved, the new one not made. */
	crash_in_rotation();
	reopen();
	add_many(1);
	assert_false(verify().broken);
	assert_int_equal(unlinkat(dir_, "events.2.jsonl", 0), 0);
	assert_true(verify().broken);
}

static void half_of_a_first_record_is_gone_on_from(void **state)
{
	struct verify v;

	crash_in_rotation();
	put(EVENTS_FILE, "{\"seq\":14,\"ti", 13);
	reopen();
	add_many(1);
	v = verify();
	assert_false(v.broken);
	assert_int_equal(v.notes, 1);
}

static void end_that_was_cut_off_is_found_before_and_after_the_next_start(void **state)
{
	cleanup_free char *text = NULL;
	struct verify v;
	char *p;

	add_many(10);
	text = content(EVENTS_FILE);
	p = text;
	for (int i = 0; i < 7; i++)
		p = strchr(p, '\n') + 1;
	put(EVENTS_FILE, text, (size_t)(p - text));
	v = verify();
	assert_true(v.broken);
	assert_int_equal(v.at, 8);
	reopen();
	add_many(3);
	v = verify();
	assert_true(v.broken);
	assert_int_equal(v.at, 8);
	assert_non_null(strstr(v.how, "records 8 to 10 are missing"));
	assert_int_equal(log_.chain.seq, 14);
}

static void head_that_is_gone_or_other_is_found(void **state)
{
	cleanup_free char *head = NULL;

	add_many(3);
	head = content(HEAD_FILE);
	assert_int_equal(unlinkat(dir_, HEAD_FILE, 0), 0);
	assert_true(verify().broken);
	put(HEAD_FILE, "nonsense\n", 9);
	assert_true(verify().broken);
	head[30] = head[30] == 'a' ? 'b' : 'a';
	put(HEAD_FILE, head, strlen(head));
	assert_true(verify().broken);
	reopen();
	assert_true(verify().broken);
}

static void events_that_could_not_be_written_are_counted_in_the_log(void **state)
{
	cleanup_free char *text = NULL;
	int fd = log_.fd;

	add("one", NULL);
	/* As a full disk would: what cannot be written to. */
	log_.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(events_add(&log_, "two", NULL) < 0);
	(void)close(fd);
	add("three", NULL);
	text = content(EVENTS_FILE);
	assert_non_null(strstr(text, "\"missed\":1"));
	assert_false(verify().broken);
	assert_int_equal(log_.chain.seq, 3);
}

/* The disk has so much room left for the log, and no more. */
static void room(off_t bytes)
{
	struct rlimit lim = {.rlim_cur = bytes < 0 ? RLIM_INFINITY : (rlim_t)(log_.size + bytes),
			     .rlim_max = RLIM_INFINITY};

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

static off_t size_now(void)
{
	struct stat st;

	assert_int_equal(fstat(log_.fd, &st), 0);
	return st.st_size;
}

/* At each byte of a record, and of the one that tells of it, so much: nothing that was said is
 * lost, all else counted. */
static void disk_that_is_full_at_any_byte_leaves_a_whole_log(void **state)
{
	off_t record;

	(void)signal(SIGXFSZ, SIG_IGN);
	add("one", NULL);
	record = log_.size;
	for (off_t first = 0; first <= record; first++) {
		uint64_t told = log_.chain.seq;
		struct verify v;

		room(first);
		(void)events_add(&log_, "two", NULL);
		log_.size = size_now();
		/* And again, somewhere in what says so. */
		room((first * 7) % 300);
		(void)events_add(&log_, "three", NULL);
		room(-1);
		add("four", NULL);
		v = verify();
		if (v.broken)
			fail_msg("full after %lld bytes: %s: %s", (long long)first, v.where, v.how);
		assert_true(log_.chain.seq > told);
	}
}

static void record_whose_newline_was_missing_is_not_counted_as_missed(void **state)
{
	cleanup_free char *text = NULL;
	off_t before = log_.size, record;

	(void)signal(SIGXFSZ, SIG_IGN);
	add("two", NULL);
	record = log_.size - before;
	room(record - 1);
	assert_true(events_add(&log_, "two", NULL) < 0);
	room(-1);
	add("end", NULL);
	text = content(EVENTS_FILE);
	assert_null(strstr(text, "missed"));
	assert_int_equal(log_.chain.seq, 3);
	assert_false(verify().broken);
}

static void log_whose_head_has_no_room_is_not_begun(void **state)
{
	struct events e = EVENTS_INIT;
	struct err err;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(unlinkat(dir_, HEAD_FILE, 0), 0);
	assert_int_equal(unlinkat(dir_, EVENTS_FILE, 0), 0);
	room(40);
	assert_true(events_open(dir_, &e, &err) < 0);
	room(-1);
	reopen();
	add("one", NULL);
	assert_false(verify().broken);
}

static void log_that_is_kept_elsewhere_is_proved_there(void **state)
{
	struct err e = {0};
	struct verify v;
	int kept;

	log_.max = 2048;
	add_many(40); /* more than one file */
	assert_int_equal(mkdirat(dir_, "kept", 0700), 0);
	kept = openat(dir_, "kept", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(events_keep(dir_, kept, &e), 0);
	assert_int_equal(events_verify(kept, &v, &e), 0);
	assert_false(v.broken);
	verify_done(&v);
	/* It is a copy: what comes later is not in it. */
	add("later", NULL);
	assert_int_equal(events_verify(kept, &v, &e), 0);
	assert_false(v.broken);
	verify_done(&v);
	(void)close(kept);
	/* Where nothing can be written, that is an error and not half a log. */
	kept = openat(dir_, "kept", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(unlinkat(dir_, HEAD_FILE, 0), 0);
	assert_int_equal(mkdirat(dir_, HEAD_FILE, 0700), 0);
	assert_true(events_keep(dir_, kept, &e) < 0);
	assert_non_null(strstr(e.msg, "cannot keep"));
	(void)close(kept);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(chain_goes_on_after_reopening),
		T(chain_of_a_new_log_begins_with_nothing),
		T(chain_depends_on_everything_before),
		T(torn_last_line_is_admitted_by_the_record_behind_it),
		T(another_half_line_than_the_admitted_one_is_found),
		T(record_that_lacks_only_its_newline_is_not_whole),
		T(log_of_nothing_but_a_torn_line_begins_anew),
		T(details_cannot_replace_number_time_type_and_chain),
		T(strings_are_ascii_whatever_they_hold),
		T(record_that_is_too_long_is_cut_and_stays_one),
		T(log_that_is_a_link_is_refused),
		T(rotated_log_is_bounded_and_what_is_left_is_proved),
		T(every_missing_file_is_found),
		T(what_was_used_is_not_lost_with_the_files),
		T(carried_sums_have_a_limit_and_lose_nothing),
		T(crash_while_a_new_file_is_begun_is_gone_on_from),
		T(half_of_a_first_record_is_gone_on_from),
		T(end_that_was_cut_off_is_found_before_and_after_the_next_start),
		T(head_that_is_gone_or_other_is_found),
		T(events_that_could_not_be_written_are_counted_in_the_log),
		T(disk_that_is_full_at_any_byte_leaves_a_whole_log),
		T(record_whose_newline_was_missing_is_not_counted_as_missed),
		T(log_whose_head_has_no_room_is_not_begun),
		T(log_that_is_kept_elsewhere_is_proved_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
