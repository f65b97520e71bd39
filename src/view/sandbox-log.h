#pragma once

#include "base/json/json.h"
#include "events/events-follow.h"

#include <stdbool.h>
#include <stdint.h>

/* Totals of a sandbox's event log, updated as it grows. Text from inside is not escaped. */
#define SANDBOX_LOG_REFUSED_MAX 32 /* latest hosts that are kept */
#define BOX_RATE_S 60		   /* interval for the rate */
#define BOX_RATE_SLOTS 64
#define SANDBOX_LOG_COMMANDS_MAX 32
#define SANDBOX_LOG_EVENTS_MAX 256 /* latest lines that are kept */

struct sandbox_log_refused {
	char *host, *reason;
	long long port;
	uint64_t count;
	int64_t last_ms;
};

struct sandbox_log_event {
	char *type, *text;
	long long seq;
	int64_t at_ms;
	int style; /* enum term_style */
};

struct sandbox_log {
	struct events_follow follow;
	int dir;
	uint64_t micro_usd, tokens; /* over its lifetime */
	struct {
		int64_t second;
		uint64_t micro_usd, tokens;
	} rate[BOX_RATE_SLOTS];
	json_t *limits; /* the last that a provider told of its rate limits; NULL: nothing */
	int64_t limits_ms;
	int64_t since_ms; /* of sandbox_log_since() */
	uint64_t refused; /* since its last start, or since since_ms */
	struct sandbox_log_refused hosts[SANDBOX_LOG_REFUSED_MAX]; /* latest last */
	size_t n_hosts;
	struct sandbox_log_event events[SANDBOX_LOG_EVENTS_MAX]; /* latest last */
	size_t n_events;
	struct sandbox_log_command {
		char *text;
		long long id;
	} commands[SANDBOX_LOG_COMMANDS_MAX]; /* running ones, latest last */
	size_t n_commands;
	uint64_t gateway_ends; /* since its last start */
	char *gateway_why;     /* of the last of them */
	long long probe_id;
	int64_t started_ms, last_ms;
	bool seen_first;
};

/* Takes ownership of dir. The struct must not be moved. */
void sandbox_log_open(struct sandbox_log *l, int dir);
void sandbox_log_done(struct sandbox_log *l);
/* Refusals are counted since this time, over all starts behind it; 0: since the last start. */
void sandbox_log_since(struct sandbox_log *l, int64_t since_ms);
int sandbox_log_more(struct sandbox_log *l, struct err *err);
void sandbox_log_take(struct sandbox_log *l, const json_t *record); /* for a record not in a file */
/* Returns the running command that was started last; NULL: none. */
const char *sandbox_log_command(const struct sandbox_log *l);
/* Returns tokens and millionths of a dollar in the last minute. */
void sandbox_log_rate(const struct sandbox_log *l, int64_t now_s, uint64_t *ret_tokens,
		      uint64_t *ret_usd);
