#pragma once

#include "agent/agent.h"
#include "base/buf.h"

/*
 * The display of an agent's stream while it works: the name of each tool it calls, and the most
 * telling argument. Pure. The agent wrote the text: the caller escapes it for display.
 */
#define RENDER_MAX 400

/* Returns true for a tool call; *ret (made with RENDER_MAX) then has it: "Bash  npm test". */
bool render_call(const struct agent_stream *s, const char *line, size_t n, struct buf *ret);
/* Returns true for another line worth showing: a refusal, a retry. */
bool render_notice(const struct agent_stream *s, const char *line, size_t n, struct buf *ret);
