/*
 * Gemini: tmp/PROJECT/chats/session-TIME-ID.jsonl: a header, messages, and {"$set": …}. A later
 * message with the same id replaces the earlier one, so the file is read twice: the first pass
 * finds the last record of each id.
 */
#include "transcript/readers.h"

#include <string.h>

#include "base/mem.h"

enum { ID, TYPE, CONTENT, TIME, MODEL, TOKENS, CALLS, THOUGHTS, SESSION, START, SET, FIELDS };
static const char *const fields[FIELDS] = {"id",	"type",	     "content",	  "timestamp",
					   "model",	"tokens",    "toolCalls", "thoughts",
					   "sessionId", "startTime", "$set"};

static bool gemini_prepare(struct tr *t, struct jtext record)
{
	struct jtext id = jpick_one(record, "id");

	if (id.n)
		tr_last_place(t, id);
	return true;
}

static bool is_context(struct jtext text)
{
	static const char mark[] = "\"<session_context>";

	return text.n > sizeof(mark) && memcmp(text.p, mark, sizeof(mark) - 1) == 0;
}

/* Reads the parts of a user message: texts, and the results of tools. */
static void from_user(struct tr *t, const struct jtext *f)
{
	struct jtext part, response;
	size_t at = 0;

	if (jtext_is_string(f[CONTENT]))
		tr_say(t, &(struct tr_item){.kind = TR_USER, .text = f[CONTENT], .time = f[TIME]});
	while (jpick_each(f[CONTENT], &at, &part)) {
		struct jtext text = jpick_one(part, "text");

		response = jpick_one(part, "functionResponse");
		if (text.p && !is_context(text))
			tr_say(t,
			       &(struct tr_item){.kind = TR_USER, .text = text, .time = f[TIME]});
		if (response.p) {
			struct jtext said = jpick_one(response, "response");
			struct jtext output = jpick_one(said, "output");
			struct jtext error = jpick_one(said, "error");

			tr_say(t, &(struct tr_item){.kind = TR_RESULT,
						    .text = output.p  ? output
							    : error.p ? error
								      : said,
						    .time = f[TIME],
						    .id = jpick_one(response, "id"),
						    .error = error.p != NULL});
		}
	}
}

static void tokens(struct tr *t, struct jtext v)
{
	static const char *const names[] = {"input", "output", "cached", "thoughts"};
	struct jtext n[ARRAY_SIZE(names)];
	uint64_t cached;

	if (!jpick(v, names, n, ARRAY_SIZE(names)))
		return;
	cached = jtext_uint(n[2]);
	t->head.tokens.input += jtext_uint(n[0]) - (cached < jtext_uint(n[0]) ? cached : 0);
	t->head.tokens.output += jtext_uint(n[1]) + jtext_uint(n[3]);
	t->head.tokens.cache_read += cached;
}

static void from_model(struct tr *t, const struct jtext *f)
{
	struct jtext call, thought;
	size_t at = 0;

	tr_change(&t->head.model, f[MODEL]);
	tokens(t, f[TOKENS]);
	while (jpick_each(f[THOUGHTS], &at, &thought))
		tr_say(t, &(struct tr_item){.kind = TR_THINKING,
					    .text = jpick_one(thought, "description"),
					    .time = f[TIME]});
	if (f[CONTENT].n > 2)
		tr_say(t, &(struct tr_item){
				  .kind = TR_ASSISTANT, .text = f[CONTENT], .time = f[TIME]});
	at = 0;
	while (jpick_each(f[CALLS], &at, &call))
		tr_say(t, &(struct tr_item){.kind = TR_CALL,
					    .text = jpick_one(call, "args"),
					    .time = f[TIME],
					    .name = jpick_one(call, "name"),
					    .id = jpick_one(call, "id")});
}

static bool gemini_record(struct tr *t, struct jtext record)
{
	struct jtext f[FIELDS];

	if (!jpick(record, fields, f, FIELDS))
		return false;
	if (f[SESSION].p && !f[TYPE].p) {
		tr_set(&t->head.id, f[SESSION]);
		tr_set(&t->head.start, f[START]);
		return true;
	}
	if (f[SET].p)
		return true;
	if (!f[ID].p || !f[TYPE].p)
		return false;
	if (!tr_is_last_place(t, f[ID]))
		return true;
	if (jtext_eq(f[TYPE], "user"))
		from_user(t, f);
	else if (jtext_eq(f[TYPE], "gemini"))
		from_model(t, f);
	else
		return jtext_eq(f[TYPE], "info") || jtext_eq(f[TYPE], "error") ||
		       jtext_eq(f[TYPE], "warning");
	return true;
}

const struct tr_reader tr_gemini = {
	.agent = "gemini",
	.files = ".gemini/tmp/*/chats/session-*.jsonl",
	.prepare = gemini_prepare,
	.record = gemini_record,
};
