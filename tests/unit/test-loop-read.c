#include "tests.h"

#include "view/lines.h"
#include "loop/fallback/fallback.h"
#include "loop/review/review.h"
#include "loop/loop-limits.h"
#include "loop/last-words.h"
#include "loop/workers/room.h"
#include "agent/result.h"
#include "view/render.h"

/* ---- lines ---- */

struct got {
	char text[256];
	size_t n;
};

static void on_line(void *arg, const char *line, size_t n)
{
	struct got *g = arg;

	assert_true(strlen(g->text) + n + 2 < sizeof(g->text));
	(void)strncat(g->text, line, n);
	(void)strncat(g->text, "|", 2);
	g->n++;
}

static void lines_are_the_same_in_whatever_pieces_they_come(void **state)
{
	static const char text[] = "one\n\ntwo is longer\nthree\nlast";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct got g = {0};
		struct lines l;

		lines_init(&l, 64);
		for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
			size_t left = sizeof(text) - 1 - at;

			lines_add(&l, text + at, left < piece ? left : piece, on_line, &g);
		}
		lines_end(&l, on_line, &g);
		lines_done(&l);
		assert_string_equal(g.text, "one|two is longer|three|last|");
	}
}

static void a_line_that_is_too_long_is_passed_over_alone(void **state)
{
	struct got g = {0};
	struct lines l;

	lines_init(&l, 8);
	lines_add(&l, "ok\n0123456789", 13, on_line, &g);
	lines_add(&l, "0123456789\nfine\n", 16, on_line, &g);
	lines_end(&l, on_line, &g);
	assert_string_equal(g.text, "ok|fine|");
	assert_int_equal(l.skipped, 1);
	lines_done(&l);
}

/* ---- promises ---- */

static void check_promise(const char *text, enum last_words_kind kind, const char *words)
{
	struct last_words p;

	last_words_find(text, &p);
	assert_int_equal(p.kind, kind);
	if (words)
		assert_string_equal(p.text, words);
	else
		assert_null(p.text);
	last_words_done(&p);
}

static void a_promise_counts_only_alone_on_its_line(void **state)
{
	check_promise("All done.\n<promise>COMPLETE</promise>", LAST_WORDS_COMPLETE, NULL);
	check_promise("  <promise> COMPLETE </promise>\t\r\nbye", LAST_WORDS_COMPLETE, NULL);
	check_promise("I would say <promise>COMPLETE</promise>", LAST_WORDS_NONE, NULL);
	check_promise("<promise>COMPLETE</promise> soon", LAST_WORDS_NONE, NULL);
	check_promise("<promise>COMPLETELY</promise>", LAST_WORDS_NONE, NULL);
	check_promise("<promise>COMPLETE", LAST_WORDS_NONE, NULL);
	check_promise("<promise></promise>", LAST_WORDS_NONE, NULL);
	check_promise("", LAST_WORDS_NONE, NULL);
	check_promise(NULL, LAST_WORDS_NONE, NULL);
}

static void reasons_and_questions_are_kept(void **state)
{
	check_promise("<promise>BLOCKED: no network </promise>", LAST_WORDS_BLOCKED, "no network");
	check_promise("<promise>DECIDE:SQLite or Postgres?</promise>", LAST_WORDS_DECIDE,
		      "SQLite or Postgres?");
	check_promise("<promise>BLOCKED:</promise>", LAST_WORDS_BLOCKED, NULL);
	check_promise("<promise>BLOCKED:a</promise>\n<promise>COMPLETE</promise>",
		      LAST_WORDS_COMPLETE, NULL);
}

/* ---- what is shown ---- */

static void on_part(void *arg, enum render_kind kind, const char *text)
{
	static const char *const marks[] = {"| ", "", "failed: ", "! "};

	(void)buf_printf(arg, "%s%s\n", marks[kind], text);
}

/* Lines of the stream, and all that is shown of them. */
static void check_parts(const char *agent, const char *lines, const char *want)
{
	cleanup_buf struct buf b;
	struct render r;

	buf_init(&b, 64 * KiB);
	render_init(&r);
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		render_line(&r, agent_find(agent)->stream, lines, n, on_part, &b);
		lines += n + (lines[n] == '\n');
	}
	render_end(&r, on_part, &b);
	render_done(&r);
	assert_string_equal(buf_str(&b), want);
}

static void check_call(const char *agent, const char *line, const char *want)
{
	check_parts(agent, line, want ? want : "");
}

static void calls_of_tools_are_one_line(void **state)
{
	check_call("claude",
		   "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
		   "\"hm\"},{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"description\":"
		   "\"d\",\"command\":\"npm test\\n&& ls\"}},{\"type\":\"tool_use\",\"name\":"
		   "\"Read\",\"input\":{}}]}}",
		   "| hm\nBash  npm test && ls\nRead\n");
	check_call("claude",
		   "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\"}]}}",
		   NULL);
	check_call("claude", "{\"type\":\"assistant\",\"message\":{\"cont", NULL);
	check_call("codex",
		   "{\"type\":\"item.started\",\"item\":{\"type\":\"command_execution\","
		   "\"command\":\"ls\"}}",
		   "command_execution  ls\n");
	check_call("codex",
		   "{\"type\":\"item.started\",\"item\":{\"type\":\"mcp_tool_call\",\"tool\":"
		   "\"find\",\"arguments\":{\"query\":\"x\"}}}",
		   "find  x\n");
	check_call("gemini",
		   "{\"type\":\"tool_use\",\"tool_name\":\"read_file\",\"parameters\":{\"path\":"
		   "\"a\"}}",
		   "read_file  a\n");
	check_call("opencode",
		   "{\"type\":\"tool_use\",\"part\":{\"tool\":\"bash\",\"state\":{\"input\":"
		   "{\"command\":\"ls\"}}}}",
		   "bash  ls\n");
	check_call("copilot",
		   "{\"type\":\"tool.execution_start\",\"data\":{\"toolName\":\"view\","
		   "\"arguments\":{\"path\":\"a\"}}}",
		   "view  a\n");
	check_call("command", "{\"type\":\"tool_use\"}", NULL);
}

static void words_are_shown_between_tools_and_failed_calls_by_their_tool(void **state)
{
	check_parts("claude",
		    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
		    "\"First\\nI look.\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"Bash\","
		    "\"input\":{\"command\":\"exit 3\"}},{\"type\":\"tool_use\",\"id\":\"b\","
		    "\"name\":\"Read\"}]}}\n"
		    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
		    "\"tool_use_id\":\"b\",\"content\":\"fine\"},{\"type\":\"tool_result\","
		    "\"is_error\":true,\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\","
		    "\"text\":\"Exit code 3\\nno\"}]},{\"type\":\"text\",\"text\":\"prompt\"}]}}",
		    "| First\nI look.\nBash  exit 3\nRead\nfailed: Bash  exit 3: Exit code 3 no\n");
	check_parts("codex",
		    "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":"
		    "\"hm\"}}\n"
		    "{\"type\":\"item.started\",\"item\":{\"id\":\"i\",\"type\":"
		    "\"command_execution\",\"command\":\"ls\"}}\n"
		    "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":"
		    "\"command_execution\",\"status\":\"failed\",\"aggregated_output\":\"gone\"}}",
		    "| hm\ncommand_execution  ls\nfailed: command_execution  ls: gone\n");
	check_parts("gemini",
		    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Wri\",\"delta\":"
		    "true}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"ting\","
		    "\"delta\":true}\n"
		    "{\"type\":\"message\",\"role\":\"user\",\"content\":\"prompt\"}\n"
		    "{\"type\":\"tool_use\",\"tool_id\":\"x\",\"tool_name\":\"write\"}\n"
		    "{\"type\":\"tool_result\",\"tool_id\":\"x\",\"status\":\"error\",\"error\":"
		    "{\"message\":\"denied\"}}",
		    "| Writing\nwrite\nfailed: write: denied\n");
	check_parts("copilot",
		    "{\"type\":\"assistant.message\",\"data\":{\"content\":\"\"}}\n"
		    "{\"type\":\"assistant.message\",\"data\":{\"content\":\"so\"}}\n"
		    "{\"type\":\"tool.execution_complete\",\"data\":{\"toolCallId\":\"x\","
		    "\"success\":false,\"result\":{\"content\":\"bad\"}}}",
		    "| so\nfailed: a tool: bad\n");
	check_parts("opencode",
		    "{\"type\":\"text\",\"part\":{\"text\":\"so\"}}\n"
		    "{\"type\":\"tool_use\",\"part\":{\"callID\":\"c\",\"tool\":\"bash\",\"state\":"
		    "{\"status\":\"error\",\"input\":{\"command\":\"ls\"},\"error\":\"bad\"}}}",
		    "| so\nbash  ls\nfailed: bash  ls: bad\n");
}

static void words_of_the_result_are_not_shown_twice(void **state)
{
	static const char line[] = "{\"type\":\"text\",\"part\":{\"text\":\"all done\"}}";
	cleanup_buf struct buf b;
	struct render r;

	buf_init(&b, 64 * KiB);
	render_init(&r);
	assert_false(render_shown(&r, "all done"));
	render_line(&r, agent_find("opencode")->stream, line, strlen(line), on_part, &b);
	assert_true(render_shown(&r, "all done"));
	assert_false(render_shown(&r, "something else"));
	render_done(&r);
}

static void check_notice(const char *agent, const char *line, const char *want)
{
	cleanup_free char *marked = want ? xasprintf("! %s\n", want) : xstrdup("");

	check_parts(agent, line, marked);
}

static void refusals_and_a_full_context_are_shown(void **state)
{
	check_notice("claude",
		     "{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":529,"
		     "\"attempt\":1,\"max_retries\":10}",
		     "the provider refused (529), attempt 1 of 10");
	check_notice("claude", "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}",
		     "its context was full and was made shorter");
	check_notice("claude", "{\"type\":\"system\",\"subtype\":\"init\"}", NULL);
	check_notice("claude", "{\"type\":\"result\"}", NULL);
	check_notice("codex", "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}", NULL);
	check_notice("command", "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}", NULL);
}

static void every_stream_is_known_by_what_it_begins_with(void **state)
{
	for (const char *const *name = agent_programs; *name; name++) {
		const struct agent_stream *s = agent_find(*name)->stream;
		cleanup_free char *line = xasprintf("{\"type\":\"%s\"}", s->marks[0]);

		assert_ptr_equal(agent_stream_find(line, strlen(line)), s);
	}
	assert_null(agent_stream_find("{\"type\":\"other\"}", 16));
}

static void a_command_that_speaks_as_claude_is_known_by_its_lines(void **state)
{
	static const char yes[] = "{\"type\":\"system\",\"subtype\":\"init\"}";
	static const char no[] = "{\"type\":\"other\"}", plain[] = "hello";

	assert_true(agent_stream_is(agent_find("claude")->stream, yes, sizeof(yes) - 1));
	assert_false(agent_stream_is(agent_find("claude")->stream, no, sizeof(no) - 1));
	assert_false(agent_stream_is(agent_find("claude")->stream, plain, sizeof(plain) - 1));
}

/* ---- limits ---- */

static void check_limit(struct loop_limits l, struct loop_used u, const char *want)
{
	cleanup_free char *which = limits_reached(&l, &u);

	if (want)
		assert_string_equal(which, want);
	else
		assert_null(which);
}

static void a_limit_is_reached_at_its_number_and_zero_is_none(void **state)
{
	check_limit((struct loop_limits){0}, (struct loop_used){1000000, 1000000, 1000000}, NULL);
	check_limit((struct loop_limits){.iterations = 2}, (struct loop_used){1, 0, 0}, NULL);
	check_limit((struct loop_limits){.iterations = 2}, (struct loop_used){2, 0, 0},
		    "2 iterations");
	check_limit((struct loop_limits){.micro_usd = 1500000}, (struct loop_used){0, 1499999, 0},
		    NULL);
	check_limit((struct loop_limits){.micro_usd = 1500000}, (struct loop_used){0, 1500000, 0},
		    "a cost of $1.50");
	check_limit((struct loop_limits){.duration_ms = 60000}, (struct loop_used){0, 0, 60000},
		    "60 s of work");
}

static void what_is_left_of_a_limit_is_never_more_than_it(void **state)
{
	const struct loop_limits l = {.iterations = 5, .micro_usd = 100};
	struct loop_used left = limits_left(&l, &(struct loop_used){2, 100, 9});

	assert_int_equal(left.iterations, 3);
	assert_int_equal(left.micro_usd, 0);
	assert_int_equal(left.active_ms, 0);
	left = limits_left(&l, &(struct loop_used){7, 99, 0});
	assert_int_equal(left.iterations, 0); /* more was used than is allowed */
	assert_int_equal(left.micro_usd, 1);
}

static void a_wait_ends_a_little_after_the_announced_time(void **state)
{
	for (uint64_t random = 0; random < 200; random++) {
		uint64_t until = limits_wait_until(1000, 4600, random);

		assert_true(until > 4600 && until <= 4600 + 1 + WAIT_JITTER_S);
		assert_true(limits_wait_until(1000, 1003, random) <= 1005);
	}
	assert_true(limits_wait_until(1000, 0, 7) >= 1000 + WAIT_UNKNOWN_S);
	assert_true(limits_wait_until(1000, 10, 7) >= 1000);
	/* Somebody's wrong number must not put the loop to sleep for years. */
	assert_true(limits_wait_until(1000, UINT64_MAX, 7) < 1000 + WAIT_MAX_S);
}

static void an_outage_is_waited_for_longer_each_time_up_to_its_end(void **state)
{
	uint64_t random = 0; /* no more than the step itself */

	assert_int_equal(limits_outage_until(1000, 1000, 1, 0, random), 1002);
	assert_int_equal(limits_outage_until(1000, 1000, 2, 0, random), 1004);
	assert_int_equal(limits_outage_until(1000, 1000, 5, 0, random), 1032);
	assert_int_equal(limits_outage_until(1000, 1000, 50, 0, random), 1000 + OUTAGE_STEP_S);
	assert_int_equal(limits_outage_until(1000, 1000, UINT64_MAX, 0, random),
			 1000 + OUTAGE_STEP_S);
	/* The last wait ends with the time, and then there is none. */
	assert_int_equal(limits_outage_until(1000, 990, 4, 12, random), 1002);
	assert_int_equal(limits_outage_until(1002, 990, 5, 12, random), 0);
	/* A clock that was set back. */
	assert_int_equal(limits_outage_until(500, 990, 1, 12, random), 502);
	for (random = 0; random < 100; random++)
		assert_true(limits_outage_until(1000, 1000, 50, 0, random) <=
			    1000 + OUTAGE_STEP_S + OUTAGE_STEP_S / 10);
}

static uint64_t away(enum verdict v, uint64_t resets_at, uint64_t since, bool no_wait)
{
	const struct fallback_facts f = {v, 10000, resets_at, since, 900, no_wait};

	return fallback_until(&f);
}

static void another_agent_goes_on_only_when_the_wait_is_long(void **state)
{
	assert_int_equal(away(VERDICT_DONE, 0, 0, false), 0);
	assert_int_equal(away(VERDICT_LIMITED, 10900, 0, false), 0);
	assert_int_equal(away(VERDICT_LIMITED, 10901, 0, false), 10901);
	/* An unknown end, and one that is not believed. */
	assert_int_equal(away(VERDICT_LIMITED, 0, 0, false), 10000 + WAIT_UNKNOWN_S);
	assert_int_equal(away(VERDICT_LIMITED, UINT64_MAX, 0, false), 10000 + WAIT_UNKNOWN_S);
	assert_int_equal(away(VERDICT_LIMITED, 10002, 0, true), 10002);
	assert_int_equal(away(VERDICT_OUTAGE, 0, 9101, false), 0);
	assert_int_equal(away(VERDICT_OUTAGE, 0, 9100, false), 10900);
	/* The clock was set back. */
	assert_int_equal(away(VERDICT_OUTAGE, 0, 20000, false), 0);
	assert_int_equal(away(VERDICT_OUTAGE, 0, 10000, true), 10900);
	assert_int_equal(away(VERDICT_CREDENTIAL, 0, 0, false), 10900);
}

static void the_first_agent_that_is_not_away_works(void **state)
{
	static const uint64_t times[] = {200, 100, 0};

	assert_int_equal(fallback_first(times, 3, 50), 2);
	assert_int_equal(fallback_first(times, 3, 100), 1);
	assert_int_equal(fallback_first(times, 3, 200), 0);
	assert_int_equal(fallback_first(times, 2, 50), 2);
}

static void as_many_slots_fit_as_the_scarcest_resource_allows(void **state)
{
	static const struct {
		struct room room;
		uint64_t slots;
		const char *what;
	} rows[] = {
		{{1000, 1000, 1000, 10, 10, 10}, 100, "memory"},
		{{1000, 90, 1000, 10, 10, 10}, 9, "disk space"},
		{{1000, 1000, 39, 10, 10, 10}, 3, "the limit of open files"},
		{{20000, 20000, 20000, 10, 10, 10}, 2000, "memory"},
		/* One task at a time is always possible: it has no worker. */
		{{0, 1000, 1000, 10, 10, 10}, 1, "memory"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *what = NULL;

		assert_int_equal(room_slots(&rows[i].room, &what), rows[i].slots);
		assert_string_equal(what, rows[i].what);
	}
}

static void memory_is_read_from_its_line(void **state)
{
	static const char text[] = "MemTotal:  100 kB\nMemAvailable:    7 kB\n";

	assert_int_equal(room_meminfo(text, "MemAvailable:"), 7 * KiB);
	assert_int_equal(room_meminfo(text, "SwapFree:"), 0);
	assert_int_equal(
		room_meminfo("MemAvailable: 99999999999999999999999999 kB", "MemAvailable:"), 0);
	assert_int_equal(room_meminfo("MemAvailable:", "MemAvailable:"), 0);
}

static void the_reserve_of_the_week_is_left_alone(void **state)
{
	assert_false(limits_reserve_reached(0, 100));
	assert_false(limits_reserve_reached(20, 79));
	assert_true(limits_reserve_reached(20, 80));
	assert_false(limits_reserve_reached(20, 0));
}

#define KEY "0123456789abcdef0123456789abcdef"

/* 'a': approves, 'c': asks for changes, 'n': no answer. */
static char answer(const char *text)
{
	cleanup_(review_answer_done) struct review_answer a = {0};

	return !review_answer_read(text, KEY, &a) ? 'n' : a.approves ? 'a' : 'c';
}

static void only_the_last_line_with_the_key_of_its_review_is_an_answer(void **state)
{
	static const char yes[] = "{\"review\":\"" KEY "\",\"verdict\":\"approve\",\"reasons\":[]}";
	static const char no[] =
		"{\"review\":\"" KEY "\",\"verdict\":\"changes\",\"reasons\":[\"x\"]}";
	cleanup_free char *fenced = xasprintf("Well.\n```json\n%s\n```\n\n", yes);
	cleanup_free char *both = xasprintf("%s\n%s", yes, no);
	cleanup_free char *before = xasprintf("%s\nThat is what the diff says.", yes);
	cleanup_free char *within = xasprintf("It is %s", yes);

	assert_int_equal(answer(yes), 'a');
	assert_int_equal(answer(no), 'c');
	assert_int_equal(answer(fenced), 'a');
	assert_int_equal(answer(both), 'c');
	assert_int_equal(answer(before), 'n');
	assert_int_equal(answer(within), 'n');
	assert_int_equal(answer(NULL), 'n');
	assert_int_equal(answer(""), 'n');
	assert_int_equal(answer("approve"), 'n');
}

static void an_answer_of_another_form_is_none(void **state)
{
	static const char *const bad[] = {
		"{\"review\":\"ffffffffffffffffffffffffffffffff\",\"verdict\":\"approve\","
		"\"reasons\":[]}",
		"{\"verdict\":\"approve\",\"reasons\":[]}",
		"{\"review\":\"" KEY "\",\"verdict\":\"approve\"}",
		"{\"review\":\"" KEY "\",\"verdict\":\"Approve\",\"reasons\":[]}",
		"{\"review\":\"" KEY "\",\"verdict\":true,\"reasons\":[]}",
		"{\"review\":\"" KEY "\",\"verdict\":\"changes\",\"reasons\":[]}",
		"{\"review\":\"" KEY "\",\"verdict\":\"changes\",\"reasons\":[1]}",
		"{\"review\":\"" KEY "\",\"verdict\":\"approve\",\"reasons\":[],\"more\":1}",
		"{\"review\":\"" KEY
		"\",\"verdict\":\"approve\",\"verdict\":\"changes\",\"reasons\":[]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(answer(bad[i]), 'n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_last_line_with_the_key_of_its_review_is_an_answer),
		cmocka_unit_test(an_answer_of_another_form_is_none),
		cmocka_unit_test(an_outage_is_waited_for_longer_each_time_up_to_its_end),
		cmocka_unit_test(lines_are_the_same_in_whatever_pieces_they_come),
		cmocka_unit_test(a_line_that_is_too_long_is_passed_over_alone),
		cmocka_unit_test(a_promise_counts_only_alone_on_its_line),
		cmocka_unit_test(reasons_and_questions_are_kept),
		cmocka_unit_test(calls_of_tools_are_one_line),
		cmocka_unit_test(words_are_shown_between_tools_and_failed_calls_by_their_tool),
		cmocka_unit_test(words_of_the_result_are_not_shown_twice),
		cmocka_unit_test(refusals_and_a_full_context_are_shown),
		cmocka_unit_test(every_stream_is_known_by_what_it_begins_with),
		cmocka_unit_test(a_command_that_speaks_as_claude_is_known_by_its_lines),
		cmocka_unit_test(a_limit_is_reached_at_its_number_and_zero_is_none),
		cmocka_unit_test(what_is_left_of_a_limit_is_never_more_than_it),
		cmocka_unit_test(a_wait_ends_a_little_after_the_announced_time),
		cmocka_unit_test(another_agent_goes_on_only_when_the_wait_is_long),
		cmocka_unit_test(the_first_agent_that_is_not_away_works),
		cmocka_unit_test(as_many_slots_fit_as_the_scarcest_resource_allows),
		cmocka_unit_test(memory_is_read_from_its_line),
		cmocka_unit_test(the_reserve_of_the_week_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
