#include "agent/row.h"

/* clang-format off */

#define GEMINI_SETTINGS(asks, auth)                                                                \
	"{" asks "\"security\":{" auth "\"folderTrust\":{\"enabled\":false}},"                             \
	"\"privacy\":{\"usageStatisticsEnabled\":false},"                                          \
	"\"telemetry\":{\"enabled\":false},"                                                       \
	"\"general\":{\"enableAutoUpdate\":false,\"enableAutoUpdateNotification\":false},"         \
	"\"ui\":{\"theme\":\"Default\"}}\n"

static const struct agent_env gemini_env[] = {
	{NULL, "GEMINI_CLI_TRUST_WORKSPACE", "true"},
	/* Gemini CLI tells its model so, and starts no sandbox of its own. */
	{NULL, "SANDBOX", "ralph"},
	{"gemini-key", "GEMINI_API_KEY", "{phantom}"},
	{"gemini-key", "GOOGLE_GEMINI_BASE_URL", "{endpoint}"},
	{"gemini-oauth", "GOOGLE_GENAI_USE_GCA", "true"},
	{"gemini-oauth", "GOOGLE_CLOUD_ACCESS_TOKEN", "{phantom}"},
	{"gemini-oauth", "CODE_ASSIST_ENDPOINT", "{endpoint}"},
	{"gemini-oauth", "GOOGLE_CLOUD_PROJECT", "{option:project}"},
	{0},
};

static const struct agent_seed gemini_seeds[] = {
	{"gemini-key", ".gemini/settings.json",
	 GEMINI_SETTINGS(AGENT_ASKS, "\"auth\":{\"selectedType\":\"gemini-api-key\"},"), true},
	{"gemini-oauth", ".gemini/settings.json",
	 GEMINI_SETTINGS(AGENT_ASKS, "\"auth\":{\"selectedType\":\"oauth-personal\"},"), true},
	{NULL, ".gemini/settings.json", GEMINI_SETTINGS("", ""), false},
	{0},
};

static const struct agent_identity gemini_identity[] = {
	{"gemini-oauth", ".gemini/google_accounts.json", "active", false},
	{0},
};
/* clang-format on */

/* ---- Gemini CLI: --output-format stream-json ---- */

static void gemini_line(struct agent_result *r, struct jtext type, struct jtext line)
{
	static const char *const names[] = {"input", "output_tokens", "cached"};
	struct jtext v[ARRAY_SIZE(names)];

	if (jtext_eq(type, "init")) {
		agent_take(&r->session, jpick_one(line, "session_id"), AGENT_WORD_MAX);
	} else if (jtext_eq(type, "message")) {
		if (jtext_eq(jpick_one(line, "role"), "assistant"))
			agent_take(&r->text, jpick_one(line, "content"), AGENT_TEXT_MAX);
	} else if (jtext_eq(type, "result")) {
		r->seen = true;
		r->failed = !jtext_eq(jpick_one(line, "status"), "success");
		agent_take(&r->reason, jpick_one(jpick_one(line, "error"), "message"),
			   AGENT_TEXT_MAX);
		if (!jpick(jpick_one(line, "stats"), names, v, ARRAY_SIZE(names)))
			return;
		r->input = jtext_uint(v[0]);
		r->output = jtext_uint(v[1]);
		r->cache_read = jtext_uint(v[2]);
	}
}

static size_t gemini_parts(struct jtext line, struct agent_part *ret)
{
	static const char *const names[] = {"type",  "tool_id", "tool_name", "parameters",
					    "role",  "content", "delta",     "status",
					    "error", "output"};
	struct jtext v[ARRAY_SIZE(names)], why;

	if (!jpick(line, names, v, ARRAY_SIZE(names)))
		return 0;
	*ret = (struct agent_part){.id = v[1]};
	if (jtext_eq(v[0], "message") && jtext_eq(v[4], "assistant")) {
		ret->kind = AGENT_WORDS;
		ret->text = v[5];
		ret->more = jtext_true(v[6]);
	} else if (jtext_eq(v[0], "tool_use")) {
		ret->kind = AGENT_CALL;
		ret->name = v[2];
		ret->args = v[3];
	} else if (jtext_eq(v[0], "tool_result") && jtext_eq(v[7], "error")) {
		why = jpick_one(v[8], "message");
		ret->kind = AGENT_FAILED;
		ret->text = why.p ? why : v[9];
	} else {
		return 0;
	}
	return 1;
}

static const struct agent_stream gemini_stream = {
	.marks = LIST("init"),
	.line = gemini_line,
	.parts = gemini_parts,
};

/* clang-format off */
const struct agent agent_gemini = {
	.name = "gemini", .title = "Gemini CLI", .program = "gemini",
	.install = "npm install -g @google/gemini-cli",
	.interactive = LIST("--yolo"),
	.headless = LIST("--yolo", "--output-format", "stream-json"),
	/* Its file below /etc has to be root's, who is nobody in a sandbox. */
	.mcp_seed = "\"mcpServers\":{\"ralph\":{\"command\":\"/run/ralph/ralph-ask\",\"args\":[\"mcp\"],"
		    "\"timeout\":330000,\"trust\":true}},",
	.services = LIST("gemini"),
	.env = gemini_env, .seeds = gemini_seeds, .identity = gemini_identity,
	.state = LIST(".gemini"), .conversations = ".gemini/tmp",
	.sessions = LIST(".gemini/tmp/*/chats/session-*.jsonl"),
	.hosts = NONE,
	.login_hosts = LIST("@gemini", "www.googleapis.com"),
	.private = LIST(".gemini"), .installed = NONE,
	.logins = LIST(".gemini/oauth_creds.json", ".gemini/gemini-credentials.json",
		       ".config/gemini/credentials.json"),
	.template = "docker/sandbox-templates:gemini",
	/* Its google_web_search is a request of its own with this tool. Its web_fetch would let the
	 * provider open any URL, and fetches by itself, through the gateway, when that fails. */
	.provider_tools = LIST("web_search"),
	.stream = &gemini_stream,
};
/* clang-format on */
