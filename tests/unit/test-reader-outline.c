#include "tests.h"

#include "base/buf.h"
#include "reader/parse/outline.h"

#include <string.h>

static const char *const some[] = {"web_search", "files"};

/* The tool that is refused, "bad" for a body that cannot be read, "" for one that passes; in pieces of
 * every size the same. */
static void reads(const char *body, const char *want)
{
	struct strv allowed = {0};
	size_t len = strlen(body);

	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		strv_push(&allowed, some[i]);
	for (size_t step = 1; step <= len + 1; step = step < 20 ? step + 1 : step * 3) {
		struct outline o;
		bool good = true;

		outline_init(&o, OUTLINE_MESSAGES, &allowed);
		for (size_t at = 0; good && at < len; at += step)
			good = outline_feed(&o, body + at, len - at < step ? len - at : step);
		good = good && outline_end(&o);
		if (good != (want[0] == '\0') || !streq(o.bad ? "bad" : o.refused, want))
			fail_msg("by %zu: %s is '%s', not '%s'", step, body,
				 o.bad ? "bad" : o.refused, want);
	}
	strv_done(&allowed);
}

static void tools_of_the_client_pass(void **state)
{
	reads("{}", "");
	reads("", "");
	reads("{\"tools\":[{\"name\":\"Bash\",\"description\":\"d\",\"input_schema\":{\"type\":"
	      "\"object\",\"properties\":{\"url\":{\"type\":\"url\"},\"tools\":[{\"type\":"
	      "\"web_fetch\"}]}},\"defer_loading\":true}]}",
	      "");
	reads("{\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}},{\"type\":"
	      "\"custom\",\"name\":\"c\",\"format\":{\"type\":\"grammar\"}},{\"type\":\"bash_"
	      "20250124\",\"name\":\"bash\"},{\"type\":\"tool_search\",\"execution\":\"client\"}]}",
	      "");
	reads("{\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\"}]},{\"toolSpec\":{}},"
	      "{\"cachePoint\":{}}]}",
	      "");
	reads("{\"input\":[{\"type\":\"additional_tools\",\"tools\":[{\"type\":\"namespace\","
	      "\"name\":\"n\",\"tools\":[{\"type\":\"custom\",\"name\":\"exec\"}]}]}]}",
	      "");
	reads("{\"mcp_servers\":[],\"tools\":[]}", "");
}

static void tools_of_the_provider_need_their_name(void **state)
{
	reads("{\"tools\":[{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}]}", "");
	reads("{\"tools\":[{\"name\":\"x\",\"type\":\"web_fetch_20250910\"}]}", "web_fetch");
	reads("{\"tools\":[{\"type\":\"custom\",\"type\":\"web_fetch_20250910\"}]}", "web_fetch");
	reads("{\"tools\":[{\"type\":\"web_fetch_20250910\",\"type\":\"custom\"}]}", "web_fetch");
	reads("{\"tools\":[],\"tools\":[{\"type\":\"code_interpreter\"}]}", "code_execution");
	reads("{\"tools\":[{\"type\":\"mcp\",\"server_url\":\"https://x\"}]}", "mcp_servers");
	reads("{\"mcp_servers\":[{\"url\":\"https://x\"}]}", "mcp_servers");
	reads("{\"tools\":[{\"type\":\"brand_new_20300101\",\"name\":\"x\"}]}", "brand_new");
	reads("{\"tools\":[{\"urlContext\":{}}]}", "web_fetch");
	reads("{\"tools\":[{\"url_context\":{}}]}", "web_fetch");
	reads("{\"tools\":[{\"functionDeclarations\":[],\"newThing\":{}}]}", "newThing");
	reads("{\"tools\":{\"codeExecution\":{}}}", "code_execution");
	reads("{\"request\":{\"tools\":[{\"urlContext\":{}}]}}", "web_fetch");
	reads("{\"toolConfig\":{\"tools\":[{\"systemTool\":{\"name\":\"nova_grounding\"}}]}}",
	      "system_tool");
	reads("{\"additionalModelRequestFields\":{\"tools\":[{\"type\":\"web_fetch_1\"}]}}",
	      "web_fetch");
	reads("{\"input\":[{\"tools\":[{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":"
	      "\"web_fetch\"}]}]}]}",
	      "web_fetch");
	reads("{\"prompt\":{\"id\":\"pmpt_1\"}}", "stored_prompts");
	reads("{\"web_search_options\":{}}", "");
}

static void urls_and_files_in_messages_are_found_and_data_is_not_looked_into(void **state)
{
	reads("{\"messages\":[{\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"url\","
	      "\"url\":\"https://x\"}}]}]}",
	      "url_sources");
	reads("{\"messages\":[{\"content\":[{\"type\":\"tool_result\",\"content\":[{\"source\":"
	      "{\"url\":\"https://x\",\"type\":\"url\"}}]}]}]}",
	      "url_sources");
	reads("{\"messages\":[{\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
	      "\"https://x\"}}]}]}",
	      "url_sources");
	reads("{\"input\":[{\"content\":[{\"type\":\"input_image\",\"image_url\":\"https://"
	      "x\"}]}]}",
	      "url_sources");
	reads("{\"input\":[{\"content\":[{\"type\":\"input_file\",\"file_url\":\"https://x\"}]}]}",
	      "url_sources");
	reads("{\"contents\":[{\"parts\":[{\"fileData\":{\"fileUri\":\"gs://x\"}}]}]}",
	      "url_sources");
	reads("{\"contents\":[{\"parts\":[{\"file_data\":{\"file_uri\":\"gs://x\"}}]}]}",
	      "url_sources");
	reads("{\"messages\":[{\"content\":[{\"image\":{\"source\":{\"s3Location\":{\"uri\":"
	      "\"s3://x\"}}}}]}]}",
	      "url_sources");
	reads("{\"messages\":[{\"content\":[{\"source\":{\"type\":\"file\",\"file_id\":\"f\"}}]}]}",
	      "");
	reads("{\"messages\":[{\"content\":[{\"image_url\":{\"url\":\"data:image/png;base64,AA\"},"
	      "\"type\":\"image_url\"},{\"type\":\"tool_use\",\"input\":{\"type\":\"url\",\"file_"
	      "uri\":\"x\"}},{\"functionCall\":{\"args\":{\"file_uri\":\"x\"}}},{\"type\":\"web_"
	      "search_result\",\"url\":\"https://x\"},\"say {\\\"type\\\":\\\"url\\\"}\"]}]}",
	      "");
}

static void other_spellings_are_the_same_or_refused(void **state)
{
	reads("{\"\\u0074ools\":[{\"t\\u0079pe\":\"web\\u005ffetch\"}]}", "web_fetch");
	reads("{\"messages\":[{\"source\":{\"\\u0074ype\":\"\\u0075rl\"}}]}", "url_sources");
	reads("{\"TOOLS\":[{\"Type\":\"Web_Fetch\"}]}", "web_fetch");
	reads("{\"to\\u0000ols\":1}", "bad");
	reads("{\"tools\xff\":1}", "bad");
	reads("{\"messages\":[{\"type\":\"url\xff\"}]}", "bad");
	reads("{tools:[]}", "bad");
	reads("{'tools':[]}", "bad");
	reads("{\"a\":1,}", "bad");
	reads("{\"a\":1}{\"tools\":[{\"type\":\"web_fetch\"}]}", "bad");
	reads("[{\"a\":1}]", "bad");
	reads("1", "bad");
	reads("{} 1", "bad");
	reads(" ", "bad");
	reads("{\"a\":1", "bad");
	reads("{\"a\":\"", "bad");
	reads("\xef\xbb\xbf{}", "bad");
	reads("a=1&b=2", "bad");
	reads("--x\r\nContent-Disposition: form-data", "bad");
	reads("\x1f\x8b\x08", "bad");
	reads("{\"max_tokens\":\"1\"}", "bad");
	reads("{\"max_tokens\":1e1}", "bad");
	reads("{\"n\":-1}", "bad");
	reads("{\"tools\":[\"web_fetch\"]}", "bad");
}

static void depth_and_length_do_not_help(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 4 * MiB);
	for (int i = 0; i < 200; i++)
		(void)buf_puts(&b, "{\"a\":");
	(void)buf_puts(&b, "1");
	for (int i = 0; i < 200; i++)
		(void)buf_puts(&b, "}");
	reads(buf_str(&b), "bad");
	buf_clear(&b);
	(void)buf_puts(&b, "{\"messages\":[\"");
	for (int i = 0; i < 20000; i++)
		(void)buf_puts(&b, "0123456789");
	(void)buf_puts(&b, "\"],\"tools\":[{\"type\":\"web_fetch\"}]}");
	reads(buf_str(&b), "web_fetch");
	buf_clear(&b);
	(void)buf_puts(&b, "{\"");
	for (int i = 0; i < 200; i++)
		(void)buf_puts(&b, "_");
	(void)buf_puts(&b, "tools\":[]}");
	reads(buf_str(&b), "bad");
	reads("{\"tools\":[{\"tools\":[{\"tools\":[{\"tools\":[{\"type\":\"web_fetch\"}]}]}]}]}",
	      "bad");
}

struct expected {
	bool limited;
	uint64_t output, answers, pictures;
	bool unseen, premium, two_models;
	const char *model;
};

static void costs(enum outline_form form, const char *body, const struct expected *e)
{
	struct outline o;

	outline_init(&o, form, NULL);
	assert_true(outline_feed(&o, body, strlen(body)));
	assert_true(outline_end(&o));
	if (o.limited != e->limited || o.output != e->output || o.answers != e->answers ||
	    o.pictures != e->pictures || o.unseen != e->unseen || o.premium != e->premium ||
	    o.two_models != e->two_models || !streq(o.model, e->model))
		fail_msg("%s: %d %lu x %lu, %lu pictures, unseen %d premium %d two %d '%s'", body,
			 o.limited, o.output, o.answers, o.pictures, o.unseen, o.premium,
			 o.two_models, o.model);
}

static void the_most_that_an_answer_can_have_is_read_as_the_provider_reads_it(void **state)
{
	static const char *const references[] = {
		"{\"input\":[{\"type\":\"item_reference\",\"id\":\"msg_1\"}]}",
		"{\"input\":[{\"role\":\"user\",\"content\":\"x\"},{\"id\":\"msg_1\"}]}",
		"{\"input\":[{\"id\":\"msg_1\",\"type\":null}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"audio\":{\"id\":\"audio_1\"}}]}",
	};
	static const char *const wholes[] = {
		"{\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}]}",
		"{\"input\":[{\"id\":\"msg_1\",\"role\":\"user\",\"content\":\"x\"}]}",
		"{\"contents\":[{\"parts\":[{\"functionCall\":{\"id\":\"1\",\"name\":\"f\"}}]}]}",
	};

	costs(OUTLINE_MESSAGES, "{\"model\":\"m\",\"max_tokens\":7}",
	      &(struct expected){.limited = true, .output = 7, .answers = 1, .model = "m"});
	costs(OUTLINE_MESSAGES, "{\"max_tokens\":7,\"max_tokens\":900,\"max_tokens\":8}",
	      &(struct expected){.limited = true, .output = 900, .answers = 1, .model = ""});
	/* What this provider does not look at is no limit. */
	costs(OUTLINE_RESPONSES, "{\"max_tokens\":7}",
	      &(struct expected){.output = 7, .answers = 1, .model = ""});
	costs(OUTLINE_MESSAGES, "{\"request\":{\"max_tokens\":7}}",
	      &(struct expected){.output = 7, .answers = 1, .model = ""});
	costs(OUTLINE_CONVERSE, "{\"generationConfig\":{\"maxOutputTokens\":1},\"max_tokens\":2}",
	      &(struct expected){.output = 2, .answers = 1, .model = ""});
	costs(OUTLINE_CONVERSE, "{\"inferenceConfig\":{\"maxTokens\":5}}",
	      &(struct expected){.limited = true, .output = 5, .answers = 1, .model = ""});
	costs(OUTLINE_GEMINI,
	      "{\"request\":{\"generationConfig\":{\"max_output_tokens\":5,\"candidateCount\":3}}}",
	      &(struct expected){.limited = true, .output = 5, .answers = 3, .model = ""});
	costs(OUTLINE_CHAT, "{\"max_completion_tokens\":5,\"n\":4}",
	      &(struct expected){.limited = true, .output = 5, .answers = 4, .model = ""});
	costs(OUTLINE_MESSAGES,
	      "{\"model\":\"a\",\"model\":\"b\",\"messages\":[{\"source\":{\"media_type\":"
	      "\"image/png\"}},{\"source\":{\"media_type\":\"text/plain\"}}]}",
	      &(struct expected){.answers = 1, .pictures = 1, .two_models = true, .model = "b"});
	costs(OUTLINE_RESPONSES, "{\"previous_response_id\":\"r\",\"service_tier\":\"priority\"}",
	      &(struct expected){.answers = 1, .unseen = true, .premium = true, .model = ""});
	/* An item that is its identifier alone stands for one that the provider has. */
	for (size_t i = 0; i < ARRAY_SIZE(references); i++)
		costs(OUTLINE_RESPONSES, references[i],
		      &(struct expected){.answers = 1, .unseen = true, .model = ""});
	for (size_t i = 0; i < ARRAY_SIZE(wholes); i++)
		costs(OUTLINE_RESPONSES, wholes[i], &(struct expected){.answers = 1, .model = ""});
	costs(OUTLINE_MESSAGES, "{\"tools\":[{\"type\":\"web_search_1\"}],\"speed\":\"standard\"}",
	      &(struct expected){.answers = 1, .unseen = true, .model = ""});
}

static void only_a_plain_content_type_is_read(void **state)
{
	static const char *const good[] = {"application/json", "Application/JSON; charset=UTF-8",
					   "application/json;charset=\"utf-8\"",
					   "application/x-www-form-urlencoded"};
	static const char *const bad[] = {"application/json; charset=utf-7",
					  "application/json; charset=utf-16",
					  "multipart/form-data; boundary=x",
					  "application/x-protobuf",
					  "application/cbor",
					  "application/json; charset=utf-8; x=y",
					  ""};

	assert_true(outline_type_is_plain((struct slice){0}));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(outline_type_is_plain(slice_of(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(outline_type_is_plain(slice_of(bad[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_of_the_client_pass),
		cmocka_unit_test(tools_of_the_provider_need_their_name),
		cmocka_unit_test(urls_and_files_in_messages_are_found_and_data_is_not_looked_into),
		cmocka_unit_test(other_spellings_are_the_same_or_refused),
		cmocka_unit_test(depth_and_length_do_not_help),
		cmocka_unit_test(the_most_that_an_answer_can_have_is_read_as_the_provider_reads_it),
		cmocka_unit_test(only_a_plain_content_type_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
