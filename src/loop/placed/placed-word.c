/* A node's summary is its word: known keys, harmless text, and numbers within what it was given. */
#include "loop/placed/placed.h"

#include <string.h>

#include "agent/agent.h"

#define TEXT_MAX (8 * KiB)
#define NAME_MAX_LEN 200
#define HOSTS_MAX 20
#define RECORDS_MAX 2000
#define TOKENS_MAX ((uint64_t)1000000000) /* of one iteration */

static uint64_t number_of(const json_t *j, const char *key, uint64_t max)
{
	json_int_t v = json_integer_value(json_object_get(j, key));

	return v < 0 ? 0 : (uint64_t)v > max ? max : (uint64_t)v;
}

/* Control characters are escaped, lines stay; NULL: there is none. */
static json_t *text_of(const json_t *j, const char *key, size_t max)
{
	const json_t *s = json_object_get(j, key);
	cleanup_buf struct buf b = {0};

	if (!json_is_string(s))
		return NULL;
	buf_init(&b, 4 * max);
	(void)buf_put_lines(&b, json_string_value(s),
			    json_string_length(s) < max ? json_string_length(s) : max);
	return json_text(buf_str(&b));
}

static const char *verdict_of(const json_t *record)
{
	const char *says = json_string_value(json_object_get(record, "verdict"));

	for (enum verdict v = 0; says && v < VERDICT_N; v++)
		if (streq(says, verdict_name(v)))
			return verdict_name(v);
	return verdict_name(VERDICT_INTERRUPTED);
}

static const char *agent_of(const json_t *record)
{
	const char *says = json_string_value(json_object_get(record, "agent"));
	const struct agent *a = says ? agent_find(says) : NULL;

	return a ? a->name : agent_default()->name;
}

static json_t *commit_of(const json_t *record)
{
	const char *says = json_string_value(json_object_get(record, "commit"));
	bool is = says && strlen(says) == REPO_OID_LEN &&
		  strspn(says, "0123456789abcdef") == REPO_OID_LEN;

	return is ? json_string(says) : NULL;
}

/* As report/refused-hosts.c writes them. */
static json_t *hosts_of(const json_t *record)
{
	const json_t *refused = json_object_get(record, "refused");
	bool others = json_is_true(json_object_get(refused, "others"));
	json_t *all = json_array(), *host;
	size_t i;

	json_array_foreach (json_object_get(refused, "hosts"), i, host) {
		cleanup_json json_t *wrapped = json_pack("{sO}", "h", host);
		json_t *text = text_of(wrapped, "h", NAME_MAX_LEN);

		others = others || (text && json_array_size(all) == HOSTS_MAX);
		if (text && json_array_size(all) < HOSTS_MAX)
			(void)json_array_append(all, text);
		json_decref(text);
	}
	if (json_array_size(all) || others)
		return json_pack("{so sb}", "hosts", all, "others", others);
	json_decref(all);
	return NULL;
}

/* By our clock, and not before the worker began or after now. */
static uint64_t time_of(const json_t *record, const struct placed_bounds *b)
{
	int64_t at = (int64_t)number_of(record, "time", INT64_MAX / 4) - b->clock_ms / 1000;

	return at < (int64_t)b->began ? b->began : at > (int64_t)b->now ? b->now : (uint64_t)at;
}

static json_t *record_of(const json_t *r, const struct placed_bounds *b, json_int_t number)
{
	return json_pack("{sI ss so so* sI sI sI so* ss so* sI sb so*}", "iteration", number,
			 "agent", agent_of(r), "task", json_text(b->task), "title",
			 text_of(r, "title", NAME_MAX_LEN), "ms",
			 (json_int_t)number_of(r, "ms", b->ms), "tokens",
			 (json_int_t)number_of(r, "tokens", TOKENS_MAX), "micro_usd",
			 (json_int_t)number_of(r, "micro_usd", b->micro_usd), "commit",
			 commit_of(r), "verdict", verdict_of(r), "why", text_of(r, "why", TEXT_MAX),
			 "time", (json_int_t)time_of(r, b), "waited",
			 json_is_true(json_object_get(r, "waited")), "refused", hosts_of(r));
}

static json_t *records_of(const json_t *summary, const struct placed_bounds *b)
{
	json_t *all = json_array(), *r;
	uint64_t counted = 0;
	size_t i;

	json_array_foreach (json_object_get(summary, "records"), i, r) {
		if (i == RECORDS_MAX)
			break;
		if (!json_is_true(json_object_get(r, "waited")) && counted++ >= b->iterations)
			break;
		(void)json_array_append_new(all, record_of(r, b, (json_int_t)i + 1));
	}
	return all;
}

void placed_word_at_least(json_t **summary, uint64_t n, const struct placed_bounds *b)
{
	json_t *records, *r;
	size_t i;

	if (!*summary)
		*summary = placed_word(NULL, b);
	records = json_object_get(*summary, "records");
	json_array_foreach (records, i, r)
		if (n > 0 && !json_is_true(json_object_get(r, "waited")))
			n--;
	for (; n > 0 && json_array_size(records) < RECORDS_MAX; n--)
		(void)json_array_append_new(
			records, record_of(NULL, b, (json_int_t)json_array_size(records) + 1));
}

static json_t *review_of(const json_t *task)
{
	const json_t *r = json_object_get(task, "review");

	return json_is_object(r)
		       ? json_pack("{so* sI so*}", "status", text_of(r, "status", NAME_MAX_LEN),
				   "count", (json_int_t)number_of(r, "count", 1000), "feedback",
				   text_of(r, "feedback", TEXT_MAX))
		       : NULL;
}

json_t *placed_word(const json_t *summary, const struct placed_bounds *b)
{
	const json_t *task = json_array_get(json_object_get(summary, "tasks"), 0);
	json_t *records = records_of(summary, b), *row;
	uint64_t most = json_array_size(records);

	row = json_pack("{sI so* so*}", "attempts", (json_int_t)number_of(task, "attempts", most),
			"why", text_of(task, "why", TEXT_MAX), "review", review_of(task));
	return json_pack("{so s[o] sI sI sI sI so*}", "records", records, "tasks", row, "micro_usd",
			 (json_int_t)number_of(summary, "micro_usd", b->micro_usd), "tokens",
			 (json_int_t)number_of(summary, "tokens", (most + 1) * TOKENS_MAX),
			 "active_ms", (json_int_t)number_of(summary, "active_ms", b->ms),
			 "resets_at", (json_int_t)number_of(summary, "resets_at", INT64_MAX),
			 "reason", text_of(summary, "reason", TEXT_MAX));
}
