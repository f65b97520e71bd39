#pragma once

#include "agent/agent.h"
#include "base/buf.h"

/*
 * The display of an agent's stream while it works: the name of each tool it calls, and the most
 * telling argument. Pure. The agent wrote the text: the caller escapes it for display.
 */
#define RENDER_MAX 400

/* Returns true for a tool call; *ret (made with RENDER_MAX) then has it: "Bash  npm test". */
bool render_call(enum agent_format format, const char *line, size_t n, struct buf *ret);
/* Returns true for another line worth showing: a refusal, a retry. */
bool render_notice(enum agent_format format, const char *line, size_t n, struct buf *ret);
/* True when a line is in Claude's format, for an agent whose row names no format. */
bool render_is_claude(const char *line, size_t n);
