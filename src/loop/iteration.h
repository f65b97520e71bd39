#pragma once

#include "agent/result.h"
#include "base/ev.h"
#include "loop/control.h"
#include "loop/last-words.h"
#include "loop/show.h"
#include "loop/verdict.h"
#include "record/places.h"

/*
 * One run of an agent in the live sandbox: a fresh process with the prompt on its stdin. Its output
 * stream is shown, logged and parsed as it arrives. Every run ends: by itself, by a time limit, or
 * by the user.
 */
struct iteration {
	/* input, set by the caller */
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
	int log, err_log; /* files for the raw stream and for stderr; -1: not kept */
	uint64_t total_ms, idle_ms, grace_ms; /* 0: no limit */
	uint64_t allowance;		      /* spending limit in micro-dollars; 0: none */
	/* Called every two seconds and at each tool call. `tool` stays valid until the next
	 * call. Returns the cost so far. */
	uint64_t (*tick)(void *arg, const struct iteration *it, const char *tool);
	/* Does the agent wait for a person's answer? Then total and idle time stand still. NULL: never. */
	bool (*waits)(void *arg, const struct iteration *it);
	void *arg;

	/* result */
	enum run_end end;
	int code;
	const struct agent_stream *stream; /* that it turned out to print; NULL: text */
	struct agent_result said;
	struct last_words last_words;
	char *failure; /* reason of the failure, or why the agent cannot be run; may be NULL */
	uint64_t ms;
	uint64_t waited_ms; /* for answers, in this run and those before it */
	bool empty;
	bool shown; /* its last words are on the display already */
};

/* Returns -errno only for failures of the host; failures of the agent are in it->end. */
int iteration_run(struct iteration *it, struct err *err);
void iteration_done(struct iteration *it);

#define ITERATION_LOG_MAX (64 * MiB) /* maximum log of one iteration; ralph drops the rest */
#define ITERATION_ERR_MAX (1 * MiB)
