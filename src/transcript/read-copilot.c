/* Copilot: session-state/ID/events.jsonl. */
#include "transcript/readers.h"

#include <string.h>

#include "base/mem.h"

enum { CONTENT, REQUESTS, MODEL, SESSION, CONTEXT, USAGE, CALL, RESULT, SUCCESS, VERSION, FIELDS };
static const char *const fields[FIELDS] = {"content", "toolRequests",  "model",	     "sessionId",
					   "context", "usage",	       "toolCallId", "result",
					   "success", "copilotVersion"};

static void assistant(struct tr *t, const struct jtext *f, struct jtext time)
{
	struct jtext request;
	size_t at = 0;

	tr_change(&t->head.model, f[MODEL]);
	if (f[CONTENT].n > 2)
		tr_say(t,
		       &(struct tr_item){.kind = TR_ASSISTANT, .text = f[CONTENT], .time = time});
	while (jpick_each(f[REQUESTS], &at, &request))
		tr_say(t, &(struct tr_item){.kind = TR_CALL,
					    .text = jpick_one(request, "arguments"),
					    .time = time,
					    .name = jpick_one(request, "name"),
					    .id = jpick_one(request, "toolCallId")});
}

static void usage(struct tr *t, struct jtext v)
{
	static const char *const names[] = {"inputTokens", "outputTokens", "cacheReadTokens",
					    "cacheWriteTokens"};
	struct jtext n[ARRAY_SIZE(names)];

	if (!jpick(v, names, n, ARRAY_SIZE(names)))
		return;
	t->head.tokens.input += jtext_uint(n[0]);
	t->head.tokens.output += jtext_uint(n[1]);
	t->head.tokens.cache_read += jtext_uint(n[2]);
	t->head.tokens.cache_write += jtext_uint(n[3]);
}

static void result(struct tr *t, const struct jtext *f, struct jtext time)
{
	struct jtext content = jpick_one(f[RESULT], "content");

	tr_say(t, &(struct tr_item){.kind = TR_RESULT,
				    .text = content.p ? content : f[RESULT],
				    .time = time,
				    .id = f[CALL],
				    .error = f[SUCCESS].p && !jtext_true(f[SUCCESS])});
}

static void session(struct tr *t, const struct jtext *f)
{
	tr_set(&t->head.id, f[SESSION]);
	tr_set(&t->head.version, f[VERSION]);
	tr_set(&t->head.workspace, jpick_one(f[CONTEXT], "cwd"));
	tr_set(&t->head.branch, jpick_one(f[CONTEXT], "branch"));
}

static bool copilot_record(struct tr *t, struct jtext record)
{
	static const char *const names[] = {"type", "data", "timestamp"};
	static const char *const parts[] = {"session.", "system.", "assistant.", "tool.",
					    "user.",	"hook.",   "abort"};
	struct jtext v[ARRAY_SIZE(names)], f[FIELDS];

	if (!jpick(record, names, v, ARRAY_SIZE(names)) || !jpick(v[1], fields, f, FIELDS))
		return false;
	if (jtext_eq(v[0], "user.message"))
		tr_say(t, &(struct tr_item){.kind = TR_USER, .text = f[CONTENT], .time = v[2]});
	else if (jtext_eq(v[0], "assistant.message"))
		assistant(t, f, v[2]);
	else if (jtext_eq(v[0], "tool.execution_complete"))
		result(t, f, v[2]);
	else if (jtext_eq(v[0], "session.usage_record"))
		usage(t, f[USAGE]);
	else if (jtext_eq(v[0], "session.start"))
		session(t, f);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t n = strlen(parts[i]);

		if (v[0].n > n + 1 && memcmp(v[0].p + 1, parts[i], n) == 0)
			return true;
	}
	return false;
}

const struct tr_reader tr_copilot = {
	.agent = "copilot",
	.files = ".copilot/session-state/*/events.jsonl",
	.record = copilot_record,
};
