#include "cred/hold/holders.h"

#include <string.h>

static const struct {
	const char *provider;
	const struct cred_holder *holder;
} holders[] = {
	{"anthropic-key", &cred_anthropic_key_holder},
	{"anthropic-oauth", &cred_anthropic_oauth_holder},
	{"bedrock", &cred_bedrock_holder},
	{"vertex", &cred_vertex_holder},
	{"foundry", &cred_foundry_holder},
	{"openai-chatgpt", &cred_openai_chatgpt_holder},
	{"openai-key", &cred_openai_key_holder},
	{"gemini-oauth", &cred_gemini_oauth_holder},
	{"gemini-key", &cred_gemini_key_holder},
	{"github", &cred_bearer_holder},
	{"npm", &cred_npm_holder},
	{"bearer", &cred_bearer_holder},
};

const struct cred_holder *cred_holder_find(const char *provider)
{
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		if (streq(holders[i].provider, provider))
			return holders[i].holder;
	return NULL;
}
