#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "loop/verdict.h"

#include <stdint.h>

/*
 * DOC: Theory of operation
 *
 * loop.json of the state holds everything that a loop must know after it was killed. It is replaced
 * atomically and synced at every step of an iteration. It is a journal of one entry. Before an
 * action that cannot be undone or must not be done twice, the file announces it; the same write
 * that clears the entry also counts the action.
 *
 *	none      between iterations
 *	ITERATE   the agent runs: iteration, task, the previous head. The iteration is counted here:
 *	          an interrupted one counts too.
 *	VERIFY    the agent has ended and its result is known: verification can be repeated
 *	SETTLE    the judgement: writing it to the task's state can be repeated
 *
 * A loop that opens the file with an entry in it finishes that first (recover.c).
 *
 * The records of iterations are in records.jsonl, one line each, which is only appended to: a step
 * costs the same however many iterations there were. loop.json says how many of its bytes count.
 * They are appended and synced first, so lines behind that length are of a write that a kill
 * interrupted, and the next one overwrites them.
 */
enum intent_phase { INTENT_NONE, INTENT_ITERATE, INTENT_VERIFY, INTENT_SETTLE, INTENT_N };

struct intent {
	enum intent_phase phase;
	char *task;  /* task id; NULL: none */
	char *head;  /* of the branch, before; "": no commit yet; NULL: no repository */
	bool claims; /* VERIFY: what the agent said */
	enum run_end end;
	enum last_words_kind last_words;
	char *words;	      /* of the last words; may be NULL */
	enum verdict verdict; /* SETTLE */
	enum task_state state;
	bool progress;
	char *why;
	char *commit;
	uint64_t ms;
	uint64_t attempts; /* of the task, before */
	/* Result of the check of its commits. The check cannot be repeated: it may change the
	 * tree. */
	bool checked, new_head, rejected, committed;
};

struct tokens {
	uint64_t input, output, cache_read, cache_write;
};

struct loop_state {
	int dir; /* of the state; not owned */
	/* counters */
	uint64_t iterations, micro_usd, active_ms;
	uint64_t waited;	/* iterations that the limits do not count: see verdict_waits() */
	uint64_t outage, tries; /* of the provider: since when (seconds since 1970), and how many
				 * iterations found it unavailable in a row; 0: it was available */
	uint64_t told;		/* events that last and were told: see notices_due() */
	struct tokens tokens;
	uint64_t seen_micro_usd; /* of the sandbox's usage record, when it was last read */
	struct tokens seen;
	uint64_t failing; /* lowest number of failing verify commands so far; UINT64_MAX: unknown */
	uint64_t started; /* seconds since 1970 */
	/* kept as JSON */
	json_t *request;  /* original request of the loop, for resume */
	json_t *baseline; /* {command: true (it succeeded) or false} */
	json_t *tasks;	  /* {id: {"base": head, "stuck": n, "last": what failed,
			   * "left": by an iteration that was cut off, "answers": []}} */
	json_t *records; /* of iterations, for the summary; call state_records_clear() to drop them */
	size_t recorded;	/* of them: those that records.jsonl has */
	uint64_t records_bytes; /* its length, of lines that count */
	json_t *workers;	/* {id: {"branch", "path", "attempts"}}: parallel tasks */
	json_t *view;		/* of the repository, see repo_view_take() */
	json_t *loose;		/* uncommitted files, see loose.h */
	json_t *setup;		/* of loop.setup: see prepare.h; NULL: none */
	json_t *agents;		/* of --fallback: see fallback.h; NULL: none */
	char *branch, *home_branch, *worktree; /* NULL: none */
	char *marks_from; /* head before a commit of marks that is being made; NULL: none */
	bool stashed;
	struct intent intent;
	uint64_t cost_mark; /* micro_usd before this iteration */
	struct tokens tokens_mark;
	int exit_code; /* -1: still running */
	char *reason;
};

#define STATE_FILE "loop.json"
#define STATE_RECORDS_FILE "records.jsonl"
#define STATE_RECORDS_MAX 10000			   /* then the older half is dropped */
#define STATE_RECORDS_BYTES_MAX (64 * 1024 * 1024) /* likewise */

void state_init(struct loop_state *s, int dir);
void state_done(struct loop_state *s);
/* Returns -ENOENT without a state file. */
int state_load(struct loop_state *s, struct err *err);
int state_save(struct loop_state *s, struct err *err);
void state_records_clear(struct loop_state *s);

void intent_clear(struct intent *i);
/* After the host's own commit: tasks that were begun at marks_from begin at `head`, so that this
 * commit does not count as theirs. */
void state_marks_made(struct loop_state *s, const char *head);

/* Returns the record of one task, created if missing. Borrowed. */
json_t *state_task(struct loop_state *s, const char *id);
uint64_t state_task_uint(struct loop_state *s, const char *id, const char *key);
const char *state_task_str(struct loop_state *s, const char *id, const char *key);
void state_task_set(struct loop_state *s, const char *id, const char *key, json_t *value);
