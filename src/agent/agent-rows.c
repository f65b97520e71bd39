/*
 * The rows themselves. What the programs do with each of these was seen by running them
 * (tests/agents runs them again).
 */
#include "agent/agent-rows.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const none[] = {NULL};

/* clang-format off */

/* ---- Claude Code ---- */

/* What models are called there is the user's choice, not the program's. */
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
	/* Where the user inside is root, it would refuse to work without questions. */
	{NULL, "IS_SANDBOX", "1"},
	{"anthropic-oauth", "CLAUDE_CODE_OAUTH_TOKEN", "{phantom}"},
	{"anthropic-oauth", "ANTHROPIC_BASE_URL", "{endpoint}"},
	{"anthropic-oauth", "CLAUDE_CODE_SUBSCRIPTION_TYPE", "{option:subscription}"},
	{"anthropic-key", "ANTHROPIC_API_KEY", "{phantom}"},
	{"anthropic-key", "ANTHROPIC_BASE_URL", "{endpoint}"},
	/* It sends no field with a key here: the phantom is a part of the path. */
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
	 /* How the phantom of a key ends, see cred/anthropic.c. */
	 "\"customApiKeyResponses\":{\"approved\":[\"ralph-phantom-000000\"],\"rejected\":[]},"
	 "\"projects\":{\"{workspace}\":{\"hasTrustDialogAccepted\":true}}}\n", false},
	{0},
};

static const struct agent_identity claude_identity[] = {
	{"anthropic-oauth", ".claude.json", "oauthAccount.emailAddress", false},
	{0},
};

/* ---- Codex ---- */

/* The last three tables end the traffic to other hosts; the provider of our own is there because
 * the built-in one ignores OPENAI_BASE_URL and, for ChatGPT, insists on https. */
#define CODEX_QUIET                                                                                \
	"[features]\nplugins = false\n\n[analytics]\nenabled = false\n\n"                          \
	"[otel]\nmetrics_exporter = \"none\"\n\n"                                                  \
	"[projects.\"{workspace}\"]\ntrust_level = \"trusted\"\n"
#define CODEX_PROVIDER(base)                                                                       \
	"model_provider = \"ralph\"\ncheck_for_update_on_startup = false\n\n"                      \
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
	{NULL, ".codex/config.toml", "check_for_update_on_startup = false\n\n" CODEX_QUIET, true},
	{0},
};

static const struct agent_identity codex_identity[] = {
	{"openai-chatgpt", ".codex/auth.json", "tokens.id_token", true},
	{0},
};

/* ---- Gemini CLI ---- */

#define GEMINI_SETTINGS(auth)                                                                      \
	"{\"security\":{" auth "\"folderTrust\":{\"enabled\":false}},"                             \
	"\"privacy\":{\"usageStatisticsEnabled\":false},"                                          \
	"\"telemetry\":{\"enabled\":false},"                                                       \
	"\"general\":{\"enableAutoUpdate\":false,\"enableAutoUpdateNotification\":false},"         \
	"\"ui\":{\"theme\":\"Default\"}}\n"

static const struct agent_env gemini_env[] = {
	{NULL, "GEMINI_CLI_TRUST_WORKSPACE", "true"},
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
	 GEMINI_SETTINGS("\"auth\":{\"selectedType\":\"gemini-api-key\"},"), true},
	{"gemini-oauth", ".gemini/settings.json",
	 GEMINI_SETTINGS("\"auth\":{\"selectedType\":\"oauth-personal\"},"), true},
	{NULL, ".gemini/settings.json", GEMINI_SETTINGS(""), false},
	{0},
};

static const struct agent_identity gemini_identity[] = {
	{"gemini-oauth", ".gemini/google_accounts.json", "active", false},
	{0},
};

/* ---- opencode ---- */

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

/* ---- GitHub Copilot CLI ---- */

static const struct agent_env copilot_env[] = {
	{NULL, "COPILOT_AUTO_UPDATE", "false"},
	{"anthropic-key", "COPILOT_OFFLINE", "true"},
	{"anthropic-key", "COPILOT_PROVIDER_TYPE", "anthropic"},
	{"anthropic-key", "COPILOT_PROVIDER_BASE_URL", "{endpoint}"},
	{"anthropic-key", "COPILOT_PROVIDER_API_KEY", "{phantom}"},
	{"anthropic-key", "COPILOT_MODEL", "claude-sonnet-5-5"},
	{0},
};

/* ---- any command: what clients of the providers read, where the user's settings name one ---- */

static const struct agent_env command_env[] = {
	{"anthropic-key", "ANTHROPIC_API_KEY", "{phantom}"},
	{"anthropic-key", "ANTHROPIC_BASE_URL", "{endpoint}"},
	{"anthropic-oauth", "ANTHROPIC_AUTH_TOKEN", "{phantom}"},
	{"anthropic-oauth", "ANTHROPIC_BASE_URL", "{endpoint}"},
	{"openai-key", "OPENAI_API_KEY", "{phantom}"},
	{"openai-key", "OPENAI_BASE_URL", "{endpoint}/v1"},
	{"gemini-key", "GEMINI_API_KEY", "{phantom}"},
	{"gemini-key", "GOOGLE_GEMINI_BASE_URL", "{endpoint}"},
	{0},
};

static const struct agent_seed no_seeds[] = {{0}};
static const struct agent_identity no_identity[] = {{0}};

static const struct agent rows[] = {
	{
		.name = "claude", .title = "Claude Code", .program = "claude",
		.install = "npm install -g @anthropic-ai/claude-code@latest",
		.interactive = LIST("--dangerously-skip-permissions"),
		.headless = LIST("-p", "--output-format", "stream-json", "--verbose",
				 "--dangerously-skip-permissions"),
		.services = LIST("anthropic"),
		.env = claude_env, .seeds = claude_seeds,
		/* WebFetch would first ask a host of its own about every other. */
		.settings = "--settings",
		.managed = {"/etc/claude-code/managed-settings.json",
			    "{\"skipWebFetchPreflight\":true}"},
		.identity = claude_identity,
		.state = LIST(".claude"), .conversations = ".claude/projects",
		.hosts = none, .login_hosts = LIST("@anthropic", "claude.com"),
		.stream = AGENT_FORMAT_CLAUDE, .transcript = AGENT_FORMAT_CLAUDE,
	},
	{
		.name = "codex", .title = "Codex", .program = "codex",
		.install = "npm install -g @openai/codex",
		.interactive = LIST("--dangerously-bypass-approvals-and-sandbox"),
		.headless = LIST("exec", "--json", "--skip-git-repo-check",
				 "--dangerously-bypass-approvals-and-sandbox", "-"),
		.services = LIST("openai"),
		.env = codex_env, .seeds = codex_seeds, .identity = codex_identity,
		.state = LIST(".codex"), .conversations = ".codex/sessions",
		.hosts = none, .login_hosts = LIST("@openai"),
		.stream = AGENT_FORMAT_CODEX, .transcript = AGENT_FORMAT_CODEX,
	},
	{
		.name = "gemini", .title = "Gemini CLI", .program = "gemini",
		.install = "npm install -g @google/gemini-cli",
		.interactive = LIST("--yolo"),
		.headless = LIST("--yolo", "--output-format", "stream-json"),
		.services = LIST("gemini"),
		.env = gemini_env, .seeds = gemini_seeds, .identity = gemini_identity,
		.state = LIST(".gemini"), .conversations = ".gemini/tmp",
		.hosts = none,
		.login_hosts = LIST("@gemini", "www.googleapis.com"),
		.stream = AGENT_FORMAT_GEMINI, .transcript = AGENT_FORMAT_GEMINI,
	},
	{
		.name = "opencode", .title = "opencode", .program = "opencode",
		.install = "npm install -g opencode-ai",
		.interactive = none,
		.headless = LIST("run", "--format", "json"),
		.services = LIST("anthropic"),
		.env = opencode_env, .seeds = opencode_seeds, .identity = no_identity,
		.state = LIST(".local/share/opencode"), .conversations = ".local/share/opencode/opencode.db",
		.hosts = none,
		.login_hosts = LIST("@anthropic", "opencode.ai", "models.dev"),
		.stream = AGENT_FORMAT_OPENCODE, .transcript = AGENT_FORMAT_OPENCODE,
	},
	{
		.name = "copilot", .title = "GitHub Copilot CLI", .program = "copilot",
		.install = "npm install -g @github/copilot",
		.interactive = LIST("--allow-all-tools"),
		.headless = LIST("--allow-all-tools", "--output-format", "json"),
		.services = LIST("anthropic"),
		.env = copilot_env, .seeds = no_seeds, .identity = no_identity,
		.state = LIST(".copilot"), .conversations = ".copilot/session-state",
		.hosts = none,
		.login_hosts = LIST("github.com", "api.github.com", "*.githubcopilot.com"),
		.stream = AGENT_FORMAT_COPILOT, .transcript = AGENT_FORMAT_COPILOT,
	},
	{
		.name = "command", .title = "any command",
		.interactive = none, .headless = none, .services = none,
		.env = command_env, .seeds = no_seeds, .identity = no_identity,
		.state = none, .hosts = none, .login_hosts = none,
	},
};
/* clang-format on */

/* As constants, for tables of the command line. */
const char *const agent_words[] = {"claude",  "codex",	 "gemini", "opencode",
				   "copilot", "command", NULL};
_Static_assert(ARRAY_SIZE(agent_words) == ARRAY_SIZE(rows) + 1, "one word per row");

const struct agent *const agent_rows = rows;
const size_t n_agent_rows = ARRAY_SIZE(rows);
