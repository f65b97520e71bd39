#include "agent/row.h"

#include <string.h>

/* clang-format off */

/* The last three tables end the traffic to other hosts; the provider of our own is there because
 * the built-in one ignores OPENAI_BASE_URL and, for ChatGPT, insists on https. */
#define CODEX_QUIET                                                                                \
	"[features]\nplugins = false\n\n[analytics]\nenabled = false\n\n"                          \
	"[otel]\nmetrics_exporter = \"none\"\n\n"                                                  \
	"[projects.\"{workspace}\"]\ntrust_level = \"trusted\"\n"
#define CODEX_PROVIDER(base)                                                                       \
	"model_provider = \"ralph\"\ncheck_for_update_on_startup = false\nweb_search = \"disabled\"\n\n"                      \
	"[model_providers.ralph]\nname = \"ralph\"\nbase_url = \"" base "\"\n"                     \
	"env_key = \"RALPH_PHANTOM\"\nwire_api = \"responses\"\n"                                  \
	"supports_websockets = false\n\n" CODEX_QUIET

static const struct agent_env codex_env[] = {
	{"openai-key", "RALPH_PHANTOM", "{phantom}"},
	{"openai-chatgpt", "RALPH_PHANTOM", "{phantom}"},
	{0},
};

static const struct agent_seed codex_seeds[] = {
	{"openai-key", ".codex/config.toml", CODEX_PROVIDER("{endpoint}/v1"), true},
	{"openai-chatgpt", ".codex/config.toml", CODEX_PROVIDER("{endpoint}"), true},
	{NULL, ".codex/config.toml", "check_for_update_on_startup = false\nweb_search = \"disabled\"\n\n" CODEX_QUIET, true},
	{0},
};

static const struct agent_identity codex_identity[] = {
	{"openai-chatgpt", ".codex/auth.json", "tokens.id_token", true},
	{0},
};
/* clang-format on */

/* ---- Codex: exec --json ---- */

static void codex_usage(struct agent_result *r, struct jtext usage)
{
	static const char *const names[] = {"input_tokens", "output_tokens", "cached_input_tokens",
					    "cache_write_input_tokens"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(usage, names, v, ARRAY_SIZE(names)))
		return;
	/* Codex counts cached tokens as input too. */
	r->cache_read = jtext_uint(v[2]);
	r->input = jtext_uint(v[0]) - (r->cache_read < jtext_uint(v[0]) ? r->cache_read : 0);
	r->output = jtext_uint(v[1]);
	r->cache_write = jtext_uint(v[3]);
}

/* Codex has no error code for a provider that it cannot use either, after its own retries. */
static bool codex_unreached(const char *reason)
{
	static const char *const texts[] = {"stream disconnected before completion",
					    "exceeded retry limit, last status: 5",
					    "exceeded retry limit, last status: 429",
					    "unexpected status 5", "error sending request"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strstr(reason, texts[i]))
			return true;
	return false;
}

static void codex_failed(struct agent_result *r, struct jtext message)
{
	r->seen = r->failed = true;
	agent_take(&r->reason, message, AGENT_TEXT_MAX);
	/* Codex has no error code for a usage limit. */
	r->limited = r->reason && strstr(r->reason, "hit your usage limit");
	r->unreached = r->reason && codex_unreached(r->reason);
}

static void codex_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	if (jtext_eq(type, "thread.started")) {
		agent_take(&r->session, jpick_one(line, "thread_id"), AGENT_WORD_MAX);
	} else if (jtext_eq(type, "item.completed")) {
		struct jtext item = jpick_one(line, "item");

		if (jtext_eq(jpick_one(item, "type"), "agent_message"))
			agent_take(&r->text, jpick_one(item, "text"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "turn.completed")) {
		r->seen = true;
		r->failed = false;
		r->turns++;
		codex_usage(r, jpick_one(line, "usage"));
	} else if (jtext_eq(type, "turn.failed")) {
		codex_failed(r, jpick_one(jpick_one(line, "error"), "message"));
	}
}

static void codex_call(struct jtext item, struct jtext type, struct agent_part *ret)
{
	bool mcp = jtext_eq(type, "mcp_tool_call");

	*ret = (struct agent_part){
		.kind = AGENT_CALL,
		.id = jpick_one(item, "id"),
		.name = mcp ? jpick_one(item, "tool") : type,
		.args = mcp ? jpick_one(item, "arguments") : item,
	};
}

/* Returns why an item failed: the error of a tool, or the output of a command. */
static struct jtext codex_why(struct jtext item)
{
	struct jtext message = jpick_one(jpick_one(item, "error"), "message");

	return message.p ? message : jpick_one(item, "aggregated_output");
}

static size_t codex_parts(struct jtext line, struct agent_part *ret)
{
	struct jtext item = jpick_one(line, "item"), type = jpick_one(item, "type");
	bool ended = jtext_eq(jpick_one(line, "type"), "item.completed");

	if (!jtext_is_string(type))
		return 0;
	if (jtext_eq(jpick_one(line, "type"), "item.started"))
		codex_call(item, type, ret);
	else if (ended && jtext_eq(type, "agent_message"))
		*ret = (struct agent_part){.kind = AGENT_WORDS, .text = jpick_one(item, "text")};
	else if (ended && jtext_eq(jpick_one(item, "status"), "failed"))
		*ret = (struct agent_part){
			.kind = AGENT_FAILED, .id = jpick_one(item, "id"), .text = codex_why(item)};
	else
		return 0;
	return 1;
}

static const struct agent_stream codex_stream = {
	.marks = LIST("thread.started"),
	.line = codex_line,
	.parts = codex_parts,
};

/* clang-format off */
const struct agent agent_codex = {
	.name = "codex", .title = "Codex", .program = "codex",
	.install = "npm install -g @openai/codex",
	.interactive = LIST("--dangerously-bypass-approvals-and-sandbox"),
	.headless = LIST("exec", "--json", "--skip-git-repo-check",
			 "--dangerously-bypass-approvals-and-sandbox", "-"),
	/* An answer may take as long as an ask waits. */
	.mcp = "-cmcp_servers.ralph={command=\"/run/ralph/ralph-ask\",args=[\"mcp\"],tool_timeout_sec=330}",
	.services = LIST("openai"),
	.env = codex_env, .seeds = codex_seeds, .identity = codex_identity,
	.state = LIST(".codex"), .conversations = ".codex/sessions",
	.sessions = LIST(".codex/sessions/*/*/*/rollout-*.jsonl"),
	.hosts = NONE, .login_hosts = LIST("@openai"),
	.private = LIST(".codex"), .logins = LIST(".codex/auth.json"), .installed = NONE,
	.template = "docker/sandbox-templates:codex",
	/* Its web search also opens any URL that it is told to; CODEX_QUIET switches it off, since
	 * Codex would put it into every request. */
	.provider_tools = NONE,
	.stream = &codex_stream,
};
/* clang-format on */
