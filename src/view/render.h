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
bool render_call(const struct agent_stream *s, const char *line, size_t n, struct buf *ret);
/* true: this line says something to be shown besides: a refusal, a retry. */
bool render_notice(const struct agent_stream *s, const char *line, size_t n, struct buf *ret);
