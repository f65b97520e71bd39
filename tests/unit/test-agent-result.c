#include "tests.h"

#include "agent/result.h"

/* Lines as the programs print them, cut to what is read. */
static void feed(struct agent_result *r, const struct agent_stream *f, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		agent_result_line(r, f, text, n);
		text += n + (text[n] == '\n');
	}
}

#define STREAM(name) (agent_find(#name)->stream)

#define READ(name, text)                                                                           \
	cleanup_(agent_result_done) struct agent_result r;                                         \
	agent_result_init(&r);                                                                     \
	feed(&r, STREAM(name), text)

static void claude_says_its_result_cost_and_tokens(void **state)
{
	READ(claude, "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}\n"
		     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":"
		     "\"first\"}\n"
		     "{\"total_cost_usd\":0.004350000000000001,\"usage\":{\"input_tokens\":50,"
		     "\"output_tokens\":250,\"cache_read_input_tokens\":5000,"
		     "\"cache_creation_input_tokens\":500},\"num_turns\":5,\"session_id\":\"s1\","
		     "\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\","
		     "\"result\":\"All \\\"done\\\".\",\"type\":\"result\"}\n");
	assert_true(agent_result_ok(&r, STREAM(claude), 0));
	assert_false(agent_result_ok(&r, STREAM(claude), 1));
	assert_string_equal(r.session, "s1");
	assert_string_equal(r.text, "All \"done\".");
	assert_int_equal(r.micro_usd, 4350);
	assert_int_equal(r.turns, 5);
	assert_int_equal(r.input, 50);
	assert_int_equal(r.cache_read, 5000);
	assert_false(r.limited);
}

static void claudes_limit_is_a_success_that_failed(void **state)
{
	READ(claude, "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\","
		     "\"resetsAt\":1794772536}}\n"
		     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
		     "\"api_error_status\":429,\"terminal_reason\":\"api_error\","
		     "\"api_error\":\"usage_limit_reached\",\"result\":\"You've hit\"}\n");
	assert_false(agent_result_ok(&r, STREAM(claude), 0));
	assert_true(r.seen && r.failed && r.limited);
	assert_int_equal(r.resets_at, 1794772536);
	assert_int_equal(r.status, 429);
	assert_string_equal(r.reason, "usage_limit_reached");
}

static void a_provider_without_an_answer_is_told_from_other_failures(void **state)
{
	READ(claude,
	     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
	     "\"terminal_reason\":\"api_error\",\"result\":\"API Error: Connection error.\"}\n");
	assert_true(r.unreached);
	feed(&r, STREAM(claude),
	     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
	     "\"terminal_reason\":\"api_error\",\"api_error_status\":529}");
	assert_false(r.unreached);
	assert_int_equal(r.status, 529);
	feed(&r, STREAM(claude),
	     "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,"
	     "\"terminal_reason\":\"max_turns\"}");
	assert_false(r.unreached);
	feed(&r, STREAM(codex),
	     "{\"type\":\"turn.failed\",\"error\":{\"message\":\"stream "
	     "disconnected before completion: x\"}}");
	assert_true(r.unreached && !r.limited);
	feed(&r, STREAM(codex),
	     "{\"type\":\"turn.failed\",\"error\":{\"message\":\"unexpected status 400: x\"}}");
	assert_false(r.unreached);
	feed(&r, STREAM(opencode),
	     "{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{"
	     "\"statusCode\":503}}}");
	assert_int_equal(r.status, 503);
}

static void a_run_that_was_interrupted_is_no_success(void **state)
{
	READ(claude, "{\"type\":\"assistant\",\"message\":{\"usage\":{\"output_tokens\":1}}}\n");
	assert_false(agent_result_ok(&r, STREAM(claude), 0));
}

static void codex_says_its_tokens_and_failures(void **state)
{
	READ(codex, "{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n"
		    "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":"
		    "\"Done.\"}}\n"
		    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":3000,"
		    "\"cached_input_tokens\":1200,\"output_tokens\":150}}\n");
	assert_true(agent_result_ok(&r, STREAM(codex), 0));
	assert_string_equal(r.text, "Done.");
	assert_int_equal(r.input, 1800);
	assert_int_equal(r.cache_read, 1200);
	feed(&r, STREAM(codex),
	     "{\"type\":\"turn.failed\",\"error\":{\"message\":\"You've hit your usage limit.\"}}");
	assert_false(agent_result_ok(&r, STREAM(codex), 1));
	assert_true(r.limited);
}

static void gemini_and_opencode_say_theirs(void **state)
{
	READ(gemini,
	     "{\"type\":\"init\",\"session_id\":\"g1\"}\n"
	     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Done.\",\"delta\":true}\n"
	     "{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"output_tokens\":200,"
	     "\"cached\":1600,\"input\":2400}}\n");
	assert_true(agent_result_ok(&r, STREAM(gemini), 0));
	assert_int_equal(r.input, 2400);
	assert_string_equal(r.text, "Done.");
	agent_result_done(&r);
	feed(&r, STREAM(opencode),
	     "{\"type\":\"step_finish\",\"sessionID\":\"o1\",\"part\":{\"reason\":\"tool-calls\","
	     "\"tokens\":{\"input\":10,\"output\":50},\"cost\":0.001455}}\n"
	     "{\"type\":\"step_finish\",\"sessionID\":\"o1\",\"part\":{\"reason\":\"stop\","
	     "\"tokens\":{\"input\":10,\"output\":50},\"cost\":0.001}}\n");
	assert_true(agent_result_ok(&r, STREAM(opencode), 0));
	assert_int_equal(r.micro_usd, 2455);
	assert_int_equal(r.output, 100);
	feed(&r, STREAM(opencode),
	     "{\"type\":\"text\",\"part\":{\"text\":\"Hm.\"}}\n"
	     "{\"type\":\"error\",\"error\":{\"name\":\"APIError\"}}\n");
	assert_string_equal(r.text, "Hm.");
	assert_true(r.failed);
	assert_string_equal(r.reason, "APIError");
}

static void copilot_says_whether_it_failed(void **state)
{
	READ(copilot, "{\"type\":\"assistant.message\",\"data\":{\"content\":\"Done.\"}}\n"
		      "{\"type\":\"assistant.turn_end\",\"data\":{\"turnId\":\"0\"}}\n"
		      "{\"type\":\"result\",\"sessionId\":\"c1\",\"exitCode\":0}\n");
	assert_true(agent_result_ok(&r, STREAM(copilot), 0));
	assert_string_equal(r.text, "Done.");
	assert_string_equal(r.session, "c1");
	feed(&r, STREAM(copilot), "{\"type\":\"result\",\"exitCode\":1}");
	assert_true(r.failed);
}

static void lines_that_are_torn_or_nonsense_are_passed_over(void **state)
{
	READ(claude, "\n{\n[1]\nnull\n\"type\"\n{\"type\":1}\n{\"type\":\"result\"\n"
		     "{\"type\":\"rate_limit_event\",\"rate_limit_info\":7}\n");
	assert_false(r.seen);
	feed(&r, STREAM(claude),
	     "{\"type\":\"result\",\"subtype\":\"success\",\"total_cost_usd\":-1,\"num_turns\":1e9,"
	     "\"usage\":[],\"result\":5,\"session_id\":{}}");
	assert_true(r.seen && !r.failed);
	assert_int_equal(r.micro_usd, 0);
	assert_null(r.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claude_says_its_result_cost_and_tokens),
		cmocka_unit_test(claudes_limit_is_a_success_that_failed),
		cmocka_unit_test(a_provider_without_an_answer_is_told_from_other_failures),
		cmocka_unit_test(a_run_that_was_interrupted_is_no_success),
		cmocka_unit_test(codex_says_its_tokens_and_failures),
		cmocka_unit_test(gemini_and_opencode_say_theirs),
		cmocka_unit_test(copilot_says_whether_it_failed),
		cmocka_unit_test(lines_that_are_torn_or_nonsense_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
