#pragma once

#include "loop/last-words.h"
#include "work/task.h"

#include <stdint.h>

/*
 * What an iteration was worth: from what the host has seen, to what becomes of the task and of the
 * loop. Pure, and the only place where that is decided.
 */
enum run_end {
	RUN_OK,		 /* exit 0 (or ended by us after its result), last result without error */
	RUN_FAILED,	 /* it ran, and said or showed that it failed */
	RUN_EMPTY,	 /* it printed nothing, as often as it was tried */
	RUN_SILENT,	 /* nothing for too long */
	RUN_TOO_LONG,	 /* the whole took too long */
	RUN_LIMITED,	 /* the provider's limit was reached */
	RUN_CREDENTIAL,	 /* the provider does not accept the credential */
	RUN_NOT_STARTED, /* it cannot be run: nothing that another iteration would change */
	RUN_LOST,	 /* the sandbox ended under it */
	RUN_STOPPED,	 /* the user stopped the loop meanwhile */
	RUN_INTERRUPTED, /* ralph itself died meanwhile */
	RUN_SPENT,	 /* it has spent what it may */
	RUN_END_N,
};

struct facts {
	enum run_end end;
	enum last_words_kind promise;
	bool has_task;	   /* there is a task; else the prompt is all there is */
	bool claims;	   /* the agent says in its copy that the task is done */
	bool new_head;	   /* there are new commits, and they count */
	bool rejected;	   /* there were new commits, and they do not count */
	bool committed;	   /* there is a commit since the task was begun */
	bool verified;	   /* verification agrees */
	bool loose;	   /* what was verified is not all in commits */
	bool better;	   /* fewer of its commands fail than ever before */
	bool needs_commit; /* false where there is no repository, or no task */
};

enum verdict {
	VERDICT_DONE,	     /* claimed, verified, committed */
	VERDICT_PROGRESS,    /* something moved */
	VERDICT_NO_PROGRESS, /* nothing did */
	VERDICT_UNVERIFIED,  /* claimed, and verification disagrees */
	VERDICT_NO_COMMIT,   /* claimed and verified, without a commit */
	VERDICT_REJECTED,    /* its commits were taken back */
	VERDICT_FAILED,	     /* the run itself failed */
	VERDICT_BLOCKED,
	VERDICT_DECIDE,
	VERDICT_LIMITED,
	VERDICT_CREDENTIAL,
	VERDICT_BROKEN, /* it cannot be run at all */
	VERDICT_INTERRUPTED,
	VERDICT_LOOSE, /* claimed and verified, with files that are in no commit */
	VERDICT_N,
};

struct judgement {
	enum verdict verdict;
	bool progress;	/* for the count of iterations without */
	bool give_back; /* the attempt does not count */
	enum task_state state;
	const char *why; /* a few words, for tables and the next prompt */
};

void verdict_judge(const struct facts *f, struct judgement *ret);
const char *verdict_name(enum verdict v); /* "done", "no progress" … */
/* Does the attempt not count? */
bool verdict_gives_back(enum verdict v);
const char *run_end_name(enum run_end e);
