#include "agent/row.h"

/* clang-format off */

/* The user chooses the names of the models at this provider, not the program. */
#define MODELS_OF(provider)                                                                        \
	{provider, "ANTHROPIC_MODEL", "{option:model}"},                                           \
	{provider, "ANTHROPIC_SMALL_FAST_MODEL", "{option:small_model}"},                          \
	{provider, "ANTHROPIC_DEFAULT_OPUS_MODEL", "{option:opus_model}"},                         \
	{provider, "ANTHROPIC_DEFAULT_SONNET_MODEL", "{option:sonnet_model}"},                     \
	{provider, "ANTHROPIC_DEFAULT_HAIKU_MODEL", "{option:haiku_model}"}

static const struct agent_env claude_env[] = {
	/* No telemetry, no updates, no feature flags: one host, the provider's. */
	{NULL, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
	{NULL, "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"},
	{NULL, "ENABLE_CLAUDEAI_MCP_SERVERS", "false"},
	{NULL, "DISABLE_AUTOUPDATER", "1"},
	/* Without this, Claude Code refuses as root to work without asking for permission. */
	{NULL, "IS_SANDBOX", "1"},
	{"anthropic-oauth", "CLAUDE_CODE_OAUTH_TOKEN", "{phantom}"},
	{"anthropic-oauth", "ANTHROPIC_BASE_URL", "{endpoint}"},
	{"anthropic-oauth", "CLAUDE_CODE_SUBSCRIPTION_TYPE", "{option:subscription}"},
	{"anthropic-key", "ANTHROPIC_API_KEY", "{phantom}"},
	{"anthropic-key", "ANTHROPIC_BASE_URL", "{endpoint}"},
	/* Claude Code sends no header with a key here: the phantom is a part of the path. */
	{"bedrock", "CLAUDE_CODE_USE_BEDROCK", "1"},
	{"bedrock", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "1"},
	{"bedrock", "ANTHROPIC_BEDROCK_BASE_URL", "{endpoint}/{phantom}"},
	{"bedrock", "AWS_REGION", "{option:region}"},
	MODELS_OF("bedrock"),
	{"vertex", "CLAUDE_CODE_USE_VERTEX", "1"},
	{"vertex", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "1"},
	{"vertex", "ANTHROPIC_VERTEX_BASE_URL", "{endpoint}/{phantom}/v1"},
	{"vertex", "ANTHROPIC_VERTEX_PROJECT_ID", "{option:project}"},
	{"vertex", "CLOUD_ML_REGION", "{option:region}"},
	MODELS_OF("vertex"),
	{"foundry", "CLAUDE_CODE_USE_FOUNDRY", "1"},
	{"foundry", "ANTHROPIC_FOUNDRY_BASE_URL", "{endpoint}"},
	{"foundry", "ANTHROPIC_FOUNDRY_API_KEY", "{phantom}"},
	MODELS_OF("foundry"),
	{0},
};

static const struct agent_seed claude_seeds[] = {
	{NULL, ".claude.json",
	 "{\"hasCompletedOnboarding\":true,\"bypassPermissionsModeAccepted\":true,"
	 /* How the phantom of a key ends, see cred/probe/anthropic-row.c. */
	 "\"customApiKeyResponses\":{\"approved\":[\"ralph-phantom-000000\"],\"rejected\":[]},"
	 "\"projects\":{\"{workspace}\":{\"hasTrustDialogAccepted\":true}}}\n", false},
	{0},
};

static const struct agent_identity claude_identity[] = {
	{"anthropic-oauth", ".claude.json", "oauthAccount.emailAddress", false},
	{0},
};
/* clang-format on */

/* ---- Claude Code: --output-format stream-json ---- */

static void claude_usage(struct agent_result *r, struct jtext usage)
{
	static const char *const names[] = {"input_tokens", "output_tokens",
					    "cache_read_input_tokens",
					    "cache_creation_input_tokens"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(usage, names, v, ARRAY_SIZE(names)))
		return;
	r->input = jtext_uint(v[0]);
	r->output = jtext_uint(v[1]);
	r->cache_read = jtext_uint(v[2]);
	r->cache_write = jtext_uint(v[3]);
}

static void claude_result(struct agent_result *r, struct jtext line)
{
	static const char *const names[] = {
		"is_error", "session_id", "result",	    "terminal_reason",	"api_error",
		"usage",    "num_turns",  "total_cost_usd", "api_error_status", "subtype"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(line, names, v, ARRAY_SIZE(names)))
		return;
	r->seen = true;
	/* A turn that the provider refused is a "success" with is_error. */
	r->failed = jtext_true(v[0]) || !jtext_eq(v[9], "success");
	agent_take(&r->session, v[1], AGENT_WORD_MAX);
	agent_take(&r->text, v[2], AGENT_TEXT_MAX);
	agent_take(&r->reason, v[4].p ? v[4] : v[3], AGENT_WORD_MAX);
	claude_usage(r, v[5]);
	r->turns = jtext_uint(v[6]);
	r->micro_usd = agent_micro_usd(v[7]);
	r->status = (uint32_t)jtext_uint(v[8]);
	r->unreached = r->failed && r->status == 0 && jtext_eq(v[3], "api_error") && !v[4].p;
}

/* "0.83", a share: in percent, as far as it goes. */
static uint64_t percent(struct jtext t)
{
	return agent_micro_usd(t) / 10000;
}

static void claude_week(struct agent_result *r, struct jtext windows)
{
	struct jtext week = jpick_one(windows, "seven_day");

	if (!week.p)
		return;
	r->weekly_used = percent(jpick_one(week, "utilization"));
	r->weekly_resets_at = jtext_uint(jpick_one(week, "resetsAt"));
}

static void claude_limit(struct agent_result *r, struct jtext info)
{
	static const char *const names[] = {"status", "resetsAt", "unifiedWindows"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(info, names, v, ARRAY_SIZE(names)))
		return;
	r->limited = jtext_eq(v[0], "rejected");
	r->resets_at = r->limited ? jtext_uint(v[1]) : 0;
	claude_week(r, v[2]);
}

static void claude_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	if (jtext_eq(type, "result"))
		claude_result(r, line);
	else if (jtext_eq(type, "rate_limit_event"))
		claude_limit(r, jpick_one(line, "rate_limit_info"));
}

/* Fills in one block of a message; false: it is of no interest. */
static bool claude_part(struct jtext block, bool user, struct agent_part *ret)
{
	static const char *const names[] = {"type", "id",      "name",	   "input",
					    "text", "content", "is_error", "tool_use_id"};
	struct jtext v[ARRAY_SIZE(names)];

	if (!jpick(block, names, v, ARRAY_SIZE(names)))
		return false;
	if (!user && jtext_eq(v[0], "text"))
		*ret = (struct agent_part){.kind = AGENT_WORDS, .text = v[4]};
	else if (!user && jtext_eq(v[0], "tool_use"))
		*ret = (struct agent_part){
			.kind = AGENT_CALL, .id = v[1], .name = v[2], .args = v[3]};
	else if (user && jtext_eq(v[0], "tool_result") && jtext_true(v[6]))
		*ret = (struct agent_part){
			.kind = AGENT_FAILED, .id = v[7], .text = agent_block_text(v[5])};
	else
		return false;
	return true;
}

static size_t claude_parts(struct jtext line, struct agent_part *ret)
{
	struct jtext type = jpick_one(line, "type"), block;
	struct jtext content = jpick_one(jpick_one(line, "message"), "content");
	bool user = jtext_eq(type, "user");
	size_t at = 0, n = 0;

	if (!user && !jtext_eq(type, "assistant"))
		return 0;
	while (n < AGENT_PARTS_MAX && jpick_each(content, &at, &block))
		n += claude_part(block, user, &ret[n]);
	return n;
}

static bool claude_notice(struct jtext line, struct buf *b)
{
	struct jtext type = jpick_one(line, "type"), subtype = jpick_one(line, "subtype");

	if (!jtext_eq(type, "system"))
		return false;
	if (jtext_eq(subtype, "api_retry")) {
		(void)buf_printf(b, "the provider refused (%llu), attempt %llu of %llu",
				 (unsigned long long)jtext_uint(jpick_one(line, "error_status")),
				 (unsigned long long)jtext_uint(jpick_one(line, "attempt")),
				 (unsigned long long)jtext_uint(jpick_one(line, "max_retries")));
		return true;
	}
	if (jtext_eq(subtype, "compact_boundary"))
		return buf_puts(b, "its context was full and was made shorter") == 0;
	return false;
}

static const struct agent_stream claude_stream = {
	.marks = LIST("system", "assistant", "result", "rate_limit_event"),
	.line = claude_line,
	.parts = claude_parts,
	.notice = claude_notice,
};

/* clang-format off */
const struct agent agent_claude = {
	.name = "claude", .title = "Claude Code", .program = "claude",
	.install = "npm install -g @anthropic-ai/claude-code@latest",
	.interactive = LIST("--dangerously-skip-permissions"),
	.headless = LIST("-p", "--output-format", "stream-json", "--verbose",
			 "--dangerously-skip-permissions"),
	/* On the command line, where nothing that the agent writes can take it back. */
	.mcp = "--mcp-config={\"mcpServers\":{\"ralph\":{\"command\":\"/run/ralph/ralph-ask\","
	       "\"args\":[\"mcp\"]}}}",
	.services = LIST("anthropic"),
	.env = claude_env, .seeds = claude_seeds,
	/* WebFetch would first ask a host of its own about every other. */
	.settings = "--settings",
	.managed = {"/etc/claude-code/managed-settings.json",
		    "{\"skipWebFetchPreflight\":true}"},
	.identity = claude_identity,
	.state = LIST(".claude"), .conversations = ".claude/projects",
	.sessions = LIST(".claude/projects/*/*.jsonl", ".claude/projects/*/*/subagents/agent-*.jsonl"),
	.hosts = NONE, .login_hosts = LIST("@anthropic", "claude.com"),
	.private = LIST(".claude", ".claude.json"),
	.logins = LIST(".claude/.credentials.json", ".claude.json"),
	.installed = LIST(".local/share/claude", ".claude/local"),
	.template = "docker/sandbox-templates:claude-code",
	/* Its WebSearch is a request of its own with this tool. The words of a search go to the
	 * provider's search engine, not to a host that the sandbox names. WebFetch runs inside. */
	.provider_tools = LIST("web_search"),
	.budget = "--max-budget-usd",
	.stream = &claude_stream,
};
/* clang-format on */
