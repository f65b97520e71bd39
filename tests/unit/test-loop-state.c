#include "tree.h"

#include "base/fd.h"
#include "loop/loop-usage.h"
#include "loop/state.h"
#include "record/loops.h"

static int open_tree(void)
{
	return open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void what_is_saved_is_what_is_loaded(void **state)
{
	cleanup_fd int dir = open_tree();
	struct loop_state a, b;
	struct err err = {0};

	state_init(&a, dir);
	a.iterations = 7;
	a.micro_usd = 1234567;
	a.tokens.cache_read = 99;
	a.failing = 2;
	a.branch = xstrdup("ralph/x");
	a.intent = (struct intent){.phase = INTENT_SETTLE,
				   .task = xstrdup("US-1"),
				   .head = xstrdup(""),
				   .claims = true,
				   .end = RUN_OK,
				   .verdict = VERDICT_BLOCKED,
				   .state = TASK_BLOCKED,
				   .progress = true,
				   .why = xstrdup("bad \xff bytes"),
				   .attempts = 3,
				   .ms = 42};
	state_task_set(&a, "US-1", "stuck", json_integer(2));
	assert_int_equal(state_save(&a, &err), 0);
	state_init(&b, dir);
	assert_int_equal(state_load(&b, &err), 0);
	assert_int_equal(b.iterations, 7);
	assert_int_equal(b.micro_usd, 1234567);
	assert_int_equal(b.tokens.cache_read, 99);
	assert_int_equal(b.failing, 2);
	assert_int_equal(b.exit_code, -1);
	assert_string_equal(b.branch, "ralph/x");
	assert_int_equal(b.intent.phase, INTENT_SETTLE);
	assert_string_equal(b.intent.task, "US-1");
	assert_string_equal(b.intent.head, "");
	assert_true(b.intent.claims && b.intent.progress);
	assert_int_equal(b.intent.verdict, VERDICT_BLOCKED);
	assert_int_equal(b.intent.state, TASK_BLOCKED);
	assert_int_equal(b.intent.attempts, 3);
	assert_non_null(strstr(b.intent.why, "bad "));
	assert_int_equal(state_task_uint(&b, "US-1", "stuck"), 2);
	assert_null(state_task_str(&b, "US-2", "base"));
	state_done(&a);
	state_done(&b);
}

static void a_damaged_state_is_an_error_that_names_the_file(void **state)
{
	static const char *const texts[] = {
		"", "{}", "{\"version\":3}", "[1]", "{\"version\":1}", "{\"version\":2}"};
	cleanup_fd int dir = open_tree();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct loop_state s;
		struct err err = {0};

		tree_file(STATE_FILE, 0600, texts[i]);
		state_init(&s, dir);
		assert_true(state_load(&s, &err) < 0);
		assert_non_null(strstr(err.msg, STATE_FILE));
		state_done(&s);
	}
}

static void add_record(struct loop_state *s, int number)
{
	(void)json_array_append_new(s->records, json_pack("{si ss}", "iteration", number, "why",
							  "a line\nand another"));
}

static size_t size_of(const char *name)
{
	cleanup_fd int dir = open_tree();
	struct stat st;

	return fstatat(dir, name, &st, 0) < 0 ? 0 : (size_t)st.st_size;
}

static void a_step_costs_the_same_however_many_records_there_are(void **state)
{
	cleanup_fd int dir = open_tree();
	struct loop_state a, b;
	struct err err = {0};
	size_t first, line;

	state_init(&a, dir);
	add_record(&a, 1);
	assert_int_equal(state_save(&a, &err), 0);
	first = size_of(STATE_FILE);
	line = size_of(STATE_RECORDS_FILE);
	for (int i = 2; i <= 200; i++) {
		add_record(&a, 100 + i);
		assert_int_equal(state_save(&a, &err), 0);
	}
	/* One number of loop.json has more digits. */
	assert_in_range(size_of(STATE_FILE), first, first + 8);
	assert_in_range(size_of(STATE_RECORDS_FILE), 200 * line, 200 * (line + 2));
	state_init(&b, dir);
	assert_int_equal(state_load(&b, &err), 0);
	assert_true(json_equal(a.records, b.records));
	state_done(&a);
	state_done(&b);
}

static void a_record_behind_the_counted_ones_is_of_a_kill_and_is_overwritten(void **state)
{
	cleanup_fd int dir = open_tree();
	struct loop_state a, b;
	struct err err = {0};
	cleanup_fd int fd = -1;

	state_init(&a, dir);
	add_record(&a, 1);
	assert_int_equal(state_save(&a, &err), 0);
	fd = openat(dir, STATE_RECORDS_FILE, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "{\"iteration\":2}\n{\"torn", 22), 22);
	state_init(&b, dir);
	assert_int_equal(state_load(&b, &err), 0);
	assert_int_equal(json_array_size(b.records), 1);
	add_record(&b, 3);
	assert_int_equal(state_save(&b, &err), 0);
	state_done(&a);
	state_init(&a, dir);
	assert_int_equal(state_load(&a, &err), 0);
	assert_true(json_equal(a.records, b.records));
	state_done(&a);
	state_done(&b);
}

/* Version 1 of loop.json had them itself. */
static void the_records_of_an_older_state_are_kept(void **state)
{
	cleanup_fd int dir = open_tree();
	cleanup_json json_t *j = NULL,
			    *records = json_pack("[{si}{si}]", "iteration", 1, "iteration", 2);
	cleanup_free char *text = NULL, *path = NULL;
	struct loop_state a, b;
	struct err err = {0};

	state_init(&a, dir);
	a.iterations = 2;
	assert_int_equal(state_save(&a, &err), 0);
	path = tree_path(STATE_FILE);
	j = json_load_file(path, 0, NULL);
	(void)json_object_set_new(j, "version", json_integer(1));
	(void)json_object_del(j, "records_bytes");
	(void)json_object_set(j, "iterations_done", records);
	text = json_dumps(j, 0);
	tree_file(STATE_FILE, 0600, text);
	for (int i = 0; i < 2; i++) {
		state_init(&b, dir);
		assert_int_equal(state_load(&b, &err), 0);
		assert_true(json_equal(b.records, records));
		assert_int_equal(state_save(&b, &err), 0);
		state_done(&b);
	}
	state_done(&a);
}

static void a_damaged_record_is_an_error_that_names_the_file(void **state)
{
	cleanup_fd int dir = open_tree();
	struct loop_state a, b;
	struct err err = {0};
	cleanup_fd int fd = -1;

	state_init(&a, dir);
	add_record(&a, 1);
	assert_int_equal(state_save(&a, &err), 0);
	fd = openat(dir, STATE_RECORDS_FILE, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "xx", 2), 2);
	state_init(&b, dir);
	assert_true(state_load(&b, &err) < 0);
	assert_non_null(strstr(err.msg, STATE_RECORDS_FILE));
	state_done(&a);
	state_done(&b);
}

static void an_entry_of_the_journal_that_is_out_of_range_is_refused(void **state)
{
	cleanup_fd int dir = open_tree();
	struct loop_state a, b;
	struct err err = {0};

	state_init(&a, dir);
	a.intent.phase = (enum intent_phase)17;
	assert_int_equal(state_save(&a, &err), 0);
	state_init(&b, dir);
	assert_true(state_load(&b, &err) < 0);
	state_done(&a);
	state_done(&b);
}

static void cost_is_counted_once_however_often_it_is_looked_at(void **state)
{
	struct loop_state s;
	struct loop_usage m = {.micro_usd = 100, .tokens = {10, 5, 0, 0}};

	state_init(&s, -1);
	assert_true(loop_usage_take(&s, &m));
	assert_false(loop_usage_take(&s, &m));
	m.micro_usd = 150;
	assert_true(loop_usage_take(&s, &m));
	assert_int_equal(s.micro_usd, 150);
	/* The sandbox was removed, and its record begins anew. */
	m = (struct loop_usage){.micro_usd = 30, .tokens = {1, 1, 0, 0}};
	assert_true(loop_usage_take(&s, &m));
	assert_int_equal(s.micro_usd, 180);
	assert_int_equal(tokens_all(&s.tokens), 17);
	state_done(&s);
}

static void a_loop_is_found_only_by_pid_and_start_time(void **state)
{
	cleanup_fd int dir = open_tree();
	cleanup_free char *ours = xasprintf("{\"pid\":%d,\"start\":%llu}", (int)getpid(),
					    (unsigned long long)loops_start_time(getpid()));
	cleanup_free char *other = xasprintf("{\"pid\":%d,\"start\":1}", (int)getpid());
	struct loop_active a = {0};

	assert_true(loops_start_time(getpid()) > 0);
	assert_int_equal(loops_read_active(dir, &a), -ENOENT);
	tree_file("active", 0600, other);
	assert_int_equal(loops_read_active(dir, &a), -ENOENT);
	tree_file("active", 0600, "{\"pid\":1");
	assert_int_equal(loops_read_active(dir, &a), -ENOENT);
	tree_file("active", 0600, ours);
	assert_int_equal(loops_read_active(dir, &a), 0);
	assert_int_equal(a.pid, getpid());
	assert_int_equal(loops_signal(&a, 0), 0);
	a.start++;
	assert_int_equal(loops_signal(&a, 0), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(what_is_saved_is_what_is_loaded),
		WITH_TREE(a_damaged_state_is_an_error_that_names_the_file),
		WITH_TREE(a_step_costs_the_same_however_many_records_there_are),
		WITH_TREE(a_record_behind_the_counted_ones_is_of_a_kill_and_is_overwritten),
		WITH_TREE(the_records_of_an_older_state_are_kept),
		WITH_TREE(a_damaged_record_is_an_error_that_names_the_file),
		WITH_TREE(an_entry_of_the_journal_that_is_out_of_range_is_refused),
		cmocka_unit_test(cost_is_counted_once_however_often_it_is_looked_at),
		WITH_TREE(a_loop_is_found_only_by_pid_and_start_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
