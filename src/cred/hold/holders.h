#pragma once

#include "cred/hold/hold.h"

/* The other half of every row: holders.c says which provider is whose. */
extern const struct cred_holder cred_anthropic_key_holder;
extern const struct cred_holder cred_anthropic_oauth_holder;
extern const struct cred_holder cred_bedrock_holder;
extern const struct cred_holder cred_vertex_holder;
extern const struct cred_holder cred_foundry_holder;
extern const struct cred_holder cred_openai_chatgpt_holder;
extern const struct cred_holder cred_openai_key_holder;
extern const struct cred_holder cred_gemini_oauth_holder;
extern const struct cred_holder cred_gemini_key_holder;
extern const struct cred_holder cred_npm_holder;
extern const struct cred_holder cred_bearer_holder;
