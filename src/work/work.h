#pragma once

/*
 * ROOM: work
 *
 * Lists of work: reads them, marks them, and judges an agent's changes to them. Neither a sandbox
 * nor libgit2 is used here.
 */

#include "base/buf.h"
#include "base/err.h"
#include "work/task.h"

/*
 * DOC: Theory of operation
 *
 * A list of tasks, read from a source (a prd.json, a Markdown plan, a spec, an issue), and the
 * state of each task. The host keeps the state: tasks.json in the loop's state, which the agent
 * cannot reach, replaced atomically and synced. The text of the tasks is in three more places:
 *
 *   the source   belongs to the user. work_reload() reads it again between iterations;
 *                work_settle() writes back only the values that changed.
 *   the copy     the agent reads it and may write it in its root (the workspace, or a worktree of
 *                it). If the agent can reach the source (in the workspace, outside .ralph; all
 *                of it if the workspace is shared), the source is also the copy. Otherwise the
 *                copy is .ralph/agent/NAME.
 *   progress.txt next to the copy, append-only except for its head.
 *
 * A turn is: work_reload, work_next, work_begin, work_put_copy, the agent, work_proposals,
 * work_settle. The agent's changes are a proposal: ralph compares them with the copy it gave out,
 * returns the allowed ones to the caller, and restores the copy. They never change a task's state:
 * the caller judges and settles. When ralph dies in a turn, work_open() finds the open turn in the
 * state and restores the copy before it reads the source. So nothing that the agent wrote is
 * mistaken for the user's text.
 *
 * Bad input of the user is an error with exit code 2 that names file, place, rule and remedy; then
 * neither source nor state was written.
 */
#define WORK_FILE_MAX (2 * MiB) /* of a source or copy */
#define WORK_TASKS_MAX 1000
#define WORK_LIST_MAX 200	 /* criteria, dependencies or commands of one task */
#define WORK_TEXT_MAX (64 * KiB) /* a description, notes */
#define WORK_PROGRESS_MAX (4 * MiB)

/* In the workspace. */
#define WORK_DIR ".ralph"
#define WORK_STATE_DIR ".ralph/state" /* unless it is kept apart: record/loops.h */
#define WORK_AGENT_DIR ".ralph/agent"

enum work_kind { WORK_PRD, WORK_PLAN, WORK_SPEC, WORK_GH, WORK_KIND_N };

struct source;
struct turn;

struct work {
	enum work_kind kind;
	char *source;  /* name in messages: "prd.json", "gh:owner/name#12" */
	char *project; /* may be NULL, as all others down to description */
	char *branch;  /* named by the source; else the loop makes ralph/<slug> */
	char *base;    /* start of the branch */
	char *description;
	struct strv verify;  /* commands that must pass for every task */
	struct task **tasks; /* in the source's order; a task stays where it is in memory */
	size_t n;
	/* Changes since the caller last looked, one sentence each. The caller prints and clears
	 * them. */
	struct strv news;

	/* The remaining fields are private to src/work. */
	char *workspace; /* real path */
	int root;	 /* the workspace */
	int state;	 /* the loop's state; -1: there is none yet */
	bool shared;	 /* see work_where */
	bool elsewhere;	 /* likewise, for the first read */
	struct source *from;
	char *open;	    /* id of the task whose turn is open in the workspace itself; NULL */
	struct task **gone; /* tasks removed from the source; freed with the work */
	size_t n_gone;
	bool pending; /* the last attempt to write the source failed */
	struct turn *turns;
	size_t n_turns;
};

struct work_where {
	const char *workspace;
	int state;   /* the loop's state, closed by the caller; -1: it is created in .ralph */
	bool shared; /* the agent can reach .ralph as well: nothing there is hidden from it */
	/* The source lies there as another branch has it: its marks are not the user's. They count
	 * again with the next work_reload(). */
	bool elsewhere;
};

/*
 * Opens the work. workspace: a directory. source: a file in it or elsewhere, a directory of specs
 * (the next one), "gh:OWNER/NAME" (the next ready issue), "gh:OWNER/NAME#12", "gh" (the repository
 * of the remote origin). NULL: the source in the state, else the first that exists of
 * .ralph/prd.json, prd.json, ralph/prd.json, scripts/ralph/prd.json, IMPLEMENTATION_PLAN.md,
 * plan.md … It reads the state, closes a turn that was left open, reads the source and reconciles
 * both. It writes only if a file must be restored. -ENOENT: no source was named or found; -ENODATA:
 * no issue is ready.
 */
int work_open(const struct work_where *at, const char *source, struct work **ret, struct err *err);
/* Opens the work for reading only, also while a loop works here: nothing is restored. */
int work_look(const struct work_where *at, const char *source, struct work **ret, struct err *err);
struct work *work_free(struct work *w);
DEFINE_FREEP(struct work, work_free)

/* Between iterations: takes over the user's changes to the source (see news). */
int work_reload(struct work *w, struct err *err);

struct task *work_task(const struct work *w, const char *id); /* NULL: none */
/*
 * Returns the next task: ready, all dependencies done, fewer than attempts_max attempts (0: no
 * cap); the lowest priority first, then the source's order. Stuck, blocked and undecided tasks are
 * never returned. NULL: there is none.
 */
struct task *work_next(const struct work *w, unsigned attempts_max);
/* Returns up to n tasks that can run at the same time: none depends on another, or on a busy
 * task. The result is their number. */
size_t work_independent(const struct work *w, unsigned attempts_max, struct task **ret, size_t n);

struct work_counts {
	size_t total, done, ready, busy, blocked, stuck, decide;
	size_t held; /* ready, but with unfinished dependencies or no attempts left */
};
struct work_counts work_count(const struct work *w, unsigned attempts_max);

/* Begins an attempt: the task is busy and the attempt counted; saved. An issue is labelled in
 * progress. */
int work_begin(struct work *w, struct task *t, struct err *err);
/* The same for several tasks, saved once. */
int work_begin_all(struct work *w, struct task *const *t, size_t n, struct err *err);
/* Undoes the attempt that work_begin() counted (a rate limit); the task is ready. Saved. */
int work_give_back(struct work *w, struct task *t, struct err *err);

/* root: the agent's workspace; -1: the workspace itself, else a worktree. In the workspace
 * itself a turn is open from here to work_settle() or work_give_back(). */
int work_put_copy(struct work *w, int root, struct err *err);

#define PROPOSAL_OFFENCES_MAX 20 /* limit of the kept sentences */

struct proposals {
	bool claims_done; /* for the task of this turn */
	bool claims_undone;
	char *notes;	      /* NULL: unchanged */
	struct strv offences; /* reverted changes, a sentence each; no control bytes */
	size_t n_offences;    /* total, including those that were not kept */
	bool progressed;      /* the agent appended to progress.txt */

	/* Other moved values, in the format's terms: keys and their new values. */
	struct strv moved, moved_to;
};

void proposals_done(struct proposals *p);

#define cleanup_proposals cleanup_(proposals_done)

/*
 * After an iteration: reads the agent's version of its copy in `root`, and restores the copy. Notes
 * of the task, and fields about reviews that are not the host's, are taken over at once, into the
 * copy, the source and the state.
 * *ret is empty before. This succeeds whatever the agent did; errors are the host's (no space). In
 * the workspace itself the turn stays open, because the verify commands may write there as well.
 */
int work_proposals(struct work *w, struct task *t, int root, struct proposals *ret,
		   struct err *err);

/*
 * Settles the task: saves the state first, then writes the source. TASK_BUSY is not allowed. A
 * source that cannot be written now (an issue without network) is a line in news, and is tried
 * again by the next work_settle(), work_reload() or work_close(). why and commit may be NULL.
 */
int work_settle(struct work *w, struct task *t, enum task_state state, const char *why,
		const char *commit, struct err *err);
/*
 * Writes the result of a review to the story of a prd.json; other formats have no place for it. `feedback`
 * may be NULL. A source that cannot be written now is no error: the loop's own state decides.
 */
int work_review(struct work *w, const struct task *t, enum review_status status, uint64_t count,
		const char *feedback, struct err *err);
/* Reopens a task for the user: ready again, with no attempts. */
int work_reopen(struct work *w, struct task *t, struct err *err);
/* Ends the work: an issue gets its final label (done, blocked, needs-attention). */
int work_close(struct work *w, struct err *err);
int work_save(struct work *w, struct err *err);

/* Paths in the workspace, relative. The first function lists those for build_input.agents_own,
 * which exist after work_put_copy(). The second lists the files that ralph itself writes: they
 * are not the user's changes, and the agent must not commit them. */
void work_agents_own(const struct work *w, struct strv *ret);
void work_own_paths(const struct work *w, struct strv *ret);
/* Lists the files of the workspace that ralph writes for the user: the list, and progress.txt. */
void work_files(const struct work *w, struct strv *ret);
/* Returns the path of the agent's copy, relative to its root. */
const char *work_copy_path(const struct work *w);

/* Writes the agent's description of its task: id, title, text, criteria, commands, and the paths
 * of the copy and progress.txt. Markdown. */
void work_brief(const struct work *w, const struct task *t, struct buf *ret);
