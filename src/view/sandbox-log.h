#pragma once

#include "base/json/json.h"
#include "events/events-follow.h"

#include <stdbool.h>
#include <stdint.h>

/* What a sandbox's event log adds up to, kept up as it grows. Text is as it came from inside. */
#define SANDBOX_LOG_REFUSED_MAX 32 /* hosts that are kept, the latest */
#define BOX_RATE_S 60		   /* over so long a rate is measured */
#define BOX_RATE_SLOTS 64
#define SANDBOX_LOG_COMMANDS_MAX 32
#define SANDBOX_LOG_EVENTS_MAX 256 /* lines that are kept, the latest */

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
	uint64_t micro_usd, tokens; /* of its whole life */
	struct {
		int64_t second;
		uint64_t micro_usd, tokens;
	} rate[BOX_RATE_SLOTS];
	uint64_t refused;					   /* since it was last started */
	struct sandbox_log_refused hosts[SANDBOX_LOG_REFUSED_MAX]; /* the latest last */
	size_t n_hosts;
	struct sandbox_log_event events[SANDBOX_LOG_EVENTS_MAX]; /* the latest last */
	size_t n_events;
	struct sandbox_log_command {
		char *text;
		long long id;
	} commands[SANDBOX_LOG_COMMANDS_MAX]; /* that run, the latest last */
	size_t n_commands;
	long long probe_id;
	int64_t started_ms, last_ms;
	bool seen_first;
};

/* Takes dir. The struct must stay where it is. */
void sandbox_log_open(struct sandbox_log *l, int dir);
void sandbox_log_done(struct sandbox_log *l);
int sandbox_log_more(struct sandbox_log *l, struct err *err);
void sandbox_log_take(struct sandbox_log *l, const json_t *record); /* one that is not in a file */
/* The command that was begun last and still runs; NULL: none. */
const char *sandbox_log_command(const struct sandbox_log *l);
/* Tokens and millionths of a dollar in the last minute. */
void sandbox_log_rate(const struct sandbox_log *l, int64_t now_s, uint64_t *ret_tokens,
		      uint64_t *ret_usd);
