#include "agent/row.h"

/* clang-format off */

static const struct agent_env copilot_env[] = {
	{NULL, "COPILOT_AUTO_UPDATE", "false"},
	{"anthropic-key", "COPILOT_OFFLINE", "true"},
	{"anthropic-key", "COPILOT_PROVIDER_TYPE", "anthropic"},
	{"anthropic-key", "COPILOT_PROVIDER_BASE_URL", "{endpoint}"},
	{"anthropic-key", "COPILOT_PROVIDER_API_KEY", "{phantom}"},
	{"anthropic-key", "COPILOT_MODEL", "claude-sonnet-5-5"},
	{0},
};
/* clang-format on */

/* ---- GitHub Copilot CLI: --output-format json; it counts no tokens ---- */

static void copilot_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	if (jtext_eq(type, "assistant.message")) {
		agent_take(&r->text, jpick_one(jpick_one(line, "data"), "content"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "assistant.turn_end")) {
		r->turns++;
	} else if (jtext_eq(type, "result")) {
		struct jtext code = jpick_one(line, "exitCode");

		r->seen = true;
		r->failed = !(code.n == 1 && code.p[0] == '0');
		agent_take(&r->session, jpick_one(line, "sessionId"), AGENT_WORD_MAX);
	}
}

static struct jtext copilot_why(struct jtext data)
{
	struct jtext message = jpick_one(jpick_one(data, "error"), "message");

	return message.p ? message
			 : agent_block_text(jpick_one(jpick_one(data, "result"), "content"));
}

static size_t copilot_parts(struct jtext line, struct agent_part *ret)
{
	struct jtext type = jpick_one(line, "type"), data = jpick_one(line, "data");
	struct jtext ok = jpick_one(data, "success");

	*ret = (struct agent_part){.id = jpick_one(data, "toolCallId")};
	if (jtext_eq(type, "assistant.message")) {
		ret->kind = AGENT_WORDS;
		ret->text = jpick_one(data, "content");
	} else if (jtext_eq(type, "tool.execution_start")) {
		ret->kind = AGENT_CALL;
		ret->name = jpick_one(data, "toolName");
		ret->args = jpick_one(data, "arguments");
	} else if (jtext_eq(type, "tool.execution_complete") && ok.p && !jtext_true(ok)) {
		ret->kind = AGENT_FAILED;
		ret->text = copilot_why(data);
	} else {
		return 0;
	}
	return 1;
}

static const struct agent_stream copilot_stream = {
	.marks = LIST("assistant.turn_start"),
	.line = copilot_line,
	.parts = copilot_parts,
};

/* clang-format off */
const struct agent agent_copilot = {
	.name = "copilot", .title = "GitHub Copilot CLI", .program = "copilot",
	.install = "npm install -g @github/copilot",
	.interactive = LIST("--allow-all-tools"),
	.headless = LIST("--allow-all-tools", "--output-format", "json"),
	.mcp = "--additional-mcp-config={\"mcpServers\":{\"ralph\":{\"type\":\"local\","
	       "\"command\":\"/run/ralph/ralph-ask\",\"args\":[\"mcp\"],\"tools\":[\"*\"],\"timeout\":330000}}}",
	.services = LIST("anthropic"),
	.env = copilot_env, .seeds = NO_SEEDS, .identity = NO_IDENTITY,
	.state = LIST(".copilot"), .conversations = ".copilot/session-state",
	.sessions = LIST(".copilot/session-state/*/events.jsonl"),
	.hosts = NONE,
	.login_hosts = LIST("github.com", "api.github.com", "*.githubcopilot.com"),
	.private = LIST(".copilot"), .installed = NONE,
	.logins = LIST(".copilot/config.json"), /* where there is no keyring */
	.template = "docker/sandbox-templates:copilot",
	.provider_tools = NONE,
	.stream = &copilot_stream,
};
/* clang-format on */
