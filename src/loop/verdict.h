#pragma once

#include "loop/last-words.h"
#include "work/task.h"

#include <stdint.h>

/*
 * The verdict on an iteration: facts that the host saw become the fate of the task and the loop.
 * Pure, and the only place that decides this.
 */
enum run_end {
	RUN_OK,		/* exit 0 (or ended by ralph after its result), last result without error */
	RUN_FAILED,	/* the agent ran, and reported or showed a failure */
	RUN_EMPTY,	/* the agent printed nothing, in every try */
	RUN_SILENT,	/* no output for too long */
	RUN_TOO_LONG,	/* the run exceeded its time limit */
	RUN_LIMITED,	/* the provider's limit was reached */
	RUN_CREDENTIAL, /* the provider does not accept the credential */
	RUN_NOT_STARTED, /* the agent cannot be run; another iteration would not help */
	RUN_LOST,	 /* the sandbox ended during the run */
	RUN_STOPPED,	 /* the user stopped the loop during the run */
	RUN_INTERRUPTED, /* ralph itself was killed during the run */
	RUN_SPENT,	 /* the agent has used its spending limit */
	RUN_OUTAGE,	 /* the provider was not available */
	RUN_OVERTIME,	 /* the loop's own time was over */
	RUN_END_N,
};

enum verdict {
	VERDICT_DONE,	     /* claimed, verified, committed */
	VERDICT_PROGRESS,    /* there was progress */
	VERDICT_NO_PROGRESS, /* there was none */
	VERDICT_UNVERIFIED,  /* claimed, but the checks failed */
	VERDICT_NO_COMMIT,   /* claimed and verified, without a commit */
	VERDICT_REJECTED,    /* the commits were reset */
	VERDICT_FAILED,	     /* the run itself failed */
	VERDICT_BLOCKED,
	VERDICT_DECIDE,
	VERDICT_LIMITED,
	VERDICT_CREDENTIAL,
	VERDICT_BROKEN, /* the agent cannot be run at all */
	VERDICT_INTERRUPTED,
	VERDICT_LOOSE, /* claimed and verified, with uncommitted files */
	VERDICT_OUTAGE,
	VERDICT_CHANGES, /* claimed, verified, committed, and the reviewer asks for changes */
	VERDICT_N,
};

struct facts {
	enum run_end end;
	enum last_words_kind last_words;
	bool has_task;	     /* false: only a prompt */
	bool claims;	     /* the agent's copy of the list marks the task as done */
	bool new_head;	     /* there are new commits, and they count */
	bool rejected;	     /* there were new commits, and they do not count */
	bool committed;	     /* there is a commit since the task began */
	bool verified;	     /* the checks passed */
	bool proved;	     /* … and there was at least one */
	bool loose;	     /* some verified files are uncommitted */
	bool better;	     /* fewer verify commands fail than ever before */
	bool approved;	     /* by a reviewer */
	bool needs_commit;   /* false where there is no repository, or no task */
	enum verdict review; /* of a task that is done otherwise; VERDICT_DONE: no objection */
};

struct judgement {
	enum verdict verdict;
	bool progress;	/* false: counts as an iteration without progress */
	bool give_back; /* the attempt does not count */
	enum task_state state;
	const char *why; /* a few words, for tables and the next prompt */
};

void verdict_judge(const struct facts *f, struct judgement *ret);
const char *verdict_name(enum verdict v); /* "done", "no progress" … */
/* True when the attempt does not count. */
bool verdict_gives_back(enum verdict v);
/* True when the provider was not available: neither the iteration nor its time counts. */
bool verdict_waits(enum verdict v);
const char *run_end_name(enum run_end e);
