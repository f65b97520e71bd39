/* opencode: the lines that opencode-main.c makes of a session, its messages and their parts. */
#include "transcript/readers.h"

#include <stdlib.h>

#include "base/mem.h"

static void session(struct tr *t, struct jtext record)
{
	tr_set(&t->head.id, jpick_one(record, "id"));
	tr_set(&t->head.workspace, jpick_one(record, "directory"));
	tr_set(&t->head.version, jpick_one(record, "version"));
	tr_set(&t->head.parent, jpick_one(record, "parent"));
}

/* Parses a JSON number of dollars with a fraction. */
static uint64_t micro_usd(struct jtext v)
{
	cleanup_free char *s = v.n && v.n < 32 ? xstrndup(v.p, v.n) : NULL;
	double usd = s ? strtod(s, NULL) : 0;

	return usd > 0 && usd < 1e9 ? (uint64_t)(usd * 1e6 + 0.5) : 0;
}

static void message(struct tr *t, struct jtext data)
{
	static const char *const names[] = {"role", "modelID", "tokens", "cost"};
	static const char *const counts[] = {"input", "output", "cache"};
	struct jtext v[ARRAY_SIZE(names)], n[ARRAY_SIZE(counts)];

	if (!jpick(data, names, v, ARRAY_SIZE(names)))
		return;
	t->by_user = jtext_eq(v[0], "user");
	tr_change(&t->head.model, v[1]);
	t->head.micro_usd += micro_usd(v[3]);
	if (!jpick(v[2], counts, n, ARRAY_SIZE(counts)))
		return;
	t->head.tokens.input += jtext_uint(n[0]);
	t->head.tokens.output += jtext_uint(n[1]);
	t->head.tokens.cache_read += jtext_uint(jpick_one(n[2], "read"));
	t->head.tokens.cache_write += jtext_uint(jpick_one(n[2], "write"));
}

/* A part holds both a call and its result. */
static void tool(struct tr *t, struct jtext data, struct jtext time)
{
	static const char *const names[] = {"input", "output", "error", "status"};
	struct jtext name = jpick_one(data, "tool"), id = jpick_one(data, "callID");
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(jpick_one(data, "state"), names, v, ARRAY_SIZE(names)))
		return;
	tr_say(t, &(struct tr_item){
			  .kind = TR_CALL, .text = v[0], .time = time, .name = name, .id = id});
	if (v[1].p || v[2].p)
		tr_say(t, &(struct tr_item){.kind = TR_RESULT,
					    .text = v[2].p ? v[2] : v[1],
					    .time = time,
					    .id = id,
					    .error = jtext_eq(v[3], "error")});
}

/* True for known bookkeeping, which is skipped. */
static bool is_quiet(struct jtext type)
{
	static const char *const types[] = {"step-start", "step-finish", "patch", "snapshot",
					    "file",	  "agent",	 "retry", "subtask"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (jtext_eq(type, types[i]))
			return true;
	return false;
}

static bool part(struct tr *t, struct jtext data, struct jtext time)
{
	static const char *const names[] = {"type", "text", "synthetic", "ignored"};
	struct jtext v[ARRAY_SIZE(names)];
	struct tr_item item = {.time = time};

	if (!jpick(data, names, v, ARRAY_SIZE(names)))
		return false;
	item.text = v[1];
	if (jtext_eq(v[0], "tool")) {
		tool(t, data, time);
		return true;
	}
	if (jtext_eq(v[0], "text"))
		item.kind = t->by_user ? TR_USER : TR_ASSISTANT;
	else if (jtext_eq(v[0], "reasoning"))
		item.kind = TR_THINKING;
	else if (jtext_eq(v[0], "compaction"))
		item = (struct tr_item){
			.kind = TR_NOTE, .note = "the conversation was compacted", .time = time};
	else
		return is_quiet(v[0]);
	/* Text that opencode itself generated is not part of the conversation. */
	if (!jtext_true(v[2]) && !jtext_true(v[3]))
		tr_say(t, &item);
	return true;
}

static bool opencode_record(struct tr *t, struct jtext record)
{
	static const char *const names[] = {"kind", "data", "time"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(record, names, v, ARRAY_SIZE(names)))
		return false;
	if (jtext_eq(v[0], "session"))
		session(t, record);
	else if (jtext_eq(v[0], "message"))
		message(t, v[1]);
	else
		return jtext_eq(v[0], "part") && part(t, v[1], v[2]);
	return true;
}

const struct tr_reader tr_opencode = {
	.agent = "opencode",
	.files = "opencode.db/*.jsonl", /* as opencode-dir.c makes them */
	.subagents = true,
	.record = opencode_record,
};
