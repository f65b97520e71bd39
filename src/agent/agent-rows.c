#include "agent/agent-rows.h"

#include "agent/row.h"

/* clang-format off */
/* Any command gets the variables that clients of the providers read, where the user's settings name one. */
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

static const struct agent agent_command = {
	.name = "command", .title = "any command",
	.interactive = NONE, .headless = NONE, .services = NONE, .provider_tools = NONE,
	.env = command_env, .seeds = NO_SEEDS, .identity = NO_IDENTITY,
	.state = NONE, .sessions = NONE, .private = NONE, .logins = NONE, .installed = NONE, .hosts = NONE, .login_hosts = NONE,
};

#define AGENT(x) &agent_##x,
const struct agent *const agent_rows[] = {
#include "agent/agents.def"
	&agent_command
};
#undef AGENT

#define AGENT(x) #x,
const char *const agent_words[] = {
#include "agent/agents.def"
	"command", NULL
};
const char *const agent_programs[] = {
#include "agent/agents.def"
	NULL
};
#undef AGENT
/* clang-format on */

const size_t n_agent_rows = ARRAY_SIZE(agent_rows);
