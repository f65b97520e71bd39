#include "agent/row.h"

/* clang-format off */

static const struct agent_env opencode_env[] = {
	{NULL, "OPENCODE_DISABLE_MODELS_FETCH", "1"},
	{NULL, "OPENCODE_DISABLE_AUTOUPDATE", "1"},
	{NULL, "OPENCODE_PERMISSION", "{\"*\":\"allow\"}"},
	{"anthropic-key", "ANTHROPIC_API_KEY", "{phantom}"},
	{0},
};

static const struct agent_seed opencode_seeds[] = {
	{"anthropic-key", ".config/opencode/opencode.json",
	 "{\"autoupdate\":false,\"share\":\"disabled\","
	 "\"provider\":{\"anthropic\":{\"options\":{\"baseURL\":\"{endpoint}/v1\"}}}}\n", true},
	{NULL, ".config/opencode/opencode.json", "{\"autoupdate\":false,\"share\":\"disabled\"}\n",
	 false},
	{0},
};
/* clang-format on */

/* ---- opencode: run --format json; each step has its own count ---- */

static void opencode_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	struct jtext part = jpick_one(line, "part"), tokens;

	agent_take(&r->session, jpick_one(line, "sessionID"), AGENT_WORD_MAX);
	if (jtext_eq(type, "text")) {
		agent_take(&r->text, jpick_one(part, "text"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "error")) {
		r->seen = r->failed = true;
		agent_take(&r->reason, jpick_one(jpick_one(line, "error"), "name"), AGENT_WORD_MAX);
		r->status = (uint32_t)jtext_uint(
			jpick_one(jpick_one(jpick_one(line, "error"), "data"), "statusCode"));
	} else if (jtext_eq(type, "step_finish")) {
		tokens = jpick_one(part, "tokens");
		r->seen = jtext_eq(jpick_one(part, "reason"), "stop");
		r->turns++;
		r->micro_usd += agent_micro_usd(jpick_one(part, "cost"));
		r->input += jtext_uint(jpick_one(tokens, "input"));
		r->output += jtext_uint(jpick_one(tokens, "output"));
		r->cache_read += jtext_uint(jpick_one(jpick_one(tokens, "cache"), "read"));
		r->cache_write += jtext_uint(jpick_one(jpick_one(tokens, "cache"), "write"));
	}
}

/* A tool has one record, which comes when it has ended. */
static size_t opencode_parts(struct jtext line, struct agent_part *ret)
{
	struct jtext type = jpick_one(line, "type"), part = jpick_one(line, "part");
	struct jtext state = jpick_one(part, "state"), id = jpick_one(part, "callID");

	if (jtext_eq(type, "text")) {
		*ret = (struct agent_part){.kind = AGENT_WORDS, .text = jpick_one(part, "text")};
		return 1;
	}
	if (!jtext_eq(type, "tool_use"))
		return 0;
	ret[0] = (struct agent_part){.kind = AGENT_CALL,
				     .id = id,
				     .name = jpick_one(part, "tool"),
				     .args = jpick_one(state, "input")};
	ret[1] = (struct agent_part){
		.kind = AGENT_FAILED, .id = id, .text = jpick_one(state, "error")};
	return jtext_eq(jpick_one(state, "status"), "error") ? 2 : 1;
}

static const struct agent_stream opencode_stream = {
	.marks = LIST("step_start"),
	.line = opencode_line,
	.parts = opencode_parts,
};

/* clang-format off */
const struct agent agent_opencode = {
	.name = "opencode", .title = "opencode", .program = "opencode",
	.install = "npm install -g opencode-ai",
	.interactive = NONE,
	.headless = LIST("run", "--format", "json"),
	/* It joins this to the files of the user and of the project. */
	.mcp_env = {NULL, "OPENCODE_CONFIG_CONTENT",
		    "{\"mcp\":{\"ralph\":{\"type\":\"local\",\"command\":[\"/run/ralph/ralph-ask\",\"mcp\"],"
		    "\"enabled\":true}},\"experimental\":{\"mcp_timeout\":330000}}"},
	.services = LIST("anthropic"),
	.env = opencode_env, .seeds = opencode_seeds, .identity = NO_IDENTITY,
	.state = LIST(".local/share/opencode"), .conversations = ".local/share/opencode/opencode.db",
	.sessions = LIST(".local/share/opencode/opencode.db", ".local/share/opencode/opencode.db-wal"),
	.hosts = NONE,
	.login_hosts = LIST("@anthropic", "opencode.ai", "models.dev"),
	.private = LIST(".opencode", ".local/share/opencode"), .installed = LIST(".opencode/bin"),
	.logins = LIST(".local/share/opencode/auth.json"),
	.template = "docker/sandbox-templates:opencode",
	.provider_tools = NONE,
	.stream = &opencode_stream,
};
/* clang-format on */
