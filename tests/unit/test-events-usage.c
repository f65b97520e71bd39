#include "tests.h"

#include "events/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static uint64_t cost(const char *model, const struct strv *own, struct usage_tokens t)
{
	struct price p;

	price_find(model, own, &p);
	return price_of(&p, &t);
}

static void the_longest_answer_of_an_unknown_model_is_that_of_its_family(void **state)
{
	assert_int_equal(price_output_max("claude-3-haiku-20240307"), 4096);
	assert_int_equal(price_output_max("us.anthropic.claude-new"), 131072);
	assert_int_equal(price_output_max("models/gemini-9"), 65536);
	assert_int_equal(price_output_max(""), 131072);
}

static void a_model_is_priced_by_the_longest_row_of_its_name(void **state)
{
	const struct usage_tokens in = {.input = 1000000}, out = {.output = 1000000};

	assert_int_equal(cost("claude-sonnet-4-5-20250929", NULL, in), 3000000);
	assert_int_equal(cost("claude-sonnet-4-5-20250929", NULL, out), 15000000);
	assert_int_equal(cost("claude-opus-4-1-20250805", NULL, in), 15000000);
	assert_int_equal(cost("claude-opus-4-20250514", NULL, in), 15000000);
	assert_int_equal(cost("claude-opus-5-5", NULL, in), 4000000);
	assert_int_equal(cost("claude-opus-5", NULL, in), 5000000);
	assert_int_equal(cost("gpt-5.5-codex", NULL, in), 5000000);
	assert_int_equal(cost("gpt-5-codex", NULL, in), 1250000);
	assert_int_equal(cost("gpt-5-mini-2025-08-07", NULL, in), 250000);
	assert_int_equal(cost("gemini-2.5-flash-lite", NULL, in), 100000);
}

static void names_of_other_platforms_are_the_same_models(void **state)
{
	const struct usage_tokens in = {.input = 1000000};

	assert_int_equal(cost("us.anthropic.claude-sonnet-4-5-20250929-v1:0", NULL, in), 3000000);
	assert_int_equal(cost("models/gemini-2.5-pro", NULL, in), 1250000);
	assert_int_equal(cost("claude-haiku-4-5@20251001", NULL, in), 1000000);
}

static void what_nobody_knows_is_never_cheap(void **state)
{
	const struct usage_tokens in = {.input = 1000000};

	assert_int_equal(cost("claude-somewhat-9", NULL, in), 15000000);
	assert_int_equal(cost("something-else", NULL, in), 15000000);
	assert_int_equal(cost("", NULL, in), 15000000);
}

static void the_users_prices_come_first(void **state)
{
	const struct usage_tokens all = {1000000, 1000000, 1000000, 1000000};
	cleanup_strv struct strv own;
	struct price p;

	strv_init(&own);
	strv_push(&own, "claude-=1/2");
	strv_push(&own, "claude-opus-5=4/20/0.4/5");
	assert_int_equal(cost("claude-opus-5-5", &own, all), 29400000);
	/* What is said of input alone holds for caches in the usual way. */
	assert_int_equal(cost("claude-haiku-4-5", &own, all), 1000000 + 2000000 + 100000 + 1250000);
	assert_int_equal(cost("gpt-5", &own, all), 1250000 + 10000000 + 125000 + 1250000);
	price_find("claude-x", &own, &p);
	assert_string_equal(p.model, "claude-=1/2");
}

static void parts_of_a_millionth_are_rounded_up(void **state)
{
	assert_int_equal(cost("claude-sonnet-4-5", NULL, (struct usage_tokens){.cache_read = 1}),
			 1);
	assert_int_equal(cost("claude-sonnet-4-5", NULL, (struct usage_tokens){0}), 0);
	/* No answer is as long as this, and still nothing overflows. */
	assert_int_equal(
		cost("claude-opus-4-1", NULL, (struct usage_tokens){.output = (uint64_t)1 << 40}),
		((uint64_t)1 << 40) * 75);
}

struct sum {
	size_t n;
	uint64_t micro_usd, tokens;
	char last[64];
};

static void add(void *arg, const struct usage_event *e)
{
	struct sum *s = arg;

	s->n++;
	s->micro_usd += e->micro_usd;
	s->tokens += usage_all(&e->tokens);
	(void)snprintf(s->last, sizeof(s->last), "%s %s %s", e->time, e->credential, e->model);
}

static void the_log_is_read_for_usage_alone(void **state)
{
	static const char log[] =
		"{\"seq\":1,\"time\":\"2026-01-31T12:00:00.000Z\",\"type\":\"start\"}\n"
		"{\"seq\":2,\"time\":\"2026-01-31T12:00:01.000Z\",\"type\":\"usage\","
		"\"credential\":"
		"\"anthropic\",\"model\":\"claude-x\",\"status\":200,\"input\":10,\"output\":20,"
		"\"cache_read\":30,\"cache_write\":40,\"micro_usd\":500,\"chain\":\"x\"}\n"
		"{\"seq\":3,\"type\":\"net\",\"path\":\"\\\"usage\\\"\",\"input\":99}\n"
		"torn {\"type\":\"usage\",\"input\":1\n"
		"{\"seq\":4,\"time\":\"2026-02-01T00:00:00.000Z\",\"type\":\"usage\","
		"\"credential\":"
		"\"openai\",\"model\":\"gpt\",\"input\":1,\"output\":-5,\"micro_usd\":7}";
	char dir[] = "/tmp/ralph-usage.XXXXXX", path[64];
	struct sum s = {0};
	struct err err = {0};
	FILE *f;
	int fd;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/events.jsonl", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(usage_each(fd, add, &s, &err), 0);
	assert_int_equal(s.n, 0);
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fputs(log, f);
	(void)fclose(f);
	assert_int_equal(usage_each(fd, add, &s, &err), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.micro_usd, 507);
	assert_int_equal(s.tokens, 101);
	assert_string_equal(s.last, "2026-02-01T00:00:00.000Z openai gpt");
	(void)close(fd);
	(void)unlink(path);
	(void)rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_is_priced_by_the_longest_row_of_its_name),
		cmocka_unit_test(the_longest_answer_of_an_unknown_model_is_that_of_its_family),
		cmocka_unit_test(names_of_other_platforms_are_the_same_models),
		cmocka_unit_test(what_nobody_knows_is_never_cheap),
		cmocka_unit_test(the_users_prices_come_first),
		cmocka_unit_test(parts_of_a_millionth_are_rounded_up),
		cmocka_unit_test(the_log_is_read_for_usage_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
