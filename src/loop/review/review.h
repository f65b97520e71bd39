#pragma once

/*
 * ROOM: loop/review
 *
 * Reviews: a second agent judges a task that the commands have verified, before the task counts as
 * done.
 */

#include "loop/loop.h"

/*
 * DOC: Theory of operation
 *
 * The reviewer gets everything in its prompt: the task, the diff and the output of the verify commands.
 * Its sandbox is made anew for each review and then removed. It has an empty home, an empty read-only
 * directory in place of the workspace, and no network but the agent's provider. Files of the author
 * (CLAUDE.md, .claude, AGENTS.md, the home) are therefore not there to be read as instructions. In the
 * prompt the material stands between lines with a random key, which its author cannot know, and the
 * answer must repeat that key.
 *
 *	review.c          when there is a review, what follows from it, and the state of it
 *	review-sandbox.c  the reviewer's sandbox and its run
 *	review-prompt.c   the prompt
 *	review-answer.c   the answer
 *
 * A task's record in the loop's state has "review": {"status", "count", "feedback", "head"}. It decides;
 * a prd.json only shows it. The status is needs_review before the reviewer runs: a loop that was
 * stopped, or whose reviewer's provider was not available, reviews the same head again without another
 * iteration of the author.
 */
#define REVIEW_DIFF_MAX                                                                            \
	(256 * KiB) /* a larger change is for a person: a part of it is never reviewed */
#define REVIEW_KEY_LEN 32
#define REVIEW_REASONS_MAX 20
#define REVIEW_REASON_MAX (2 * KiB)
#define REVIEW_FEEDBACK_MAX (16 * KiB)
#define REVIEW_TRIES 2 /* of a reviewer that gives no answer */

struct review_answer {
	bool approves;
	char *feedback; /* the reasons, a line each; NULL: none */
};

/*
 * Reads the reviewer's last message, which is hostile. Its last line, but for blank lines and a closing
 * code fence, must be one JSON object with exactly the keys "review" (the key of this review), "verdict"
 * ("approve" or "changes") and "reasons" (a list of texts; for changes at least one). Returns false for
 * anything else.
 */
bool review_answer_read(const char *text, const char *key, struct review_answer *ret);
void review_answer_done(struct review_answer *a);

struct review_material {
	const char *key;
	const char *diff, *output; /* output: NULL without a verify command */
};
/* The caller frees it. */
char *review_prompt(struct loop *l, const struct task *t, const struct review_material *m);

struct review_run {
	enum run_end end;
	char *text; /* the last message; NULL: none */
};
/* Runs the reviewer once in a new sandbox, counts what it used, and removes the sandbox. */
int review_sandbox_run(struct loop *l, const char *prompt, struct review_run *ret, struct err *err);
void review_run_done(struct review_run *r);
/* The reviewer can be run: it is installed, and its sandbox can be made. */
int review_sandbox_check(struct loop *l, struct err *err);
/* Its credentials are there. Exit code 8 otherwise. */
int review_check_credentials(struct loop *l, struct err *err);

/* Finds the reviewer that the settings name, and checks what can be checked before anything changes. */
int review_open(struct loop *l, struct err *err);

/* True when the task waits only for a review of the commit that is checked out. */
bool review_waits(struct loop *l, const struct task *t);
/* Reviews a task that is done but for that. *ret: VERDICT_DONE when the reviewer approves. The caller
 * calls state_save(). */
int review_task(struct loop *l, struct task *t, const char *output, enum verdict *ret,
		struct err *err);
/* The part of the author's prompt about the last review. */
void review_put(struct loop *l, const struct task *t, struct buf *b);
/* The review of a task as a row of the summary has it (NULL: none), and back: of a worker. */
json_t *review_row(const struct loop *l, const struct task *t);
int review_take(struct loop *l, const struct task *t, const json_t *row, struct err *err);
