#pragma once

#include "base/strv.h"
#include "config/trust.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A task, whatever its format: a story of a prd.json, a box or step of a Markdown plan, a step of a
 * spec or of a GitHub issue. The task owns all strings. They are UTF-8 without NUL bytes, and NULL
 * where missing.
 */
enum task_state {
	TASK_READY,
	TASK_BUSY,    /* an iteration works on the task */
	TASK_DONE,    /* done and verified */
	TASK_BLOCKED, /* the agent cannot continue; see why */
	TASK_STUCK,   /* no progress, or no attempts left */
	TASK_DECIDE,  /* waits for a decision of the user; see why */
	TASK_STATE_N,
};

/* The review of a task. The host decides it; a prd.json has it as reviewStatus. */
enum review_status {
	REVIEW_NONE,	 /* there was none */
	REVIEW_NEEDED,	 /* the checks passed, and the reviewer has not answered */
	REVIEW_CHANGES,	 /* the reviewer asks for changes */
	REVIEW_APPROVED, /* the reviewer approves */
	REVIEW_STATUS_N,
};

#define TASK_HASH_LEN TRUST_HASH_LEN

struct task {
	char *id;
	char *title;
	char *description;    /* may be NULL */
	struct strv criteria; /* when it counts as done */
	struct strv depends;  /* ids of tasks that must be done first */
	struct strv verify;   /* commands in addition to the work's */
	int64_t priority;     /* the lowest first; equal ones in the order of the source */
	enum task_state state;
	char *why;			     /* reason of the state, or the question; may be NULL */
	char *notes;			     /* may be NULL */
	char *commit;			     /* the commit that finished the task; may be NULL */
	unsigned attempts;		     /* iterations that worked on the task */
	char fingerprint[TASK_HASH_LEN + 1]; /* of description, criteria and verify */

	unsigned line; /* of the source, from 1; 0: unknown */
	/* In a listing: the state in the source. In the work: the state in the source when the
	 * two were last synchronised. */
	enum task_state said;
};

struct task *task_new(void);
struct task *task_free(struct task *t);
DEFINE_FREEP(struct task, task_free)

/* Returns "ready", "busy", "done", "blocked", "stuck" or "decide". */
const char *task_state_name(enum task_state s);
int task_state_parse(const char *s, enum task_state *ret); /* -EINVAL */
/* Returns "needs_review", "changes_requested" or "approved"; NULL for REVIEW_NONE. */
const char *review_status_name(enum review_status s);
/* Sets t->fingerprint from the task's current text. */
void task_fingerprint(struct task *t);
