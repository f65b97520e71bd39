/* Codex: sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl. The conversation is in response_item;
 * event_msg repeats it. */
#include "transcript/readers.h"

#include <string.h>

#include "base/mem.h"

/* True for text that Codex itself sends to the model as a user message. */
static bool is_context(struct jtext content)
{
	static const char *const marks[] = {"<environment_context>", "<user_instructions>",
					    "<turn_aborted>", "<permissions instructions>"};
	struct jtext part, text;
	size_t at = 0;

	if (!jpick_each(content, &at, &part))
		return false;
	text = jpick_one(part, "text");
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		size_t n = strlen(marks[i]);

		if (text.n > n + 1 && memcmp(text.p + 1, marks[i], n) == 0)
			return true;
	}
	return false;
}

static void said(struct tr *t, struct jtext role, struct jtext content, struct jtext time)
{
	bool user = jtext_eq(role, "user");
	struct jtext part;
	size_t at = 0;

	if ((!user && !jtext_eq(role, "assistant")) || is_context(content))
		return;
	while (jpick_each(content, &at, &part)) {
		struct jtext text = jpick_one(part, "text");

		if (text.p)
			tr_say(t, &(struct tr_item){.kind = user ? TR_USER : TR_ASSISTANT,
						    .text = text,
						    .time = time});
	}
}

static bool response_item(struct tr *t, struct jtext payload, struct jtext time)
{
	enum { TYPE, ROLE, CONTENT, NAME, CALL, ARGUMENTS, INPUT, OUTPUT, SUMMARY, N };
	static const char *const names[N] = {"type",	  "role",  "content", "name",	"call_id",
					     "arguments", "input", "output",  "summary"};
	struct jtext v[N];

	if (!jpick(payload, names, v, N))
		return false;
	if (jtext_eq(v[TYPE], "message"))
		said(t, v[ROLE], v[CONTENT], time);
	else if (jtext_eq(v[TYPE], "reasoning"))
		tr_say(t, &(struct tr_item){.kind = TR_THINKING, .text = v[SUMMARY], .time = time});
	else if (jtext_eq(v[TYPE], "function_call") || jtext_eq(v[TYPE], "custom_tool_call"))
		tr_say(t, &(struct tr_item){.kind = TR_CALL,
					    .text = v[ARGUMENTS].p ? v[ARGUMENTS] : v[INPUT],
					    .time = time,
					    .name = v[NAME],
					    .id = v[CALL]});
	else if (jtext_eq(v[TYPE], "function_call_output") ||
		 jtext_eq(v[TYPE], "custom_tool_call_output"))
		tr_say(t,
		       &(struct tr_item){
			       .kind = TR_RESULT, .text = v[OUTPUT], .time = time, .id = v[CALL]});
	return true;
}

static void session(struct tr *t, struct jtext payload)
{
	static const char *const names[] = {"id", "cwd", "cli_version", "git"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(payload, names, v, ARRAY_SIZE(names)))
		return;
	tr_set(&t->head.id, v[0]);
	tr_set(&t->head.workspace, v[1]);
	tr_set(&t->head.version, v[2]);
	tr_set(&t->head.branch, jpick_one(v[3], "branch"));
}

/* Reads the totals of the session so far. */
static void token_count(struct tr *t, struct jtext payload)
{
	static const char *const names[] = {"input_tokens", "output_tokens", "cached_input_tokens",
					    "cache_write_input_tokens"};
	struct jtext v[ARRAY_SIZE(names)], info = jpick_one(payload, "info");
	uint64_t cached;

	if (!jpick(jpick_one(info, "total_token_usage"), names, v, ARRAY_SIZE(names)))
		return;
	cached = jtext_uint(v[2]);
	t->head.tokens = (struct tr_tokens){
		.input = jtext_uint(v[0]) - (cached < jtext_uint(v[0]) ? cached : 0),
		.output = jtext_uint(v[1]),
		.cache_read = cached,
		.cache_write = jtext_uint(v[3]),
	};
}

static bool codex_record(struct tr *t, struct jtext record)
{
	static const char *const names[] = {"type", "payload", "timestamp"};
	static const char *const other[] = {"world_state", "token_usage_record", "compacted"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(record, names, v, ARRAY_SIZE(names)))
		return false;
	if (jtext_eq(v[0], "response_item"))
		return response_item(t, v[1], v[2]);
	if (jtext_eq(v[0], "session_meta"))
		session(t, v[1]);
	else if (jtext_eq(v[0], "turn_context"))
		tr_change(&t->head.model, jpick_one(v[1], "model"));
	else if (jtext_eq(v[0], "event_msg"))
		token_count(t, v[1]);
	else if (jtext_eq(v[0], other[2]))
		tr_say(t, &(struct tr_item){.kind = TR_NOTE,
					    .note = "the conversation was compacted",
					    .time = v[2]});
	else
		return jtext_eq(v[0], other[0]) || jtext_eq(v[0], other[1]);
	return true;
}

const struct tr_reader tr_codex = {
	.agent = "codex",
	.files = ".codex/sessions/*/*/*/rollout-*.jsonl",
	.record = codex_record,
};
