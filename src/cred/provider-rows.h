#pragma once

#include "cred/cred.h"

/* Every row there is: provider.c lists them in order of precedence. */
extern const struct cred_provider cred_anthropic_key;
extern const struct cred_provider cred_anthropic_oauth;
extern const struct cred_provider cred_bedrock;
extern const struct cred_provider cred_vertex;
extern const struct cred_provider cred_foundry;
extern const struct cred_provider cred_openai_chatgpt;
extern const struct cred_provider cred_openai_key;
extern const struct cred_provider cred_gemini_oauth;
extern const struct cred_provider cred_gemini_key;
extern const struct cred_provider cred_github;
extern const struct cred_provider cred_npm;
extern const struct cred_provider cred_bearer;
