/* Claude Code: projects/SLUG/SESSION.jsonl, and SESSION/subagents/agent-ID.jsonl. */
#include "transcript/readers.h"

#include <string.h>

#include "base/mem.h"

enum {
	TYPE,
	MESSAGE,
	TIME,
	META,
	SUMMARY,
	CWD,
	BRANCH,
	SESSION,
	VERSION,
	SUBTYPE,
	AGENT_ID,
	FIELDS
};
static const char *const fields[FIELDS] = {
	"type",	     "message",	  "timestamp", "isMeta",  "isCompactSummary", "cwd",
	"gitBranch", "sessionId", "version",   "subtype", "agentId"};

/* Record types that are not part of the conversation; others are counted as unknown. */
static const char *const bookkeeping[] = {
	"attachment",	       "queue-operation",   "last-prompt",	"mode",
	"permission-mode",     "atis-latch",	    "tools-used",	"cost-state",
	"api-request",	       "api-request-shape", "api-request-blob", "file-history-snapshot",
	"file-history-delta",  "summary",	    "custom-title",	"ai-title",
	"agent-name",	       "pr-link",	    "worktree-state",	"progress",
	"content-replacement",
};

/* Marks that slash commands leave instead of a message. */
static const char *const noise[] = {
	"<command-name>",	  "<command-message>", "<local-command-stdout>",
	"<local-command-caveat>", "<system-reminder>", "<task-notification>",
};

static bool is_noise(struct jtext text)
{
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
		size_t n = strlen(noise[i]);

		if (text.n > n + 1 && memcmp(text.p + 1, noise[i], n) == 0)
			return true;
	}
	return false;
}

static void usage(struct tr *t, struct jtext u)
{
	static const char *const names[] = {"input_tokens", "output_tokens",
					    "cache_read_input_tokens",
					    "cache_creation_input_tokens"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(u, names, v, ARRAY_SIZE(names)))
		return;
	t->head.tokens.input += jtext_uint(v[0]);
	t->head.tokens.output += jtext_uint(v[1]);
	t->head.tokens.cache_read += jtext_uint(v[2]);
	t->head.tokens.cache_write += jtext_uint(v[3]);
}

static void block(struct tr *t, struct jtext b, enum tr_kind said, struct jtext time)
{
	enum { KIND, TEXT, THINKING, NAME, ID, INPUT, CALL, CONTENT, ERROR, N };
	static const char *const names[N] = {"type",  "text",	     "thinking", "name",    "id",
					     "input", "tool_use_id", "content",	 "is_error"};
	struct jtext v[N];

	if (!jpick(b, names, v, N))
		return;
	if (jtext_eq(v[KIND], "text") && !is_noise(v[TEXT]))
		tr_say(t, &(struct tr_item){.kind = said, .text = v[TEXT], .time = time});
	else if (jtext_eq(v[KIND], "thinking"))
		tr_say(t,
		       &(struct tr_item){.kind = TR_THINKING, .text = v[THINKING], .time = time});
	else if (jtext_eq(v[KIND], "tool_use"))
		tr_say(t, &(struct tr_item){.kind = TR_CALL,
					    .text = v[INPUT],
					    .time = time,
					    .name = v[NAME],
					    .id = v[ID]});
	else if (jtext_eq(v[KIND], "tool_result"))
		tr_say(t, &(struct tr_item){.kind = TR_RESULT,
					    .text = v[CONTENT],
					    .time = time,
					    .id = v[CALL],
					    .error = jtext_true(v[ERROR])});
}

static void message(struct tr *t, const struct jtext *f, enum tr_kind said)
{
	enum { CONTENT, ID, MODEL, USAGE, N };
	static const char *const names[N] = {"content", "id", "model", "usage"};
	struct jtext v[N], b;
	size_t at = 0;

	if (!jpick(f[MESSAGE], names, v, N))
		return;
	if (said == TR_ASSISTANT) {
		if (!jtext_eq(v[MODEL], "<synthetic>"))
			tr_change(&t->head.model, v[MODEL]);
		if (tr_count_once(t, v[ID]))
			usage(t, v[USAGE]);
	}
	if (jtext_is_string(v[CONTENT]) && !is_noise(v[CONTENT]))
		tr_say(t, &(struct tr_item){.kind = said, .text = v[CONTENT], .time = f[TIME]});
	while (jpick_each(v[CONTENT], &at, &b))
		block(t, b, said, f[TIME]);
}

static void common(struct tr *t, const struct jtext *f)
{
	tr_set(&t->head.id, f[AGENT_ID].p ? f[AGENT_ID] : f[SESSION]);
	if (f[AGENT_ID].p)
		tr_set(&t->head.parent, f[SESSION]);
	tr_set(&t->head.workspace, f[CWD]);
	if (!jtext_eq(f[BRANCH], "HEAD")) /* "HEAD" means no branch */
		tr_set(&t->head.branch, f[BRANCH]);
	tr_change(&t->head.version, f[VERSION]);
}

static bool is_bookkeeping(struct jtext type)
{
	for (size_t i = 0; i < ARRAY_SIZE(bookkeeping); i++)
		if (jtext_eq(type, bookkeeping[i]))
			return true;
	return false;
}

static bool claude_record(struct tr *t, struct jtext record)
{
	struct jtext f[FIELDS];
	bool user;

	if (!jpick(record, fields, f, FIELDS))
		return false;
	user = jtext_eq(f[TYPE], "user");
	if (user || jtext_eq(f[TYPE], "assistant")) {
		common(t, f);
		if (jtext_true(f[SUMMARY]))
			tr_say(t, &(struct tr_item){.kind = TR_NOTE,
						    .note = "continued from a summary",
						    .text = jpick_one(f[MESSAGE], "content"),
						    .time = f[TIME]});
		else if (!jtext_true(f[META]))
			message(t, f, user ? TR_USER : TR_ASSISTANT);
		return true;
	}
	if (jtext_eq(f[TYPE], "system")) {
		if (jtext_eq(f[SUBTYPE], "compact_boundary"))
			tr_say(t, &(struct tr_item){.kind = TR_NOTE,
						    .note = "the conversation was compacted",
						    .time = f[TIME]});
		return true;
	}
	return is_bookkeeping(f[TYPE]);
}

const struct tr_reader tr_claude = {
	.agent = "claude",
	.files = ".claude/projects/*/*.jsonl",
	.subagents = true,
	.record = claude_record,
};
