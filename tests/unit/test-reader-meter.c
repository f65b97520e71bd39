#include "tests.h"

#include "base/text/base64.h"
#include "reader/parse/meter.h"

#include <endian.h>
#include <stdio.h>

struct expected {
	const char *model;
	uint64_t input, output, cache_read, cache_write;
};

static void counts(enum meter_form form, const char *p, size_t n, const struct expected *e)
{
	for (size_t step = 1; step <= n; step = step < 40 ? step + 1 : step * 2) {
		struct meter_sum s;
		struct meter m;

		meter_init(&m, form);
		for (size_t at = 0; at < n; at += step) {
			size_t part = n - at < step ? n - at : step;
			cleanup_free char *piece = xmalloc(part);

			memcpy(piece, p + at, part);
			meter_feed(&m, piece, part);
		}
		s = meter_sum(&m);
		if (!streq(m.model, e->model) || s.input != e->input || s.output != e->output ||
		    s.cache_read != e->cache_read || s.cache_write != e->cache_write)
			fail_msg("by %zu: '%s' %lu %lu %lu %lu, not '%s' %lu %lu %lu %lu", step,
				 m.model, s.input, s.output, s.cache_read, s.cache_write, e->model,
				 e->input, e->output, e->cache_read, e->cache_write);
		meter_done(&m);
	}
}

static void text(enum meter_form form, const char *s, const struct expected *e)
{
	counts(form, s, strlen(s), e);
}

#define START                                                                                      \
	"{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude-opus-5-5\","     \
	"\"content\":[],\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":100,"       \
	"\"cache_read_input_tokens\":1000,\"cache_creation\":{\"input_tokens\":7},"                \
	"\"output_tokens\":1}}}"
#define DELTA                                                                                      \
	"{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\\\"usage\\\":{\","               \
	"\"usage\":{\"output_tokens\":99}}}"
#define STOP                                                                                       \
	"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":"          \
	"{\"output_tokens\":42}}"

static void anthropic_is_counted_in_events_and_whole(void **state)
{
	const struct expected e = {"claude-opus-5-5", 10, 42, 1000, 100};

	text(METER_SSE,
	     "event: message_start\ndata: " START "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"
	     "event: content_block_delta\ndata: " DELTA "\n\nevent: message_delta\ndata: " STOP
	     "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	     &e);
	text(METER_SSE, "data: " START "\r\n\r\ndata:" STOP "\r\n\r\n", &e);
	text(METER_JSON,
	     "{\"id\":\"m\",\"model\":\"claude-opus-5-5\",\"content\":[{\"usage\":{\"input_"
	     "tokens\":"
	     "5}}],\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":100,"
	     "\"cache_read_input_tokens\":1000,\"output_tokens\":42}}",
	     &e);
}

static void openai_is_counted_in_events_and_whole(void **state)
{
	const struct expected e = {"gpt-5.5-codex", 600, 50, 400, 0};

	text(METER_SSE,
	     "event: response.created\ndata: "
	     "{\"type\":\"response.created\",\"response\":{\"model\":"
	     "\"gpt-5.5-codex\",\"usage\":null}}\n\n"
	     "data: {\"type\":\"response.completed\",\"response\":{\"model\":\"gpt-5.5-codex\","
	     "\"output\":[{\"a\":[1,2]}],\"usage\":{\"input_tokens\":1000,\"input_tokens_details\":"
	     "{\"cached_tokens\":400},\"output_tokens\":50,\"output_tokens_details\":"
	     "{\"reasoning_tokens\":10},\"total_tokens\":1050}}}\n\n",
	     &e);
	text(METER_JSON,
	     "{\"model\":\"gpt-5.5-codex\",\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":"
	     "50,\"prompt_tokens_details\":{\"cached_tokens\":400}}}",
	     &e);
}

#define GEMINI(out)                                                                                \
	"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}],\"usageMetadata\":"        \
	"{\"promptTokenCount\":1000,\"candidatesTokenCount\":" out                                 \
	",\"thoughtsTokenCount\":10,\"cachedContentTokenCount\":400,\"totalTokenCount\":1},"       \
	"\"modelVersion\":\"gemini-3-pro\"}"

static void gemini_is_counted_in_events_lists_and_whole(void **state)
{
	const struct expected e = {"gemini-3-pro", 600, 60, 400, 0};

	text(METER_SSE, "data: " GEMINI("1") "\r\n\r\ndata: " GEMINI("50") "\r\n\r\n", &e);
	text(METER_JSON, "[" GEMINI("1") "\n,\r\n" GEMINI("50") "]", &e);
	text(METER_JSON, GEMINI("50"), &e);
	text(METER_SSE, "data: {\"response\":" GEMINI("50") ",\"traceId\":\"t\"}\n\n", &e);
}

static void put_payload(struct buf *b, const char *payload)
{
	static const char head[] = "\x0b:event-type\x07\x00\x05"
				   "chunk";
	uint32_t n[2];

	n[0] = htobe32((uint32_t)(16 + sizeof(head) - 1 + strlen(payload)));
	n[1] = htobe32(sizeof(head) - 1);
	(void)buf_append(b, n, 8);
	(void)buf_append(b, "CRCC", 4);
	(void)buf_append(b, head, sizeof(head) - 1);
	(void)buf_puts(b, payload);
	(void)buf_append(b, "CRCC", 4);
}

static void put_frame(struct buf *b, const char *event)
{
	cleanup_buf struct buf payload;

	buf_init(&payload, 64 * KiB);
	(void)buf_puts(&payload, "{\"p\":\"abc\",\"bytes\":\"");
	base64_put(&payload, event, strlen(event));
	(void)buf_puts(&payload, "\"}");
	put_payload(b, buf_str(&payload));
}

static void bedrocks_converse_is_counted_in_frames_and_whole(void **state)
{
	const struct expected e = {"", 10, 42, 7, 8};
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	put_payload(&b, "{\"contentBlockDelta\":{\"usage\":{\"inputTokens\":99}}}");
	put_payload(&b, "{\"metrics\":{},\"usage\":{\"inputTokens\":10,\"outputTokens\":42,"
			"\"cacheReadInputTokens\":7,\"cacheWriteInputTokens\":8}}");
	counts(METER_AWS, b.data, b.len, &e);
	text(METER_JSON,
	     "{\"output\":{},\"usage\":{\"inputTokens\":10,\"outputTokens\":42,"
	     "\"cacheReadInputTokens\":7,\"cacheWriteInputTokens\":8,\"totalTokens\":52}}",
	     &e);
}

static void bedrock_frames_are_counted(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	put_frame(&b, START);
	put_frame(&b, DELTA);
	put_frame(&b, STOP);
	put_frame(&b, "{\"type\":\"message_stop\",\"amazon-bedrock-invocationMetrics\":"
		      "{\"inputTokenCount\":10,\"outputTokenCount\":42,\"latency\":5}}");
	counts(METER_AWS, b.data, b.len, &(struct expected){"claude-opus-5-5", 10, 42, 1000, 100});
}

static void the_end_of_a_bedrock_frame_is_known(void **state)
{
	cleanup_buf struct buf b;
	struct meter m;

	buf_init(&b, MiB);
	put_frame(&b, DELTA);
	meter_init(&m, METER_AWS);
	for (size_t i = 0; i < b.len; i++) {
		meter_feed(&m, b.data + i, 1);
		assert_int_equal(meter_between(&m), i == b.len - 1);
	}
	meter_done(&m);
}

static void what_is_no_usage_counts_nothing(void **state)
{
	static const struct {
		enum meter_form form;
		const char *text;
	} rows[] = {
		{METER_JSON, "not json"},
		{METER_JSON, "{\"usage\":{\"input_tokens\":-5,\"output_tokens\":1.5}}"},
		{METER_JSON, "{\"usage\":{\"input_tokens\":99999999999999999999}}"},
		{METER_JSON, "{\"usage\":{\"input_tokens\":2000000000000000}}"},
		{METER_JSON,
		 "{\"usage\":[{\"input_tokens\":5}],\"a\":{\"usage\":{\"input_tokens\":5}}}"},
		{METER_JSON, "[[{\"usage\":{\"input_tokens\":5}}]]"},
		{METER_SSE, "id: {\"usage\":{\"input_tokens\":5}}\n\n"},
		{METER_SSE, "dat: {\"usage\":{\"input_tokens\":5}}\n\n"},
		{METER_AWS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff{}"},
		{METER_NONE, "{\"usage\":{\"input_tokens\":5}}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		text(rows[i].form, rows[i].text, &(struct expected){"", 0, 0, 0, 0});
}

static void the_form_is_told_by_the_content_type(void **state)
{
	assert_int_equal(meter_form(slice_of("application/json")), METER_JSON);
	assert_int_equal(meter_form(slice_of("Application/JSON; charset=utf-8")), METER_JSON);
	assert_int_equal(meter_form(slice_of("text/event-stream;charset=utf-8")), METER_SSE);
	assert_int_equal(meter_form(slice_of("application/vnd.amazon.eventstream")), METER_AWS);
	assert_int_equal(meter_form(slice_of("text/html")), METER_NONE);
	assert_int_equal(meter_form((struct slice){0}), METER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anthropic_is_counted_in_events_and_whole),
		cmocka_unit_test(openai_is_counted_in_events_and_whole),
		cmocka_unit_test(gemini_is_counted_in_events_lists_and_whole),
		cmocka_unit_test(bedrock_frames_are_counted),
		cmocka_unit_test(bedrocks_converse_is_counted_in_frames_and_whole),
		cmocka_unit_test(the_end_of_a_bedrock_frame_is_known),
		cmocka_unit_test(what_is_no_usage_counts_nothing),
		cmocka_unit_test(the_form_is_told_by_the_content_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
