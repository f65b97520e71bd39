#pragma once

#include "base/strv.h"
#include "config/trust.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One thing to be done, whatever it was written in: a story of a prd.json, a box or step of a
 * Markdown plan, a step of a spec or of a GitHub issue. All strings are owned by the task, and are
 * UTF-8 without NUL bytes; those that may be missing are NULL.
 */
enum task_state {
	TASK_READY,
	TASK_BUSY,    /* an iteration works on it */
	TASK_DONE,    /* and proved */
	TASK_BLOCKED, /* the agent cannot go on: why */
	TASK_STUCK,   /* iterations went by without progress, or its attempts are used up */
	TASK_DECIDE,  /* a question to the user is open: why */
	TASK_STATE_N,
};

#define TASK_HASH_LEN TRUST_HASH_LEN

struct task {
	char *id;
	char *title;
	char *description;    /* may be NULL */
	struct strv criteria; /* when it counts as done */
	struct strv depends;  /* ids of tasks that must be done before */
	struct strv verify;   /* commands besides the work's own */
	int64_t priority;     /* the lowest first; equal ones in the order of the source */
	enum task_state state;
	char *why;	   /* of the state: blocked by what, which question; may be NULL */
	char *notes;	   /* may be NULL */
	char *commit;	   /* the one it was done with; may be NULL */
	unsigned attempts; /* iterations that worked on it */
	char fingerprint[TASK_HASH_LEN + 1]; /* of description, criteria and verify */

	unsigned line; /* of the source, from 1; 0: unknown */
	/* In a listing: what the source says, and why. In the work: what it said when it was last
	 * in step with the state. */
	enum task_state said;
};

struct task *task_new(void);
struct task *task_free(struct task *t);
DEFINE_FREEP(struct task, task_free)

/* "ready", "busy", "done", "blocked", "stuck", "decide" */
const char *task_state_name(enum task_state s);
int task_state_parse(const char *s, enum task_state *ret); /* -EINVAL */
/* Sets t->fingerprint from what it says now. */
void task_fingerprint(struct task *t);
