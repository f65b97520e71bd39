#pragma once

#include "agent/agent.h"
#include "base/buf.h"

/*
 * What is shown of an agent's stream while it works: the name of the tool it calls and the one
 * thing about the call that tells it from others. Pure. The text is the agent's: whoever prints it
 * escapes it.
 */
#define RENDER_MAX 400

/* true: this line is such a call, and *ret (made with RENDER_MAX) has it: "Bash  npm test". */
bool render_call(enum agent_format format, const char *line, size_t n, struct buf *ret);
/* true: this line says something to be shown besides: a refusal, a retry. */
bool render_notice(enum agent_format format, const char *line, size_t n, struct buf *ret);
/* Of a line of an agent whose stream is not known by its row: does it speak Claude's? */
bool render_is_claude(const char *line, size_t n);
