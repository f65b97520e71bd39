#pragma once

#include "agent/agent.h"

#include <stdint.h>

/*
 * The result that a headless run of an agent reports. ralph reads it line by line from the agent's
 * stdout, which is hostile like everything from a sandbox. Lines that are torn, too long or of no
 * interest are skipped. A background task can cause several results; the last one counts.
 */
#define AGENT_TEXT_MAX (16 * KiB) /* of what it said last, and of an error */
#define AGENT_LINE_MAX (8 * MiB)  /* longer ones are passed over */

struct agent_result {
	bool seen;	 /* it said how it ended: without this it did not come to its end */
	bool failed;	 /* … and that it failed */
	char *session;	 /* to go on with; NULL: it has none */
	char *text;	 /* its last words; NULL: none */
	char *reason;	 /* "max_turns", "usage_limit_reached" …; NULL: none was given */
	uint32_t status; /* of the provider's answer, where that was the error; 0: it was not */
	uint64_t turns;
	uint64_t micro_usd; /* as the agent has reckoned it; the gateway's own count is apart */
	uint64_t input, output, cache_read, cache_write; /* tokens */
	bool limited;		   /* a limit of the provider's has been reached */
	bool unreached;		   /* the provider gave no answer at all */
	uint64_t resets_at;	   /* seconds since 1970 when it ends; 0: not known */
	uint64_t weekly_used;	   /* of the provider's limit for a week, in percent; 0: not told */
	uint64_t weekly_resets_at; /* when that week ends; 0: not known */
};

void agent_result_init(struct agent_result *r);
void agent_result_done(struct agent_result *r);
/* A stream of NULL has nothing to say. */
void agent_result_line(struct agent_result *r, const struct agent_stream *s, const char *line,
		       size_t n);
/* Did the run do what it was asked? Its exit code alone does not say: an interrupted one has 0. */
bool agent_result_ok(const struct agent_result *r, const struct agent_stream *s, int exit_code);

/* Does this line tell that the run prints this stream? */
bool agent_stream_is(const struct agent_stream *s, const char *line, size_t n);
/* The first stream of all that this line tells; NULL: none. */
const struct agent_stream *agent_stream_find(const char *line, size_t n);
