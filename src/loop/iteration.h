#pragma once

#include "agent/result.h"
#include "base/ev.h"
#include "loop/control.h"
#include "loop/last-words.h"
#include "loop/show.h"
#include "loop/verdict.h"
#include "record/places.h"

/*
 * One run of an agent in the live sandbox: a fresh process, the prompt on its stdin, its stream
 * shown, kept and read while it comes. Ends in any case: by itself, by a time limit, or by the
 * user.
 */
struct iteration {
	/* what is wanted */
	struct ev *ev;
	struct control *control;
	struct show *show;
	const struct places *places;
	const char *sandbox;
	const struct agent *agent;
	const struct strv *argv, *env;
	const char *whole; /* see struct job_command */
	const char *prompt;
	size_t prompt_len;
	int log, err_log; /* where the raw stream goes, and what it said on stderr; -1: nowhere */
	uint64_t total_ms, idle_ms, grace_ms; /* 0: no limit */
	uint64_t allowance;		      /* what it may spend, in micro-dollars; 0: anything */
	/* Told every two seconds and at each call of a tool, which stays valid until the next; its
	 * answer is the cost so far. */
	uint64_t (*tick)(void *arg, const char *tool);
	void *arg;

	/* what has become of it */
	enum run_end end;
	int code;
	const struct agent_stream *stream; /* that it turned out to print; NULL: text */
	struct agent_result said;
	struct last_words promise;
	char *failure; /* what it said of its own failure, or why it cannot be run; may be NULL */
	uint64_t ms;
	bool empty;
};

/* -errno only where the host fails; what an agent does wrong is in it->end. */
int iteration_run(struct iteration *it, struct err *err);
void iteration_done(struct iteration *it);

#define ITERATION_LOG_MAX (64 * MiB) /* of the stream of one iteration; the rest is not kept */
#define ITERATION_ERR_MAX (1 * MiB)
