#pragma once

#include "transcript/transcript.h"

/* The readers of all agents; each in the file of its name. */
bool tr_claude_record(struct tr *t, struct jtext record);
bool tr_codex_record(struct tr *t, struct jtext record);
bool tr_gemini_record(struct tr *t, struct jtext record);
bool tr_gemini_prepare(struct tr *t, struct jtext record);
bool tr_copilot_record(struct tr *t, struct jtext record);
bool tr_opencode_record(struct tr *t, struct jtext record);
